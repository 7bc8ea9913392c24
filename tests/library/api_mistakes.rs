//! Calls of the library that cannot mean what they say, and get an answer that tells.
#![cfg(feature = "sqlite")]

use crate::support::wait_until;
use carnelian::history::{FireOutcome, HistoryQuery};
use carnelian::{
    IfExists, JobContext, JobDetail, JobKey, Scheduler, SchedulerBuilder, SimpleSchedule, Submission, Trigger,
    TriggerKey,
};
use chrono::{DateTime, Utc};
use diesel::r2d2::{ConnectionManager, Pool};
use diesel::{Connection, SqliteConnection};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

/// The application's own pool, to a file in this folder.
fn own_pool(folder: &tempfile::TempDir) -> Pool<ConnectionManager<SqliteConnection>> {
    let file = folder.path().join("jobs.db").display().to_string();
    Pool::builder().max_size(4).build(ConnectionManager::new(file)).unwrap()
}

fn in_a_file(folder: &tempfile::TempDir) -> SchedulerBuilder {
    Scheduler::builder().pool(own_pool(folder))
}

/// The tables read a time that is not after the beginning of 1970 as none. A trigger with such a
/// start was stored, and never fired.
#[test]
fn a_start_before_1970_is_refused_and_work_that_is_as_old_runs_now() {
    let folder = tempfile::tempdir().unwrap();
    let node = in_a_file(&folder).job_fn("mail", |_| Ok(())).build().unwrap();
    node.migrate().unwrap();
    let hourly = SimpleSchedule::every(Duration::from_secs(3600));
    for start in [DateTime::<Utc>::MIN_UTC, DateTime::UNIX_EPOCH] {
        let trigger = Trigger::builder(TriggerKey::named("t"), JobKey::named("j")).schedule(hourly.clone());
        let error = trigger.start_at(start).build().unwrap_err().to_string();
        assert!(error.contains("expected a time after 1970-01-01T00:00:00Z: leave the start out"), "{error}");
    }
    node.start().unwrap();
    for (id, start) in [("old", DateTime::<Utc>::MIN_UTC), ("epoch", DateTime::UNIX_EPOCH)] {
        node.submit(Submission::new("mail").request_id(id).at(start)).unwrap();
        // A misfire waits for the next look of the misfire handler, for which a test does not wait.
        node.store().upkeep().handle_misfires().unwrap();
        node.wake();
        let state = || node.submission(id).unwrap().map(|submission| submission.state.name().to_owned());
        wait_until("it has run", LONG, || state().as_deref() == Some("succeeded"));
    }
    assert!(node.shutdown_and_wait().is_clean());
}

/// A chain of some hundred works went round the stack of a thread, and took the process with it.
#[test]
fn a_chain_of_work_has_an_end() {
    let node = Scheduler::builder().job_fn("mail", |_| Ok(())).build().unwrap();
    let chain = |links: usize| (1..links).fold(Submission::new("mail"), |next, _| Submission::new("mail").then(next));
    assert!(node.submit(chain(100)).unwrap().is_new);
    let error = node.submit(chain(101)).unwrap_err().to_string();
    assert!(error.contains("expected at most 100 in a row"), "{error}");
}

#[test]
fn a_request_id_stands_for_one_work_of_a_submission() {
    let node = Scheduler::builder().job_fn("mail", |_| Ok(())).build().unwrap();
    let mail = |id: &str| Submission::new("mail").request_id(id);
    let error = node.submit(mail("a").then(mail("b")).then(mail("a"))).unwrap_err().to_string();
    assert!(error.contains("request id `a`: expected an id of its own for each work"), "{error}");
    assert!(node.submission("b").unwrap().is_none(), "nothing of it is stored");

    assert_eq!(node.submit(mail("a").then(mail("b"))).unwrap().warning, None);
    let taken = node.submit(mail("c").then(mail("b")).then(mail("d"))).unwrap();
    assert!(taken.is_new);
    let warning = taken.warning.unwrap();
    assert_eq!(warning, "request `b` was taken before: its work does not follow this one");
}

/// The application's own pool and a cluster: each said that the other was missing.
#[test]
fn a_cluster_is_had_in_the_applications_own_pool() {
    let folder = tempfile::tempdir().unwrap();
    let first = in_a_file(&folder).clustered().build().unwrap();
    first.migrate().unwrap();
    let second = in_a_file(&folder).clustered().build().unwrap();
    first.start().unwrap();
    second.start().unwrap();
    let nodes = first.instances().unwrap();
    assert_eq!((nodes.len(), nodes.iter().all(|node| node.alive)), (2, true));
    assert!(first.shutdown_and_wait().is_clean() && second.shutdown_and_wait().is_clean());
}

/// Data that a run has made too large stay as they were. The history was green, and the job did the
/// same work again and again.
#[test]
fn data_that_grew_too_large_are_told_in_the_history() {
    let folder = tempfile::tempdir().unwrap();
    let grow = |ctx: &mut JobContext| {
        ctx.job_data_mut().put("cursor", "x".repeat(200_000));
        Ok(())
    };
    let node = in_a_file(&folder).job_fn("grow", grow).build().unwrap();
    node.migrate().unwrap();
    let job = JobDetail::builder(JobKey::named("j"), "grow").persist_job_data_after_execution(true).durable(true);
    let job = job.data("cursor", "small").build().unwrap();
    node.add_job(&job, IfExists::Refuse).unwrap();
    node.start().unwrap();
    node.trigger_job(job.key(), carnelian::JobDataMap::new()).unwrap();
    let rows = || node.history(&HistoryQuery::default()).unwrap();
    wait_until("it is recorded", LONG, || !rows().is_empty());
    let row = rows().remove(0);
    let error = row.error.unwrap();
    assert_eq!(row.outcome, FireOutcome::Succeeded);
    assert!(error.contains("cannot be stored, and stay as they were") && error.contains("keep references"), "{error}");
    assert_eq!(node.job(job.key()).unwrap().unwrap().data().text("cursor"), Some("small"));
    assert!(node.shutdown_and_wait().is_clean());
}

/// Ids of a shop are numbers and texts of several kinds, and a pool lends the connections.
#[test]
fn values_and_lent_connections_are_taken_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let pool = own_pool(&folder);
    let node = Scheduler::builder().pool(pool.clone()).job_fn("mail", |_| Ok(())).build().unwrap();
    node.migrate().unwrap();
    let order = "o-17".to_owned();
    let work = Submission::new("mail").data("order", &order).data("line", 7_u32).data("size", 'm').data("tries", 3_u8);
    type Problem = Box<dyn std::error::Error + Send + Sync>;
    let taken: Result<_, Problem> = pool.get().unwrap().transaction(|c| Ok(node.submit_in(c, [work])?));
    let job = node.job(&taken.unwrap()[0].job).unwrap().unwrap();
    let data = job.data();
    assert_eq!((data.text("order"), data.integer("line"), data.text("size")), (Some("o-17"), Some(7), Some("m")));
}
