//! `FireOutcome`: what became of a fire.

use crate::words::display;

/// The outcome of a fire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FireOutcome {
    /// The job returned without an error.
    #[default]
    Succeeded,
    /// The job returned an error, panicked, or is not known here.
    Failed,
    /// The job ended because somebody asked it to.
    Cancelled,
    /// The job ended because it took too long, or made no progress.
    TimedOut,
    /// The job ended because its node did.
    Interrupted,
    /// The node lost the fire before its job had ended.
    Lost,
    /// A trigger listener said no, to the only run or to one that the job had asked for again.
    Vetoed,
    /// The trigger could not fire in time, and its misfire instruction was applied instead.
    Misfired,
    /// The fire has not ended. Only among rows of the history that were asked for with
    /// [`HistoryQuery::running`](crate::history::HistoryQuery::running); nothing ends with it.
    Running,
}

impl FireOutcome {
    /// All that a fire can end with.
    pub const ALL: [FireOutcome; 8] = [
        FireOutcome::Succeeded,
        FireOutcome::Failed,
        FireOutcome::Cancelled,
        FireOutcome::TimedOut,
        FireOutcome::Interrupted,
        FireOutcome::Lost,
        FireOutcome::Vetoed,
        FireOutcome::Misfired,
    ];

    /// The ends that somebody should look at.
    // For the command line; carries no promise.
    #[doc(hidden)]
    pub const BAD: [FireOutcome; 3] = [FireOutcome::Failed, FireOutcome::TimedOut, FireOutcome::Lost];

    /// The word used in logs, in the history and as the metric label.
    pub fn name(self) -> &'static str {
        match self {
            FireOutcome::Succeeded => "succeeded",
            FireOutcome::Failed => "failed",
            FireOutcome::Cancelled => "cancelled",
            FireOutcome::TimedOut => "timed_out",
            FireOutcome::Interrupted => "interrupted",
            FireOutcome::Lost => "lost",
            FireOutcome::Vetoed => "vetoed",
            FireOutcome::Misfired => "misfired",
            FireOutcome::Running => "running",
        }
    }

    /// The outcome of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().chain([FireOutcome::Running]).find(|outcome| outcome.name() == name)
    }
}

display! { FireOutcome => |outcome| outcome.name() }
