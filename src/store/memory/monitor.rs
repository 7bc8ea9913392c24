//! The load of a cluster, counted in maps.

use super::MemorySession;
use crate::error::Result;
use crate::store::database::{MonitorRows, Session};
use crate::store::row::{FiredState, LoadRow};
use crate::trigger::TriggerState;
use std::collections::BTreeMap;

impl MonitorRows for MemorySession<'_> {
    fn load(&mut self, before_ms: i64, most: usize) -> Result<LoadRow> {
        self.reads()?;
        let tables = &*self.tables;
        let waiting = tables.triggers.values().filter(|trigger| trigger.state == TriggerState::Waiting.name());
        let mut overdue: Vec<i64> = waiting.filter_map(|t| t.next_ms).filter(|next| *next < before_ms).collect();
        overdue.sort_unstable();
        let held =
            |fire: &&crate::store::row::FiredRow| fire.state == FiredState::Acquired && fire.scheduled_ms < before_ms;
        let running = |name: &str| {
            let its = tables.fired.values().filter(|f| f.instance == name && f.state == FiredState::Executing);
            its.count()
        };
        Ok(LoadRow {
            overdue: overdue.len().min(most) + tables.fired.values().filter(held).count(),
            oldest_overdue_ms: overdue.first().copied(),
            recovery_since_ms: tables.recovery_mode.get(&()).and_then(|row| row.since_ms),
            instances: tables.instances.values().map(|row| (row.clone(), running(&row.name))).collect(),
        })
    }

    fn load_now(&mut self, after_ms: i64, most: usize) -> Result<(i64, LoadRow)> {
        let now_ms = self.now_ms()?;
        Ok((now_ms, self.load(now_ms.saturating_sub(after_ms), most)?))
    }

    fn count_states(&mut self) -> Result<Vec<(String, usize)>> {
        self.reads()?;
        let mut states: BTreeMap<String, usize> = BTreeMap::new();
        for trigger in self.tables.triggers.values() {
            match states.get_mut(&trigger.state) {
                Some(count) => *count += 1,
                None => drop(states.insert(trigger.state.clone(), 1)),
            }
        }
        Ok(states.into_iter().collect())
    }
}
