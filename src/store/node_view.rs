//! `NodeView`: what one node knows of itself and of its cluster, beside the rows of the store.

use super::backlog::Backlog;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
use super::callers::Join;
use super::known_types::KnownTypes;
use super::placed::Placed;
use super::row::InstanceRow;
use super::strategies::Strategies;
use crate::epoch::millis;
use crate::job::JobDetail;
use crate::trigger::TriggerOrder;
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

/// One transaction in so many that could share the lock does not. A stream of transactions that
/// share the lock could keep others waiting that want it alone: a transaction that queues behind
/// these ends the stream.
const FAIRNESS_INTERVAL: u32 = 16;

/// The time for which a node of Quartz may stand still and go on.
const QUARTZ_MAY_LIVE: Duration = Duration::from_secs(3600);

/// The knowledge of one node: learned at its check-ins and acquisitions, and never needed for the
/// rows to be right.
///
/// Clones share what they know.
#[derive(Clone, Default)]
pub struct NodeView {
    /// The job types that the node can run.
    pub(super) types: Arc<RwLock<KnownTypes>>,
    /// The placement of work.
    pub(super) placed: Arc<RwLock<Placed>>,
    pub(super) strategies: Arc<Strategies>,
    /// The due triggers in order of priority, with a backlog.
    pub(super) backlog: Arc<Mutex<Backlog>>,
    cluster: Arc<Cluster>,
}

/// The cluster as it was seen.
#[derive(Debug, Default)]
struct Cluster {
    has_quartz: AtomicBool,
    /// Until when, in ticks, the members are those of the last check-in: a node of Quartz that has
    /// come since takes nobody for dead before that.
    members_known_until: Mutex<Duration>,
    /// Until when, in ticks, a node of Quartz that is no member any longer may hold triggers.
    quartz_may_live_until: Mutex<Duration>,
    /// Since when the recovery mode is on, as far as it was seen; 0 if it is not.
    recovering_since_ms: AtomicI64,
    /// The names of the members at the last check-in, in order.
    members: RwLock<Arc<[String]>>,
    /// The number of claims of due triggers so far.
    claims: AtomicU32,
    /// The latest time of the store that was seen, and when that was, in ticks.
    latest: Mutex<(i64, Duration)>,
}

impl NodeView {
    /// The view of a new node in the same cluster, which has not said yet what it can run.
    pub(crate) fn of_new_node(&self) -> Self {
        Self { types: Arc::default(), placed: Arc::default(), backlog: Arc::default(), ..self.clone() }
    }

    /// Notes a time of the store, and gives it back.
    pub(super) fn note_time(&self, now_ms: i64, ticks: Duration) -> i64 {
        let mut latest = self.cluster.latest.lock();
        if now_ms >= latest.0 {
            *latest = (now_ms, ticks);
        }
        now_ms
    }

    /// The time that has come: triggers fired by it, also if somebody has set the clock of the
    /// store back since, and while this node did not reach the store.
    pub(super) fn time_that_came(&self, now_ms: i64, ticks: Duration) -> i64 {
        let (latest_ms, seen) = *self.cluster.latest.lock();
        now_ms.max(latest_ms.saturating_add(millis(ticks.saturating_sub(seen))))
    }

    /// A node of Quartz was a member of the cluster at the last check-in.
    pub(crate) fn is_beside_quartz(&self) -> bool {
        self.cluster.has_quartz.load(Ordering::Relaxed)
    }

    /// A node of Quartz may hold triggers, by their rows or by memory only: one that was declared
    /// dead and lives still fires what it had reserved. A node that was started since knows nothing
    /// of it.
    pub(super) fn may_meet_quartz(&self, ticks: Duration) -> bool {
        self.is_beside_quartz() || ticks < *self.cluster.quartz_may_live_until.lock()
    }

    /// The way in which rows are changed in a caller's transaction.
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    pub(super) fn change_joined(&self, ticks: Duration) -> Join {
        match (self.is_beside_quartz(), ticks < *self.cluster.members_known_until.lock()) {
            (true, _) => Join::ChangeBesideQuartz,
            (false, true) => Join::Change,
            (false, false) => Join::ChangeOfStranger,
        }
    }

    /// Notes the members, until when they are known, and whether there is a node of Quartz besides
    /// those that have no row of ours.
    pub(super) fn note_members(&self, members: &[InstanceRow], has_more_of_quartz: bool, known_until: Duration) {
        *self.cluster.members_known_until.lock() = known_until;
        let mut names: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
        names.sort();
        *self.cluster.members.write() = names.into();
        let has_quartz = has_more_of_quartz || members.iter().any(|member| member.incarnation.is_none());
        if has_quartz {
            *self.cluster.quartz_may_live_until.lock() = known_until.saturating_add(QUARTZ_MAY_LIVE);
        }
        self.cluster.has_quartz.store(has_quartz, Ordering::Relaxed);
    }

    /// The names of the members at the last check-in, in order; none before the first.
    pub(crate) fn members(&self) -> Arc<[String]> {
        Arc::clone(&self.cluster.members.read())
    }

    /// True if due triggers are taken as the recovery mode wants it.
    pub(crate) fn is_in_recovery_mode(&self) -> bool {
        self.cluster.recovering_since_ms.load(Ordering::Relaxed) > 0
    }

    /// The present order of due triggers; `usual` is the order of the settings.
    pub(super) fn trigger_order(&self, usual: TriggerOrder) -> TriggerOrder {
        if self.is_in_recovery_mode() { TriggerOrder::PriorityThenTime } else { usual }
    }

    /// Notes what was seen of the recovery mode.
    pub(crate) fn note_recovery_mode(&self, since_ms: Option<i64>) {
        self.cluster.recovering_since_ms.store(since_ms.unwrap_or(0), Ordering::Relaxed);
    }

    /// This transaction is to queue for the lock alone, for the sake of others that do.
    pub(super) fn must_queue(&self) -> bool {
        self.cluster.claims.fetch_add(1, Ordering::Relaxed) % FAIRNESS_INTERVAL == FAIRNESS_INTERVAL - 1
    }

    /// True if this node can fan out the ticks of the job.
    pub(in crate::store) fn has_strategy_of(&self, job: &JobDetail) -> bool {
        self.strategies.get(job.policy().execution_strategy()).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_for_a_node_that_does_not_reach_the_store() {
        let view = NodeView::default();
        let second = Duration::from_secs;
        assert_eq!(view.note_time(19_000, second(5)), 19_000);
        assert_eq!(view.time_that_came(19_500, second(5)), 19_500);
        // The clock of the store was set back meanwhile.
        assert_eq!(view.note_time(18_000, second(17)), 18_000);
        assert_eq!(view.time_that_came(18_000, second(17)), 31_000);
        view.note_time(19_200, second(18));
        assert_eq!(view.time_that_came(19_300, second(18)), 19_300);
    }
}
