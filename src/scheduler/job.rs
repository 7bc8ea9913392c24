//! `Job`: the code that runs; and `JobError`: what it may say when it fails.

use super::context::JobContext;
use crate::job_file::JobFlags;
use std::fmt;

/// Code that runs when a trigger fires.
///
/// One object serves all runs of its type, on several workers at a time; what belongs to one run is in the context.
///
/// ```
/// use carnelian::{Job, JobContext, JobError};
///
/// struct Greet;
///
/// impl Job for Greet {
///     fn execute(&self, ctx: &mut JobContext) -> Result<(), JobError> {
///         let name = ctx.data().text("name").ok_or_else(|| JobError::new("no `name` in the data"))?;
///         println!("hello, {name}");
///         Ok(())
///     }
/// }
/// ```
#[doc(alias = "org.quartz.Job")]
pub trait Job: Send + Sync + 'static {
    /// Does the work. A panic is caught and counts as an error.
    ///
    /// # Errors
    /// Whatever goes wrong; what becomes of the trigger is chosen on the [`JobError`].
    fn execute(&self, ctx: &mut JobContext) -> Result<(), JobError>;

    /// The flags of jobs of this type that come from a job file, which has no element for them: Java takes them from
    /// annotations of the class. A job that is stored by other means has its own.
    ///
    /// Default: unknown. A job that exists then keeps its flags, and a new one has none.
    #[doc(alias = "DisallowConcurrentExecution")]
    #[doc(alias = "PersistJobDataAfterExecution")]
    fn flags(&self) -> Option<JobFlags> {
        None
    }
}

impl<F> Job for F
where
    F: Fn(&mut JobContext) -> Result<(), JobError> + Send + Sync + 'static,
{
    fn execute(&self, ctx: &mut JobContext) -> Result<(), JobError> {
        self(ctx)
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
}

impl JobError {
    /// A failure after which the trigger goes on as scheduled.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            refire_immediately: false,
            unschedule_firing_trigger: false,
            unschedule_all_triggers: false,
        }
    }

    /// Runs the job again at once, in the same fire; goes before the other two.
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

    /// The same with another message.
    pub(crate) fn with_message(self, message: String) -> Self {
        Self { message, ..self }
    }

    /// What went wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the job is to run again at once.
    pub fn wants_refire(&self) -> bool {
        self.refire_immediately
    }

    /// Whether the trigger of this fire is not to fire again.
    pub fn wants_firing_trigger_unscheduled(&self) -> bool {
        self.unschedule_firing_trigger
    }

    /// Whether no trigger of this job is to fire again.
    pub fn wants_all_triggers_unscheduled(&self) -> bool {
        self.unschedule_all_triggers
    }
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

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
