//! `SubmissionState`: how far submitted work has come.

use super::outcome::FireOutcome;
use crate::words::display;

/// The state of submitted work, see [`Scheduler::submission`](crate::Scheduler::submission).
///
/// In the words of task tables with `INITIAL`, `RUNNING`, `INTERRUPTED` and `FAILED`: `Pending`,
/// `Following`, `Paused` and `Parked` are `INITIAL`, `Running` is `RUNNING`, `Retrying` is `FAILED`
/// or `INTERRUPTED`, as the last run has ended; `Ended` with `Succeeded` is done, and with another
/// outcome it is `FAILED` for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubmissionState {
    /// The work waits for its time, or for a worker.
    Pending,
    /// The work waits for the end of other work that it
    /// [follows](crate::Submission::then).
    Following,
    /// The work is paused.
    Paused,
    /// A run goes on.
    Running,
    /// A run has failed or was interrupted, and the next waits.
    Retrying,
    /// The work is set aside until somebody has looked at it, see
    /// [`Scheduler::parked`](crate::Scheduler::parked).
    Parked,
    /// The work is over; its last run had this outcome.
    Ended(FireOutcome),
    /// The work is over, was deleted, or was dropped since the work before it ended otherwise, and
    /// the history does not say how: it has no run of the work, or keeps none that succeed
    /// (`carnelian.history.record`).
    Gone,
}

impl SubmissionState {
    /// The word used in texts: `pending`, `following`, `paused`, `running`, `retrying`, `parked`,
    /// `gone`, or the name of the outcome.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Following => "following",
            Self::Paused => "paused",
            Self::Running => "running",
            Self::Retrying => "retrying",
            Self::Parked => "parked",
            Self::Ended(outcome) => outcome.name(),
            Self::Gone => "gone",
        }
    }

    /// True if no run of the work goes on or waits.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Ended(_) | Self::Gone)
    }
}

display! { SubmissionState => |state| state.name() }
