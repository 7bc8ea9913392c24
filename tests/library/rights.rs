//! A node whose user of the database may read and write rows, and nothing else.
#![cfg(all(feature = "postgres", feature = "mysql"))]

use crate::support;
use carnelian::settings::Settings;
use carnelian::store::violations;
use carnelian::{GroupMatcher, JobDetail, JobError, JobKey, Scheduler, SimpleSchedule, Trigger, TriggerKey};
use diesel::connection::SimpleConnection;
use diesel::{Connection, PgConnection};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

/// The user who owns the tables, and the one who is given rights on rows.
const OWNER: &str = "carnelian:carnelian@";
const ROWS: &str = "carnelian_rows:carnelian_rows@";

fn scheduler(name: &str, url: &str, instance: &str) -> Scheduler {
    let text = format!(
        "scheduler.instanceName = {name}\nscheduler.instanceId = {instance}\n\
         jobStore.class = org.quartz.impl.jdbcjobstore.JobStoreTX\njobStore.isClustered = true\n\
         jobStore.dataSource = db\ndataSource.db.URL = {url}"
    );
    let settings = Settings::from_text("test", &text, |_| None).unwrap();
    let fails_once = Arc::new(AtomicBool::new(true));
    let work = move |_: &mut carnelian::JobContext| match fails_once.swap(false, Ordering::SeqCst) {
        true => Err(JobError::new("the first run fails").refire_immediately()),
        false => Ok(()),
    };
    Scheduler::builder().settings(settings).job_fn("work", work).build().unwrap()
}

/// Two nodes start, store, fire, pause, recover a dead one, look after themselves, and stop.
fn rights_on_rows_are_enough(url: &str, grant: impl Fn()) {
    assert!(url.contains(OWNER), "{url}: expected the servers of ./tests/run, which has the user carnelian_rows");
    let name = support::fresh_name("rights");
    let owner = scheduler(&name, url, "owner");
    owner.migrate().unwrap();
    grant();
    let url = url.replace(OWNER, ROWS);
    let nodes = ["a", "b"].map(|instance| scheduler(&name, &url, instance));
    assert_eq!(nodes[0].migrate().unwrap(), Vec::<String>::new(), "nothing is left to do");
    nodes.iter().for_each(|node| node.start().unwrap());
    let [a, b] = &nodes;
    for n in 0..20 {
        let job = JobDetail::builder(JobKey::named(format!("j{n}")), "work").requests_recovery(true).build().unwrap();
        let trigger = Trigger::builder(TriggerKey::named(format!("t{n}")), job.key().clone()).build().unwrap();
        a.schedule_job(job, trigger).unwrap();
    }
    let hourly = SimpleSchedule::every(Duration::from_secs(3_600));
    let job = JobDetail::builder(JobKey::named("hourly"), "work").durable(true).build().unwrap();
    let trigger = Trigger::builder(TriggerKey::named("hourly"), job.key().clone()).schedule(hourly);
    b.schedule_job(job, trigger.build().unwrap()).unwrap();
    let ran = || nodes.iter().map(|node| node.health().counters.succeeded).sum::<u64>();
    support::wait_until("all have run", LONG, || ran() == 21);
    b.pause_triggers(&GroupMatcher::Any).unwrap();
    b.resume_triggers(&GroupMatcher::Any).unwrap();
    let findings = a.doctor_with_invariants().unwrap();
    assert!(findings.is_empty(), "{findings:?}");
    for node in &nodes {
        assert!(node.shutdown_and_wait().is_clean());
    }
    let found = violations(&owner.store().upkeep().snapshot().unwrap());
    assert!(found.is_empty(), "{found:?}");
    owner.store().database().forget_scheduler().unwrap();
}

#[test]
fn on_postgres() {
    let url = support::postgres_url();
    rights_on_rows_are_enough(&url, || {
        let mut own = PgConnection::establish(&url).unwrap();
        // Not on all tables: other tests make theirs, and take rights on them away.
        let rights = "DO $$ DECLARE t text; BEGIN \
             FOR t IN SELECT relname FROM pg_class WHERE relname LIKE 'qrtz\\_%' AND relkind = 'r' \
             AND relnamespace = 'public'::regnamespace \
             LOOP EXECUTE 'GRANT SELECT, INSERT, UPDATE, DELETE ON ' || t || ' TO carnelian_rows'; END LOOP; END $$";
        own.batch_execute(rights).unwrap();
    });
}

#[test]
fn on_mysql() {
    // The user has these rights in every database of the tests.
    rights_on_rows_are_enough(&support::mysql_url(), || {});
}
