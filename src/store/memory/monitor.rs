//! The load of a cluster, counted in maps.

use super::MemorySession;
use crate::error::Result;
use crate::key::TriggerKey;
use crate::store::database::{MonitorRows, Session};
use crate::store::row::{FiredState, LoadRow, NodeRow, ParkedRow, RecoveryModeRow};
use crate::trigger::TriggerState;
use std::collections::BTreeMap;

impl MonitorRows for MemorySession<'_> {
    fn load(&mut self, before_ms: i64, most: usize) -> Result<LoadRow> {
        self.reads()?;
        let in_error =
            |key: &TriggerKey| self.tables.triggers.get(key).is_some_and(|t| t.state == TriggerState::Error.name());
        let parked = self.tables.rows().filter(|row: &ParkedRow| in_error(&row.trigger)).take(most).count();
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
            recovery_since_ms: tables.rows().next().and_then(|row: RecoveryModeRow| row.since_ms),
            parked,
            infos: tables.rows().map(|row: NodeRow| (row.instance, row.info)).collect(),
            blacklist: tables.rows().collect(),
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
