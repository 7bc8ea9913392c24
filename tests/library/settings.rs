//! Settings from outside: whole files, every kind of problem, and no password in any output.

use std::fmt::Write as _;
use std::time::Duration;

use carnelian::settings::keys::{self, DefaultValue, Kind, Status};
use carnelian::settings::{
    ClockSource, ClusterMode, DataSourceSettings, DataSourceUrl, InstanceIdSetting, OnOwnershipLost, Pooler, Settings,
    SettingsErrorKind, SettingsErrors, SettingsLoader, StoreKind, Synchronous,
};

const SENTINEL: &str = "S3NT1NEL";

/// The properties file of a Java cluster, unchanged.
const QUARTZ: &str = include_str!("../testdata/quartz.properties");

mod warehouse;

fn read(text: &str) -> Result<Settings, SettingsErrors> {
    Settings::from_text("q.properties", text, |name| match name {
        "POD_NAME" => Some("node-7".to_owned()),
        "THREADS" => Some("ten".to_owned()),
        "DB_PASSWORD" => Some(SENTINEL.to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    })
}

fn errors(text: &str) -> Vec<String> {
    let errors = read(text).expect_err(text);
    errors.errors().iter().map(ToString::to_string).collect()
}

fn only_error(text: &str) -> String {
    let errors = errors(text);
    assert_eq!(errors.len(), 1, "{text}: {errors:#?}");
    errors.into_iter().next().unwrap()
}

fn warnings(text: &str) -> Vec<String> {
    let settings = read(text).unwrap_or_else(|errors| panic!("{text}: {errors}"));
    settings.warnings().iter().map(ToString::to_string).collect()
}

/// A file with a database, for settings that need one.
fn with_database(lines: &str) -> String {
    format!("jobStore.dataSource = db\ndataSource.db.URL = postgres://h/jobs\n{lines}")
}

#[test]
fn an_empty_file_is_the_default_and_says_nothing() {
    let settings = read("").unwrap();
    assert_eq!(settings, Settings::default());
    assert_eq!(settings.warnings(), []);
    assert_eq!(settings.scheduler.instance_name, "QuartzScheduler");
    assert_eq!(settings.scheduler.instance_id, InstanceIdSetting::Fixed("NON_CLUSTERED".to_owned()));
    assert_eq!(settings.scheduler.idle_wait_time, Duration::from_secs(30));
    assert_eq!(settings.scheduler.db_failure_retry_interval, Duration::from_secs(2));
    assert_eq!((settings.scheduler.batch_max_count, settings.scheduler.take_ahead), (500, Duration::from_millis(20)));
    assert_eq!(settings.scheduler.batch_time_window, Duration::ZERO);
    assert_eq!(settings.thread_pool.thread_count, 10);
    let store = &settings.job_store;
    assert_eq!((store.kind, store.clustered), (StoreKind::Memory, false));
    assert_eq!(store.checkin_interval, Duration::from_millis(15_000));
    assert_eq!(store.checkin_misfire_threshold, Duration::from_millis(7_500));
    assert_eq!(store.misfire_threshold, Duration::from_secs(60));
    assert_eq!(store.max_misfires_at_a_time, 20);
    assert_eq!(store.db_retry_interval, Duration::from_secs(2));
    assert_eq!(store.table_prefix, "QRTZ_");
    assert_eq!((store.use_properties, store.acquire_within_lock), (false, true));
    assert_eq!(store.retry_log_threshold, 4);
    assert_eq!(store.clock, ClockSource::Database);
    assert_eq!(settings.data_source, None);
    assert_eq!(settings.cluster.on_ownership_lost, OnOwnershipLost::Notify);
    assert_eq!(settings.cluster.takeover_delay, Duration::ZERO);
    assert_eq!(settings.cluster.mode, ClusterMode::ActiveActive);
    assert_eq!(settings.shutdown.deadline, Duration::from_secs(30));
}

#[test]
fn the_file_of_a_java_cluster_works_unchanged() {
    let settings = read(QUARTZ).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(settings.scheduler.instance_name, "MyClusteredScheduler");
    assert_eq!(settings.scheduler.instance_id, InstanceIdSetting::Auto);
    assert_eq!(settings.scheduler.db_failure_retry_interval, Duration::from_millis(2_000));
    assert_eq!(settings.scheduler.context.get("environment").map(String::as_str), Some("production"));
    assert_eq!(settings.thread_pool.thread_count, 25);
    let store = &settings.job_store;
    assert_eq!((store.kind, store.clustered), (StoreKind::Sql, true));
    assert_eq!(store.misfire_threshold, Duration::from_millis(60_000));
    assert_eq!(store.checkin_interval, Duration::from_millis(20_000));
    let source = settings.data_source.as_ref().unwrap();
    assert_eq!((source.name.as_str(), source.max_connections), ("myDS", 28));
    assert_eq!(source.url.reveal(), "postgres://quartz:p%40ss%20word@db1:5432/jobs?connect_timeout=10");
    let warned: Vec<_> = settings.warnings().iter().filter_map(|warning| warning.line()).collect();
    assert_eq!(warned, [21, 29, 31, 34, 35], "{:#?}", settings.warnings());
}

#[test]
fn the_prefix_may_be_left_out_and_a_later_line_wins() {
    let text = "org.quartz.threadPool.threadCount=3\nthreadPool.threadCount=4";
    assert_eq!(read(text).unwrap().thread_pool.thread_count, 4);
    let expected =
        "q.properties:1: org.quartz.threadPool.threadCount: given again in line 2, which is the one that counts";
    assert_eq!(warnings(text), [expected]);
}

#[test]
fn all_problems_are_listed_at_once_in_the_order_of_lines() {
    let text = r#"threadPool.threadCont = 10
threadPool.threadCount = ten
jobStore.misfireThreshold = 15s
jobStore.isClustered = yes
bad\u12 = x
scheduler.instanceId = SYS_PROP
scheduler.threadName = ${env:NOT_SET}
scheduler.instanceName = $@scheduler.nowhere
jobStore.tablePrefix = QRTZ-; DROP TABLE
jobStore.class = org.quartz.impl.jdbcjobstore.JobStoreTX
carnelian.cluster.mode = active-pasive
carnelian.shutdown.deadline = soon
context.key.a = $@context.key.b
context.key.b = $@context.key.a
context.key.c = $@context.key.c
context.key.d = ${file:/no/such/file}
context.key.e = ${vault:x}
scheduler.idleWaitTime = 5
threadPool.threadPriority = 11
"#;
    let listed = errors(text);
    let expected = [
        "q.properties: org.quartz.jobStore.dataSource: a database store needs a data source: write org.quartz.jobStore.dataSource = jobs and org.quartz.dataSource.jobs.URL = jdbc:postgresql://host:5432/database or the like",
        "q.properties:1: threadPool.threadCont = \"10\": unknown key (did you mean `threadPool.threadCount`?)",
        "q.properties:2: threadPool.threadCount = \"ten\": expected a whole number from 1 to 1000",
        "q.properties:3: jobStore.misfireThreshold = \"15s\": expected a whole number of milliseconds from 1 to 31536000000: write 15000",
        "q.properties:4: jobStore.isClustered = \"yes\": expected true or false: write true",
        "q.properties:5: malformed \\u escape: expected four hexadecimal digits after \\u",
        "q.properties:6: scheduler.instanceId = \"SYS_PROP\": expected AUTO or a name: there are no system properties here, write ${env:NAME} to take the name from the environment",
        "q.properties:7: scheduler.threadName = \"${env:NOT_SET}\": environment variable `NOT_SET` is not set: set it, or give a default as in ${env:NOT_SET:default}",
        "q.properties:8: scheduler.instanceName = \"$@scheduler.nowhere\": expected $@ and the full name of another key that is given; write $$@ for a plain $@",
        "q.properties:9: jobStore.tablePrefix = \"QRTZ-; DROP TABLE\": expected at most 31 letters, digits and _, not beginning with a digit, and perhaps a schema and a dot before them",
        "q.properties:11: carnelian.cluster.mode = \"active-pasive\": expected active-active or active-passive (did you mean `active-passive`?)",
        "q.properties:12: carnelian.shutdown.deadline = \"soon\": expected a duration such as 500ms, 30s, 5m, 2h or 1d, or a whole number of milliseconds, from 0 to 31536000000 ms",
        "q.properties:13: context.key.a = \"$@context.key.b\": the key refers to itself",
        "q.properties:14: context.key.b = \"$@context.key.a\": the key refers to itself",
        "q.properties:15: context.key.c = \"$@context.key.c\": the key refers to itself",
        "q.properties:16: context.key.d = \"${file:/no/such/file}\": file `/no/such/file` cannot be read: No such file or directory (os error 2)",
        "q.properties:17: context.key.e = \"${vault:x}\": unknown substitution: expected ${env:NAME}, ${env:NAME:default} or ${file:PATH}; write $${ for a plain ${",
        "q.properties:18: scheduler.idleWaitTime = \"5\": expected a whole number of milliseconds from 1000 to 31536000000",
        "q.properties:19: threadPool.threadPriority = \"11\": expected a whole number from 1 to 10",
    ];
    for (line, expected) in listed.iter().zip(expected) {
        assert_eq!(line, expected);
    }
    assert_eq!(listed.len(), expected.len(), "{listed:#?}");
}

#[test]
fn an_error_has_its_parts() {
    let errors = read("\nthreadPool.threadCont = 10").unwrap_err();
    let error = errors.errors().first().unwrap();
    assert_eq!(error.kind(), SettingsErrorKind::UnknownKey);
    assert_eq!((error.file(), error.line()), ("q.properties", Some(2)));
    assert_eq!((error.key(), error.value()), (Some("threadPool.threadCont"), Some("10")));
    assert_eq!(error.suggestion(), Some("threadPool.threadCount"));
    assert_eq!(errors.into_iter().count(), 1);
}

#[test]
fn a_value_from_the_environment_is_shown_beside_its_name() {
    assert_eq!(
        only_error("threadPool.threadCount = ${env:THREADS}"),
        "q.properties:1: threadPool.threadCount = \"${env:THREADS}\" (here \"ten\"): expected a whole number from 1 to 1000"
    );
}

#[test]
fn instance_ids() {
    let id = |lines: &str| read(&with_database(lines)).unwrap().scheduler.instance_id;
    let fixed = |name: &str| InstanceIdSetting::Fixed(name.to_owned());
    assert_eq!(id("jobStore.isClustered=true"), InstanceIdSetting::Auto);
    assert_eq!(id("jobStore.isClustered=true\nscheduler.instanceId=auto"), InstanceIdSetting::Auto);
    assert_eq!(id("scheduler.instanceId=AUTO"), fixed("NON_CLUSTERED"));
    assert_eq!(id("scheduler.instanceId=${env:POD_NAME}"), fixed("node-7"));
    assert_eq!(id("jobStore.isClustered=true\nscheduler.instanceId=${env:EMPTY:AUTO}"), InstanceIdSetting::Auto);
    let long = |length: usize| format!("scheduler.instanceId={}", "x".repeat(length));
    assert_eq!(id(&long(168)), fixed(&"x".repeat(168)));
    let error = only_error(&long(169));
    assert!(error.contains("1 to 168 characters") && error.contains("nodes of Quartz name"), "{error}");
    assert_eq!(warnings(&with_database("jobStore.isClustered=true\nscheduler.instanceId=NON_CLUSTERED")).len(), 1);
}

#[test]
fn a_database_needs_a_data_source_with_a_url() {
    assert!(
        only_error("jobStore.class=JobStoreTX\ndataSource.a.URL=sqlite:x")
            .contains("write org.quartz.jobStore.dataSource = a")
    );
    assert!(only_error("jobStore.dataSource=ab\ndataSource.aB.URL=sqlite:x").contains("did you mean `aB`?"));
    assert!(only_error("jobStore.dataSource=a\ndataSource.a.user=x").contains("write org.quartz.dataSource.a.URL = "));
    assert!(only_error("jobStore.dataSource=a\ndataSource.a.URL=oracle:x").contains("jdbc:mariadb://"));
    assert!(
        only_error("jobStore.isClustered=true")
            .contains("write jobStore.class = org.quartz.impl.jdbcjobstore.JobStoreTX")
    );
    assert!(only_error("jobStore.class=com.acme.Store").contains("expected org.quartz.impl.jdbcjobstore.JobStoreTX"));
}

#[test]
fn java_classes_are_understood_or_warned_about() {
    let count = |lines: &str| warnings(&with_database(lines)).len();
    for (lines, expected) in [
        ("jobStore.class=org.quartz.impl.jdbcjobstore.JobStoreTX", 0),
        ("jobStore.class=JobStoreTX", 0),
        ("jobStore.class=org.quartz.impl.jdbcjobstore.JobStoreCMT", 1),
        ("jobStore.class=org.springframework.scheduling.quartz.LocalDataSourceJobStore", 1),
        ("jobStore.driverDelegateClass=org.quartz.impl.jdbcjobstore.StdJDBCDelegate", 0),
        ("jobStore.driverDelegateClass=org.quartz.impl.jdbcjobstore.PostgreSQLDelegate", 0),
        ("jobStore.driverDelegateClass=org.quartz.impl.jdbcjobstore.MSSQLDelegate", 1),
        ("dataSource.db.driver=org.postgresql.Driver", 0),
        ("dataSource.db.driver=com.mysql.cj.jdbc.Driver", 1),
        ("dataSource.db.driver=com.acme.Driver", 1),
        ("threadPool.class=org.quartz.simpl.SimpleThreadPool", 0),
        ("threadPool.class=com.acme.Pool", 1),
        ("scheduler.jobFactory.class=org.quartz.simpl.SimpleJobFactory", 1),
        ("plugin.shutdown.class=org.quartz.plugins.management.ShutdownHookPlugin", 1),
        ("plugin.x.class=org.quartz.plugins.interrupt.JobInterruptMonitorPlugin\nplugin.x.defaultMaxRunTime=1000", 0),
        ("plugin.x.class=org.quartz.plugins.history.LoggingJobHistoryPlugin", 0),
        ("plugin.x.class=LoggingTriggerHistoryPlugin\nplugin.x.triggerFiredMessage={0}", 0),
        ("plugin.x.class=LoggingTriggerHistoryPlugin\nplugin.x.jobSuccessMessage={0}\nplugin.x.other=1", 2),
        ("plugin.x.class=XMLSchedulingDataProcessorPlugin\nplugin.x.wrapInUserTransaction=true", 1),
        ("plugin.x.class=com.acme.Plugin\nplugin.x.fileNames=a.xml", 1),
        ("jobListener.x.class=com.acme.Listener\ntriggerListener.y.class=com.acme.Other", 2),
        ("jobStore.lockHandler.class=org.quartz.impl.jdbcjobstore.StdRowLockSemaphore", 0),
        ("jobStore.lockHandler.class=org.quartz.impl.jdbcjobstore.UpdateLockRowSemaphore", 1),
        ("jobStore.acquireTriggersWithinLock=true\nscheduler.skipUpdateCheck=true\nscheduler.rmi.export=false", 0),
        ("jobStore.acquireTriggersWithinLock=false", 1),
        ("scheduler.rmi.export=true", 1),
    ] {
        assert_eq!(count(lines), expected, "{lines}: {:#?}", warnings(&with_database(lines)));
    }
    let plugin = "plugin.x.class=org.quartz.plugins.xml.XMLSchedulingDataProcesorPlugin";
    assert!(only_error(plugin).contains("did you mean `org.quartz.plugins.xml.XMLSchedulingDataProcessorPlugin`?"));
    assert!(
        only_error("plugin.x.fileNames=a.xml")
            .contains("a plugin needs a class: write org.quartz.plugin.x.class = org.quartz.plugins.")
    );
    assert!(
        only_error("plugin.x.class=XMLSchedulingDataProcessorPlugin\nplugin.x.fileNames=,")
            .contains("the names of files")
    );
    let pattern = "plugin.x.class=LoggingJobHistoryPlugin\nplugin.x.jobFailedMessage={0";
    assert!(only_error(pattern).contains("java.text.MessageFormat: a `{` without its `}`"));
    let misspelt = with_database("jobStore.class=org.quartz.impl.jdbcjobstore.JobStoreTx");
    assert!(only_error(&misspelt).contains("did you mean `org.quartz.impl.jdbcjobstore.JobStoreTX`?"));
    let mismatch =
        "jobStore.dataSource=a\ndataSource.a.URL=mysql://h/j\njobStore.driverDelegateClass=PostgreSQLDelegate";
    assert_eq!(warnings(mismatch).len(), 1);
    assert_eq!(read("threadPool.class=org.quartz.simpl.ZeroSizeThreadPool").unwrap().thread_pool.thread_count, 0);
}

#[test]
fn the_retry_interval_of_the_scheduler_replaces_that_of_the_store_only_if_given() {
    let interval = |lines: &str| read(lines).unwrap().job_store.db_retry_interval;
    assert_eq!(interval("jobStore.dbRetryInterval=5000"), Duration::from_secs(5));
    assert_eq!(interval("scheduler.dbFailureRetryInterval=7000"), Duration::from_secs(7));
    let both = "jobStore.dbRetryInterval=5000\nscheduler.dbFailureRetryInterval=7000";
    assert_eq!(interval(both), Duration::from_secs(7));
    assert_eq!(warnings(both).len(), 1);
}

#[test]
fn sqlite_has_the_clock_of_the_node() {
    let text = "jobStore.dataSource=a\ndataSource.a.URL=sqlite:jobs.db";
    let settings = read(text).unwrap();
    assert_eq!(settings.job_store.clock, ClockSource::Node);
    assert_eq!(settings.data_source.unwrap().url, DataSourceUrl::Sqlite { path: "jobs.db".to_owned() });
    assert_eq!(warnings(&format!("{text}\ncarnelian.jobStore.clock=database")).len(), 1);
    assert_eq!(warnings(&format!("{text}\ncarnelian.jobStore.clock=node")).len(), 0);
}

#[test]
fn references_take_one_step() {
    let text = with_database("context.key.url = $@org.quartz.jobStore.dataSource\ncontext.key.plain = $$@x");
    let context = read(&text).unwrap().scheduler.context;
    assert_eq!(context.get("url").map(String::as_str), Some("db"));
    assert_eq!(context.get("plain").map(String::as_str), Some("$@x"));
    let chain = "context.key.a=$@context.key.b\ncontext.key.b=$@context.key.c\ncontext.key.c=1";
    assert!(only_error(chain).contains("only one step"));
}

#[test]
fn an_empty_value_is_one_that_is_not_given() {
    let settings = read("threadPool.threadCount =\nscheduler.instanceName").unwrap();
    assert_eq!(settings.thread_pool.thread_count, 10);
    assert_eq!(settings.scheduler.instance_name, "QuartzScheduler");
    assert_eq!(settings.warnings().len(), 2);
    assert_eq!(read("scheduler.idleWaitTime = -1").unwrap(), Settings::default());
}

#[test]
fn applications_have_their_own_keys() {
    let settings = read("demo.log.file = /tmp/${env:POD_NAME}.log\ndemo.x =  a  ").unwrap();
    assert_eq!(settings.extra.get("demo.log.file").map(String::as_str), Some("/tmp/node-7.log"));
    assert_eq!(settings.extra.get("demo.x").map(String::as_str), Some("a  "));
    let loader = SettingsLoader::new().free_prefix("app.");
    assert_eq!(loader.text("x", "app.a = 1").unwrap().extra.len(), 1);
    assert!(only_error("app.a = 1").contains("unknown key"));
    assert!(only_error("org.quartz.demo.x = 1").contains("unknown key"));
}

#[test]
fn every_key_with_an_effect_changes_the_settings() {
    let base = with_database("dataSource.db.password = a");
    for row in keys::KEYS.iter().filter(|row| row.status == Status::Effective) {
        let value = match (row.name, row.kind) {
            ("threadPool.class", _) => "ZeroSizeThreadPool".to_owned(),
            ("jobStore.class", _) => "RAMJobStore".to_owned(),
            ("jobStore.dataSource", _) => "other\ndataSource.other.URL=sqlite:x".to_owned(),
            // Driver and delegate are only compared with the URL, see above.
            ("jobStore.driverDelegateClass" | "dataSource.NAME.driver", _) => continue,
            ("plugin.NAME.class", _) => "LoggingJobHistoryPlugin".to_owned(),
            ("carnelian.dashboard.proxyAddresses", _) => "192.0.2.7".to_owned(),
            ("carnelian.dashboard.user.NAME.password", _) => "$argon2id$other".to_owned(),
            (_, Kind::Listen) => "127.0.0.1:2001".to_owned(),
            ("dataSource.NAME.URL", _) => "sqlite:other.db".to_owned(),
            (_, Kind::Url) => "postgres://other/db".to_owned(),
            (_, Kind::Bool) if row.default == DefaultValue::Value("true") => "false".to_owned(),
            (_, Kind::Bool) => "true".to_owned(),
            (_, Kind::Labels) => "zone=eu".to_owned(),
            (_, Kind::Zone) => "Europe/Berlin".to_owned(),
            (_, Kind::Choice(words)) => words.last().unwrap().to_string(),
            (_, Kind::Millis { least, .. } | Kind::Duration { least, .. }) => least.max(2001).to_string(),
            (_, Kind::Count { least, .. } | Kind::Seconds { least, .. }) => least.max(7).to_string(),
            _ => "other".to_owned(),
        };
        assert_ne!(row.default, DefaultValue::Value("2001"));
        let key = row.full_name().replace("NAME", "db").replace('*', "x");
        // A key of a plugin means something beside its class.
        let base = format!("{base}\n{}", plugin_of(row.name));
        let before = read(&base).unwrap();
        let after = read(&format!("{base}\n{key}={value}")).unwrap_or_else(|errors| panic!("{key}: {errors}"));
        assert!(differs(&before, &after), "{key}={value} changes nothing");
    }
}

/// The line that names the class of the plugin which has this key.
fn plugin_of(key: &str) -> &'static str {
    let has = |words: &[&str]| words.iter().any(|word| key.starts_with(&format!("plugin.NAME.{word}")));
    if has(&["file", "failOn", "scan"]) {
        "plugin.db.class=XMLSchedulingDataProcessorPlugin"
    } else if has(&["job"]) {
        "plugin.db.class=LoggingJobHistoryPlugin"
    } else if has(&["trigger"]) {
        "plugin.db.class=LoggingTriggerHistoryPlugin"
    } else if has(&["cleanShutdown"]) {
        "plugin.db.class=ShutdownHookPlugin"
    } else if key == "carnelian.dashboard.user.NAME.role" {
        "carnelian.dashboard.user.db.password=$argon2id$x"
    } else if has(&["defaultMaxRunTime"]) {
        "plugin.db.class=JobInterruptMonitorPlugin"
    } else {
        ""
    }
}

/// True if more than the warnings differ.
fn differs(one: &Settings, other: &Settings) -> bool {
    let parts = |s: &Settings| {
        let revealed = s.data_source.as_ref().map(|source| source.url.reveal().to_owned());
        format!("{s:?} {revealed:?}")
    };
    parts(one) != parts(other)
}

#[test]
fn every_key_is_accepted_in_both_spellings() {
    for row in keys::KEYS {
        let name = row.name.replace("NAME", "db").replace('*', "x");
        for key in [name.clone(), row.full_name().replace("NAME", "db").replace('*', "x")] {
            let Err(errors) = read(&format!("{key} = \u{1}")) else {
                continue;
            };
            let unknown = |kind| kind == SettingsErrorKind::UnknownKey;
            assert!(!errors.errors().iter().any(|error| unknown(error.kind())), "{errors}");
        }
    }
}

#[test]
fn settings_can_be_made_without_a_file() {
    let mut settings = Settings::default();
    settings.job_store.kind = StoreKind::Sql;
    settings.data_source = Some(DataSourceSettings::new("db", "sqlite::memory:".parse().unwrap()));
    let source = settings.data_source.as_ref().unwrap();
    assert_eq!((source.max_connections, source.idle_timeout), (10, Some(Duration::from_secs(600))));
    assert_eq!(source.connection_timeout, Duration::from_secs(30));
    assert_eq!(source.synchronous, Synchronous::Full);
    assert!(source.url.is_in_memory());
}

#[test]
fn what_a_commit_waits_for_is_full_unless_asked_and_for_sqlite_alone() {
    let read = |line: &str| Settings::from_text("x", line, |_| None).unwrap();
    let on = |url: &str, line: &str| read(&format!("jobStore.dataSource = db\ndataSource.db.URL = {url}\n{line}"));
    let normal = "carnelian.dataSource.synchronous = NORMAL";
    for (line, expected) in [("", Synchronous::Full), (normal, Synchronous::Normal)] {
        let settings = on("sqlite:jobs.db", line);
        assert_eq!(settings.data_source.unwrap().synchronous, expected, "{line}");
    }
    let told = |settings: Settings| settings.warnings().iter().filter(|w| w.to_string().contains("for SQLite")).count();
    assert_eq!(told(on("sqlite:jobs.db", normal)), 0);
    assert_eq!(told(on("postgres://me@h/db", normal)), 1);
    assert_eq!(told(read(normal)), 1);
    let off = "carnelian.dataSource.synchronous = off";
    let error = Settings::from_text("x", off, |_| None).unwrap_err().to_string();
    assert!(error.contains("full or normal"), "{error}");
}

#[test]
fn the_pooler_and_the_way_beside_it_are_for_postgres_alone() {
    let on = |url: &str, lines: &str| {
        let text = format!("jobStore.dataSource = db\ndataSource.db.URL = {url}\ndataSource.db.user = me\n{lines}");
        Settings::from_text("x", &text, |_| None)
    };
    let source = |lines: &str| on("postgres://pooler/db", lines).unwrap().data_source.unwrap();
    assert_eq!((source("").pooler, source("").listen_url), (Pooler::Auto, None));
    for pooler in Pooler::ALL {
        assert_eq!(source(&format!("carnelian.dataSource.pooler = {pooler}")).pooler, pooler);
    }
    let listen = "carnelian.dataSource.listenUrl = postgres://server/db";
    assert_eq!(source(listen).listen_url.unwrap().reveal(), "postgres://me@server/db");
    let error = on("postgres://pooler/db", "carnelian.dataSource.listenUrl = sqlite:jobs.db").unwrap_err().to_string();
    assert!(error.contains("expected the URL of the data source's PostgreSQL"), "{error}");
    let both = format!("carnelian.dataSource.pooler = transaction\n{listen}");
    let elsewhere = on("mysql://h/db", &both).unwrap();
    assert_eq!(elsewhere.warnings().iter().filter(|warning| warning.to_string().contains("no effect")).count(), 2);
}

#[test]
fn no_password_is_in_any_output() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    std::fs::write(&file, format!("{SENTINEL}\n")).unwrap();
    let file = file.display();
    let good = "jobStore.dataSource=db\n";
    let cases = [
        format!("{good}dataSource.db.URL=postgres://h/j\ndataSource.db.password={SENTINEL}"),
        format!("{good}dataSource.db.URL=postgres://me:{SENTINEL}@h/j"),
        format!("{good}dataSource.db.URL=jdbc:mysql://h/j?user=a&password={SENTINEL}"),
        format!("{good}dataSource.db.URL=postgres://h/j\ndataSource.db.password=${{file:{file}}}"),
        format!("{good}dataSource.db.URL=postgres://h/j\ndataSource.db.password=${{env:DB_PASSWORD}}\nnope=1"),
        format!("{good}dataSource.db.URL=postgres://h/j\ndataSource.db.pasword={SENTINEL}"),
        format!("{good}dataSource.db.url=postgres://me:{SENTINEL}@h/j"),
        format!("{good}dataSource.db.URL=postgresq://me:{SENTINEL}@h/j"),
        format!("{good}dataSource.db.URL=postgres://me:{SENTINEL}/{SENTINEL}@h/j"),
        format!("{good}dataSource.db.URL=postgres://me:{SENTINEL}?{SENTINEL}@h/j"),
        format!("{good}dataSource.db.URL=postgres://me:1/{SENTINEL}@h/j"),
        format!("{good}dataSource.db.URL=postgres:me:{SENTINEL}@h/j"),
        format!("{good}dataSource.db.URL=mysql://me:%zz{SENTINEL}@h/j"),
        format!("{good}dataSource.db.URL=mysql://me:{SENTINEL}@h:port/j"),
        format!("{good}dataSource.db.URL=jdbc:oracle:thin:me/x:{SENTINEL}@h"),
        format!("{good}dataSource.db.URL=jdbc:sqlserver://h;user=a;password={SENTINEL}"),
        format!("{good}dataSource.db.URL=jdbc:postgresql://h/j?ssl=x&password={SENTINEL}&sslpassword={SENTINEL}"),
        format!("{good}dataSource.db.URL=jdbc:postgresql://h/j?trustStorePassword={SENTINEL}"),
        format!("{good}dataSource.db.URL=jdbc:mysql://h/j?clientCertificateKeyStorePassword={SENTINEL}"),
        format!("{good}dataSource.db.URL=mysql://h/j\ndataSource.db.password=a${{env:X{SENTINEL}").replace("X", "."),
        format!("{good}dataSource.db.URL=mysql://h/j\ndataSource.db.password=${{{SENTINEL}}}"),
        format!("{good}dataSource.db.URL=mysql://h/j\ndataSource.db.password=$@{SENTINEL}"),
        format!("{good}dataSource.db.URL=mysql://h/j\ndataSource.db.password=\\u12{SENTINEL}"),
        format!("dataSource.db.password={SENTINEL}\nthreadPool.threadCount={SENTINEL}"),
        format!("dataSource.db.password={SENTINEL}\nthreadPool.threadCount=$@dataSource.db.password"),
        "threadPool.threadCount=${env:DB_PASSWORD}".to_owned(),
        "dataSource.db.maxConnections=x${env:DB_PASSWORD}".to_owned(),
        format!("threadPool.threadCount=${{file:{file}}}"),
        format!("{good}dataSource.db.URL=x:${{file:{file}}}"),
        format!("{good}dataSource.db.URL=sqlite:x\ndataSource.db.password={SENTINEL}"),
        format!("{good}dataSource.db.URL=mysql://a:b@h/j\ndataSource.db.password={SENTINEL}"),
        format!("dataSource.db.java.naming.security.credentials={SENTINEL}"),
        format!("plugin.mail.smtpPassword={SENTINEL}"),
        format!("dataSource.db.connectionProvider.password={SENTINEL}"),
        format!("demo.password={SENTINEL}\ncontext.key.token={SENTINEL}\ndemo.url=postgres://a:{SENTINEL}@h"),
        format!("dataSource.db.pw={SENTINEL}"),
        format!("my.secret={SENTINEL}\norg.quartz.dbPassword={SENTINEL}"),
    ];
    let mut shown = String::new();
    for case in &cases {
        shown.clear();
        match read(case) {
            Ok(settings) => {
                write!(shown, "{settings:?} {settings:#?}").unwrap();
                if let Some(source) = &settings.data_source {
                    write!(shown, "{source:?} {} {:?}", source.url, source.url).unwrap();
                }
                for warning in settings.warnings() {
                    write!(shown, "{warning} {warning:?}").unwrap();
                }
            }
            Err(errors) => {
                write!(shown, "{errors} {errors:?} {errors:#?}").unwrap();
                for error in errors.errors() {
                    write!(shown, "{error} {:?} {:?} {}", error.key(), error.value(), error.message()).unwrap();
                }
                for warning in errors.warnings() {
                    write!(shown, "{warning} {warning:?}").unwrap();
                }
            }
        }
        assert!(!shown.contains(SENTINEL), "{case}\n---\n{shown}");
    }
}

#[test]
fn hostile_files_are_read_without_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.properties");
    let from = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        Settings::from_file(&path)
    };
    assert_eq!(from(b"").unwrap(), Settings::default());
    assert_eq!(from(b"\xEF\xBB\xBFthreadPool.threadCount=3\r\n").unwrap().thread_pool.thread_count, 3);
    let errors = from(b"a=1\nb=\xff\n").unwrap_err();
    assert_eq!(errors.errors().last().unwrap().line(), Some(2));
    for bytes in [
        [b"threadPool.threadCount=".as_slice(), &[b'9'; 1_000_000]].concat(),
        vec![b'k'; 1_000_000],
        vec![b'\\'; 1_000_001],
        b"a=\\\n".repeat(100_000),
        [b"scheduler.threadName=".as_slice(), &b"${env:X".repeat(100_000)].concat(),
    ] {
        let errors = from(&bytes).unwrap_err();
        assert!(errors.to_string().len() < 1_000, "{} bytes", errors.to_string().len());
    }
    let many: String = (0..20_000).fold(String::new(), |text, n| text + &format!("key{n}=1\n"));
    let errors = from(many.as_bytes()).unwrap_err();
    assert_eq!((errors.errors().len(), errors.left_out()), (1_000, 19_000));
    assert!(errors.to_string().ends_with("and 19000 more problems"));
    assert!(from(&vec![b'\n'; 5_000_000]).unwrap_err().to_string().contains("larger than"));
    let missing = Settings::from_file(folder.path().join("none")).unwrap_err();
    assert_eq!(missing.errors().first().unwrap().kind(), SettingsErrorKind::Unreadable);
    assert!(Settings::from_file(folder.path()).is_err());
}

#[test]
fn mutated_files_are_read_without_a_panic() {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut below = |limit: usize| {
        // xorshift: the same mutations in every run.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % limit as u64).unwrap()
    };
    let pieces: [&[u8]; 14] =
        [b"\\", b"\n", b"\r", b"=", b"${", b"}", b"$@", b"\\u", b"\xff", b"\xF0\x9F", b":", b"@", b"%", b"\0"];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.properties");
    for _ in 0..300 {
        let mut bytes = QUARTZ.as_bytes().to_vec();
        for _ in 0..=below(8) {
            let at = below(bytes.len());
            let end = (at + below(12)).min(bytes.len());
            bytes.splice(at..end, pieces[below(pieces.len())].iter().copied());
        }
        std::fs::write(&path, &bytes).unwrap();
        match Settings::from_file(&path) {
            Ok(settings) => drop(format!("{settings:?}")),
            Err(errors) => {
                assert!(!errors.errors().is_empty());
                for error in errors.errors() {
                    // The key of the password may be beyond recognition; nothing else may show it.
                    let known = error.kind() != SettingsErrorKind::UnknownKey;
                    assert!(!known || !error.to_string().contains("p@ss word"), "{error}");
                }
            }
        }
    }
}

/// Rewrite with `CARNELIAN_REWRITE=1 cargo test --test library settings::`.
#[test]
fn the_table_in_the_documentation_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/configuration.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (begin, end) = ("<!-- keys: begin -->\n", "<!-- keys: end -->");
    let (before, rest) = text.split_once(begin).expect("the begin mark");
    let (_, after) = rest.split_once(end).expect("the end mark");
    let fresh = format!("{before}{begin}\n{}\n{end}{after}", keys::markdown());
    if std::env::var_os("CARNELIAN_REWRITE").is_some() {
        std::fs::write(path, &fresh).unwrap();
    } else {
        assert!(
            fresh == text,
            "docs/configuration.md is old: CARNELIAN_REWRITE=1 cargo test --test library settings::"
        );
    }
}

/// C-2, C-3: a profile says the defaults, and a key that is given goes before it.
#[test]
fn a_profile_says_the_defaults_and_each_key_goes_before_it() {
    use carnelian::settings::{PollingStrategy, Profile, TriggerOrder};
    let read = |text: &str| Settings::from_text("x", text, |_| None).unwrap();
    let secs = Duration::from_secs;
    let of = |s: &Settings| {
        let (store, runs) = (&s.job_store, &s.executions);
        (
            (store.checkin_interval, store.checkin_misfire_threshold),
            (runs.heartbeat_interval, runs.missed_heartbeat_limit),
            (store.trigger_order, store.polling_strategy),
            (s.scheduler.poll_interval, s.scheduler.idle_wait_time),
        )
    };
    let by_time = (TriggerOrder::TimeThenPriority, PollingStrategy::Lock);
    let by_priority = (TriggerOrder::PriorityThenTime, PollingStrategy::Lock);
    let node = (secs(15), Duration::from_millis(7500));
    let quartz = (node, (secs(5), 3), by_time, (None, secs(30)));
    assert_eq!(of(&read("")), quartz);
    assert_eq!(of(&read("carnelian.profile = quartz")), quartz);
    assert_eq!(of(&read("carnelian.profile = logi")), ((secs(10), secs(20)), (secs(10), 3), by_time, (None, secs(10))));
    let db = read("carnelian.profile = db-scheduler");
    assert_eq!((db.profile, db.warnings().len()), (Profile::DbScheduler, 0));
    assert_eq!(of(&db), (node, (secs(300), 6), by_priority, (Some(secs(10)), secs(10))));
    let mixed = read(
        "carnelian.profile = db-scheduler\ncarnelian.scheduler.missedHeartbeatLimit = 3\n\
         carnelian.jobStore.triggerOrder = time-then-priority",
    );
    assert_eq!(of(&mixed), (node, (secs(300), 3), by_time, (Some(secs(10)), secs(10))));
    let more = |s: &Settings| (s.recovery.revive_one_shots, s.cluster.skip_busy_nodes);
    let all = ["quartz", "db-scheduler", "logi"].map(|name| more(&read(&format!("carnelian.profile = {name}"))));
    assert_eq!(all, [(false, false), (true, false), (false, true)]);
    assert!(Settings::from_text("x", "carnelian.profile = quarz", |_| None).is_err());
}

/// DS-65: the words of the strategies; one that has no effect is named.
#[test]
fn a_polling_strategy_for_a_store_in_memory_gives_a_warning() {
    use carnelian::settings::PollingStrategy;
    for strategy in PollingStrategy::ALL {
        let line = format!("carnelian.jobStore.pollingStrategy = {}", strategy.name());
        let settings = Settings::from_text("x", &line, |_| None).unwrap();
        assert_eq!(settings.job_store.polling_strategy, strategy);
        assert_eq!(settings.warnings().len(), usize::from(strategy != PollingStrategy::Lock));
        let file = format!("{line}\njobStore.dataSource = d\ndataSource.d.URL = sqlite:x.db");
        let warnings = Settings::from_text("x", &file, |_| None).unwrap().warnings().len();
        assert_eq!(warnings, usize::from(strategy != PollingStrategy::Lock));
        let database = format!("{line}\njobStore.dataSource = d\ndataSource.d.URL = postgres://h/d");
        assert!(Settings::from_text("x", &database, |_| None).unwrap().warnings().is_empty());
    }
    let fetch = Settings::from_text("x", "carnelian.jobStore.pollingStrategy = fetch", |_| None).unwrap_err();
    assert!(fetch.to_string().contains("expected lock or lock-and-fetch"), "{fetch}");
}
