//! Operations inside a transaction of the caller's: the end of a fire, the proof that a fire is
//! still held, new work.

use super::{Completion, CompletionOutcome};
use crate::error::{Error, Result};
use crate::job::JobDetail;
use crate::store::callers::CallersConnection;
use crate::store::row::Notification;
use crate::store::{JobStore, Join};
use crate::trigger::Trigger;

impl JobStore {
    /// Records the end of a fire inside the caller's transaction: what the job wrote there and the
    /// end of its fire are committed together, or neither is. So the effect of the fire happens
    /// exactly once, whatever dies when.
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
        self.database.join("complete a fire", connection.into(), self.change_joined(), &mut |s| match self
            .complete_joined(s, std::slice::from_ref(completion))?
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
    /// As [`JobStore::complete_within`].
    pub fn guard_within<'c>(&self, connection: impl Into<CallersConnection<'c>>, fire_id: &str) -> Result<()> {
        self.database.join("guard a fire", connection.into(), Join::Guard, &mut |s| {
            if s.hold_executing(fire_id)? { Ok(()) } else { Err(lost(fire_id)) }
        })
    }

    /// Stores jobs with their triggers inside the caller's transaction, as [`Catalogue::schedule`](crate::store::Catalogue::schedule) does in one of its own.
    /// Nodes see them when it is committed.
    ///
    /// # Errors
    /// As [`Catalogue::schedule`](crate::store::Catalogue::schedule) and [`JobStore::complete_within`]; the caller rolls its transaction back then.
    pub fn schedule_within<'c>(
        &self,
        connection: impl Into<CallersConnection<'c>>,
        work: &[(JobDetail, Vec<Trigger>)],
        replace: bool,
    ) -> Result<Vec<Trigger>> {
        self.catalogue().check_work(work)?;
        let mut stored = Vec::new();
        self.database.join("schedule jobs", connection.into(), self.change_joined(), &mut |s| {
            stored = self.catalogue().schedule_in(s, work, replace)?;
            s.notify(Notification::Change)
        })?;
        Ok(stored)
    }

    /// The way in which rows are changed in a caller's transaction.
    pub(in crate::store) fn change_joined(&self) -> Join {
        match (self.view.is_beside_quartz(), self.view.knows_members()) {
            (true, _) => Join::ChangeBesideQuartz,
            (false, true) => Join::Change,
            (false, false) => Join::ChangeOfStranger,
        }
    }
}

fn lost(fire_id: &str) -> Error {
    Error::Fenced {
        subject: format!("fire `{fire_id}`"),
        reason: "it belongs to another node, or has ended: roll the transaction back".to_owned(),
    }
}
