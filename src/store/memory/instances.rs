//! Instances and the load of a cluster in maps.

use super::MemorySession;
use crate::error::Result;
use crate::key::TriggerKey;
use crate::store::database::{ClusterRows, FiredRows, Owner, PlacementRows, Session, Strays};
use crate::store::row::{
    CancelRow, Cell, CheckpointRow, ClusterMembers, Departure, FiredRow, FiredState, HeartbeatRow, InstanceProcessRow,
    InstanceRow, InstanceSelection, JobTypeRow, Late, LoadRow, NodeRow, ParkedRow, PlacementView, RecoveryModeRow,
    RecoveryRow, TableDef, WithFires,
};
use crate::trigger::TriggerState;
use std::collections::{BTreeMap, BTreeSet};

impl ClusterRows for MemorySession<'_> {
    fn read_members(&mut self) -> Result<(ClusterMembers, PlacementView)> {
        let (now_ms, instances) = (self.now_ms()?, self.instances(InstanceSelection::All)?);
        let mut ids: BTreeMap<&String, BTreeSet<&str>> = BTreeMap::new();
        for fire in self.tables.fired.values() {
            ids.entry(&fire.instance).or_default().insert(&fire.fire_id);
        }
        let with_fires = ids.into_iter().map(|(instance, ids)| {
            let ids = [ids.first(), ids.last()].map(|id| id.map_or_else(String::new, |id| (*id).to_owned()));
            WithFires { instance: instance.clone(), ids }
        });
        let with_fires = with_fires.collect();
        let fence = FiredRows::draw_fences(self, None, 0)?;
        let members = ClusterMembers { now_ms, instances, with_fires, fence };
        Ok((members, self.placement_view()?))
    }

    fn instances(&mut self, which: InstanceSelection<'_>) -> Result<Vec<InstanceRow>> {
        self.reads()?;
        // An instance whose name a node of Quartz has taken can be seen here too.
        let seen_ms: BTreeMap<String, i64> =
            self.tables.rows().map(|node: NodeRow| (node.instance, node.seen_ms)).collect();
        let is_replaced =
            |row: &InstanceRow| seen_ms.get(&row.name).is_some_and(|seen_ms| *seen_ms != row.last_checkin_ms);
        let seen = |row: &InstanceRow| match is_replaced(row) {
            true => InstanceRow { incarnation: None, joined: 0, ..row.clone() },
            false => row.clone(),
        };
        let all = self.tables.instances.values();
        Ok(match which {
            InstanceSelection::All => all.map(seen).collect(),
            InstanceSelection::Named(name) => all.filter(|row| row.name == name).map(seen).collect(),
        })
    }

    fn touch_instance(&mut self, owner: &Owner, now_ms: i64, node: Option<&NodeRow>) -> Result<bool> {
        self.reads()?;
        let same = |i: &InstanceRow| i.incarnation.as_ref() == Some(&owner.incarnation);
        if !self.tables.instances.get(&owner.instance).is_some_and(same) {
            return Ok(false);
        }
        self.tables.instances.change(&owner.instance, |i| i.last_checkin_ms = now_ms);
        if let Some(node) = node {
            let session: &mut dyn Session = self;
            session.upsert(node, &["started_ms"])?;
        }
        Ok(true)
    }

    fn put_instance(&mut self, row: &InstanceRow) -> Result<()> {
        self.reads()?;
        self.tables.remove_row::<NodeRow>(&row.name);
        self.tables.remove_row::<InstanceProcessRow>(&row.name);
        self.tables.instances.put(row.name.clone(), row.clone());
        Ok(())
    }

    fn stray_side_rows(&mut self, which: Strays<'_>) -> Result<Vec<(String, usize)>> {
        let strays = self.strays().into_iter();
        let count = |(table, rows): &(&'static TableDef, Vec<Vec<Cell>>)| (table.name.to_owned(), rows.len());
        let Strays::Delete(tables) = which else {
            self.reads()?;
            return Ok(strays.map(|one| count(&one)).filter(|(_, rows)| *rows > 0).collect());
        };
        self.changes()?;
        let chosen: Vec<_> = strays.filter(|(table, _)| tables.iter().any(|one| one == table.name)).collect();
        chosen.iter().for_each(|(table, rows)| self.tables.remove_chosen(table, rows));
        Ok(chosen.iter().map(count).collect())
    }

    fn delete_instance(&mut self, name: &str, departure: Departure) -> Result<bool> {
        self.reads()?;
        let seen_ms = self.tables.instances.get(name).map(|row| row.last_checkin_ms);
        let node = self.tables.row_of::<NodeRow>(name);
        let goes = match departure {
            Departure::Any => true,
            Departure::Silent(last_ms) => seen_ms == Some(last_ms),
            Departure::Replaced => node.is_some_and(|node| seen_ms.is_some_and(|seen_ms| seen_ms != node.seen_ms)),
        };
        if !goes {
            return Ok(false);
        }
        self.tables.remove_row::<NodeRow>(name);
        self.tables.remove_row::<InstanceProcessRow>(name);
        self.tables.delete_rows(|row: &JobTypeRow| row.instance == name);
        Ok(match departure {
            Departure::Replaced => self.tables.instances.change(name, |row| (row.incarnation, row.joined) = (None, 0)),
            Departure::Any | Departure::Silent(_) => self.tables.instances.remove(name).is_some(),
        })
    }

    fn read_cluster_load(&mut self, late: Late, most: usize) -> Result<(i64, LoadRow)> {
        self.reads()?;
        let now_ms = self.now_ms()?;
        let before_ms = match late {
            Late::Before(before_ms) => before_ms,
            Late::MoreThan(after_ms) => now_ms.saturating_sub(after_ms),
        };
        let in_error =
            |key: &TriggerKey| self.tables.triggers.get(key).is_some_and(|t| t.state == TriggerState::Error.name());
        let parked = self.tables.rows().filter(|row: &ParkedRow| in_error(&row.trigger)).take(most).count();
        let tables = &*self.tables;
        let index = &tables.triggers.index;
        let mut overdue = index.waiting(before_ms.saturating_sub(1), i64::MIN).filter_map(|trigger| trigger.next_ms);
        let oldest_overdue_ms = overdue.next();
        let counted = usize::from(oldest_overdue_ms.is_some()) + overdue.take(most).count();
        let held = |fire: &&FiredRow| fire.state == FiredState::Acquired && fire.scheduled_ms < before_ms;
        let running = |name: &str| {
            let its = tables.fired.values().filter(|f| f.instance == name && f.state == FiredState::Executing);
            its.count()
        };
        let load = LoadRow {
            overdue: counted.min(most) + tables.fired.values().filter(held).count(),
            oldest_overdue_ms,
            recovery_since_ms: tables.rows().next().and_then(|row: RecoveryModeRow| row.since_ms),
            parked,
            infos: tables.rows().map(|row: NodeRow| (row.instance, row.info)).collect(),
            blacklist: tables.rows().collect(),
            instances: tables.instances.values().map(|row| (row.clone(), running(&row.name))).collect(),
        };
        Ok((now_ms, load))
    }

    fn count_states(&mut self) -> Result<Vec<(String, usize)>> {
        self.reads()?;
        let states: BTreeMap<String, usize> =
            self.tables.triggers.index.states().map(|(state, count)| (state.to_owned(), count)).collect();
        Ok(states.into_iter().collect())
    }
}

impl MemorySession<'_> {
    /// The rows that stand for nothing any longer. One map holds both rows of an instance. Nodes
    /// and types go with their instance, and versions and orphans with their job: here nobody else
    /// deletes those.
    fn strays(&self) -> Vec<(&'static TableDef, Vec<Vec<Cell>>)> {
        let state = |key: &TriggerKey| self.tables.triggers.get(key).map(|trigger| trigger.state.clone());
        let is_over = |fire_id: &String| self.tables.fired.get(fire_id.as_str()).is_none();
        vec![
            self.tables.chosen(|row: &RecoveryRow| state(&row.trigger).is_none()),
            self.tables.chosen(|row: &ParkedRow| state(&row.trigger).as_deref() != Some(TriggerState::Error.name())),
            self.tables.chosen(|row: &CheckpointRow| !self.is_underway(&row.root_fire_id)),
            self.tables.chosen(|row: &HeartbeatRow| is_over(&row.fire_id)),
            self.tables.chosen(|row: &CancelRow| is_over(&row.fire_id)),
        ]
    }

    /// Tells whether the work that began with this fire runs, or waits to be recovered.
    fn is_underway(&self, root_fire_id: &str) -> bool {
        self.tables.fired.get(root_fire_id).is_some()
            || self.tables.rows().any(|recovery: RecoveryRow| recovery.root_fire_id == *root_fire_id)
    }
}
