//! `Outcome` and `JobError`: what a job says of its run at the end.

use crate::job::RetryHint;
use crate::setters::setters;
use crate::words::display;
use std::time::Duration;

/// The end of a run that did not fail. `Ok(())` of a function is [`Outcome::Succeeded`].
///
/// ```
/// use carnelian::{JobContext, JobError, Outcome};
/// use std::time::Duration;
///
/// fn watch(ctx: &mut JobContext) -> Result<Outcome, JobError> {
///     while ctx.wait(Duration::from_secs(1)) {
///         // … look …
///     }
///     Ok(Outcome::Stopped) // `wait` has said so
/// }
/// # let _ = carnelian::Scheduler::builder().job_fn("watch", watch);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The work is done, whether or not the run was asked to stop.
    #[default]
    Succeeded,
    /// The work is not done: the run ended because it was [asked to
    /// stop](crate::JobContext::stop_reason). The history has it as cancelled, timed out,
    /// interrupted or lost, by the reason. If the node ends, and the job requests recovery or has a
    /// [`RetryPolicy`](crate::RetryPolicy), the work goes on elsewhere at once, with its checkpoint
    /// and the same attempt.
    Stopped,
    /// The run is over, and the work is to go on after this time, on whichever node, with its
    /// checkpoint and the same attempt. The run is recorded as succeeded. If somebody cancelled the
    /// run, or paused its job and wanted its runs to stop, it is recorded as cancelled, and the
    /// work is over.
    Again(Duration),
}

impl From<()> for Outcome {
    fn from((): ()) -> Self {
        Outcome::Succeeded
    }
}

/// Why a run failed, and what is to become of it and its triggers.
///
/// Any error converts into one with `?`.
#[doc(alias = "JobExecutionException")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobError {
    message: String,
    refire_immediately: bool,
    unschedule_firing_trigger: bool,
    unschedule_all_triggers: bool,
    stopped: bool,
    pub(crate) retry_hint: RetryHint,
}

impl JobError {
    /// A failure after which the trigger goes on as scheduled. The
    /// [`RetryPolicy`](crate::RetryPolicy) of the job says whether the work is tried again.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            refire_immediately: false,
            unschedule_firing_trigger: false,
            unschedule_all_triggers: false,
            stopped: false,
            retry_hint: RetryHint::default(),
        }
    }

    /// Runs the job again at once, in the same fire; goes before the other two. A run that was
    /// asked to stop is not run again, and after 10,000 repetitions in one fire the run has failed.
    pub fn refire_immediately(mut self) -> Self {
        self.refire_immediately = true;
        self
    }

    /// The trigger of this fire is not to fire again.
    pub fn unschedule_firing_trigger(mut self) -> Self {
        self.unschedule_firing_trigger = true;
        self
    }

    /// No trigger of this job is to fire again.
    pub fn unschedule_all_triggers(mut self) -> Self {
        self.unschedule_all_triggers = true;
        self
    }

    /// The run failed for a reason that does not pass: it is not run again, whatever its
    /// [`RetryPolicy`](crate::RetryPolicy) says.
    pub fn permanent(mut self) -> Self {
        self.retry_hint.permanent = true;
        self
    }

    setters! {
        /// The work is to be run again after this time, as a server that asked to be left alone for
        /// a while would have it. The time takes the place of the delay of the policy, and counts
        /// as an attempt; a job without a policy is run three times.
        pub fn retry_after(time: Duration) { self.retry_hint.after = Some(time) }

        /// The kind of the failure, for [`RetryPolicy::on_class`](crate::RetryPolicy::on_class). A
        /// panic has the class `panic`. Default: none.
        pub fn class(name: impl Into<String>) { self.retry_hint.class = Some(name.into()) }
    }

    /// The run ended because it was asked to stop, as with [`Outcome::Stopped`]; for code that gets
    /// out by `?`.
    pub fn stopped() -> Self {
        Self { stopped: true, ..Self::new("stopped: it was asked to") }
    }

    /// True if the run ended because it was asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// This error with another message: `JobError::stopped().with_message("after 17 of 40 files")`.
    pub fn with_message(self, message: impl Into<String>) -> Self {
        Self { message: message.into(), ..self }
    }

    /// The message of the failure.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// True if the job is to run again at once.
    pub fn wants_refire(&self) -> bool {
        self.refire_immediately
    }

    /// True if the trigger of this fire is not to fire again.
    pub fn wants_firing_trigger_unscheduled(&self) -> bool {
        self.unschedule_firing_trigger
    }

    /// True if no trigger of this job is to fire again.
    pub fn wants_all_triggers_unscheduled(&self) -> bool {
        self.unschedule_all_triggers
    }
}

display! { JobError => |error| &error.message }

/// The message of the error and of what caused it, one after the other.
impl<E: std::error::Error> From<E> for JobError {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        for _ in 0..10 {
            let Some(cause) = source else { break };
            message = format!("{message}: {cause}");
            source = cause.source();
        }
        Self::new(message)
    }
}
