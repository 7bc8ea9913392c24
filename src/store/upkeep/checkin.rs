//! Check-in: say "I am alive", learn who is not, learn whether we were thought dead.

use super::{Checkin, Membership};
use crate::error::Result;
use crate::store::{JobStore, Owner};

impl JobStore {
    /// One check-in: the own row in a short transaction; then, if this is the first or somebody is suspected, under the
    /// locks, a second look and one transaction per failed instance.
    pub fn check_in(&self, me: &mut Membership) -> Result<Checkin> {
        let _ = me;
        todo!()
    }

    /// Leaves the cluster after the last fire: gives back what is acquired, recovers what is left executing, and
    /// deletes the own rows.
    pub fn leave(&self, owner: &Owner) -> Result<()> {
        let _ = owner;
        todo!()
    }
}
