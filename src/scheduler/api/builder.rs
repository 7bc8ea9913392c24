//! `SchedulerBuilder`: from settings, job types and listeners to a scheduler.

use super::handle::Inner;
use super::handle::Scheduler;
use super::instance_id;
use super::type_watch::TypeWatch;
use crate::scheduler::engine::Engine;
use crate::scheduler::lock_keeper::LockKeeper;
use crate::scheduler::node::Node;
use crate::scheduler::run::context::JobContext;
use crate::scheduler::run::job::Job;
use crate::scheduler::run::job_error::{JobError, Outcome};
use crate::scheduler::run::job_type::JobType;
use crate::scheduler::run::registry::Registry;
#[cfg(feature = "job-files")]
use crate::scheduler::services::job_file_watcher::JobFileWatcher;
use crate::setters::setters;

use crate::clock::{Clock, SystemClock};
use crate::error::{Error, Result};
use crate::hash::HashMap;
use crate::job::{ExecutionStrategy, JobDefinition};
use crate::key::check_instance_id;
use crate::listener::{
    JobListener, ListenerManager, Listeners, SchedulerListener, TriggerListener, guarded, lifecycle_log,
};
use crate::machine::{Machine, MachineFiles};
use crate::matcher::KeyMatcher;
use crate::settings::{InstanceIdSetting, Settings};
use crate::store::{DeadFire, DeadFireDecision, DeadFireHandler, JobStore};
use std::path::PathBuf;
use std::sync::{Arc, Weak};

/// Builds a [`Scheduler`]; made by [`Scheduler::builder`].
#[derive(Default)]
pub struct SchedulerBuilder {
    settings: Option<Settings>,
    settings_file: Option<PathBuf>,
    database: Option<String>,
    clustered: bool,
    workers: Option<u32>,
    store: Option<JobStore>,
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    pool: Option<crate::store::CallersPool>,
    clock: Option<Arc<dyn Clock>>,
    machine: Option<Arc<dyn Machine>>,
    instance_id: Option<String>,
    jobs: Vec<(String, JobType)>,
    aliases: Vec<(String, String)>,
    dead_fire_handlers: DeadFireHandlers,
    strategies: Vec<(String, Arc<dyn ExecutionStrategy>)>,
    declared: Vec<JobDefinition>,
    listeners: Listeners,
}

impl SchedulerBuilder {
    setters! {
        /// The settings. Default: those of an empty file.
        pub fn settings(settings: Settings) { self.settings = Some(settings) }

        /// Reads the settings from a properties file when the scheduler is built, and logs the
        /// [warnings](Settings::warnings) of the file.
        pub fn settings_file(path: impl Into<PathBuf>) { self.settings_file = Some(path.into()) }

        /// Has the jobs in the database of this URL, also where a settings file or
        /// [`SchedulerBuilder::settings`] says otherwise; of the data source that these name,
        /// everything but the URL stays. Default: what the settings say, which is in memory if they
        /// say nothing. Properties `jobStore.class`, `jobStore.dataSource` and
        /// `dataSource.NAME.URL`.
        ///
        /// A URL is `sqlite:FILE`, `sqlite::memory:`,
        /// `postgres://user:password@host:port/database`,
        /// `mysql://user:password@host:port/database`, or one of these as JDBC writes it.
        /// [`SchedulerBuilder::build`] fails with [`Error::Settings`], which lists what is
        /// accepted, for any other.
        ///
        /// ```
        /// use carnelian::{JobContext, Scheduler};
        ///
        /// # let folder = tempfile::tempdir()?;
        /// # std::env::set_current_dir(&folder)?;
        /// let sweep = |_: &mut JobContext| Ok(());
        /// let scheduler = Scheduler::builder().database("sqlite:carnelian.db").workers(8);
        /// let scheduler = scheduler.job_fn("sweep", sweep).build()?;
        /// scheduler.migrate()?; // makes the tables, or does nothing
        /// scheduler.start()?;
        /// assert_eq!(scheduler.metadata().thread_pool_size, 8);
        /// assert!(scheduler.shutdown_and_wait().is_clean());
        ///
        /// let refused = Scheduler::builder().database("oracle:jobs").build();
        /// assert!(refused.is_err_and(|error| error.to_string().contains("postgres://…")));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        pub fn database(url: impl Into<String>) { self.database = Some(url.into()) }
    }

    /// Has this node share its database with others: they form a cluster, each fire is started by
    /// one of them, and the work of one that dies is taken over. A node of a cluster has a name of
    /// its own, made at its start where nobody gives it one. Properties `jobStore.isClustered` and
    /// `scheduler.instanceId`.
    pub fn clustered(mut self) -> Self {
        self.clustered = true;
        self
    }

    setters! {
        /// Has this node run so many jobs at a time, 1 to 1000, or 0 for a node that runs none;
        /// also where a settings file or [`SchedulerBuilder::settings`] says otherwise. Default:
        /// what the settings say, which is 10 if they say nothing. Property
        /// `threadPool.threadCount`. [`SchedulerBuilder::build`] fails with [`Error::Settings`] for
        /// more than 1000.
        pub fn workers(count: u32) { self.workers = Some(count) }

        /// A store of one's own. The name of the scheduler, the check-in interval and the misfire
        /// threshold are those of its settings, also where [`SchedulerBuilder::settings`] says
        /// otherwise. Default: the store that the settings ask for.
        // For this project's tests and its command line; carries no promise.
        #[doc(hidden)]
        pub fn store(store: JobStore) { self.store = Some(store) }

        /// Connections from a pool of one's own, see [`CallersPool`](crate::database::CallersPool),
        /// instead of from the data source that the settings name. Default: a pool of the
        /// scheduler's, sized by `dataSource.NAME.maxConnections`.
        ///
        /// ```
        /// use carnelian::Scheduler;
        /// use diesel::r2d2::{ConnectionManager, Pool};
        ///
        /// let folder = tempfile::tempdir()?;
        /// let file = folder.path().join("jobs.db").display().to_string();
        /// let pool = Pool::builder().max_size(4).build(ConnectionManager::<diesel::SqliteConnection>::new(file))?;
        /// let scheduler = Scheduler::builder().pool(pool.clone()).build()?;
        /// scheduler.migrate()?;
        /// scheduler.start()?;
        /// assert!(scheduler.shutdown_and_wait().is_clean());
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
        pub fn pool(pool: impl Into<crate::store::CallersPool>) { self.pool = Some(pool.into()) }

        /// The clock. Default: the machine's. A store of one's own must have been given the same.
        pub fn clock(clock: Arc<dyn Clock>) { self.clock = Some(clock) }

        /// The machine whose load this node reports with each check-in. Default: the one it runs
        /// on, as its files show it.
        pub fn machine(machine: Arc<dyn Machine>) { self.machine = Some(machine) }

        /// This node's name, unique in the cluster. Property `scheduler.instanceId`.
        pub fn instance_id(name: impl Into<String>) { self.instance_id = Some(name.into()) }
    }

    /// Adds a job type. Another one of the same name is replaced.
    pub fn job(self, job_type: impl Into<String>, job: impl Job) -> Self {
        self.job_type(job_type, JobType::new(job))
    }

    /// Adds a job type with what else is to be said of it: see [`JobType`].
    pub fn job_type(mut self, name: impl Into<String>, job_type: JobType) -> Self {
        self.jobs.push((name.into(), job_type));
        self
    }

    /// Has the node run jobs that are stored under an old name of a type as well: see
    /// [`Scheduler::register_job_alias`].
    pub fn job_alias(mut self, old: impl Into<String>, new: impl Into<String>) -> Self {
        self.aliases.push((old.into(), new.into()));
        self
    }

    /// Adds a job type whose code is a function. Another one of the same name is replaced.
    pub fn job_fn<F, O>(self, job_type: impl Into<String>, run: F) -> Self
    where
        F: Fn(&mut JobContext) -> Result<O, JobError> + Send + Sync + 'static,
        O: Into<Outcome>,
    {
        self.job(job_type, run)
    }

    /// Says of a job that it shall be stored as the program defines it: see [`JobDefinition`].
    pub fn define(mut self, definition: JobDefinition) -> Self {
        self.declared.push(definition);
        self
    }

    /// Decides what becomes of the work of dead fires of jobs of this type whose policy is
    /// [`OnDead::Ask`](crate::OnDead::Ask). Any node may recover a fire: all of them should have
    /// the same handlers.
    ///
    /// ```
    /// use carnelian::Scheduler;
    /// use carnelian::recovery::{DeadFire, DeadFireDecision};
    /// use std::time::Duration;
    ///
    /// let handler = |dead: &DeadFire| match dead.attempt {
    ///     0 => Some(DeadFireDecision::Recover),
    ///     1..5 => Some(DeadFireDecision::RecoverAfter(Duration::from_secs(300))),
    ///     _ => Some(DeadFireDecision::Error),
    /// };
    /// let builder = Scheduler::builder().dead_fire_handler("billing.close_day", handler);
    /// # let _ = builder;
    /// ```
    pub fn dead_fire_handler(mut self, job_type: impl Into<String>, handler: impl DeadFireHandler + 'static) -> Self {
        self.dead_fire_handlers.by_type.insert(job_type.into(), Box::new(handler));
        self
    }

    /// Registers a strategy of one's own: jobs choose it with
    /// [`JobPolicy::strategy`](crate::JobPolicy::strategy) by this name, a letter of A to Z, then
    /// such letters, digits, `-`, `_` or `.`, at most 60 in all. This node spreads their ticks by
    /// it; nodes without it leave those ticks alone, and take the parts that they are given.
    ///
    /// ```
    /// use carnelian::Scheduler;
    /// use carnelian::placement::{EligibleNode, NodePart, Tick};
    ///
    /// // One node: the one with the fewest runs at its last check-in.
    /// let least_loaded = |_: &Tick<'_>, nodes: &[EligibleNode]| {
    ///     Ok(nodes.iter().min_by_key(|node| node.info.running).map(NodePart::of).into_iter().collect())
    /// };
    /// let builder = Scheduler::builder().execution_strategy("least-loaded", least_loaded);
    /// # let _ = builder;
    /// ```
    pub fn execution_strategy(mut self, name: impl Into<String>, strategy: impl ExecutionStrategy + 'static) -> Self {
        self.strategies.push((name.into(), Arc::new(strategy)));
        self
    }

    /// Adds a listener for the runs of all jobs.
    pub fn job_listener(self, listener: impl JobListener) -> Self {
        self.job_listener_for(KeyMatcher::Everything, listener)
    }

    /// Adds a listener for the runs of the jobs that match.
    pub fn job_listener_for(self, jobs: impl Into<KeyMatcher>, listener: impl JobListener) -> Self {
        ListenerManager::new(&self.listeners).add_job_listener(jobs, listener);
        self
    }

    /// Adds a listener for the fires of all triggers.
    pub fn trigger_listener(self, listener: impl TriggerListener) -> Self {
        self.trigger_listener_for(KeyMatcher::Everything, listener)
    }

    /// Adds a listener for the fires of the triggers that match.
    pub fn trigger_listener_for(self, triggers: impl Into<KeyMatcher>, listener: impl TriggerListener) -> Self {
        ListenerManager::new(&self.listeners).add_trigger_listener(triggers, listener);
        self
    }

    /// Adds a listener for what is done with the scheduler.
    pub fn scheduler_listener(self, listener: impl SchedulerListener) -> Self {
        ListenerManager::new(&self.listeners).add_scheduler_listener(listener);
        self
    }

    /// The scheduler, not started yet.
    ///
    /// # Errors
    /// [`Error::Settings`] with all problems of the settings, [`Error::Invalid`] for a name that
    /// cannot be stored, what is wrong with a [`JobType`], an old name or the name of a strategy,
    /// and what keeps the store from being opened.
    pub fn build(self) -> Result<Scheduler> {
        let mut settings = match (self.settings, self.settings_file) {
            (Some(_), Some(path)) => {
                let message = format!("both settings and the file `{}` were given: expected one", path.display());
                return Err(Error::Settings(message));
            }
            (Some(settings), None) => settings,
            (None, Some(path)) => {
                let read = Settings::from_file(path).map_err(|errors| Error::Settings(errors.to_string()))?;
                read.warnings().iter().for_each(|warning| lifecycle_log::settings_warning(&warning.to_string()));
                read
            }
            (None, None) => self.store.as_ref().map(|store| store.settings().clone()).unwrap_or_default(),
        };
        #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
        let has_pool = self.pool.is_some();
        #[cfg(not(any(feature = "sqlite", feature = "postgres", feature = "mysql")))]
        let has_pool = false;
        if let Some(url) = self.database {
            if has_pool || self.store.is_some() {
                let message = "both a database and a store or pool were given: expected one";
                return Err(Error::Settings(message.to_owned()));
            }
            settings.use_database(&url)?;
        }
        if let Some(count) = self.workers {
            settings.use_workers(count)?;
        }
        if self.clustered {
            settings.use_cluster(has_pool)?;
        }
        let clock = self.clock.unwrap_or_else(|| Arc::new(SystemClock::default()));
        #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
        let own = match (self.store, self.pool) {
            (Some(_), Some(_)) => {
                return Err(Error::Settings("both a store and a pool were given: expected one".to_owned()));
            }
            (None, Some(pool)) => Some(crate::store::open_with_pool(&settings, pool, Arc::clone(&clock))?),
            (store, None) => store,
        };
        #[cfg(not(any(feature = "sqlite", feature = "postgres", feature = "mysql")))]
        let own = self.store;
        let store = match own {
            Some(store) => store,
            None => crate::store::open(&settings, Arc::clone(&clock))?,
        };
        let store = match self.dead_fire_handlers {
            handlers if handlers.by_type.is_empty() => store,
            handlers => store.with_dead_fire_handler(Arc::new(handlers)),
        };
        let mut store = store;
        for (name, strategy) in self.strategies {
            store = store.with_execution_strategy(name, strategy)?;
        }
        let instance = match (self.instance_id, &settings.scheduler.instance_id) {
            (Some(name), _) => name,
            (None, InstanceIdSetting::Fixed(name)) => name.clone(),
            (None, InstanceIdSetting::Auto) => instance_id::automatic(clock.wall_time().timestamp_millis())?,
        };
        check_instance_id(&instance)?;
        #[cfg(feature = "job-files")]
        JobFileWatcher::check(&settings.plugins)?;
        let (listeners, declared) = (self.listeners, self.declared);
        #[cfg(feature = "quartz-plugins")]
        crate::quartz_plugins::add(&listeners, &settings, &clock)?;
        let machine = self.machine.unwrap_or_else(|| Arc::new(MachineFiles::default()));
        let registry = Arc::<Registry>::default();
        for (job_type, job) in self.jobs {
            registry.register(job_type, job)?;
        }
        for (old, new) in self.aliases {
            registry.alias(old, &new)?;
        }
        let store = store.of_instance(&instance);
        let inner = Arc::new_cyclic(|inner| {
            let handle: Weak<Inner> = Weak::clone(inner);
            let node = Node::new(instance, store, clock, machine, settings, listeners, handle);
            let locks = LockKeeper::new(node.store.clone(), Arc::clone(&node.clock), &node.name);
            let type_watch = TypeWatch::default();
            Inner { node: Arc::new(node), engine: Engine::default(), registry, locks, declared, type_watch }
        });
        inner.node.store.job_types().set_with_policies(inner.registry.infos(), inner.registry.policies());
        Ok(Scheduler::of(inner))
    }
}

impl Scheduler {
    /// Begins a scheduler.
    pub fn builder() -> SchedulerBuilder {
        SchedulerBuilder::default()
    }
}

/// Handlers of dead fires, by the type of their jobs.
#[derive(Default)]
struct DeadFireHandlers {
    by_type: HashMap<String, Box<dyn DeadFireHandler>>,
}

impl DeadFireHandler for DeadFireHandlers {
    fn decide(&self, fire: &DeadFire) -> Option<DeadFireDecision> {
        let handler = self.by_type.get(&fire.job_type)?;
        // A panic would end the recovery, again and again, on every node.
        guarded(|| handler.decide(fire)).unwrap_or_else(|panic| {
            lifecycle_log::listener_failed("dead fire handler", &fire.job_type, "decide", &panic);
            None
        })
    }
}
