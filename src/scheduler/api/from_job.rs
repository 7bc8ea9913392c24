//! The scheduler as its own jobs reach it.

use super::handle::{Inner, Scheduler};
use crate::error::{Error, Result};
use crate::scheduler::run::context::JobContext;

impl JobContext {
    /// The scheduler this runs on, to schedule other work or to ask about it.
    ///
    /// # Errors
    /// [`Error::ShutDown`] if the application has let go of it.
    #[doc(alias = "getScheduler")]
    pub fn scheduler(&self) -> Result<Scheduler> {
        let handle = self.node.handle.upgrade().and_then(|handle| handle.downcast::<Inner>().ok());
        let inner = handle.ok_or_else(|| Error::ShutDown(self.scheduler_name().to_owned()))?;
        Ok(Scheduler::of(inner))
    }
}
