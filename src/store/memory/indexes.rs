//! The indexes of the memory store: triggers by the order in which they are acquired and by their
//! jobs, fired rows by what they belong to.

use super::journal::Index;
use crate::hash::{HashMap, HashSet};
use crate::key::{JobKey, TriggerKey};
use crate::store::row::{FiredRow, FiredState, TriggerRow};
use crate::trigger::TriggerState;
use std::cmp::Reverse;
use std::collections::btree_map::{BTreeMap, Range};
use std::iter::Peekable;
use std::ops::Bound;
use std::sync::Arc;

/// The place of a waiting trigger: earliest first, higher priority first among equals, then by key.
type Place = (i64, Reverse<i32>, TriggerKey);

/// Waiting triggers in order.
type Line = BTreeMap<Place, Arc<TriggerRow>>;

/// Triggers by state, by job, and, while they wait for a time, in the order in which they are
/// taken.
#[derive(Clone, Debug, Default)]
pub(super) struct TriggerIndex {
    /// Waiting triggers that the misfire handler takes when they are too late.
    in_time: Line,
    /// Waiting triggers that ignore misfires.
    at_any_time: Line,
    by_job: HashMap<JobKey, HashSet<TriggerKey>>,
    /// The number of triggers in each state. There are few states, but anybody may have written
    /// one.
    states: Vec<(String, usize)>,
}

impl TriggerIndex {
    fn line(&mut self, ignores_misfires: bool) -> &mut Line {
        if ignores_misfires { &mut self.at_any_time } else { &mut self.in_time }
    }

    /// Waiting triggers whose time is not after the first time, and not before the second unless
    /// they ignore misfires, in order.
    pub(super) fn waiting(&self, no_later_than_ms: i64, misfired_before_ms: i64) -> Waiting<'_> {
        Waiting {
            in_time: range(&self.in_time, misfired_before_ms, no_later_than_ms).peekable(),
            at_any_time: range(&self.at_any_time, i64::MIN, no_later_than_ms).peekable(),
        }
    }

    /// Waiting triggers that do not ignore misfires and are due before this, in order.
    pub(super) fn misfired(&self, before_ms: i64) -> impl Iterator<Item = &TriggerRow> {
        self.in_time.iter().take_while(move |((next_ms, ..), _)| *next_ms < before_ms).map(|(_, row)| &**row)
    }

    /// The keys of the triggers of a job, in no order.
    pub(super) fn of_job(&self, job: &JobKey) -> impl Iterator<Item = &TriggerKey> {
        self.by_job.get(job).into_iter().flatten()
    }

    /// Tells whether a job has triggers.
    pub(super) fn has_job(&self, job: &JobKey) -> bool {
        self.by_job.contains_key(job)
    }

    /// The number of triggers in each state that some are in.
    pub(super) fn states(&self) -> impl Iterator<Item = (&str, usize)> {
        self.states.iter().filter(|(_, count)| *count > 0).map(|(state, count)| (state.as_str(), *count))
    }
}

fn range(line: &Line, from_ms: i64, to_ms: i64) -> Range<'_, Place, Arc<TriggerRow>> {
    // The smallest key of all, with the highest priority: the bounds take whole times.
    let before = |ms: i64| (ms, Reverse(i32::MAX), TriggerKey::named(""));
    let end = to_ms.checked_add(1).map_or(Bound::Unbounded, |after_ms| Bound::Excluded(before(after_ms)));
    if from_ms > to_ms {
        return line.range(before(to_ms)..before(to_ms));
    }
    line.range((Bound::Included(before(from_ms)), end))
}

/// See [`TriggerIndex::waiting`].
pub(super) struct Waiting<'a> {
    in_time: Peekable<Range<'a, Place, Arc<TriggerRow>>>,
    at_any_time: Peekable<Range<'a, Place, Arc<TriggerRow>>>,
}

impl<'a> Iterator for Waiting<'a> {
    type Item = &'a Arc<TriggerRow>;

    fn next(&mut self) -> Option<&'a Arc<TriggerRow>> {
        let line = match (self.in_time.peek(), self.at_any_time.peek()) {
            (Some((a, _)), Some((b, _))) if b < a => &mut self.at_any_time,
            (None, _) => &mut self.at_any_time,
            _ => &mut self.in_time,
        };
        line.next().map(|(_, row)| row)
    }
}

/// The place at which a row waits; none unless the row waits for a time.
fn place(row: &TriggerRow) -> Option<Place> {
    let next_ms = row.next_ms.filter(|_| row.state == TriggerState::Waiting.name())?;
    Some((next_ms, Reverse(row.priority), row.key.clone()))
}

impl Index<TriggerKey, TriggerRow> for TriggerIndex {
    fn enter(&mut self, key: &TriggerKey, row: &Arc<TriggerRow>) {
        if let Some(place) = place(row) {
            self.line(row.misfire == -1).insert(place, Arc::clone(row));
        }
        match self.by_job.get_mut(&row.job) {
            Some(keys) => drop(keys.insert(key.clone())),
            None => drop(self.by_job.insert(row.job.clone(), HashSet::from_iter([key.clone()]))),
        }
        match self.states.iter_mut().find(|(state, _)| *state == row.state) {
            Some((_, count)) => *count += 1,
            None => self.states.push((row.state.clone(), 1)),
        }
    }

    fn leave(&mut self, key: &TriggerKey, row: &TriggerRow) {
        if let Some(place) = place(row) {
            self.line(row.misfire == -1).remove(&place);
        }
        if let Some(keys) = self.by_job.get_mut(&row.job) {
            keys.remove(key);
            if keys.is_empty() {
                self.by_job.remove(&row.job);
            }
        }
        if let Some((_, count)) = self.states.iter_mut().find(|(state, _)| *state == row.state) {
            *count -= 1;
        }
    }
}

/// Fired rows by their triggers, those that are reserved by their times, and how many each job has.
#[derive(Clone, Debug, Default)]
pub(super) struct FiredIndex {
    by_trigger: HashMap<TriggerKey, Vec<Arc<FiredRow>>>,
    reserved: BTreeMap<(i64, String), Arc<FiredRow>>,
    of_jobs: HashMap<JobKey, OfJob>,
}

#[derive(Clone, Debug, Default)]
struct OfJob {
    rows: usize,
    executing: usize,
    /// Of those that are executing, how many let no other run beside them.
    alone: usize,
}

impl FiredIndex {
    /// The fired rows of a trigger, in no order.
    pub(super) fn of_trigger(&self, trigger: &TriggerKey) -> impl Iterator<Item = &FiredRow> {
        self.by_trigger.get(trigger).into_iter().flatten().map(|row| &**row)
    }

    /// The executing fires of a trigger for this job.
    pub(super) fn executing_of(&self, trigger: &TriggerKey, job: &JobKey) -> impl Iterator<Item = &FiredRow> {
        self.of_trigger(trigger).filter(move |row| row.state == FiredState::Executing && row.job.as_ref() == Some(job))
    }

    /// The acquired fired rows, earliest first.
    pub(super) fn reserved(&self) -> impl Iterator<Item = &FiredRow> {
        self.reserved.values().map(|row| &**row)
    }

    /// Tells whether a job has fired rows that name it.
    pub(super) fn has_job(&self, job: &JobKey) -> bool {
        self.of_jobs.contains_key(job)
    }

    /// Tells whether a fire of a job is executing.
    pub(super) fn is_executing(&self, job: &JobKey) -> bool {
        self.of_jobs.get(job).is_some_and(|its| its.executing > 0)
    }

    /// Tells whether a fire of a job is executing that lets no other run beside it.
    pub(super) fn is_executing_alone(&self, job: &JobKey) -> bool {
        self.of_jobs.get(job).is_some_and(|its| its.alone > 0)
    }
}

impl Index<Arc<str>, FiredRow> for FiredIndex {
    fn enter(&mut self, _: &Arc<str>, row: &Arc<FiredRow>) {
        match self.by_trigger.get_mut(&row.trigger) {
            Some(rows) => rows.push(Arc::clone(row)),
            None => drop(self.by_trigger.insert(row.trigger.clone(), vec![Arc::clone(row)])),
        }
        if row.state == FiredState::Acquired {
            self.reserved.insert((row.scheduled_ms, row.fire_id.clone()), Arc::clone(row));
        }
        if let Some(job) = &row.job {
            let (executing, alone) = counted(row);
            match self.of_jobs.get_mut(job) {
                Some(its) => {
                    (its.rows, its.executing, its.alone) = (its.rows + 1, its.executing + executing, its.alone + alone);
                }
                None => drop(self.of_jobs.insert(job.clone(), OfJob { rows: 1, executing, alone })),
            }
        }
    }

    fn leave(&mut self, id: &Arc<str>, row: &FiredRow) {
        if let Some(rows) = self.by_trigger.get_mut(&row.trigger) {
            rows.retain(|one| *one.fire_id != **id);
            if rows.is_empty() {
                self.by_trigger.remove(&row.trigger);
            }
        }
        if row.state == FiredState::Acquired {
            self.reserved.remove(&(row.scheduled_ms, id.to_string()));
        }
        let Some(job) = &row.job else { return };
        if let Some(its) = self.of_jobs.get_mut(job) {
            its.rows -= 1;
            let (executing, alone) = counted(row);
            its.executing -= executing;
            its.alone -= alone;
            if its.rows == 0 {
                self.of_jobs.remove(job);
            }
        }
    }
}

/// The amounts that a fire adds to the executing fires, and to those of them that run alone.
fn counted(row: &FiredRow) -> (usize, usize) {
    let is_executing = row.state == FiredState::Executing;
    (usize::from(is_executing), usize::from(is_executing && row.nonconcurrent))
}
