//! Selections of the triggers, fires, jobs and continuations that a session reads or changes.

use super::due::DueQuery;
use crate::job::JobFilter;
use crate::key::{JobKey, TriggerKey};
use crate::trigger::{TriggerOrder, TriggerState};

/// The triggers that a change of state is for.
#[derive(Clone, Copy, Debug)]
pub enum Selection<'a> {
    /// These triggers.
    Triggers(&'a [TriggerKey]),
    /// All triggers of these jobs.
    Jobs(&'a [JobKey]),
    /// All triggers of these groups.
    Groups(&'a [String]),
}

/// The triggers that are read, and their order.
#[derive(Clone, Copy, Debug)]
pub enum TriggerSelection<'a> {
    /// Every trigger, in order of group and name.
    All,
    /// The triggers of these keys that exist, in no order.
    Keys(&'a [TriggerKey]),
    /// The triggers of a job, in order of group and name.
    OfJob(&'a JobKey),
    /// The triggers of these jobs, in no order.
    OfJobs(&'a [JobKey]),
    /// The triggers of these groups, in no order.
    OfGroups(&'a [String]),
    /// The triggers that name a calendar, in order of group and name.
    OfCalendar(&'a str),
    /// The triggers of the group of parts whose names begin so, in order.
    Parts(&'a str),
    /// The triggers among these that are `WAITING` for these times and that nobody else holds. The
    /// session holds them: nobody can change them before the transaction ends.
    FreeWaiting(&'a [(TriggerKey, i64)]),
    /// Triggers in state `WAITING` with a time from the first time to the second, at most so many,
    /// earliest first.
    Waiting(i64, i64, usize),
    /// The triggers that a search for due triggers finds, in its order; whole rows in no order.
    Due(&'a DueQuery<'a>),
    /// Triggers in one of these states, at most so many, in no order.
    InStates(&'a [TriggerState], usize),
    /// Triggers in state `WAITING`, due before `before_ms`, that do not ignore misfires, earliest
    /// first. A trigger that waits without a time, since a new calendar left it none, waits for
    /// another calendar.
    Misfired {
        /// Only triggers due before this.
        before_ms: i64,
        /// The order, which says which triggers come first.
        order: TriggerOrder,
        /// At most so many.
        limit: usize,
        /// Leaving out the first so many.
        offset: usize,
    },
}

/// The fired rows that are read, and their order.
///
/// A job may hold the row of its fire in a transaction of its own. Nobody waits for such a row
/// under a lock of the cluster: a selection of free rows passes over the row, and the row is looked
/// at again. A database without `SKIP LOCKED` waits for it.
#[derive(Clone, Copy, Debug)]
pub enum FiredSelection<'a> {
    /// Every row, in order of the times of the fires.
    All,
    /// At most so many rows behind this time of a fire and this id, in this order.
    Behind(i64, &'a str, usize),
    /// The rows of these ids that are there, in no order.
    Ids(&'a [String]),
    /// As [`FiredSelection::Ids`], without rows that somebody else holds. The session holds the
    /// rows from then on.
    FreeIds(&'a [String]),
    /// The row of this id, if it is there; nobody can delete it before the transaction ends.
    Held(&'a str),
    /// The rows of an instance, in order of the scheduled times.
    OfInstance(&'a str),
    /// The first so many rows of an instance, in this order, without those that somebody else
    /// holds. The session holds the rows from then on.
    FreeOfInstance(&'a str, usize),
    /// The acquired rows, in no order.
    Acquired,
    /// The acquired rows that nodes of Quartz have of these triggers, in no order.
    AcquiredByQuartz(&'a [TriggerKey]),
    /// The acquired rows that nodes of ours, other than `instance`, have for a time before
    /// `before_ms`, earliest first.
    Overdue {
        /// The instance that asks.
        instance: &'a str,
        /// Only scheduled times before this.
        before_ms: i64,
        /// At most so many.
        limit: usize,
    },
    /// The executing fires of these triggers, each for this job only, in no order.
    ExecutingOfTriggers(&'a [(TriggerKey, JobKey)]),
    /// The executing fires of a job, in no order.
    ExecutingOfJob(&'a JobKey),
}

/// The acquired rows of our own nodes that are deleted. The rows of nodes of Quartz stay: such a
/// node never looks for its row, and deletes it itself.
#[derive(Clone, Copy, Debug)]
pub enum ReservationSelection<'a> {
    /// The reservations of these triggers.
    Triggers(&'a [TriggerKey]),
    /// The reservations of those triggers of these jobs that are blocked.
    BlockedOf(&'a [JobKey]),
}

/// The jobs that are read, and their order. The data of the jobs are left out, except where a
/// selection says otherwise.
#[derive(Clone, Copy, Debug)]
pub enum JobSelection<'a> {
    /// Every job, in order of group and name.
    All,
    /// The job of this key, with its data.
    Key(&'a JobKey),
    /// The jobs of these keys that exist, in no order.
    Keys(&'a [JobKey]),
    /// As [`JobSelection::Keys`], with their data.
    Whole(&'a [JobKey]),
    /// The jobs that the filter asks for by marks, whatever their groups, in order of group and
    /// name.
    Marked(&'a JobFilter),
    /// The jobs whose policies have this word in them, in order of group and name.
    WithPolicyWord(&'a str),
}

/// The rows whose groups are read.
#[derive(Clone, Copy, Debug)]
pub enum Grouped {
    /// The jobs.
    Jobs,
    /// The triggers.
    Triggers,
}

/// The continuations that are read, in no order.
#[derive(Clone, Copy, Debug)]
pub enum ContinuationSelection<'a> {
    /// Every continuation.
    All,
    /// The continuations that these jobs are parents of.
    ChildrenOf(&'a [JobKey]),
    /// The continuations that these jobs are children of.
    ParentsOf(&'a [JobKey]),
}
