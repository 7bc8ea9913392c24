//! Operations inside a transaction of the caller's: the end of a fire, the proof that a fire is
//! still held, new work.

use super::{Completion, CompletionOutcome};
use crate::error::{Error, Result};
use crate::store::callers::CallersConnection;
use crate::store::transaction::fenced_fire;
use crate::store::{Firing, Join};

impl Firing<'_> {
    /// Records the end of a fire inside the caller's transaction: what the job wrote there and the
    /// end of its fire are committed together, or neither is. The effect of the fire therefore
    /// happens exactly once if its job asks for recovery, else at most once.
    ///
    /// # Errors
    /// [`Error::Fenced`] if the fire belongs to another node by now; [`Error::Refused`] if there is
    /// no transaction, or the connection is to another kind of database. The caller rolls its
    /// transaction back then.
    pub fn complete_within<'c>(
        &self,
        connection: impl Into<CallersConnection<'c>>,
        completion: &Completion,
    ) -> Result<()> {
        let change = self.node.change_joined(self.store.clock.ticks());
        self.store.database.join("complete a fire", connection.into(), change, &mut |s| match self
            .record_ends(s, std::slice::from_ref(completion), false)?
            .outcomes
            .first()
        {
            Some(CompletionOutcome::Recorded) => Ok(()),
            _ => Err(lost(&completion.fire_id)),
        })
    }

    /// Makes the caller's transaction depend on a fire: it goes on only if the fire is still held,
    /// and nobody can take the fire away before it ends.
    ///
    /// # Errors
    /// As [`Firing::complete_within`].
    pub fn guard_within<'c>(&self, connection: impl Into<CallersConnection<'c>>, fire_id: &str) -> Result<()> {
        self.store.database.join("guard a fire", connection.into(), Join::Guard, &mut |s| {
            if s.hold_executing(fire_id)? { Ok(()) } else { Err(lost(fire_id)) }
        })
    }
}

fn lost(fire_id: &str) -> Error {
    fenced_fire(fire_id, "roll the transaction back")
}
