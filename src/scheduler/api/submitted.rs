//! The state of submitted work, by its request id.

use super::handle::Scheduler;
use crate::error::Result;
use crate::store::SubmittedWork;

impl Scheduler {
    /// The work that was [submitted](Scheduler::submit) with this request id, or scheduled by
    /// `carnelian schedule --request-id`, by whichever process;
    /// none if nothing was, or if the id is forgotten: seven days after it was taken, and not
    /// before the work is over.
    ///
    /// ```
    /// use carnelian::{Scheduler, Submission};
    ///
    /// let scheduler = Scheduler::builder().build()?;
    /// scheduler.submit(Submission::new("mail").request_id("order-17"))?;
    /// let work = scheduler.submission("order-17")?.expect("it was submitted");
    /// assert_eq!(work.state.name(), "pending");
    /// assert!(scheduler.submission("order-18")?.is_none());
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for an id that cannot be stored, and what can go
    /// wrong with the store.
    pub fn submission(&self, request_id: &str) -> Result<Option<SubmittedWork>> {
        self.open_store()?.diagnosis().submission(request_id)
    }
}
