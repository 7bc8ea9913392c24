//! A node as a user builds it: from a properties file, on a database.

use crate::scheduler::fixture::{LONG, job, now};
use crate::support::wait_until;
use carnelian::{Error, GroupMatcher, JobContext, Scheduler};
use std::collections::BTreeSet;
use std::sync::Arc;

#[test]
fn nodes_built_from_a_properties_file_share_an_sqlite_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("quartz.properties");
    let text = format!(
        "org.quartz.scheduler.instanceName = files\n\
         org.quartz.scheduler.instanceId = AUTO\n\
         org.quartz.threadPool.threadCount = 4\n\
         org.quartz.jobStore.class = org.quartz.impl.jdbcjobstore.JobStoreTX\n\
         org.quartz.jobStore.isClustered = true\n\
         org.quartz.jobStore.dataSource = db\n\
         org.quartz.dataSource.db.URL = jdbc:sqlite:{}\n",
        folder.path().join("jobs.db").display()
    );
    std::fs::write(&file, text).unwrap();
    let ran = Arc::new(parking_lot::Mutex::new(BTreeSet::new()));
    let build = || {
        let ran = Arc::clone(&ran);
        let note = move |ctx: &mut JobContext| {
            assert!(ran.lock().insert(ctx.trigger().key().clone()), "ran twice");
            Ok(())
        };
        Scheduler::builder().settings_file(&file).job_fn("note", note).build().unwrap()
    };
    let (first, second) = (build(), build());
    assert!(matches!(first.start(), Err(Error::Schema(_))));
    first.store().database().migrate().unwrap();
    assert_ne!(first.instance_id(), second.instance_id());
    first.start().unwrap();
    second.start().unwrap();
    for n in 0..200 {
        let detail = job(&format!("j{n}"), "note");
        let node = if n % 2 == 0 { &first } else { &second };
        node.schedule_job(detail.clone(), now(&format!("t{n}"), &detail)).unwrap();
    }
    wait_until("all have run", LONG, || ran.lock().len() == 200);
    wait_until("no fire is left", LONG, || first.running_fires().unwrap().is_empty());
    assert!(first.triggers(&GroupMatcher::Any).unwrap().is_empty());
    assert_eq!(first.instances().unwrap().len(), 2);
    assert!(second.shutdown_and_wait().is_clean());
    assert!(first.shutdown_and_wait().is_clean());
    assert_eq!(first.health().counters.failed + second.health().counters.failed, 0);
}

#[test]
fn the_builder_says_the_database_and_the_workers_without_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("jobs.db").display());
    let (ran, runs) = crossbeam_channel::unbounded();
    let note = move |ctx: &mut JobContext| {
        ran.send(ctx.trigger().key().clone()).unwrap();
        Ok(())
    };
    let node = Scheduler::builder().database(&url).workers(3).job_fn("note", note).build().unwrap();
    node.migrate().unwrap();
    node.start().unwrap();
    assert_eq!(node.metadata().thread_pool_size, 3);
    assert!(folder.path().join("jobs.db").exists());
    let detail = job("j", "note");
    node.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    assert_eq!(runs.recv_timeout(LONG).unwrap().name(), "t");
    assert!(node.shutdown_and_wait().is_clean());
}

#[test]
fn the_word_of_the_builder_goes_before_that_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let (file, stored) = (folder.path().join("q.properties"), folder.path().join("builder.db"));
    let url = format!("jdbc:sqlite:{}", stored.display());
    let database = "org.quartz.jobStore.class = org.quartz.impl.jdbcjobstore.JobStoreTX\n\
                    org.quartz.jobStore.dataSource = db\n\
                    org.quartz.dataSource.db.URL = jdbc:sqlite:file.db\n\
                    org.quartz.dataSource.db.maxConnections = 7\n";
    for (text, connections) in [("", 10), (database, 7)] {
        std::fs::write(&file, format!("org.quartz.threadPool.threadCount = 4\n{text}")).unwrap();
        let node = Scheduler::builder().settings_file(&file).database(&url).workers(600).build().unwrap();
        assert_eq!(node.metadata().thread_pool_size, 600);
        let settings = node.store().settings();
        let source = settings.data_source.as_ref().unwrap();
        assert_eq!((source.url.reveal(), source.max_connections), (stored.to_str().unwrap(), connections));
        assert_eq!(settings.scheduler.batch_max_count, 600, "as threadPool.threadCount = 600 makes it");
        let node = Scheduler::builder().settings_file(&file).workers(0).database(&url).build().unwrap();
        assert_eq!((node.metadata().thread_pool_size, node.store().settings().scheduler.batch_max_count), (0, 500));
    }
}

#[test]
fn a_database_or_number_of_workers_that_cannot_be_is_refused() {
    let refused = |builder: carnelian::SchedulerBuilder| match builder.build() {
        Err(Error::Settings(message)) => message,
        other => panic!("{:?}", other.map(|node| node.metadata())),
    };
    let message = refused(Scheduler::builder().database("oracle:jobs"));
    assert!(
        ["jdbc:postgresql://…", "postgres://…", "mysql://…", "sqlite:FILE"].iter().all(|url| message.contains(url)),
        "{message}"
    );
    let message = refused(Scheduler::builder().database("postgres://ann:sesame@host:port/jobs"));
    assert!(message.starts_with("URL of the database: expected") && !message.contains("sesame"), "{message}");
    let message = refused(Scheduler::builder().workers(1001));
    assert_eq!(message, "workers = 1001: expected 1 to 1000, or 0 for a node that runs no jobs");
    let store = Scheduler::builder().build().unwrap().store().clone();
    let message = refused(Scheduler::builder().store(store).database("sqlite::memory:"));
    assert_eq!(message, "both a database and a store or pool were given: expected one");
}
