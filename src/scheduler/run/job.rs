//! `Job`: the code that runs.

use super::context::JobContext;
use super::job_error::{JobError, Outcome};
#[cfg(feature = "job-files")]
use crate::job_file::JobFlags;

/// Code that runs when a trigger fires.
///
/// One object serves all runs of its type, on several workers at a time; what belongs to one run is
/// in the context.
///
/// ```
/// use carnelian::{Job, JobContext, JobError, Outcome};
///
/// struct Greet;
///
/// impl Job for Greet {
///     fn execute(&self, ctx: &mut JobContext) -> Result<Outcome, JobError> {
///         let name = ctx.data().text("name").ok_or_else(|| JobError::new("no `name` in the data"))?;
///         println!("hello, {name}");
///         Ok(Outcome::Succeeded)
///     }
/// }
/// ```
#[doc(alias = "org.quartz.Job")]
pub trait Job: Send + Sync + 'static {
    /// Does the work. A panic is caught and counts as an error, of the class `panic`.
    ///
    /// # Errors
    /// Whatever goes wrong; what becomes of the trigger and of the work is chosen on the
    /// [`JobError`].
    fn execute(&self, ctx: &mut JobContext) -> Result<Outcome, JobError>;

    /// The flags of jobs of this type that come from a job file, which has no element for them:
    /// Java takes them from annotations of the class. A job that is stored by other means has its
    /// own.
    ///
    /// Default: unknown. A job that exists then keeps its flags, and a new one has none.
    #[doc(alias = "DisallowConcurrentExecution")]
    #[doc(alias = "PersistJobDataAfterExecution")]
    #[cfg(feature = "job-files")]
    fn flags(&self) -> Option<JobFlags> {
        None
    }
}

impl<F, O> Job for F
where
    F: Fn(&mut JobContext) -> Result<O, JobError> + Send + Sync + 'static,
    O: Into<Outcome>,
{
    fn execute(&self, ctx: &mut JobContext) -> Result<Outcome, JobError> {
        self(ctx).map(Into::into)
    }
}
