//! The properties file of a clustered Java service, with plugins, listeners and the settings of two
//! pools. The file loads unchanged, and each key has an effect that is seen here, or a warning with
//! the reason.

use carnelian::settings::{ClockSource, InstanceIdSetting, Settings, StoreKind};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

const WAREHOUSE: &str = include_str!("../../testdata/warehouse.properties");

fn read(text: &str) -> Settings {
    let environment = |name: &str| (name == "WAREHOUSE_DB").then(|| "warehouse.db".to_owned());
    Settings::from_text("etc/warehouse.properties", text, environment).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The keys without a warning, and what each of them does.
#[test]
fn keys_with_an_effect_have_it() {
    let settings = read(WAREHOUSE);
    assert_eq!(settings.scheduler.instance_name, "WarehouseScheduler");
    assert_eq!(settings.scheduler.instance_id, InstanceIdSetting::Auto);
    assert!(settings.scheduler.interrupt_jobs_on_shutdown_with_wait);
    assert_eq!(settings.scheduler.context["site"], "berlin");
    assert_eq!(settings.thread_pool.thread_count, 8);
    assert_eq!(settings.thread_pool.thread_name_prefix.as_deref(), Some("warehouse-worker"));
    let store = &settings.job_store;
    assert_eq!((store.kind, store.clustered, store.use_properties), (StoreKind::Sql, true, true));
    assert_eq!((store.table_prefix.as_str(), store.clock), ("QRTZ_", ClockSource::Node));
    assert_eq!(store.checkin_interval, Duration::from_secs(10));
    assert_eq!(store.misfire_threshold, Duration::from_secs(30));
    assert_eq!(store.max_misfires_at_a_time, 10);
    let source = settings.data_source.as_ref().unwrap();
    assert_eq!((source.name.as_str(), source.max_connections), ("warehouseDS", 11));
    assert_eq!(source.url.reveal(), "warehouse.db");
    assert_eq!(source.idle_timeout, Some(Duration::from_secs(300)));

    let plugins = &settings.plugins;
    let [files] = plugins.job_files.as_slice() else { panic!("{plugins:?}") };
    assert_eq!(
        (files.name.as_str(), files.file_names.as_slice()),
        ("jobInitializer", [Path::new("quartz_data.xml").into()].as_slice())
    );
    assert_eq!((files.fail_on_file_not_found, files.scan_interval), (true, Some(Duration::from_secs(120))));
    assert_eq!(files.folder.as_deref(), Some(Path::new("etc")));
    let [jobs] = plugins.job_history.as_slice() else { panic!("{plugins:?}") };
    assert!(jobs.to_be_fired.starts_with("{1}.{0} starts") && jobs.failed.contains("FAILED"));
    assert!(jobs.was_vetoed.starts_with("Job {1}.{0} was vetoed.  It was"), "Quartz's own");
    let [triggers] = plugins.trigger_history.as_slice() else { panic!("{plugins:?}") };
    assert_eq!(triggers.complete, "{1}.{0} completed {6}.{5} with {9}");
    assert!(plugins.shutdown_hook.unwrap().clean_shutdown);
}

/// The other keys: each has a warning with its reason, or says what is done anyway.
#[test]
fn every_other_key_has_a_reason() {
    let settings = read(WAREHOUSE);
    let warned: BTreeMap<&str, &str> = settings.warnings().iter().map(|w| (w.key().unwrap(), w.message())).collect();
    let expected = [
        ("scheduler.instanceIdGenerator.class", "`AUTO` makes host name, time and a random part"),
        ("scheduler.jobFactory.class", "jobs are made by the job types registered in the program"),
        ("scheduler.jmx.export", "there is no JMX here"),
        ("threadPool.threadPriority", "worker threads have the priority of the process"),
        ("threadPool.threadsInheritContextClassLoaderOfInitializingThread", "there are no class loaders here"),
        ("jobStore.selectWithLockSQL", "the statements for each database are built in"),
        ("dataSource.warehouseDS.validationQuery", "the statements for each database are built in"),
        ("dataSource.warehouseDS.idleConnectionValidationSeconds", "connections are pooled by r2d2"),
        ("dataSource.warehouseDS.maxCachedStatementsPerConnection", "prepared statements are kept by themselves"),
        ("plugin.shutdownHook.class", "no signal is caught by a library"),
        ("plugin.mail.class", "Java plugins are not loaded"),
        ("plugin.mail.to", "Java classes are not loaded here"),
        ("jobListener.audit.class", "Java listeners are not loaded: register listeners in the program"),
        ("jobListener.audit.table", "Java listeners are not loaded: register listeners in the program"),
    ];
    for (key, reason) in expected {
        let key = format!("org.quartz.{key}");
        let message = warned.get(key.as_str()).unwrap_or_else(|| panic!("{key} has no warning: {warned:#?}"));
        assert!(message.contains(reason), "{key}: {message}");
    }
    let unexpected = warned.keys().filter(|key| !expected.iter().any(|(name, _)| key.ends_with(name)));
    assert_eq!(unexpected.collect::<Vec<_>>(), Vec::<&&str>::new());
    // These say what is done anyway: nothing to warn about.
    for key in [
        "skipUpdateCheck",
        "rmi.export",
        "rmi.proxy",
        "wrapJobExecutionInUserTransaction",
        "threadPool.class",
        "driverDelegateClass",
        "warehouseDS.driver",
        "txIsolationLevelReadCommitted",
        "wrapInUserTransaction",
    ] {
        assert!(WAREHOUSE.contains(key) && !warned.keys().any(|warned| warned.ends_with(key)), "{key}");
    }
}

#[test]
fn the_prefix_may_be_left_out_of_every_key() {
    let short = read(&WAREHOUSE.replace("org.quartz.scheduler", "scheduler").replace("\norg.quartz.", "\n"));
    let long = read(WAREHOUSE);
    assert_eq!(short.warnings().len(), long.warnings().len());
    let parts = |s: Settings| (s.scheduler, s.thread_pool, s.job_store, s.data_source, s.plugins);
    assert_eq!(parts(short), parts(long));
}
