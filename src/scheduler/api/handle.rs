//! `Scheduler`: the handle that an application holds.

use super::type_watch::TypeWatch;
use crate::debug_fields::debug_fields;
use crate::error::{Error, Result};
use crate::job::JobDefinition;
use crate::listener::ListenerManager;
use crate::scheduler::engine::Engine;
use crate::scheduler::lock_keeper::LockKeeper;
use crate::scheduler::node::Node;
use crate::scheduler::run::context::JobContext;
use crate::scheduler::run::registry::Registry;
use crate::store::JobStore;
use std::sync::Arc;

/// A node of a scheduler: stores jobs and triggers, and once started fires them.
///
/// A clone is another handle of the same node. The node is shut down when its last handle is
/// dropped; better call [`Scheduler::shutdown_and_wait`], which says what was left behind.
#[derive(Clone)]
pub struct Scheduler {
    pub(crate) inner: Arc<Inner>,
    /// The store of the person for whom this handle acts; none for the program itself.
    pub(super) acting: Option<Arc<JobStore>>,
}

/// The parts that all handles of a node share.
pub(crate) struct Inner {
    pub(crate) node: Arc<Node>,
    pub(crate) engine: Engine,
    pub(crate) registry: Arc<Registry>,
    pub(crate) locks: Arc<LockKeeper>,
    /// The jobs that the program declares.
    pub(crate) declared: Vec<JobDefinition>,
    pub(crate) type_watch: TypeWatch,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.engine.end_dropped(&self.node);
    }
}

impl Scheduler {
    pub(crate) fn of(inner: Arc<Inner>) -> Self {
        Self { inner, acting: None }
    }

    /// Another handle of the same node, by which a person acts, such as one who is logged in at a
    /// web page. The name is written down for all that this handle changes: in the log of actions,
    /// and with drains, the blacklist, limits, cancels and the recovery mode. Actions of other
    /// handles are written down under the name of the program. Property `carnelian.actor`.
    ///
    /// ```
    /// use carnelian::Scheduler;
    /// use carnelian::history::ActionQuery;
    ///
    /// let scheduler = Scheduler::builder().build()?;
    /// scheduler.as_actor("ada@example.org").drain("rack7-a")?;
    /// let action = scheduler.actions(&ActionQuery::new())?.remove(0);
    /// assert_eq!((&*action.actor, &*action.action), ("ada@example.org", "drain"));
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    pub fn as_actor(&self, name: impl AsRef<str>) -> Self {
        let store = self.inner.node.store.clone().acting_as(name.as_ref(), self.instance_id());
        Self { inner: Arc::clone(&self.inner), acting: Some(Arc::new(store)) }
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
    /// A program shares other things than texts with its jobs by capturing them in the job types
    /// that it registers.
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
    // For this project's tests and its command line; carries no promise.
    #[doc(hidden)]
    pub fn store(&self) -> &JobStore {
        self.acting.as_deref().unwrap_or(&self.inner.node.store)
    }

    /// The name under which this handle's actions and orders are written down.
    pub(super) fn actor(&self) -> &str {
        self.store().actor()
    }

    /// Creates or upgrades the tables; safe to repeat, and to race with other nodes. Tables that
    /// Quartz made are kept, and side tables put beside them. Returns what was done, a line each.
    ///
    /// # Errors
    /// What the database reports, and [`Error::Schema`] for tables of a newer version.
    pub fn migrate(&self) -> Result<Vec<String>> {
        self.open_store()?.database().migrate()
    }

    /// The store, unless the scheduler is shut down.
    pub(crate) fn open_store(&self) -> Result<&JobStore> {
        if self.inner.engine.is_shut_down() {
            return Err(Error::ShutDown(self.name().to_owned()));
        }
        Ok(self.store())
    }

    /// Tells the acquirer of work that was stored here; if some of it fires at once, nobody need
    /// look whether there is any.
    pub(crate) fn signal_stored(&self, fires_at_once: bool) {
        if fires_at_once {
            self.inner.node.notifications.due.set(true);
        }
        self.wake();
    }

    /// True if this node has the type of the job.
    pub(crate) fn is_of_this_node(&self, job: &crate::JobDetail) -> bool {
        self.inner.registry.job(&job.job_type).is_some()
    }

    /// Tells the scheduler listeners.
    pub(crate) fn tell(&self, event: &'static str, tell: impl Fn(&dyn crate::listener::SchedulerListener)) {
        self.inner.node.listeners.scheduler(event, tell);
    }
}

debug_fields! { Scheduler { name = me.name(), instance_id = me.instance_id() } finish_non_exhaustive |me| }

impl JobContext {
    /// The scheduler this runs on, to schedule other work or to ask about it.
    ///
    /// # Errors
    /// [`Error::ShutDown`] if the application has let go of it.
    #[doc(alias = "getScheduler")]
    pub fn scheduler(&self) -> Result<Scheduler> {
        let handle = self.node.handle.upgrade().and_then(|handle| handle.downcast::<Inner>().ok());
        let inner = handle.ok_or_else(|| Error::ShutDown(self.scheduler_name().to_owned()))?;
        Ok(Scheduler::of(inner))
    }
}
