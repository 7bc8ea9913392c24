//! The nodes on which work may run: drained nodes, the blacklist, limits of groups.

use super::handle::Scheduler;
use crate::error::Result;
use crate::job::JobDetail;
use crate::store::row::{BlacklistRow, LimitRow};
use crate::store::{BlacklistEntry, MayRun, UnplaceableJob};
use chrono::{DateTime, Utc};

/// Nodes are meant by their instance ids or node names. A change has effect on each node with its
/// next check-in, on this one at once. Each may fail with what can go wrong with the store.
impl Scheduler {
    /// Has a node take no work until [`Scheduler::undrain`]. Runs of the node go on.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a name that cannot be;
    /// [`Error::Refused`](crate::Error::Refused) if a thousand nodes take no work already.
    pub fn drain(&self, node: &str) -> Result<()> {
        self.checking_in(self.open_store()?.placement().drain(node, false, self.actor()))
    }

    /// As [`Scheduler::drain`], and the runs of the node are asked to stop
    /// ([`StopReason::Drained`](crate::StopReason::Drained)). The work of a run that was stopped so
    /// goes on elsewhere if its job requests recovery or has a retry policy.
    ///
    /// # Errors
    /// As [`Scheduler::drain`].
    pub fn drain_and_stop(&self, node: &str) -> Result<()> {
        self.checking_in(self.open_store()?.placement().drain(node, true, self.actor()))
    }

    /// Ends a drain; false if there is none of this name.
    pub fn undrain(&self, node: &str) -> Result<bool> {
        self.checking_in(self.open_store()?.placement().undrain(node))
    }

    /// Puts a node on the blacklist: it takes no work, what it runs goes on.
    ///
    /// # Errors
    /// As [`Scheduler::drain`].
    pub fn blacklist(&self, entry: &BlacklistEntry) -> Result<()> {
        self.checking_in(self.open_store()?.placement().blacklist(entry, self.actor()))
    }

    /// Takes a node off the blacklist; false if it is not there.
    pub fn unblacklist(&self, node: &str) -> Result<bool> {
        self.checking_in(self.open_store()?.placement().unblacklist(node))
    }

    /// The nodes that take no work: drained, or on the blacklist.
    pub fn blacklist_rows(&self) -> Result<Vec<BlacklistRow>> {
        self.store().placement().blacklist_rows()
    }

    /// Sets how many runs of the jobs of a group there may be on each node, and in the cluster.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a group that cannot be, or neither number.
    pub fn set_group_limit(&self, group: &str, per_node: Option<u32>, per_cluster: Option<u32>) -> Result<()> {
        self.checking_in(self.open_store()?.placement().set_group_limit(group, per_node, per_cluster, self.actor()))
    }

    /// Removes the limit of a group; false if there is none.
    pub fn remove_group_limit(&self, group: &str) -> Result<bool> {
        self.checking_in(self.open_store()?.placement().remove_group_limit(group))
    }

    /// The limits of groups.
    pub fn group_limits(&self) -> Result<Vec<LimitRow>> {
        self.store().placement().group_limits()
    }

    /// The living nodes that may take a fire of the job that is due at this time, and why others
    /// may not.
    pub fn who_may_run(&self, job: &JobDetail, due: DateTime<Utc>) -> Result<Vec<MayRun>> {
        self.store().placement().who_may_run(job, due.timestamp_millis())
    }

    /// The jobs that no living node may run, for the sake of their placement.
    pub fn unplaceable_jobs(&self) -> Result<Vec<UnplaceableJob>> {
        self.store().placement().unplaceable_jobs()
    }

    /// Has this node check in at once after a change, unless it failed.
    fn checking_in<T>(&self, done: Result<T>) -> Result<T> {
        let done = done?;
        self.inner.node.services.cluster.wake();
        Ok(done)
    }
}
