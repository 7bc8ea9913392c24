//! Acquire: take due triggers, fire what is due now, reserve what is due soon.

use super::{AcquireRequest, Acquisition};
use crate::error::Result;
use crate::store::{JobStore, Owner};

impl JobStore {
    /// The store's time, and the earliest time at which there is something to acquire; takes no lock.
    pub fn earliest_due(&self, job_types: &[String]) -> Result<(i64, Option<i64>)> {
        let _ = job_types;
        todo!()
    }

    /// Takes due triggers: those due now are fired, those due within the look-ahead are reserved.
    ///
    /// # Errors
    /// [`Error::Fenced`](crate::Error::Fenced) if `owner` is not registered: it was declared dead.
    pub fn acquire(&self, owner: &Owner, request: &AcquireRequest<'_>) -> Result<Acquisition> {
        let _ = (owner, request);
        todo!()
    }
}
