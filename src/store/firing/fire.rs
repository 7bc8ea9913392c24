//! Fire: reserved triggers whose time has come begin to execute.

use super::{FireBundle, Reservation};
use crate::error::Result;
use crate::store::{JobStore, Owner};

impl JobStore {
    /// Fires reserved triggers. Those that were paused, changed or taken away meanwhile are given back and missing in
    /// the answer.
    ///
    /// # Errors
    /// [`Error::Fenced`](crate::Error::Fenced) if `owner` is not registered.
    pub fn fire(&self, owner: &Owner, reservations: &[Reservation]) -> Result<Vec<FireBundle>> {
        let _ = (owner, reservations);
        todo!()
    }
}
