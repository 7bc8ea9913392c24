//! `Membership`: what a node knows of its own place in the cluster between check-ins.

use crate::machine::{Living, Process};
use crate::node::NodeReport;
use crate::rules::failover::Observations;
use crate::store::Owner;
use std::sync::Arc;
use std::time::Duration;

/// The knowledge of a node of its own place in the cluster; kept by its cluster manager between
/// check-ins.
#[derive(Clone, Debug, Default)]
pub struct Membership {
    /// The instance's name.
    pub instance: String,
    /// Under which incarnation it is registered; none before the first check-in and after a
    /// conviction.
    pub incarnation: Option<String>,
    /// The clock's ticks when the last committed check-in was begun.
    pub last_checkin: Option<Duration>,
    /// The clock's ticks when the store answered last at a check-in; none before the first.
    pub(crate) answered: Option<Duration>,
    /// The last try to check in failed: what comes after it is the end of an outage.
    pub(crate) is_cut_off: bool,
    /// The report of the node on itself, if anything: written with each check-in, in the same
    /// transaction.
    pub node: Option<NodeReport>,
    /// The process that the node runs in, so that who starts under its name later can tell whether
    /// it is gone; none where that cannot be told.
    pub process: Option<Process>,
    /// Kept as long as the node is registered.
    pub(crate) living: Option<Arc<Living>>,
    /// The last incarnation was declared dead by a peer.
    pub(crate) was_failed_out: bool,
    /// The incarnation of a registration whose answer was lost, if the last one's was: its row is
    /// no namesake's.
    pub(crate) attempted: Option<String>,
    /// The last statement of the node about its job types that is published; 0 for none.
    pub(crate) published: u64,
    /// The way of the node back to work, after a check-in at which it took none: see
    /// [`Checkin::is_active`](crate::store::Checkin::is_active).
    pub(crate) comeback: Comeback,
    /// The node took work at its last check-in.
    pub(crate) worked: bool,
    /// The node whose work was recovered last, in part at least: the next turn is another's.
    pub(crate) last_recovered: Option<String>,
    /// The duration of one of the last looks at the others took, the slowest of them: an older one
    /// counts for less.
    pub(crate) slowest_read: Duration,
    /// The observations of the others.
    pub(crate) observations: Observations,
}

/// The way of a node back to work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Comeback {
    /// The node has always taken work.
    #[default]
    None,
    /// At its last check-in the node took no work.
    Awaited,
    /// A check-in of the node was the first at which it took work again: its time by the store, and
    /// by the clock's ticks.
    Since(i64, Duration),
}

impl Membership {
    /// A node that has not checked in yet.
    pub fn new(instance: impl Into<String>) -> Self {
        Self { instance: instance.into(), process: Process::own(), ..Self::default() }
    }

    /// The owner in guarded writes; none if it is not registered.
    pub fn owner(&self) -> Option<Owner> {
        self.under(self.incarnation.as_ref())
    }

    /// The owner of the row that a registration may have left whose answer was lost; none if the
    /// node is registered, or has not tried.
    pub(crate) fn attempted(&self) -> Option<Owner> {
        self.under(self.attempted.as_ref().filter(|_| self.incarnation.is_none()))
    }

    fn under(&self, incarnation: Option<&String>) -> Option<Owner> {
        Some(Owner { instance: self.instance.clone(), incarnation: incarnation?.clone() })
    }
}
