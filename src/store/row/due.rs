//! Triggers that may fire: how they are searched, found and written back.

use super::counts::Counts;
use super::job::JobRow;
use super::placement::Exclusions;
use super::recovery::RecoveryRow;
use super::trigger::TriggerRow;
use super::types::TypeVersions;
use crate::key::TriggerKey;
use crate::trigger::{TriggerOrder, TriggerState};
use std::sync::Arc;

/// A trigger that may fire, with all that decides whether it does and all that its job will see.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The trigger.
    pub trigger: Arc<TriggerRow>,
    /// The job.
    pub job: Arc<JobRow>,
    /// True if a fire of the job is executing anywhere.
    pub job_is_executing: bool,
    /// True if a fire of the trigger, for this job, is executing anywhere; asked only of triggers
    /// with options.
    pub trigger_is_executing: bool,
    /// True if other jobs follow its runs.
    pub job_is_followed: bool,
    /// Present if the trigger is a recovery trigger that one of our nodes made.
    pub recovery: Option<RecoveryRow>,
}

/// The changes of a trigger's row when the trigger fires, misfires or is resumed.
#[derive(Clone, Debug, PartialEq)]
pub struct Advance {
    /// The key.
    pub key: TriggerKey,
    /// The row must be in this state, or nothing is written.
    pub expected_state: TriggerState,
    /// The row must have this next fire time, or nothing is written: a trigger that somebody took
    /// and put back in between is not the one that was read.
    pub expected_next_ms: Option<i64>,
    /// The state.
    pub state: TriggerState,
    /// `NEXT_FIRE_TIME`.
    pub next_ms: Option<i64>,
    /// `PREV_FIRE_TIME`.
    pub previous_ms: Option<i64>,
    /// `START_TIME`.
    pub start_ms: i64,
    /// The counts in the table of its kind.
    pub counts: Option<Counts>,
    /// True if the options of the trigger, which are known by its start, follow it to this one.
    pub moves_options: bool,
}

/// The candidates that are read, and their order.
#[derive(Clone, Debug)]
pub enum CandidateSelection<'a> {
    /// The triggers in state `WAITING` that are due, in the order of the query.
    Due(DueQuery<'a>),
    /// These triggers, whatever their state, in no order.
    Keys(&'a [TriggerKey]),
}

/// The conditions of a search for due triggers.
#[derive(Clone, Debug)]
pub struct DueQuery<'a> {
    /// Only triggers due up to here.
    pub no_later_than_ms: i64,
    /// Triggers due before this are the misfire handler's, unless they ignore misfires.
    pub misfired_before_ms: i64,
    /// Only jobs of these types.
    pub job_types: &'a [String],
    /// Of the types that are not here, only jobs whose data are of the first version; of these, up
    /// to the one given.
    pub versions: &'a TypeVersions,
    /// The triggers that are left to others for now.
    pub excluded: &'a Exclusions,
    /// Only these triggers, if given.
    pub among: Option<&'a [TriggerKey]>,
    /// The order, which says which triggers come first.
    pub order: TriggerOrder,
    /// The store's time: with [`TriggerOrder::PriorityThenTime`] what is not due yet comes after
    /// all that is.
    pub now_ms: i64,
    /// At most so many.
    pub limit: usize,
    /// Leaving out the first so many.
    pub offset: usize,
}
