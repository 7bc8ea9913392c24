//! `Node`: what the services of one scheduler share.

mod notices;
mod notifications;
mod pending_completions;
mod prefetch_state;
mod service_post;
mod work_state;

pub(crate) use service_post::ServicePost;

use self::notifications::Notifications;
use self::pending_completions::PendingCompletions;
use self::prefetch_state::PrefetchState;
use self::service_post::ServicePosts;
use self::work_state::WorkState;
use super::counters::Counters;
use super::lease::Lease;
use super::metrics::Metrics;
use super::quarantine::Quarantine;
use super::run::run_handle::FireTask;
use super::run::worker_pool::WorkerPool;
use super::running_fires::RunningFires;
use crate::clock::Clock;
use crate::listener::Listeners;
use crate::machine::Machine;
use crate::node::NodeRole;
use crate::settings::{ClusterMode, OnOwnershipLost, Settings};
use crate::signal::Flag;
use crate::store::{JobStore, Owner};
use parking_lot::Mutex;
use std::any::Any;
use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The time before its own time at which a trigger is reserved.
pub(crate) const RESERVATION_LEAD: Duration = Duration::from_secs(1);

/// The time between two polls of a node that is not notified: work that others store as due begins
/// within 200 ms, and an idle node sends less than eight statements a second.
const POLL: Duration = Duration::from_millis(160);

/// The time between two polls while notifications arrive.
const POLL_WHILE_LISTENING: Duration = Duration::from_secs(1);

/// The state that the services of one scheduler share.
pub(crate) struct Node {
    /// The handle that applications hold. Jobs reach it without keeping it alive. The type is not
    /// named here: the handle owns the node, so the node cannot know the handle.
    pub(crate) handle: Weak<dyn Any + Send + Sync>,
    pub(crate) name: Arc<str>,
    pub(crate) instance: Arc<str>,
    /// The settings of this node. The rules of the cluster are those by which the store works,
    /// `store.settings()`: the same, unless a test gives the builder a store.
    pub(crate) settings: Settings,
    pub(crate) store: JobStore,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) machine: Arc<dyn Machine>,
    pub(crate) listeners: Listeners,
    pub(crate) services: ServicePosts,
    pub(crate) lease: Lease,
    pub(crate) running_fires: RunningFires,
    pub(crate) work_state: WorkState,
    pub(crate) notifications: Notifications,
    pub(crate) unrecorded: PendingCompletions,
    pub(crate) prefetch: PrefetchState,
    pub(crate) quarantine: Quarantine,
    pub(crate) counters: Counters,
    pub(crate) metrics: Metrics,
    /// The workers, while there are some.
    pool: Mutex<Weak<WorkerPool<FireTask>>>,
    /// There may be rows of this incarnation that nothing in memory stands for: an answer of the
    /// store was lost, or a worker ended without a completion. The acquirer looks for them.
    pub(crate) uncertain: Flag,
}

impl Node {
    pub(crate) fn new(
        instance: String,
        store: JobStore,
        clock: Arc<dyn Clock>,
        machine: Arc<dyn Machine>,
        settings: Settings,
        listeners: Listeners,
        handle: Weak<dyn Any + Send + Sync>,
    ) -> Self {
        let services = ServicePosts::new(&listeners.queue.signal, !settings.plugins.job_files.is_empty());
        let jobs = &store.settings().job_store;
        let lease = Lease::new(Arc::clone(&clock), jobs.checkin_interval, jobs.checkin_misfire_threshold)
            .asking(Arc::clone(&services.cluster.signal));
        Self {
            handle,
            name: store.settings().scheduler.instance_name.as_str().into(),
            instance: instance.into(),
            store: store.clone().seen_by(store.view.of_new_node()),
            clock,
            machine,
            listeners,
            services,
            lease,
            running_fires: RunningFires::default(),
            work_state: WorkState::new(settings.cluster.mode == ClusterMode::ActiveActive),
            notifications: Notifications::default(),
            unrecorded: PendingCompletions::default(),
            prefetch: PrefetchState::default(),
            quarantine: Quarantine::default(),
            counters: Counters::default(),
            metrics: Metrics::new(&settings.monitor),
            pool: Mutex::default(),
            uncertain: Flag::default(),
            settings,
        }
    }

    /// True if this node takes work: a worker, started, neither standing by nor passive nor ending,
    /// and not refused by placement.
    pub(crate) fn takes_work(&self) -> bool {
        self.settings.node.role == NodeRole::Worker && self.work_state.is_on() && !self.running_fires.stopping.is_set()
    }

    /// The workers, while there are some.
    pub(crate) fn pool(&self) -> Option<Arc<WorkerPool<FireTask>>> {
        self.pool.lock().upgrade()
    }

    pub(crate) fn set_pool(&self, pool: &Arc<WorkerPool<FireTask>>) {
        *self.pool.lock() = Arc::downgrade(pool);
    }

    /// The time between two polls for work that no notification tells of.
    pub(crate) fn poll_interval(&self) -> Duration {
        let settings = &self.settings.scheduler;
        let default = if self.notifications.listening.is_set() { POLL_WHILE_LISTENING } else { POLL };
        settings.idle_wait_time.min(settings.poll_interval.unwrap_or(default))
    }

    /// By how much less often this node may do what every node of the cluster does for all of it:
    /// half the number of nodes, and `most`.
    pub(crate) fn shared_among(&self, most: u32) -> u32 {
        let nodes = u32::try_from(self.store.members().len()).unwrap_or(u32::MAX);
        (nodes / 2).clamp(1, most)
    }

    /// Has the heartbeat read the orders to stop.
    pub(crate) fn check_cancels(&self) {
        self.notifications.cancel.set(true);
        self.services.heartbeat.wake();
    }

    /// Decides whether the acquirer records completions; if it no longer does, the completer
    /// begins.
    pub(crate) fn let_acquirer_complete(&self, acquirer_completes: bool) {
        if self.unrecorded.set_acquirer_completes(acquirer_completes) {
            self.services.completer.wake();
        }
    }

    /// The time before its own time at which a trigger is reserved.
    pub(crate) fn reservation_lead(&self) -> Duration {
        self.settings.scheduler.idle_wait_time.min(RESERVATION_LEAD)
    }

    /// The fires of this node that something in memory stands for, without the reservations of the
    /// acquirer, and without runs of an incarnation that is over: if a verdict has passed over the
    /// row of one, since a transaction of its job held it, it is recovered when it is free.
    pub(crate) fn known_fires(&self) -> BTreeSet<String> {
        self.fires_of(|owner| self.lease.is_of(owner))
    }

    /// All fires of this node that something in memory stands for, without reservations.
    pub(crate) fn all_fires(&self) -> BTreeSet<String> {
        self.fires_of(|_| true)
    }

    fn fires_of(&self, is_meant: impl Fn(&Owner) -> bool) -> BTreeSet<String> {
        // In this order: a completion is noted as pending before its fire leaves the table.
        let running = self.running_fires.all();
        let meant = running.iter().filter(|fire| is_meant(&fire.owner));
        let mut known: BTreeSet<String> = meant.map(|fire| fire.fire_id().to_owned()).collect();
        known.extend(self.unrecorded.ids());
        known
    }

    /// True if the process is to end when ownership is lost.
    pub(crate) fn aborts_on_loss(&self) -> bool {
        self.settings.cluster.on_ownership_lost == OnOwnershipLost::Abort
    }
}
