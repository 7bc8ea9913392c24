//! Triggers in maps.

use super::MemorySession;
use crate::error::Result;
use crate::job::JobMarks;
use crate::key::{BROADCAST_GROUP, JobKey, TriggerKey};
use crate::store::database::{Session, TriggerRows};
use crate::store::row::{
    Advance, Candidate, CandidateSelection, ContinuationRow, DueQuery, Exclusions, FiredRow, FiredState, JobRow,
    Selection, Table, TriggerRow, TriggerSelection, TypeVersions,
};
use crate::trigger::{Schedule, TriggerOrder, TriggerState};
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;
use std::sync::Arc;

impl MemorySession<'_> {
    /// A row as it is read: its options have no effect beside a node of Quartz.
    pub(super) fn read(&self, row: &TriggerRow) -> TriggerRow {
        let mut row = row.clone();
        if let Some(options) = &mut row.options {
            options.beside_quartz = self.tables.instances.values().any(|instance| instance.incarnation.is_none());
        }
        row
    }

    /// The stored triggers that are meant, each once, in order of group and name.
    pub(super) fn selected(&self, which: Selection<'_>) -> Vec<&TriggerRow> {
        let triggers = &self.tables.triggers;
        let mut rows: Vec<&TriggerRow> = match which {
            Selection::Triggers(keys) => keys.iter().filter_map(|key| triggers.get(key)).collect(),
            Selection::Jobs(jobs) => jobs.iter().flat_map(|job| self.of_job(job)).collect(),
            Selection::Groups(groups) => {
                triggers.values().filter(|t| groups.iter().any(|group| group == t.key.group())).collect()
            }
        };
        rows.sort_by(|a, b| by_key(a, b));
        rows.dedup_by(|a, b| a.key == b.key);
        rows
    }

    /// The stored triggers that a selection names, in its order.
    pub(super) fn read_rows(&self, which: TriggerSelection<'_>) -> Vec<&TriggerRow> {
        let all = || self.tables.triggers.values();
        let mut rows: Vec<&TriggerRow> = match which {
            TriggerSelection::All => all().collect(),
            TriggerSelection::Keys(keys) => {
                return keys.iter().filter_map(|key| self.tables.triggers.get(key)).collect();
            }
            TriggerSelection::OfJob(job) => self.of_job(job).collect(),
            TriggerSelection::OfJobs(jobs) => jobs.iter().flat_map(|job| self.of_job(job)).collect(),
            TriggerSelection::OfGroups(groups) => {
                all().filter(|t| groups.iter().any(|group| group == t.key.group())).collect()
            }
            TriggerSelection::OfCalendar(name) => all().filter(|t| t.calendar.as_deref() == Some(name)).collect(),
            TriggerSelection::Parts(prefix) => {
                all().filter(|t| t.key.group() == BROADCAST_GROUP && t.key.name().starts_with(prefix)).collect()
            }
            // One session writes at a time: nobody else holds a row.
            TriggerSelection::FreeWaiting(expected) => {
                let waits = |(key, next_ms): &(TriggerKey, i64)| {
                    let row = self.tables.triggers.get(key);
                    row.filter(|t| t.state == TriggerState::Waiting.name() && t.next_ms == Some(*next_ms))
                };
                return expected.iter().filter_map(waits).collect();
            }
            TriggerSelection::Waiting(from_ms, until_ms, limit) => {
                let is_late = |t: &&TriggerRow| t.next_ms.is_some_and(|next_ms| next_ms >= from_ms);
                let waiting = self.tables.triggers.index.waiting(until_ms, i64::MIN);
                return waiting.map(|row| &**row).filter(is_late).take(limit).collect();
            }
            TriggerSelection::Due(query) => return self.due(query).into_iter().map(|row| &**row).collect(),
            TriggerSelection::InStates(states, _) => {
                all().filter(|t| states.iter().any(|state| state.name() == t.state)).collect()
            }
            TriggerSelection::Misfired { before_ms, order, limit, offset } => {
                return self.misfired(before_ms, order, limit, offset);
            }
        };
        rows.sort_by(|a, b| by_key(a, b));
        if let TriggerSelection::InStates(_, limit) = which {
            rows.truncate(limit);
        }
        rows
    }

    /// The first triggers that wait too long, beyond `offset`.
    fn misfired(&self, before_ms: i64, order: TriggerOrder, limit: usize, offset: usize) -> Vec<&TriggerRow> {
        let wanted = offset.saturating_add(limit);
        let mut rows: Vec<&TriggerRow> = Vec::new();
        for row in self.tables.triggers.index.misfired(before_ms).filter(|t| is_fired_here(t)) {
            // All that are equal to the last of those that are wanted: their order is another one
            // than the index's.
            let is_beyond = |last: &&TriggerRow| (last.next_ms, last.priority) != (row.next_ms, row.priority);
            if order == TriggerOrder::TimeThenPriority && rows.len() >= wanted && rows.last().is_some_and(is_beyond) {
                break;
            }
            rows.push(row);
        }
        rows.sort_by(|a, b| by_key(a, b));
        match order {
            TriggerOrder::TimeThenPriority => rows.sort_by_key(|t| (t.next_ms, Reverse(t.priority))),
            TriggerOrder::PriorityThenTime => rows.sort_by_key(|t| (Reverse(t.priority), t.next_ms)),
        }
        rows.into_iter().skip(offset).take(limit).collect()
    }

    pub(super) fn of_job(&self, job: &JobKey) -> impl Iterator<Item = &TriggerRow> {
        self.tables.triggers.index.of_job(job).filter_map(|key| self.tables.triggers.get(key))
    }

    pub(super) fn is_executing(&self, job: &JobKey) -> bool {
        self.tables.fired.index.is_executing(job)
    }

    fn candidate(&self, trigger: &Arc<TriggerRow>) -> Option<Candidate> {
        let job = self.tables.jobs.shared(&trigger.job)?;
        // Marks that cannot be read keep no work from being done.
        let is_whole = job.marks.as_ref().is_none_or(|text| JobMarks::decode(text).is_ok());
        let executes = |f: &FiredRow| f.state == FiredState::Executing && f.job.as_ref() == Some(&trigger.job);
        Some(Candidate {
            trigger_is_executing: trigger.options.is_some()
                && self.tables.fired.index.of_trigger(&trigger.key).any(executes),
            job_is_followed: self.is_followed(&job.key),
            job_is_executing: job.nonconcurrent && self.is_executing(&job.key),
            recovery: self.recovery_of(&trigger.key),
            trigger: if trigger.options.is_some() { self.read(trigger).into() } else { Arc::clone(trigger) },
            job: if is_whole { Arc::clone(job) } else { JobRow { marks: None, ..JobRow::clone(job) }.into() },
        })
    }

    fn is_followed(&self, job: &JobKey) -> bool {
        self.tables.has_rows(ContinuationRow::DEF) && self.tables.rows().any(|row: ContinuationRow| row.parent == *job)
    }

    /// The triggers that wait and may be taken, in the order of their times.
    pub(super) fn waiting<'s, 'q>(
        &'s self,
        no_later_than_ms: i64,
        misfired_before_ms: i64,
        job_types: &'q [String],
        versions: &'q TypeVersions,
        excluded: &'q Exclusions,
    ) -> impl Iterator<Item = &'s Arc<TriggerRow>> {
        let may_be_taken = move |t: &&Arc<TriggerRow>| {
            is_fired_here(t)
                && self.tables.jobs.get(&t.job).is_some_and(|job| job_types.iter().any(|name| **name == *job.job_type))
                && self.is_read_by(&t.job, versions)
                && (excluded.is_empty() || !self.is_excluded(t, excluded))
        };
        self.tables.triggers.index.waiting(no_later_than_ms, misfired_before_ms).filter(may_be_taken)
    }

    /// The triggers that are due, in the order of the query.
    fn due<'s>(&'s self, query: &DueQuery<'_>) -> Vec<&'s Arc<TriggerRow>> {
        let (no_later_than_ms, misfired_before_ms) = (query.no_later_than_ms, query.misfired_before_ms);
        let among: Option<BTreeSet<&TriggerKey>> = query.among.map(|keys| keys.iter().collect());
        let waiting = self
            .waiting(no_later_than_ms, misfired_before_ms, query.job_types, query.versions, query.excluded)
            .filter(|t| among.as_ref().is_none_or(|keys| keys.contains(&t.key)));
        match query.order {
            TriggerOrder::TimeThenPriority => waiting.skip(query.offset).take(query.limit).collect(),
            TriggerOrder::PriorityThenTime => {
                // The rows come in order of time, which a stable sort keeps.
                let mut rows: Vec<&Arc<TriggerRow>> = waiting.collect();
                rows.sort_by_key(|t| (t.next_ms > Some(query.now_ms), Reverse(t.priority)));
                rows.into_iter().skip(query.offset).take(query.limit).collect()
            }
        }
    }
}

impl TriggerRows for MemorySession<'_> {
    fn triggers(&mut self, which: TriggerSelection<'_>) -> Result<Vec<TriggerRow>> {
        self.reads()?;
        Ok(self.read_rows(which).into_iter().map(|row| self.read(row)).collect())
    }

    fn trigger_keys(&mut self, which: TriggerSelection<'_>) -> Result<Vec<TriggerKey>> {
        self.reads()?;
        Ok(self.read_rows(which).into_iter().map(|row| row.key.clone()).collect())
    }

    fn insert_triggers(&mut self, triggers: &[TriggerRow]) -> Result<()> {
        self.changes()?;
        for trigger in triggers {
            if self.tables.triggers.get(&trigger.key).is_some() {
                return Err(self.duplicate("trigger", &trigger.key));
            }
            self.tables.triggers.put(trigger.key.clone(), trigger.clone());
        }
        Ok(())
    }

    fn delete_triggers(&mut self, keys: &[TriggerKey], only_in: Option<TriggerState>) -> Result<usize> {
        self.changes()?;
        let mut deleted = 0;
        for key in keys {
            let fits = |t: &TriggerRow| only_in.is_none_or(|state| state.name() == t.state);
            if self.tables.triggers.get(key).is_some_and(fits) {
                self.tables.triggers.remove(key);
                self.forget_recoveries(key);
                deleted += 1;
            }
        }
        Ok(deleted)
    }

    fn delete_finished_triggers(&mut self, keys: &[TriggerKey]) -> Result<Vec<TriggerKey>> {
        let tables = &self.tables;
        let finished = |key: &&TriggerKey| {
            tables.triggers.get(*key).is_some_and(|t| {
                t.state == TriggerState::Complete.name()
                    && tables.fired.index.executing_of(key, &t.job).next().is_none()
            })
        };
        let finished: Vec<TriggerKey> = keys.iter().filter(finished).cloned().collect();
        self.delete_triggers(&finished, None)?;
        Ok(finished)
    }

    fn change_states(
        &mut self,
        which: Selection<'_>,
        moves: &[(TriggerState, TriggerState)],
        unless_executing: bool,
    ) -> Result<usize> {
        self.changes()?;
        let moved = |state: &str| moves.iter().find(|(from, _)| from.name() == state).map(|(_, to)| *to);
        let mut changes = Vec::new();
        for row in self.selected(which) {
            if let Some(to) = moved(&row.state).filter(|_| !(unless_executing && self.is_executing(&row.job))) {
                changes.push((row.key.clone(), to));
            }
        }
        for (key, to) in &changes {
            self.tables.triggers.change(key, |t| t.state = to.name().to_owned());
        }
        Ok(changes.len())
    }

    fn advance(&mut self, advances: &[Advance]) -> Result<usize> {
        self.changes()?;
        let mut matched = 0;
        for a in advances {
            let expected = |t: &TriggerRow| t.state == a.expected_state.name() && t.next_ms == a.expected_next_ms;
            if !self.tables.triggers.get(&a.key).is_some_and(expected) {
                continue;
            }
            matched += 1;
            self.tables.triggers.change(&a.key, |t| {
                t.state = a.state.name().to_owned();
                t.next_ms = a.next_ms;
                t.previous_ms = a.previous_ms;
                t.start_ms = a.start_ms;
                t.schedule.set_counts(a.counts.clone());
            });
        }
        Ok(matched)
    }

    fn give_triggers(&mut self, from: &JobKey, to: &JobKey) -> Result<usize> {
        self.changes()?;
        let keys: Vec<TriggerKey> = self.tables.triggers.index.of_job(from).cloned().collect();
        Ok(keys.iter().filter(|key| self.tables.triggers.change(*key, |t| t.job = to.clone())).count())
    }

    fn candidates(&mut self, which: CandidateSelection<'_>) -> Result<Vec<Candidate>> {
        self.reads()?;
        let rows: Vec<&Arc<TriggerRow>> = match &which {
            CandidateSelection::Due(query) => self.due(query),
            CandidateSelection::Keys(keys) => keys.iter().filter_map(|key| self.tables.triggers.shared(key)).collect(),
        };
        let mut candidates = Vec::with_capacity(rows.len());
        candidates.extend(rows.into_iter().filter_map(|row| self.candidate(row)));
        Ok(candidates)
    }

    fn is_any_misfired(&mut self, threshold_ms: i64) -> Result<bool> {
        let before_ms = self.now_ms()?.saturating_sub(threshold_ms);
        self.reads()?;
        Ok(!self.misfired(before_ms, TriggerOrder::TimeThenPriority, 1, 0).is_empty())
    }
}

/// The order of group and name, as a database has it.
fn by_key(a: &TriggerRow, b: &TriggerRow) -> Ordering {
    (a.key.group(), a.key.name()).cmp(&(b.key.group(), b.key.name()))
}

/// Triggers of other kinds are left to nodes that know them.
fn is_fired_here(trigger: &TriggerRow) -> bool {
    Schedule::KINDS.contains(&trigger.kind.as_str())
}
