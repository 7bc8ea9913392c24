//! The load of a cluster, counted in maps.

use super::MemorySession;
use crate::error::Result;
use crate::store::database::{MonitorRows, RecoveryRows, Session};
use crate::store::row::{FiredState, LoadRow};
use std::collections::BTreeMap;

impl MonitorRows for MemorySession<'_> {
    fn load(&mut self, before_ms: i64, most: usize) -> Result<LoadRow> {
        self.reads()?;
        let parked = self.parked()?.len().min(most);
        let tables = &*self.tables;
        let index = tables.triggers.index();
        let mut overdue = index.waiting(before_ms.saturating_sub(1), i64::MIN).filter_map(|trigger| trigger.next_ms);
        let oldest_overdue_ms = overdue.next();
        let counted = usize::from(oldest_overdue_ms.is_some()) + overdue.take(most).count();
        let held =
            |fire: &&crate::store::row::FiredRow| fire.state == FiredState::Acquired && fire.scheduled_ms < before_ms;
        let running = |name: &str| {
            let its = tables.fired.values().filter(|f| f.instance == name && f.state == FiredState::Executing);
            its.count()
        };
        Ok(LoadRow {
            overdue: counted.min(most) + tables.fired.values().filter(held).count(),
            oldest_overdue_ms,
            recovery_since_ms: tables.recovery_mode.get(&()).and_then(|row| row.since_ms),
            parked,
            infos: tables.nodes.values().map(|row| (row.instance.clone(), row.info.clone())).collect(),
            blacklist: tables.blacklist.values().cloned().collect(),
            instances: tables.instances.values().map(|row| (row.clone(), running(&row.name))).collect(),
        })
    }

    fn load_now(&mut self, after_ms: i64, most: usize) -> Result<(i64, LoadRow)> {
        let now_ms = self.now_ms()?;
        Ok((now_ms, self.load(now_ms.saturating_sub(after_ms), most)?))
    }

    fn count_states(&mut self) -> Result<Vec<(String, usize)>> {
        self.reads()?;
        let states: BTreeMap<String, usize> =
            self.tables.triggers.index().states().map(|(state, count)| (state.to_owned(), count)).collect();
        Ok(states.into_iter().collect())
    }
}
