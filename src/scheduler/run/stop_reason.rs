//! `StopReason`: why a running job is asked to stop.

use crate::words::words;

/// Why a run is asked to stop. The first reason stays; only the loss of the fire takes the place of
/// another.
///
/// All of them reach the job in the same way:
/// [`JobContext::should_stop`](crate::JobContext::should_stop) becomes true and
/// [`JobContext::wait`](crate::JobContext::wait) returns. A job that ends because of it is recorded
/// by the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum StopReason {
    /// Somebody asked: [`Scheduler::interrupt`](crate::Scheduler::interrupt),
    /// [`Scheduler::cancel_fire`](crate::Scheduler::cancel_fire), or `carnelian cancel`. Or the
    /// next fire of the trigger is due, and its overlap is
    /// [`Overlap::CancelPrevious`](crate::Overlap::CancelPrevious).
    Cancelled,
    /// The job was paused, with the wish that its runs stop:
    /// [`Scheduler::pause_job_and_stop`](crate::Scheduler::pause_job_and_stop), or `carnelian job
    /// pause --stop`.
    Paused,
    /// The run takes longer than its [timeout](crate::JobPolicy::timeout).
    TimedOut,
    /// The run makes no progress, and its policy says
    /// [`StuckAction::Cancel`](crate::StuckAction::Cancel).
    Stuck,
    /// The node is drained, and what it runs is to stop:
    /// [`Scheduler::drain_and_stop`](crate::Scheduler::drain_and_stop).
    Drained,
    /// The node ends.
    Shutdown,
    /// The fire belongs to another node now, or may do so by now.
    OwnershipLost,
}

words! {
    /// The words used in logs.
    StopReason {
        Cancelled = "cancelled",
        Paused = "paused",
        TimedOut = "timed out",
        Stuck = "stuck",
        Drained = "drained",
        Shutdown = "shutdown",
        OwnershipLost = "ownership lost",
    }
}

impl StopReason {
    /// The work is over, whatever the job says: somebody wanted so.
    pub(crate) fn ends_work(self) -> bool {
        matches!(self, StopReason::Cancelled | StopReason::Paused)
    }

    /// The cause as an order to stop says it.
    pub(crate) fn of_order(who: &str) -> Self {
        if crate::store::is_order_of_pause(who) { StopReason::Paused } else { StopReason::Cancelled }
    }
}
