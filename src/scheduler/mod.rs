//! `Scheduler`: the handle that an application holds; and the engine behind it.

mod acquirer;
mod alarms;
mod auditor;
mod begin_gate;
mod builder;
mod calendars;
mod capture_log;
mod clean_up;
mod cluster_manager;
mod completer;
mod context;
mod continuations;
mod definitions;
mod ear;
mod ended;
mod ends;
mod health;
mod health_report;
mod heartbeat;
mod in_code;
mod inspection;
mod instance_id;
mod interrupt_monitor;
mod job;
#[cfg(feature = "job-files")]
mod job_files;
mod job_type;
mod job_types;
mod life;
mod locks;
mod metadata;
mod metrics;
mod misfire_handler;
mod monitor;
mod monitoring;
mod node;
mod not_begun;
mod orphan_watch;
mod parking;
mod pausing;
mod placing;
mod quarantine;
mod recovery_mode;
mod registry;
mod reporter;
mod run_shell;
mod running;
mod service;
mod shard;
mod shutdown;
mod standing;
mod starter;
mod stop;
mod stop_step;
mod submission;
mod task_queue;
mod teller;
mod worker_pool;

pub use builder::SchedulerBuilder;
pub use capture_log::CaptureLog;
pub use context::JobContext;
pub use health::{CounterValues, Executor, Health, SchedulerStatus, ServiceHealth, ServiceState};
pub use job::{Job, JobError, Outcome};
pub use job_type::JobType;
pub use locks::LockGuard;
pub use metadata::SchedulerMetadata;
pub use running::RunningJob;
pub use shard::Shard;
pub use shutdown::ShutdownReport;
pub use stop::StopReason;
pub use stop_step::StopStep;
pub use submission::{SUBMITTED_GROUP, Submission};

use crate::error::{Error, Result};
use crate::job::JobDefinition;
use crate::listener::ListenerManager;
use crate::store::JobStore;
use life::Life;
use node::Node;
use std::sync::{Arc, Weak};

/// A node of a scheduler: stores jobs and triggers, and once started fires them.
///
/// A clone is another handle of the same node. When the last handle is dropped the node is shut down; better call
/// [`Scheduler::shutdown`], which says what was left behind.
#[derive(Clone)]
pub struct Scheduler {
    inner: Arc<Inner>,
}

struct Inner {
    node: Arc<Node>,
    life: Life,
    locks: Arc<locks::LockKeeper>,
    /// What the program says of its jobs.
    defined: Vec<JobDefinition>,
}

/// A scheduler as its own jobs hold it: without keeping it alive.
pub(crate) struct WeakScheduler(Weak<Inner>);

impl WeakScheduler {
    fn handle(&self) -> Option<Scheduler> {
        self.0.upgrade().map(|inner| Scheduler { inner })
    }
}

impl Scheduler {
    /// Begins a scheduler.
    pub fn builder() -> SchedulerBuilder {
        SchedulerBuilder::default()
    }

    /// The scheduler's name, equal on all nodes of the cluster.
    #[doc(alias = "getSchedulerName")]
    pub fn name(&self) -> &str {
        &self.inner.node.name
    }

    /// This node's name.
    #[doc(alias = "getSchedulerInstanceId")]
    pub fn instance_id(&self) -> &str {
        &self.inner.node.instance
    }

    /// A text of the scheduler's context, as jobs see it. Properties `context.key.NAME`.
    ///
    /// What a program wants to share with its jobs beside texts is captured by the job types that it registers.
    #[doc(alias("getContext", "SchedulerContext"))]
    pub fn context_text(&self, name: &str) -> Option<&str> {
        self.inner.node.settings.scheduler.context.get(name).map(String::as_str)
    }

    /// The listeners, to add and remove some while the scheduler runs.
    #[doc(alias = "getListenerManager")]
    pub fn listeners(&self) -> ListenerManager<'_> {
        ListenerManager::new(&self.inner.node.listeners)
    }

    /// The store, with everything it offers for reading.
    pub fn store(&self) -> &JobStore {
        &self.inner.node.store
    }

    /// Creates or upgrades the tables; safe to repeat, and to race with other nodes. Tables that Quartz made are kept, and
    /// side tables put beside them. Returns what was done, a line each.
    ///
    /// # Errors
    /// What the database reports, and [`Error::Schema`] for tables of a newer version.
    pub fn migrate(&self) -> Result<Vec<String>> {
        self.open_store()?.database().migrate()
    }

    /// The store, unless the scheduler is shut down.
    fn open_store(&self) -> Result<&JobStore> {
        if self.is_shut_down() {
            return Err(Error::ShutDown(self.name().to_owned()));
        }
        Ok(self.store())
    }

    /// Tells the acquirer that something may be due earlier than it thinks.
    fn signal_change(&self) {
        self.inner.node.acquirer.signal.raise();
    }

    /// The same after work was stored here; if some of it fires at once, nobody need look whether there is any.
    fn signal_stored(&self, fires_at_once: bool) {
        if fires_at_once {
            self.inner.node.has_due.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        self.signal_change();
    }

    /// Whether this node has the type of the job.
    fn is_of_this_node(&self, job: &crate::JobDetail) -> bool {
        self.inner.node.registry.job(&job.job_type).is_some()
    }

    /// Tells the scheduler listeners.
    fn tell(&self, event: &'static str, tell: impl Fn(&dyn crate::listener::SchedulerListener)) {
        self.inner.node.listeners.scheduler(event, tell);
    }
}

impl std::fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scheduler")
            .field("name", &self.name())
            .field("instance_id", &self.instance_id())
            .finish_non_exhaustive()
    }
}
