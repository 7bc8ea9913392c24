//! Table: every known key, once, with its kind, default, meaning and whether it has an effect here.

use super::{Key, Kind, key, optional};

const YEAR: u64 = 31_536_000_000;
const MILLIS: Kind = Kind::Millis { least: 0, most: YEAR };
const NO_CLASSES: &str = "Java classes are not loaded here";
const NO_DAEMONS: &str = "threads here are neither daemons nor users: shutdown ends them";
const NO_CLASS_LOADERS: &str = "there are no class loaders here";
const NO_RMI: &str = "there is no RMI here: use the `carnelian` command or the dashboard";
const NO_JMX: &str = "there is no JMX here: use the metrics or the dashboard";
const OWN_POOL: &str = "connections are pooled by r2d2: only maxConnections, validateOnCheckout, \
     maxIdleTime and discardIdleConnectionsSeconds have a meaning";
const OWN_SQL: &str = "the statements for each database are built in";

/// Every known key, in the order of the documentation.
#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    // Scheduler
    key("scheduler.instanceName", Kind::Name { most: 120 }, "QuartzScheduler",
        "The name of the scheduler (SCHED_NAME); equal on all nodes of a cluster."),
    optional("scheduler.instanceId", Kind::Name { most: 190 },
        "The name of this node, unique in the cluster; `AUTO` makes one, `${env:POD_NAME}` takes one from the environment.")
        .derived("`AUTO` in a cluster, else `NON_CLUSTERED`"),
    key("scheduler.instanceIdGenerator.class", Kind::Class, "org.quartz.simpl.SimpleInstanceIdGenerator",
        "How Quartz makes the id for `AUTO`.")
        .fixed(&["org.quartz.simpl.SimpleInstanceIdGenerator"],
            "`AUTO` makes host name, time and a random part: for another id write scheduler.instanceId = ${env:HOSTNAME} or the like"),
    optional("scheduler.instanceIdGenerator.*", Kind::Text, "Settings of the id generator.")
        .ignored("id generators are Java classes: write scheduler.instanceId = ${env:NAME} instead"),
    optional("scheduler.threadName", Kind::Name { most: 200 }, "The name of the acquisition thread.")
        .derived("from the scheduler's name"),
    key("scheduler.idleWaitTime", Kind::Millis { least: 1_000, most: YEAR }, "30000",
        "Time between polls when there is nothing to do, and how far ahead triggers are acquired.").default_by("-1"),
    key("scheduler.dbFailureRetryInterval", MILLIS, "15000",
        "Time before the acquisition thread tries again when the database cannot be reached; given, it replaces jobStore.dbRetryInterval."),
    optional("scheduler.batchTriggerAcquisitionMaxCount", Kind::Count { least: 1, most: 10_000 },
        "Most triggers acquired in one transaction.").derived("as `threadPool.threadCount` (Quartz: 1)"),
    key("scheduler.batchTriggerAcquisitionFireAheadTimeWindow", MILLIS, "0",
        "How much earlier than its time a trigger of a batch may fire."),
    key("scheduler.interruptJobsOnShutdown", Kind::Bool, "false",
        "Whether running jobs are told to stop by a shutdown that does not wait for them."),
    key("scheduler.interruptJobsOnShutdownWithWait", Kind::Bool, "false",
        "Whether running jobs are told to stop by a shutdown that waits for them."),
    key("scheduler.makeSchedulerThreadDaemon", Kind::Bool, "false", "Whether the scheduler thread is a daemon.").ignored(NO_DAEMONS),
    key("scheduler.threadsInheritContextClassLoaderOfInitializer", Kind::Bool, "false", "The class loader of threads.").ignored(NO_CLASS_LOADERS),
    optional("scheduler.classLoadHelper.class", Kind::Class, "How Quartz finds Java classes.").ignored(NO_CLASS_LOADERS),
    optional("scheduler.classLoadHelper.*", Kind::Text, "Settings of the class load helper.").ignored(NO_CLASS_LOADERS),
    optional("scheduler.jobFactory.class", Kind::Class, "How Quartz makes job objects.")
        .ignored("jobs are made by the job types registered in the program"),
    optional("scheduler.jobFactory.*", Kind::Text, "Settings of the job factory.")
        .ignored("jobs are made by the job types registered in the program"),
    optional("scheduler.userTransactionURL", Kind::Text, "Where Quartz finds the JTA transaction.").ignored("there is no JTA here"),
    key("scheduler.wrapJobExecutionInUserTransaction", Kind::Bool, "false", "Whether jobs run in a JTA transaction.")
        .fixed(&["false"], "there is no JTA here: a job opens its own transaction"),
    key("scheduler.skipUpdateCheck", Kind::Bool, "true", "Whether no newer version is looked for.")
        .fixed(&["true"], "nothing here ever looks for updates"),
    optional("scheduler.logger", Kind::Text, "In old examples; Quartz 2 does not read it.").ignored("logging is set up by the program"),
    key("scheduler.jmx.export", Kind::Bool, "false", "Whether the scheduler is a JMX bean.").fixed(&["false"], NO_JMX),
    optional("scheduler.jmx.objectName", Kind::Text, "The name of the JMX bean.").ignored(NO_JMX),
    key("scheduler.jmx.proxy", Kind::Bool, "false", "Whether this is a proxy of a JMX bean.").fixed(&["false"], NO_JMX),
    optional("scheduler.jmx.proxy.*", Kind::Text, "Settings of the JMX proxy.").ignored(NO_JMX),
    key("scheduler.rmi.export", Kind::Bool, "false", "Whether the scheduler is served by RMI.").fixed(&["false"], NO_RMI),
    key("scheduler.rmi.proxy", Kind::Bool, "false", "Whether this is a proxy of a scheduler served by RMI.").fixed(&["false"], NO_RMI),
    optional("scheduler.rmi.registryHost", Kind::Text, "The host of the RMI registry.").ignored(NO_RMI),
    optional("scheduler.rmi.registryPort", Kind::Text, "The port of the RMI registry.").ignored(NO_RMI),
    optional("scheduler.rmi.serverPort", Kind::Text, "The port of the RMI server.").ignored(NO_RMI),
    key("scheduler.rmi.createRegistry", Kind::Text, "never", "Whether an RMI registry is started.")
        .fixed(&["never", "false"], NO_RMI),
    optional("scheduler.rmi.bindName", Kind::Text, "The name in the RMI registry.").ignored(NO_RMI),
    optional("context.key.*", Kind::Text, "A text that jobs find in the scheduler's context under the rest of the key."),
    key("managementRESTService.enabled", Kind::Bool, "false", "Whether a REST service is started.")
        .fixed(&["false"], "there is no such service: use the dashboard"),
    optional("managementRESTService.bind", Kind::Text, "The address of the REST service.").ignored("there is no such service: use the dashboard"),
    key("threadExecutor.class", Kind::Class, "org.quartz.impl.DefaultThreadExecutor", "How Quartz starts threads.")
        .fixed(&["org.quartz.impl.DefaultThreadExecutor"], "threads are started by the scheduler itself"),
    optional("threadExecutor.*", Kind::Text, "Settings of the thread executor.").ignored("threads are started by the scheduler itself"),

    // Thread pool
    key("threadPool.class", Kind::Class, "org.quartz.simpl.SimpleThreadPool",
        "`org.quartz.simpl.SimpleThreadPool`, or `org.quartz.simpl.ZeroSizeThreadPool` for a node that runs no jobs."),
    key("threadPool.threadCount", Kind::Count { least: 1, most: 1_000 }, "10", "How many jobs run at the same time on this node."),
    optional("threadPool.threadNamePrefix", Kind::Name { most: 200 }, "How the names of worker threads begin.")
        .derived("from the scheduler's name"),
    key("threadPool.threadPriority", Kind::Count { least: 1, most: 10 }, "5", "The priority of worker threads.")
        .fixed(&["5"], "worker threads have the priority of the process"),
    key("threadPool.makeThreadsDaemons", Kind::Bool, "false", "Whether worker threads are daemons.").ignored(NO_DAEMONS),
    key("threadPool.threadsInheritGroupOfInitializingThread", Kind::Bool, "true", "The thread group of workers.")
        .ignored("there are no thread groups here"),
    key("threadPool.threadsInheritContextClassLoaderOfInitializingThread", Kind::Bool, "false", "The class loader of workers.").ignored(NO_CLASS_LOADERS),

    // Job store
    optional("jobStore.class", Kind::Class,
        "`org.quartz.impl.jdbcjobstore.JobStoreTX` for a database, `org.quartz.simpl.RAMJobStore` for memory.")
        .derived("a database if `jobStore.dataSource` is given, else memory"),
    optional("jobStore.dataSource", Kind::Name { most: 200 }, "The NAME of the data source to use; a must with a database."),
    key("jobStore.tablePrefix", Kind::Name { most: 95 }, "QRTZ_", "How the names of all tables begin; a schema may stand before it, as in `jobs.QRTZ_`."),
    key("jobStore.isClustered", Kind::Bool, "false", "Whether several nodes share the tables."),
    key("jobStore.clusterCheckinInterval", Kind::Millis { least: 100, most: YEAR }, "15000", "Time between two check-ins of this node (Quartz's code: 7500)."),
    key("jobStore.clusterCheckinMisfireThreshold", MILLIS, "7500",
        "How late a check-in may be before other nodes take this one for dead."),
    key("jobStore.misfireThreshold", Kind::Millis { least: 1, most: YEAR }, "60000",
        "How late a trigger may fire before it counts as misfired; also the time between two looks for misfires."),
    key("jobStore.maxMisfiresToHandleAtATime", Kind::Count { least: 1, most: 100_000 }, "20", "Most misfired triggers dealt with in one transaction."),
    key("jobStore.dbRetryInterval", MILLIS, "15000",
        "Time before the other threads try again when the database cannot be reached; scheduler.dbFailureRetryInterval replaces it."),
    key("jobStore.retryableActionErrorLogThreshold", Kind::Count { least: 1, most: 1_000_000 }, "4",
        "Only every n-th error in a row is logged as an error, the others are at debug."),
    key("jobStore.useProperties", Kind::Bool, "false", "Whether job data is stored as text instead of Java's serialised form."),
    optional("jobStore.driverDelegateClass", Kind::Class, "Quartz's dialect; here the URL of the data source says it.")
        .derived("from the data source's URL"),
    optional("jobStore.driverDelegateInitString", Kind::Text, "Settings of the delegate.").ignored(OWN_SQL),
    key("jobStore.acquireTriggersWithinLock", Kind::Bool, "true", "Whether triggers are acquired under the lock.")
        .fixed(&["true"], "triggers are always acquired under the lock"),
    key("jobStore.useDBLocks", Kind::Bool, "true", "Whether the locks are in the database.")
        .fixed(&["true"], "the locks of a database store are always in the database"),
    key("jobStore.lockOnInsert", Kind::Bool, "true", "Whether inserts are made under the lock.")
        .fixed(&["true"], "inserts are always made under the lock"),
    key("jobStore.doubleCheckLockMisfireHandler", Kind::Bool, "true", "Whether misfires are counted before the lock is taken.")
        .fixed(&["true"], "misfires are always counted before the lock is taken"),
    key("jobStore.dontSetAutoCommitFalse", Kind::Bool, "false", "Whether connections are left in auto-commit.")
        .fixed(&["false"], "every change is made in a transaction"),
    key("jobStore.txIsolationLevelSerializable", Kind::Bool, "false", "Whether transactions are serialisable.")
        .fixed(&["false"], "transactions are READ COMMITTED under explicit locks"),
    key("jobStore.txIsolationLevelReadCommitted", Kind::Bool, "true", "Whether transactions are READ COMMITTED.")
        .fixed(&["true"], "transactions are always READ COMMITTED under explicit locks"),
    optional("jobStore.selectWithLockSQL", Kind::Text, "The statement that takes a lock.").ignored(OWN_SQL),
    key("jobStore.makeThreadsDaemons", Kind::Bool, "false", "Whether the misfire and cluster threads are daemons.").ignored(NO_DAEMONS),
    key("jobStore.threadsInheritInitializersClassLoadContext", Kind::Bool, "false", "The class loader of the misfire and cluster threads.").ignored(NO_CLASS_LOADERS),
    key("jobStore.useEnhancedStatements", Kind::Bool, "false", "Whether bulk reads are joined.").ignored(OWN_SQL),
    key("jobStore.lockHandler.class", Kind::Class, "org.quartz.impl.jdbcjobstore.StdRowLockSemaphore", "How Quartz takes locks.")
        .fixed(&["org.quartz.impl.jdbcjobstore.StdRowLockSemaphore"], "locks are the rows of the LOCKS table, taken as each database needs it"),
    optional("jobStore.lockHandler.*", Kind::Text, "Settings of the lock handler.").ignored("locks are the rows of the LOCKS table, taken as each database needs it"),
    optional("jobStore.nonManagedTXDataSource", Kind::Text, "The second data source of JobStoreCMT.")
        .ignored("there are no container transactions: jobStore.dataSource serves everything"),
    key("jobStore.dontSetNonManagedTXConnectionAutoCommitFalse", Kind::Bool, "false", "Whether the second data source is left in auto-commit.")
        .fixed(&["false"], "every change is made in a transaction"),

    // Data sources
    optional("dataSource.NAME.URL", Kind::Url,
        "The database: `jdbc:postgresql://…`, `jdbc:mysql://…`, `jdbc:mariadb://…`, `jdbc:sqlite:FILE`, `postgres://…`, `mysql://…`, `sqlite:FILE` or `sqlite::memory:`."),
    optional("dataSource.NAME.user", Kind::Text, "The user; goes before one in the URL."),
    optional("dataSource.NAME.password", Kind::Secret, "The password; goes before one in the URL. `${file:PATH}` keeps it out of the file."),
    key("dataSource.NAME.maxConnections", Kind::Count { least: 1, most: 1_000 }, "10", "Most connections of the pool."),
    optional("dataSource.NAME.driver", Kind::Class, "The JDBC driver; here the URL says which database it is.")
        .derived("from the URL"),
    key("dataSource.NAME.validateOnCheckout", Kind::Bool, "false", "Whether a connection is tried each time before it is used."),
    key("dataSource.NAME.maxIdleTime", Kind::Seconds { least: 0, most: YEAR / 1_000 }, "0", "Seconds after which an unused connection is closed; 0 is never."),
    key("dataSource.NAME.discardIdleConnectionsSeconds", Kind::Seconds { least: 0, most: YEAR / 1_000 }, "0", "The same under the name that Quartz has for HikariCP."),
    optional("dataSource.NAME.validationQuery", Kind::Text, "The statement that tries a connection.").ignored(OWN_SQL),
    optional("dataSource.NAME.provider", Kind::Text, "The pool that Quartz uses.").ignored(OWN_POOL),
    optional("dataSource.NAME.connectionProvider.class", Kind::Class, "A pool class of one's own.").ignored(OWN_POOL),
    optional("dataSource.NAME.connectionProvider.*", Kind::Text, "Settings of a pool class of one's own.").ignored(OWN_POOL),
    optional("dataSource.NAME.jndiURL", Kind::Text, "Where Quartz finds a container's data source.").ignored("there is no JNDI here: write URL, user and password"),
    key("dataSource.NAME.jndiAlwaysLookup", Kind::Bool, "false", "Whether the container is asked each time.").ignored("there is no JNDI here"),
    optional("dataSource.NAME.java.naming.security.credentials", Kind::Secret, "The container's password.").ignored("there is no JNDI here"),
    optional("dataSource.NAME.java.*", Kind::Text, "Settings of the container.").ignored("there is no JNDI here"),
    optional("dataSource.NAME.maxCachedStatementsPerConnection", Kind::Text, "Prepared statements kept per connection.").ignored("prepared statements are kept by themselves"),
    optional("dataSource.NAME.idleConnectionValidationSeconds", Kind::Text, "How often c3p0 tries unused connections.").ignored(OWN_POOL),
    optional("dataSource.NAME.initialPoolSize", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.minPoolSize", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.maxPoolSize", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.acquireIncrement", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.acquireRetryAttempts", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.acquireRetryDelay", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.breakAfterAcquireFailure", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.checkoutTimeout", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.idleConnectionTestPeriod", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.maxConnectionAge", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.maxIdleTimeExcessConnections", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.maxStatements", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.maxStatementsPerConnection", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.numHelperThreads", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.preferredTestQuery", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.testConnectionOnCheckin", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.testConnectionOnCheckout", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.unreturnedConnectionTimeout", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.autoCommitOnClose", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.automaticTestTable", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.connectionCustomizerClassName", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.connectionTesterClassName", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.contextClassLoaderSource", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.dataSourceName", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.debugUnreturnedConnectionStackTraces", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.factoryClassLocation", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.forceIgnoreUnresolvedTransactions", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.forceSynchronousCheckins", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.forceUseNamedDriverClass", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.maxAdministrativeTaskTime", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.overrideDefaultPassword", Kind::Secret, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.overrideDefaultUser", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.privilegeSpawnedThreads", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.propertyCycle", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.statementCacheNumDeferredCloseThreads", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.usesTraditionalReflectiveProxies", Kind::Text, "A setting of c3p0.").ignored(OWN_POOL),
    optional("dataSource.NAME.allowPoolSuspension", Kind::Text, "A setting of HikariCP.").ignored(OWN_POOL),
    optional("dataSource.NAME.autoCommit", Kind::Text, "A setting of HikariCP.").ignored("every change is made in a transaction"),
    optional("dataSource.NAME.catalog", Kind::Text, "A setting of HikariCP.").ignored("the database is named in the URL"),
    optional("dataSource.NAME.connectionInitSql", Kind::Text, "A setting of HikariCP.").ignored(OWN_SQL),
    optional("dataSource.NAME.dataSourceClassName", Kind::Text, "A setting of HikariCP.").ignored(OWN_POOL),
    optional("dataSource.NAME.dataSourceProperties.*", Kind::Text, "Settings of the JDBC driver.").ignored("drivers take their parameters in the URL"),
    optional("dataSource.NAME.initializationFailTimeout", Kind::Text, "A setting of HikariCP.").ignored(OWN_POOL),
    optional("dataSource.NAME.isolateInternalQueries", Kind::Text, "A setting of HikariCP.").ignored(OWN_POOL),
    optional("dataSource.NAME.readOnly", Kind::Text, "A setting of HikariCP.").ignored("a job store writes"),
    optional("dataSource.NAME.registerMbeans", Kind::Text, "A setting of HikariCP.").ignored(NO_JMX),
    optional("dataSource.NAME.schema", Kind::Text, "A setting of HikariCP.").ignored("write the schema before the table prefix, as in jobStore.tablePrefix = jobs.QRTZ_"),
    optional("dataSource.NAME.transactionIsolation", Kind::Text, "A setting of HikariCP.").ignored("transactions are READ COMMITTED under explicit locks"),
    optional("dataSource.NAME.connectionTestQuery", Kind::Text, "A setting of HikariCP.").ignored(OWN_POOL),
    optional("dataSource.NAME.connectionTimeout", Kind::Text, "A setting of HikariCP.").ignored(OWN_POOL),
    optional("dataSource.NAME.idleTimeout", Kind::Text, "A setting of HikariCP.").ignored(OWN_POOL),
    optional("dataSource.NAME.keepaliveTime", Kind::Text, "A setting of HikariCP.").ignored(OWN_POOL),
    optional("dataSource.NAME.leakDetectionThreshold", Kind::Text, "A setting of HikariCP.").ignored(OWN_POOL),
    optional("dataSource.NAME.maxLifetime", Kind::Text, "A setting of HikariCP.").ignored(OWN_POOL),
    optional("dataSource.NAME.maximumPoolSize", Kind::Text, "A setting of HikariCP.").ignored(OWN_POOL),
    optional("dataSource.NAME.minimumIdle", Kind::Text, "A setting of HikariCP.").ignored(OWN_POOL),
    optional("dataSource.NAME.poolName", Kind::Text, "A setting of HikariCP.").ignored(OWN_POOL),
    optional("dataSource.NAME.validationTimeout", Kind::Text, "A setting of HikariCP.").ignored(OWN_POOL),

    // Listeners and plugins
    optional("jobListener.NAME.class", Kind::Class, "A job listener.").ignored("Java listeners are not loaded: register listeners in the program"),
    optional("jobListener.NAME.*", Kind::Text, "Settings of a job listener.").ignored("Java listeners are not loaded: register listeners in the program"),
    optional("triggerListener.NAME.class", Kind::Class, "A trigger listener.").ignored("Java listeners are not loaded: register listeners in the program"),
    optional("triggerListener.NAME.*", Kind::Text, "Settings of a trigger listener.").ignored("Java listeners are not loaded: register listeners in the program"),
    optional("plugin.NAME.class", Kind::Class,
        "A plugin of Quartz: `org.quartz.plugins.xml.XMLSchedulingDataProcessorPlugin` loads job files, `org.quartz.plugins.history.LoggingJobHistoryPlugin` and `…LoggingTriggerHistoryPlugin` log runs and fires, `org.quartz.plugins.management.ShutdownHookPlugin` says how a program ends. Other classes have no effect and give a warning."),
    key("plugin.NAME.fileNames", Kind::Text, "quartz_data.xml",
        "Job files: the files, separated by commas; those that are not in the working directory are looked for beside the properties file."),
    key("plugin.NAME.failOnFileNotFound", Kind::Bool, "true", "Job files: whether a file that does not exist keeps the node from starting."),
    key("plugin.NAME.scanInterval", Kind::Seconds { least: 0, most: YEAR / 1_000 }, "0",
        "Job files: how often the files are looked at for changes; 0 is never."),
    key("plugin.NAME.wrapInUserTransaction", Kind::Bool, "false", "Job files: whether they are loaded in a JTA transaction.")
        .fixed(&["false"], "there is no JTA here: each job file is stored in one transaction of the database"),
    key("plugin.NAME.jobToBeFiredMessage", Kind::Text, "Job {1}.{0} fired (by trigger {4}.{3}) at: {2, date, HH:mm:ss MM/dd/yyyy}",
        "Job history: said when a job is about to run."),
    key("plugin.NAME.jobSuccessMessage", Kind::Text, "Job {1}.{0} execution complete at {2, date, HH:mm:ss MM/dd/yyyy} and reports: {8}",
        "Job history: said when a job has succeeded."),
    key("plugin.NAME.jobFailedMessage", Kind::Text, "Job {1}.{0} execution failed at {2, date, HH:mm:ss MM/dd/yyyy} and reports: {8}",
        "Job history: said when a job has failed."),
    key("plugin.NAME.jobWasVetoedMessage", Kind::Text,
        "Job {1}.{0} was vetoed.  It was to be fired (by trigger {4}.{3}) at: {2, date, HH:mm:ss MM/dd/yyyy}",
        "Job history: said when a trigger listener said no."),
    key("plugin.NAME.triggerFiredMessage", Kind::Text, "Trigger {1}.{0} fired job {6}.{5} at: {4, date, HH:mm:ss MM/dd/yyyy}",
        "Trigger history: said when a trigger has fired."),
    key("plugin.NAME.triggerMisfiredMessage", Kind::Text,
        "Trigger {1}.{0} misfired job {6}.{5}  at: {4, date, HH:mm:ss MM/dd/yyyy}.  Should have fired at: {3, date, HH:mm:ss MM/dd/yyyy}",
        "Trigger history: said when a trigger could not fire in time."),
    key("plugin.NAME.triggerCompleteMessage", Kind::Text,
        "Trigger {1}.{0} completed firing job {6}.{5} at {4, date, HH:mm:ss MM/dd/yyyy} with resulting trigger instruction code: {9}",
        "Trigger history: said when the job of a fire has ended."),
    key("plugin.NAME.cleanShutdown", Kind::Bool, "true",
        "Shutdown hook: whether `carnelian node` waits for running jobs when a signal ends it."),
    optional("plugin.NAME.defaultMaxRunTime", Kind::Text, "Job interrupt monitor: after how long a job is interrupted.")
        .ignored("give the job a timeout instead (JobPolicy::timeout)"),
    optional("plugin.NAME.*", Kind::Text, "Settings of other plugins.").ignored(NO_CLASSES),

    // Only here
    optional("carnelian.scheduler.nodeName", Kind::Name { most: 200 },
        "The name of the machine or place of this node, which stays when it is started again.")
        .derived("address and host name, as `10.1.2.3_web7`"),
    optional("carnelian.node.displayName", Kind::Name { most: 200 }, "What people call this node.")
        .derived("its `scheduler.instanceId`"),
    optional("carnelian.node.labels", Kind::Labels,
        "What sets this node apart from others: names of 1 to 63 letters, digits, `.`, `_`, `-` and `/`, each with a value; at most 32."),
    key("carnelian.scheduler.role", Kind::Choice(&["worker", "observer"]), "worker",
        "Whether this node runs jobs, or only checks in and looks after the others."),
    optional("carnelian.application.name", Kind::Name { most: 120 }, "The application that this scheduler is a part of, for people.")
        .derived("as `scheduler.instanceName`"),
    optional("carnelian.application.version", Kind::Name { most: 120 }, "Its version, for people: what a rolling update looks at."),
    key("carnelian.scheduler.pollInterval", Kind::Duration { least: 10, most: YEAR }, "1s",
        "How often a node looks for work that other nodes have stored: they send no signal. At most scheduler.idleWaitTime."),
    key("carnelian.scheduler.heartbeatInterval", Kind::Duration { least: 100, most: YEAR }, "5s",
        "How often running fires say that they are alive, all of a node in one statement."),
    key("carnelian.scheduler.missedHeartbeatLimit", Kind::Count { least: 1, most: 1_000_000 }, "3",
        "How many heartbeats a fire may miss before it counts as dead."),
    optional("carnelian.scheduler.timeZone", Kind::Zone,
        "The zone of triggers, calendars and times in job files that have none of their own; what `user.timezone` or `TZ` is to a Java node. Equal on all nodes.")
        .derived("the machine's: `TZ`, else what the system is set to, else UTC"),
    key("carnelian.scheduler.pollJitter", Kind::Count { least: 0, most: 90 }, "10",
        "By how many percent a poll interval is shortened at most, at random, so that nodes do not look in step."),
    key("carnelian.jobStore.triggerOrder", Kind::Choice(&["time-then-priority", "priority-then-time"]), "time-then-priority",
        "Which of the due triggers fires first when there are more than free workers: the earliest as in Quartz, or the most important."),
    key("carnelian.jobStore.clock", Kind::Choice(&["database", "node"]), "database",
        "Whose clock decides about check-ins; on SQLite it is always the node's."),
    key("carnelian.jobStore.orphanAuditInterval", Kind::Duration { least: 1, most: YEAR }, "24h",
        "Time between two audits for jobs that no live node can run; the first follows the start. One that is due within an hour is named at once."),
    optional("carnelian.jobStore.deleteUnresolvedAfter", Kind::Duration { least: 0, most: 10 * YEAR },
        "After how long a job that no live node can run is deleted, with its triggers, by the next audit; `14d` leaves room for rolling upgrades.")
        .derived("never"),
    key("carnelian.dataSource.connectionTimeout", Kind::Duration { least: 1, most: YEAR }, "30s",
        "How long a thread waits for a connection before it is a database failure."),
    key("carnelian.cluster.mode", Kind::Choice(&["active-active", "active-passive"]), "active-active",
        "Whether all nodes fire, or one while the others stand by."),
    key("carnelian.cluster.onOwnershipLost", Kind::Choice(&["notify", "abort"]), "notify",
        "What a node does that was declared dead while it lived: tell its running jobs, or end the process."),
    key("carnelian.cluster.ownTypesBesideQuartz", Kind::Bool, "false",
        "Whether job types that no Java class can have may be stored while a node of Quartz is in the cluster."),
    key("carnelian.cluster.takeoverDelay", Kind::Duration { least: 0, most: YEAR }, "0",
        "Extra time between the verdict that a node is dead and the take-over of its work."),
    key("carnelian.history.record", Kind::Choice(&["all", "problems", "none"]), "all",
        "Which fires are written into the history when they have ended: all, those that did not end well, or none."),
    key("carnelian.history.retention", Kind::Duration { least: 1_000, most: 10 * YEAR }, "7d",
        "How long a fire stays in the history."),
    key("carnelian.history.maxRows", Kind::Count { least: 1, most: 1_000_000_000 }, "100000",
        "How many fires stay in the history at most, the newest."),
    key("carnelian.history.cleanUpInterval", Kind::Duration { least: 100, most: YEAR }, "1m",
        "How often what is too old, or too much, is forgotten, by the node that serves longest."),
    key("carnelian.job.stuckAfter", Kind::Duration { least: 1, most: YEAR }, "5m",
        "After how long without progress a job that reports its progress counts as stuck, if its policy says nothing."),
    key("carnelian.job.stopAttempts", Kind::Count { least: 1, most: 1_000 }, "3",
        "How often a job that takes too long is asked to stop before its worker is given up."),
    key("carnelian.job.stopWait", Kind::Duration { least: 0, most: YEAR }, "3s",
        "How long it is waited for each time."),
    key("carnelian.shutdown.deadline", Kind::Duration { least: 0, most: YEAR }, "30s",
        "Longest time that a shutdown takes, whatever the jobs do."),
    key("carnelian.jobFiles.keepUnchanged", Kind::Bool, "false",
        "Whether a start leaves triggers alone that are stored just as their job file has them; Quartz begins them anew. A later look at a changed file always does."),
];
