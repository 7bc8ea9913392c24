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
