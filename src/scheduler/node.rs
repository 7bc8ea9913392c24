//! `Node`: what the services of one scheduler share.

use super::WeakScheduler;
use super::health::{Counters, ServiceRecord};
use super::metrics::Metrics;
use super::registry::Registry;
use super::running::FireTask;
use super::standing::Standing;
use super::stop_step::StopStep;
use super::worker_pool::WorkerPool;
use crate::clock::Clock;
use crate::hash::HashMap;
use crate::key::TriggerKey;
use crate::listener::{Listeners, log};
use crate::machine::Machine;
use crate::node::NodeRole;
use crate::rules::ahead::RunTimes;
use crate::rules::begun::Ahead;
use crate::rules::placement::Refusal;
use crate::settings::{ClusterMode, OnOwnershipLost, Settings};
use crate::signal::Signal;
use crate::store::{JobStore, SkippedFires};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How far ahead of its time a trigger is reserved.
pub(crate) const LOOK_AHEAD: Duration = Duration::from_secs(1);

/// How often a node looks for news from other nodes that it does not hear of: so that they are seen within a quarter of a
/// second, and an idle node sends no more than five statements a second.
const POLL: Duration = Duration::from_millis(240);

/// The same while it hears of them.
const POLL_WHILE_HEARING: Duration = Duration::from_secs(1);

/// What the services of one scheduler share.
pub(crate) struct Node {
    pub(crate) scheduler: WeakScheduler,
    pub(crate) name: Arc<str>,
    pub(crate) instance: Arc<str>,
    pub(crate) store: JobStore,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: Settings,
    pub(crate) standing: Arc<Standing>,
    pub(crate) registry: Registry,
    pub(crate) listeners: Listeners,
    pub(crate) counters: Counters,
    pub(crate) metrics: Metrics,
    #[cfg(feature = "metrics")]
    pub(crate) publisher: Mutex<super::metrics::Publisher>,
    pub(crate) acquirer: Post,
    pub(crate) misfire: Post,
    pub(crate) cluster: Post,
    pub(crate) completer: Post,
    pub(crate) heartbeat: Post,
    pub(crate) monitor: Post,
    pub(crate) clean_up: Post,
    pub(crate) job_files: Post,
    pub(crate) ear: Post,
    pub(crate) starter: Post,
    pub(crate) audit: Post,
    pub(crate) teller: Post,
    /// How many check-ins have succeeded.
    pub(crate) checkins: AtomicU64,
    /// The node does not fire for now.
    pub(crate) standby: AtomicBool,
    /// The node is one that fires; in active-passive mode only the longest-serving one is.
    pub(crate) active: AtomicBool,
    /// What other nodes announce is heard at once.
    pub(crate) hears: AtomicBool,
    /// Somebody wants a run to stop, perhaps one of this node.
    pub(crate) cancels: AtomicBool,
    /// The counter of changes at the last look.
    pub(crate) changes: AtomicI64,
    /// Why the node takes no work, by its last check-in.
    pub(crate) barred: Mutex<Option<Refusal>>,
    /// Of all nodes of ours this is the one that has served longest.
    pub(crate) longest_serving: AtomicBool,
    /// The machine that it runs on.
    pub(crate) machine: Arc<dyn Machine>,
    /// The workers, while there are some.
    pub(crate) pool: Mutex<Weak<WorkerPool<FireTask>>>,
    /// How far it has come that is ending.
    stop_step: Mutex<Option<StopStep>>,
    /// Triggers reserved in memory, for health.
    pub(crate) reserved: AtomicUsize,
    /// Ended fires not recorded yet.
    pub(crate) unrecorded: Unrecorded,
    /// The acquirer takes along what has ended.
    pub(crate) takes_turns: AtomicBool,
    /// A trigger that was stored here is due: the acquirer need not look whether there is one.
    pub(crate) has_due: AtomicBool,
    /// How long that fire waited for its worker that waited longest of those that began since the
    /// acquirer last asked, in microseconds and one more; nothing if none has begun.
    longest_wait: AtomicU64,
    /// How long jobs of each type took lately.
    pub(crate) run_times: Mutex<RunTimes>,
    /// Fires that were taken ahead and have not begun.
    pub(crate) ahead: Mutex<Ahead>,
    /// How many ended fires on their way to the completer are worth telling it of.
    pub(crate) awaited_ends: AtomicUsize,
    /// There may be rows of this incarnation that nothing in memory stands for: an answer of the store was lost, or a
    /// worker ended without a completion.
    pub(crate) uncertain: AtomicBool,
    /// Raised when completions were recorded, for whoever waits for the last.
    pub(crate) recorded: Signal,
    pub(crate) quarantine: super::quarantine::Quarantine,
    /// Jobs that no living node can run, if this node is the one that looks for them; for health.
    pub(crate) orphans: AtomicUsize,
}

/// The ids of fires that have ended and are not recorded yet, each with whether heartbeats of it are stored: those must go
/// on until its end is recorded.
#[derive(Default)]
pub(crate) struct Unrecorded {
    ids: Mutex<HashMap<String, bool>>,
}

impl Unrecorded {
    pub(crate) fn add(&self, fire_id: &str, is_beaten: bool) {
        self.ids.lock().insert(fire_id.to_owned(), is_beaten);
    }

    /// Those of which heartbeats are stored.
    pub(crate) fn beaten(&self) -> Vec<String> {
        self.ids.lock().iter().filter(|(_, is_beaten)| **is_beaten).map(|(id, _)| id.clone()).collect()
    }

    pub(crate) fn remove<'a>(&self, fire_ids: impl Iterator<Item = &'a str>) {
        let mut ids = self.ids.lock();
        for id in fire_ids {
            ids.remove(id);
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.ids.lock().len()
    }
}

/// How one service is reached and how it is doing.
pub(crate) struct Post {
    pub(crate) signal: Arc<Signal>,
    pub(crate) record: Arc<ServiceRecord>,
}

impl Post {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { signal: Arc::default(), record: Arc::new(ServiceRecord::new(name)) }
    }
}

impl Node {
    /// Counts and tells what was left out.
    pub(crate) fn note_skipped(&self, skipped: &[SkippedFires]) {
        for skipped in skipped {
            self.counters.skipped.add(usize::try_from(skipped.times).unwrap_or(usize::MAX));
            log::skipped(skipped);
            self.listeners.fires_skipped(skipped);
        }
    }

    /// Tells that triggers will not fire again.
    pub(crate) fn note_finalized(&self, triggers: &[TriggerKey]) {
        for key in triggers {
            let key = key.clone();
            self.listeners.announce("trigger_finalized", move |listener| listener.trigger_finalized(&key));
        }
    }

    pub(crate) fn new(
        instance: String,
        store: JobStore,
        clock: Arc<dyn Clock>,
        machine: Arc<dyn Machine>,
        settings: Settings,
        listeners: Listeners,
        scheduler: WeakScheduler,
    ) -> Self {
        let jobs = &store.settings().job_store;
        let cluster = Post::new("cluster");
        let standing = Standing::new(Arc::clone(&clock), jobs.checkin_interval, jobs.checkin_misfire_threshold)
            .asking(Arc::clone(&cluster.signal));
        let teller = Post { signal: Arc::clone(&listeners.queue.signal), ..Post::new("listeners") };
        Self {
            scheduler,
            name: store.settings().scheduler.instance_name.as_str().into(),
            instance: instance.into(),
            store: store.of_node(),
            clock,
            standing: Arc::new(standing),
            registry: Registry::default(),
            listeners,
            counters: Counters::default(),
            metrics: Metrics::new(&settings.monitor),
            #[cfg(feature = "metrics")]
            publisher: Mutex::default(),
            acquirer: Post::new("acquirer"),
            misfire: Post::new("misfire"),
            cluster,
            completer: Post::new("completer"),
            heartbeat: Post::new("heartbeat"),
            monitor: Post::new("monitor"),
            clean_up: Post::new("clean-up"),
            job_files: Post::new("job-files"),
            ear: Post::new("ear"),
            starter: Post::new("starter"),
            audit: Post::new("audit"),
            teller,
            checkins: AtomicU64::new(0),
            standby: AtomicBool::new(true),
            active: AtomicBool::new(settings.cluster.mode == ClusterMode::ActiveActive),
            hears: AtomicBool::new(false),
            cancels: AtomicBool::new(false),
            changes: AtomicI64::new(0),
            barred: Mutex::default(),
            longest_serving: AtomicBool::new(false),
            machine,
            pool: Mutex::default(),
            stop_step: Mutex::default(),
            reserved: AtomicUsize::new(0),
            unrecorded: Unrecorded::default(),
            takes_turns: AtomicBool::new(false),
            has_due: AtomicBool::new(false),
            longest_wait: AtomicU64::new(0),
            run_times: Mutex::default(),
            ahead: Mutex::default(),
            awaited_ends: AtomicUsize::new(1),
            uncertain: AtomicBool::new(false),
            recorded: Signal::default(),
            quarantine: super::quarantine::Quarantine::default(),
            orphans: AtomicUsize::new(0),
            settings,
        }
    }

    /// Tells the store, and with the next check-in the other nodes, what this one can run.
    pub(crate) fn types_changed(&self) {
        self.store.set_job_types(self.registry.infos());
    }

    /// The services that this node has.
    pub(crate) fn services(&self) -> impl Iterator<Item = &Post> {
        let always = [
            &self.acquirer,
            &self.starter,
            &self.misfire,
            &self.cluster,
            &self.completer,
            &self.heartbeat,
            &self.monitor,
            &self.clean_up,
            &self.audit,
            &self.teller,
        ];
        let ear = Some(&self.ear).filter(|ear| ear.record.is_started());
        let job_files = Some(&self.job_files).filter(|_| !self.settings.plugins.job_files.is_empty());
        always.into_iter().chain(ear).chain(job_files)
    }

    /// Whether this node takes work at all: a worker, started, not standing by, not the passive one, and not kept from it.
    pub(crate) fn is_firing(&self) -> bool {
        self.settings.node.role == NodeRole::Worker
            && !self.standby.load(Ordering::SeqCst)
            && self.active.load(Ordering::SeqCst)
            && !self.standing.is_stopping()
            && self.takes_work()
    }

    /// The workers, while there are some.
    pub(crate) fn pool(&self) -> Option<Arc<WorkerPool<FireTask>>> {
        self.pool.lock().upgrade()
    }

    /// What the node is doing while it is ending.
    pub(crate) fn stopping(&self) -> Option<StopStep> {
        *self.stop_step.lock()
    }

    /// Notes, and says once, what the node is doing while it is ending; none when that is over. A thread that comes late
    /// to its step does not bring it back.
    pub(crate) fn enter_stop_step(&self, step: Option<StopStep>) {
        let mut present = self.stop_step.lock();
        if step.is_none() || step > *present {
            *present = step;
            if let Some(step) = step {
                log::stopping(&self.instance, step.name());
            }
        }
    }

    /// How often a node looks for work it was not told of.
    pub(crate) fn poll_interval(&self) -> Duration {
        let settings = &self.settings.scheduler;
        let default = if self.hears.load(Ordering::SeqCst) { POLL_WHILE_HEARING } else { POLL };
        settings.idle_wait_time.min(settings.poll_interval.unwrap_or(default))
    }

    /// Has the heartbeat look whether a run of this node is to stop.
    pub(crate) fn look_for_cancels(&self) {
        self.cancels.store(true, Ordering::SeqCst);
        self.heartbeat.signal.raise();
    }

    /// How far ahead of its time a trigger is reserved.
    pub(crate) fn look_ahead(&self) -> Duration {
        self.settings.scheduler.idle_wait_time.min(LOOK_AHEAD)
    }

    /// The fires of this node that something in memory stands for, without the acquirer's reservations.
    pub(crate) fn known_fires(&self) -> BTreeSet<String> {
        // In this order: a fire is noted as unrecorded before it leaves the table.
        let mut known: BTreeSet<String> = self.standing.fires().iter().map(|fire| fire.fire_id().to_owned()).collect();
        known.extend(self.unrecorded.ids.lock().keys().cloned());
        known
    }

    /// A fire has begun, so long after it was handed to the workers.
    pub(crate) fn note_wait(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.longest_wait.fetch_max(micros.saturating_add(1), Ordering::Relaxed);
    }

    /// How long the one that waited longest did, of those that have begun since this was last
    /// asked.
    pub(crate) fn longest_wait(&self) -> Option<Duration> {
        self.longest_wait.swap(0, Ordering::Relaxed).checked_sub(1).map(Duration::from_micros)
    }

    /// Whether the process is to end when ownership is lost.
    pub(crate) fn aborts_on_loss(&self) -> bool {
        self.settings.cluster.on_ownership_lost == OnOwnershipLost::Abort
    }
}

/// A duration in whole milliseconds.
pub(crate) fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
