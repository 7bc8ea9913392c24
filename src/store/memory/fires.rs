//! Fired rows, recoveries, fences and instances in maps.

use super::MemorySession;
use crate::error::Result;
use crate::key::{JobKey, TriggerKey};
use crate::store::database::{ClusterRows, FiredRows, Owner};
use crate::store::row::{
    CheckpointRow, FiredRow, FiredState, HeartbeatRow, InstanceProcessRow, InstanceRow, JobTypeRow, NodeRow, ParkedRow,
    ProcessRow, RecoveryRow,
};
use crate::trigger::TriggerState;
use std::collections::{BTreeMap, BTreeSet};

impl MemorySession<'_> {
    /// What nodes of ours other than this one have reserved, earliest first.
    pub(super) fn reserved_by_others(&self, instance: &str) -> impl Iterator<Item = &FiredRow> {
        let ours = |name: &String| self.tables.instances.get(name).is_some_and(|row| row.incarnation.is_some());
        self.tables.fired.index().reserved().filter(move |row| row.instance != instance && ours(&row.instance))
    }
}

impl FiredRows for MemorySession<'_> {
    fn insert_fired(&mut self, rows: Vec<FiredRow>) -> Result<()> {
        self.changes()?;
        for row in rows {
            if self.tables.fired.get(&row.fire_id).is_some() {
                return Err(self.duplicate("fire", &row.fire_id));
            }
            self.tables.fired.put(row.fire_id.clone(), row);
        }
        Ok(())
    }

    fn begin_executing(&mut self, rows: &[(String, FiredRow)]) -> Result<usize> {
        self.changes()?;
        let mut begun = 0;
        for (old, row) in rows {
            if self.tables.fired.get(old).is_some_and(|f| f.state == FiredState::Acquired) {
                self.tables.fired.remove(old);
                self.tables.fired.put(row.fire_id.clone(), row.clone());
                begun += 1;
            }
        }
        Ok(begun)
    }

    fn delete_fired(&mut self, ids: &[String]) -> Result<Vec<String>> {
        self.changes()?;
        Ok(ids.iter().filter(|id| self.tables.fired.remove(*id).is_some()).cloned().collect())
    }

    fn delete_reservations(&mut self, triggers: &[TriggerKey]) -> Result<usize> {
        self.changes()?;
        let ours = self.our_instances();
        let reserved = |f: &&FiredRow| f.state == FiredState::Acquired && ours.contains(&f.instance);
        let ids: BTreeSet<String> = self.of_triggers(triggers).filter(reserved).map(|f| f.fire_id.clone()).collect();
        Ok(ids.iter().filter(|id| self.tables.fired.remove(*id).is_some()).count())
    }

    fn foreign_reservations(&mut self, triggers: &[TriggerKey]) -> Result<Vec<TriggerKey>> {
        self.reads()?;
        let ours = self.our_instances();
        let foreign = |f: &&FiredRow| f.state == FiredState::Acquired && !ours.contains(&f.instance);
        let is_reserved = |key: &&TriggerKey| self.tables.fired.index().of_trigger(key).any(|f| foreign(&f));
        Ok(triggers.iter().filter(is_reserved).cloned().collect())
    }

    fn overdue_reservations(&mut self, instance: &str, before_ms: i64, limit: usize) -> Result<Vec<FiredRow>> {
        self.reads()?;
        let overdue = self.reserved_by_others(instance).take_while(|row| row.scheduled_ms < before_ms);
        Ok(overdue.take(limit).cloned().collect())
    }

    fn hold_fired(&mut self, id: &str) -> Result<Option<FiredState>> {
        self.reads()?;
        Ok(self.tables.fired.get(&id.to_owned()).map(|f| f.state))
    }

    fn existing_fired(&mut self, ids: &[String]) -> Result<Vec<(String, FiredState)>> {
        self.reads()?;
        Ok(ids.iter().filter_map(|id| self.tables.fired.get(id)).map(|f| (f.fire_id.clone(), f.state)).collect())
    }

    fn fired_rows(&mut self, ids: &[String]) -> Result<Vec<FiredRow>> {
        self.reads()?;
        Ok(ids.iter().filter_map(|id| self.tables.fired.get(id)).cloned().collect())
    }

    fn all_fired(&mut self) -> Result<Vec<FiredRow>> {
        self.reads()?;
        let mut rows: Vec<FiredRow> = self.tables.fired.values().cloned().collect();
        rows.sort_by(|a, b| (a.fired_ms, &a.fire_id).cmp(&(b.fired_ms, &b.fire_id)));
        Ok(rows)
    }

    fn fired_of_instance(&mut self, instance: &str) -> Result<Vec<FiredRow>> {
        self.reads()?;
        let mut rows: Vec<FiredRow> = self.tables.fired.values().filter(|f| f.instance == instance).cloned().collect();
        rows.sort_by(|a, b| (a.scheduled_ms, &a.fire_id).cmp(&(b.scheduled_ms, &b.fire_id)));
        Ok(rows)
    }

    fn executing_of_triggers(&mut self, triggers: &[(TriggerKey, JobKey)]) -> Result<Vec<FiredRow>> {
        self.reads()?;
        let of_both = |(trigger, job)| self.tables.fired.index().executing_of(trigger, job);
        let rows: BTreeMap<&String, &FiredRow> =
            triggers.iter().map(|(t, j)| (t, j)).flat_map(of_both).map(|f| (&f.fire_id, f)).collect();
        Ok(rows.into_values().cloned().collect())
    }

    fn executing_of_job(&mut self, job: &JobKey) -> Result<Vec<FiredRow>> {
        self.reads()?;
        let is_its = |f: &&FiredRow| f.state == FiredState::Executing && f.job.as_ref() == Some(job);
        Ok(self.tables.fired.values().filter(is_its).cloned().collect())
    }

    fn reserved_triggers(&mut self) -> Result<Vec<TriggerKey>> {
        self.reads()?;
        Ok(self.tables.fired.index().reserved().map(|row| row.trigger.clone()).collect())
    }

    fn executing_jobs(&mut self, jobs: &[JobKey]) -> Result<Vec<(JobKey, bool)>> {
        self.reads()?;
        let index = self.tables.fired.index();
        let is_executing = |job: &&JobKey| index.is_executing(job) && self.tables.jobs.get(*job).is_some();
        Ok(jobs.iter().filter(is_executing).map(|job| (job.clone(), index.is_executing_alone(job))).collect())
    }

    fn instances_with_fires(&mut self) -> Result<Vec<String>> {
        self.reads()?;
        let names: BTreeSet<&String> = self.tables.fired.values().map(|f| &f.instance).collect();
        Ok(names.into_iter().cloned().collect())
    }

    fn draw_fences(&mut self, owner: Option<&Owner>, count: usize) -> Result<Option<i64>> {
        self.reads()?;
        let registered = |owner: &Owner| {
            let row = self.tables.instances.get(&owner.instance);
            row.is_some_and(|i| i.incarnation.as_ref() == Some(&owner.incarnation))
        };
        if !owner.is_none_or(registered) {
            return Ok(None);
        }
        let last = self.tables.fence.get(&()).copied().unwrap_or(0);
        if count == 0 {
            return Ok(Some(last));
        }
        let fences = &self.database.fences;
        fences.are_behind(last, fences.largest());
        let last = last.max(fences.largest());
        self.tables.fence.put((), last + i64::try_from(count).unwrap_or(i64::MAX));
        Ok(Some(last + 1))
    }

    fn raise_fence(&mut self, to: i64) -> Result<()> {
        self.reads()?;
        let last = self.tables.fence.get(&()).copied().unwrap_or(0);
        self.tables.fence.put((), last.max(to));
        Ok(())
    }

    fn recovered_origins(&mut self, fire_ids: &[String]) -> Result<Vec<String>> {
        self.reads()?;
        Ok(fire_ids.iter().filter(|id| self.tables.recoveries.get(*id).is_some()).cloned().collect())
    }

    fn roots_underway(&mut self, fire_ids: &[String]) -> Result<Vec<String>> {
        self.reads()?;
        let is_root = |id: &&String| self.tables.recoveries.values().any(|row| row.root_fire_id == **id);
        Ok(fire_ids.iter().filter(is_root).cloned().collect())
    }

    fn recoveries(&mut self, triggers: &[TriggerKey]) -> Result<Vec<RecoveryRow>> {
        self.reads()?;
        let rows = triggers.iter().flat_map(|key| self.tables.recoveries.index().of_trigger(key));
        let rows: BTreeMap<&String, &RecoveryRow> = rows.map(|row| (&row.origin_fire_id, row)).collect();
        Ok(rows.into_values().cloned().collect())
    }

    fn delete_recoveries(&mut self, triggers: &[TriggerKey]) -> Result<()> {
        self.changes()?;
        triggers.iter().for_each(|key| self.forget_recoveries(key));
        Ok(())
    }

    fn insert_recoveries(&mut self, rows: &[RecoveryRow]) -> Result<()> {
        self.changes()?;
        for row in rows {
            if self.tables.recoveries.get(&row.origin_fire_id).is_some() {
                return Err(self.duplicate("recovery of fire", &row.origin_fire_id));
            }
            self.tables.recoveries.put(row.origin_fire_id.clone(), row.clone());
        }
        Ok(())
    }
}

impl MemorySession<'_> {
    /// Forgets what a trigger stands for.
    pub(super) fn forget_recoveries(&mut self, trigger: &TriggerKey) {
        let its = self.tables.recoveries.index().of_trigger(trigger);
        let origins: Vec<String> = its.map(|row| row.origin_fire_id.clone()).collect();
        for origin in origins {
            self.tables.recoveries.remove(&origin);
        }
    }

    /// The fired rows of these triggers, more than once for a trigger that is named so.
    fn of_triggers<'s>(&'s self, triggers: &'s [TriggerKey]) -> impl Iterator<Item = &'s FiredRow> {
        triggers.iter().flat_map(|key| self.tables.fired.index().of_trigger(key))
    }

    fn our_instances(&self) -> BTreeSet<String> {
        let ours = self.tables.instances.values().filter(|i| i.incarnation.is_some());
        ours.map(|i| i.name.clone()).collect()
    }
}

impl ClusterRows for MemorySession<'_> {
    fn instances(&mut self) -> Result<Vec<InstanceRow>> {
        self.reads()?;
        // What a node of Quartz would do to these rows can be seen here too.
        let seen_ms: BTreeMap<String, i64> =
            self.tables.rows().map(|node: NodeRow| (node.instance, node.seen_ms)).collect();
        let is_replaced =
            |row: &InstanceRow| seen_ms.get(&row.name).is_some_and(|seen_ms| *seen_ms != row.last_checkin_ms);
        let seen = |row: &InstanceRow| match is_replaced(row) {
            true => InstanceRow { incarnation: None, joined: 0, ..row.clone() },
            false => row.clone(),
        };
        Ok(self.tables.instances.values().map(seen).collect())
    }

    fn touch_instance(&mut self, owner: &Owner, now_ms: i64) -> Result<bool> {
        self.reads()?;
        let same = |i: &InstanceRow| i.incarnation.as_ref() == Some(&owner.incarnation);
        if !self.tables.instances.get(&owner.instance).is_some_and(same) {
            return Ok(false);
        }
        Ok(self.tables.instances.change(&owner.instance, |i| i.last_checkin_ms = now_ms))
    }

    fn put_instance(&mut self, row: &InstanceRow) -> Result<()> {
        self.reads()?;
        self.tables.remove_row::<NodeRow>(&row.name);
        self.tables.remove_row::<InstanceProcessRow>(&row.name);
        self.tables.instances.put(row.name.clone(), row.clone());
        Ok(())
    }

    fn process_of(&mut self, name: &str) -> Result<ProcessRow> {
        let row = self.instances()?.into_iter().find(|row| row.name == name);
        let incarnation = row.and_then(|row| row.incarnation);
        let process: Option<InstanceProcessRow> = self.tables.row_of(name);
        let info = self.tables.row_of(name).map(|node: NodeRow| node.info);
        Ok(ProcessRow {
            process: process.filter(|row| Some(&row.incarnation) == incarnation.as_ref()).map(|row| row.process),
            pid: info.as_ref().map(|info| i64::from(info.pid)),
            host: info.and_then(|info| info.host),
        })
    }

    fn forget_replaced(&mut self, name: &str) -> Result<()> {
        let replaced = self.instances()?.into_iter().find(|row| row.name == name && row.incarnation.is_none());
        if let Some(row) = replaced {
            self.put_instance(&row)?;
            self.tables.delete_rows(|row: &JobTypeRow| row.instance == name);
        }
        Ok(())
    }

    fn stray_side_rows(&mut self) -> Result<usize> {
        self.reads()?;
        // One map holds both rows of an instance.
        let recoveries = self.tables.recoveries.values().filter(|r| self.tables.triggers.get(&r.trigger).is_none());
        let in_error =
            |key: &TriggerKey| self.tables.triggers.get(key).is_some_and(|t| t.state == TriggerState::Error.name());
        let parked = self.tables.rows().filter(|row: &ParkedRow| !in_error(&row.trigger));
        let checkpoints = self.tables.rows().filter(|c: &CheckpointRow| !self.is_underway(&c.root_fire_id));
        let fired = |id: &&String| self.tables.fired.get(*id).is_none();
        let beats = self.tables.rows().filter(|beat: &HeartbeatRow| fired(&&beat.fire_id));
        let executions = beats.count() + self.tables.cancels.keys().filter(fired).count();
        // Nodes and types go with their instance, and versions and orphans with their job: here
        // nobody else deletes those.
        Ok(recoveries.count() + parked.count() + checkpoints.count() + executions)
    }

    fn sweep_side_rows(&mut self) -> Result<usize> {
        self.changes()?;
        let triggers: BTreeSet<TriggerKey> = self.tables.triggers.values().map(|t| t.key.clone()).collect();
        let recoveries = self.tables.recoveries.remove_if(|_, recovery| !triggers.contains(&recovery.trigger));
        let in_error = TriggerState::Error.name();
        let in_error = self.tables.triggers.values().filter(|t| t.state == in_error).map(|t| t.key.clone());
        let in_error: BTreeSet<TriggerKey> = in_error.collect();
        let parked = self.tables.delete_rows(|row: &ParkedRow| !in_error.contains(&row.trigger));
        let roots = self.tables.rows().map(|c: CheckpointRow| c.root_fire_id);
        let over: BTreeSet<String> = roots.filter(|id| !self.is_underway(id)).collect();
        let checkpoints = self.tables.delete_rows(|c: &CheckpointRow| over.contains(&c.root_fire_id));
        let fired: BTreeSet<String> = self.tables.fired.keys().cloned().collect();
        let beats = self.tables.delete_rows(|beat: &HeartbeatRow| !fired.contains(&beat.fire_id));
        let cancels = self.tables.cancels.remove_if(|id, _| !fired.contains(id));
        Ok(recoveries + parked + checkpoints + beats + cancels)
    }

    fn delete_instance(&mut self, name: &str, seen_ms: Option<i64>) -> Result<bool> {
        self.reads()?;
        let row = self.tables.instances.get(name);
        if seen_ms.is_some() && row.map(|i| i.last_checkin_ms) != seen_ms {
            return Ok(false);
        }
        self.tables.remove_row::<NodeRow>(name);
        self.tables.remove_row::<InstanceProcessRow>(name);
        self.tables.delete_rows(|row: &JobTypeRow| row.instance == name);
        Ok(self.tables.instances.remove(name).is_some())
    }
}

impl MemorySession<'_> {
    /// Whether the work that began with this fire runs, or waits to be recovered.
    fn is_underway(&self, root_fire_id: &String) -> bool {
        self.tables.fired.get(root_fire_id).is_some()
            || self.tables.recoveries.values().any(|recovery| recovery.root_fire_id == *root_fire_id)
    }
}
