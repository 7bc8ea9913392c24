//! `Acquisition`: what a node asks for when it has free workers, and what it gets.

use super::completion::{Completion, CompletionReport};
use super::fire_bundle::FireBundle;
use super::skipped::SkippedFires;
use crate::error::Error;
use crate::key::TriggerKey;
use crate::store::row::Parked;
use crate::trigger::Trigger;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The request of a node that has free workers.
#[derive(Clone, Debug)]
pub struct AcquireRequest<'a> {
    /// At most so many triggers: as many as there are free workers, and as may wait for one.
    pub max: usize,
    /// The triggers that may wait for a worker; none if there is a free worker for each.
    pub prefetch: Option<PrefetchRequest<'a>>,
    /// The time ahead of which a trigger may be reserved.
    pub look_ahead_ms: i64,
    /// `batchTriggerAcquisitionFireAheadTimeWindow`: how much before its time a trigger may be
    /// fired with others.
    pub fire_ahead_ms: i64,
    /// The job types this node can run.
    pub job_types: &'a [String],
    /// Triggers this node leaves alone since it cannot read them, or their strategy had no answer.
    pub quarantined: &'a BTreeSet<TriggerKey>,
}

/// The fires that a node may take beyond its free workers.
#[derive(Clone, Copy, Debug)]
pub struct PrefetchRequest<'a> {
    /// Workers with nothing to do: for so many of the triggers, whatever their jobs.
    pub free: usize,
    /// Workers that have no job that may be long. Nothing waits if there are none.
    pub quick: usize,
    /// The job types whose recent runs on this node were short: only these are taken beyond the
    /// free workers.
    pub short: &'a BTreeSet<String>,
}

/// The result of an acquisition.
#[derive(Debug, Default)]
pub struct Acquisition {
    /// The store's time at the acquisition, epoch milliseconds.
    pub now_ms: i64,
    /// Fires that have begun: run them.
    pub fired: Vec<FireBundle>,
    /// Triggers reserved until their time, earliest first: fire or release them.
    pub reserved: Vec<Reservation>,
    /// Triggers that could not be read, or for whose tick their strategy has no answer, with the
    /// reason: leave them alone and name them.
    pub unreadable: Vec<(TriggerKey, String)>,
    /// Ticks whose parts cannot be stored: they are set aside until somebody has looked at them.
    pub parked: Vec<Parked>,
    /// The earliest time of those that are fired when they are due, and not reserved before: a node
    /// of Quartz may hold them, there is a limit for their group, or they are ticks. Epoch
    /// milliseconds.
    pub unreserved_ms: Option<i64>,
    /// Times that were left out.
    pub skipped: Vec<SkippedFires>,
    /// Triggers of whose times some were older than their catch-up windows, as they were before.
    pub misfired: Vec<Trigger>,
    /// Triggers whose fire waits for the end of the runs before it.
    pub waiting: Vec<TriggerKey>,
    /// Executing fires that are to be asked to stop, on whichever node they are.
    pub cancelled: Vec<String>,
    /// A part of the acquisition failed: fires may have begun of which this does not tell. See
    /// [`Upkeep::recover_forgotten`].
    ///
    /// [`Upkeep::recover_forgotten`]: crate::store::Upkeep::recover_forgotten
    pub is_in_doubt: bool,
    /// The rest that was taken, if the store says so as soon as it can be asked: see
    /// [`Firing::settle_doubt`].
    ///
    /// [`Firing::settle_doubt`]: crate::store::Firing::settle_doubt
    pub doubt: Option<Box<Doubt>>,
    /// The number of due triggers that another node was faster to take. There may be more.
    pub overtaken: usize,
    /// The number of ticks that were fanned out over several nodes: there may be a part for this
    /// one.
    pub fanned_out: usize,
    /// The number of triggers that were left, since they are taken for free workers only.
    pub withheld: usize,
    /// Triggers that will not fire again, since their last times were left out.
    pub finalized: Vec<TriggerKey>,
    /// The number of keys of a backlog in order that are done with.
    pub(super) passed: usize,
}

/// A trigger reserved for this node until its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The id of the fired row.
    pub fire_id: String,
    /// The trigger.
    pub trigger: TriggerKey,
    /// The type of its job.
    pub job_type: Arc<str>,
    /// The time of the fire, epoch milliseconds.
    pub scheduled_ms: i64,
    /// The trigger may be fired in the store shortly before its time, so that its job begins just
    /// then. Not so a trigger whose fire depends on what runs at that time.
    pub may_precommit: bool,
}

/// An acquisition of which it is not known whether it was committed: the answer was lost, and the
/// store could not be asked.
///
/// Nobody else has a right to it while its owner lives: the fires in it have not begun, and must if
/// their rows are there.
#[derive(Debug)]
pub struct Doubt {
    /// The fires and reservations that were taken.
    pub acquisition: Acquisition,
    /// The ends that the same transaction was to record.
    pub ended: Vec<Completion>,
    /// The report on those ends.
    pub recorded: CompletionReport,
    /// The fires wait for their times.
    pub precommits: bool,
    /// The error of the last question.
    pub error: Error,
}
