//! New work inside a transaction of the caller's.

use super::Catalogue;
use crate::error::Result;
use crate::job::JobDetail;
use crate::store::CallersConnection;
use crate::store::row::Notification;
use crate::trigger::Trigger;

impl Catalogue<'_> {
    /// Stores jobs with their triggers inside the caller's transaction, as
    /// [`Catalogue::schedule`] does in one of its own.
    /// Nodes see them when it is committed.
    ///
    /// # Errors
    /// As [`Catalogue::schedule`] and
    /// [`Firing::complete_within`](crate::store::Firing::complete_within); the caller rolls its
    /// transaction back then.
    pub fn schedule_within<'c>(
        &self,
        connection: impl Into<CallersConnection<'c>>,
        work: &[(JobDetail, Vec<Trigger>)],
        replace: bool,
    ) -> Result<Vec<Trigger>> {
        self.check_work(work)?;
        let mut stored = Vec::new();
        let change = self.node.change_joined(self.store.clock.ticks());
        self.store.database.join("schedule jobs", connection.into(), change, &mut |s| {
            stored = self.schedule_in_session(s, work, replace.into())?;
            s.notify(Notification::Change)
        })?;
        Ok(stored)
    }
}
