//! Work in bulk (PA-10, PA-05): the number of statements of a batch of submissions, on every
//! database; marks of a job that an unaware program has replaced; and, on demand, the time that ten
//! thousand take.
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql"))]

use crate::support;
use carnelian::clock::{Clock, SystemClock};
use carnelian::settings::Settings;
use carnelian::store::{JobStore, SqlDatabase};
use carnelian::{JobFilter, JobMarks, Scheduler, Submission};
use diesel::connection::SimpleConnection;
use diesel::{Connection, MysqlConnection, PgConnection, SqliteConnection};
use std::sync::Arc;

fn scheduler(url: &str, prefix: &str) -> Scheduler {
    let name = support::fresh_name("submit");
    let clock = Arc::new(SystemClock::default());
    let mut settings = Settings::in_database(name, url.parse().unwrap());
    settings.job_store.table_prefix = prefix.to_owned();
    let database = Arc::new(SqlDatabase::open(&settings, clock.clone()).unwrap());
    let store = JobStore::new(database, clock, settings);
    store.database().migrate().unwrap();
    Scheduler::builder().store(store).job_fn("mail", |_| Ok(())).build().unwrap()
}

fn sqlite() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("submit.db").display());
    (folder, url)
}

fn plain(count: usize) -> Vec<Submission> {
    (0..count).map(|n| Submission::new("mail").data("n", n as i64)).collect()
}

fn with_request_ids(count: usize) -> Vec<Submission> {
    plain(count).into_iter().enumerate().map(|(n, work)| work.request_id(format!("r{n}"))).collect()
}

fn marked(count: usize) -> Vec<Submission> {
    let all = plain(count).into_iter().enumerate();
    all.map(|(n, work)| work.biz_key(format!("order-{n}")).tag("mail").tag("v2")).collect()
}

/// The statements that a thousand submissions take: at most `most`, in one commit; in the order
/// plain, with request ids, the same asked again, with a business key and two tags.
fn census(database: &str, url: &str, most: [u64; 4]) {
    let scheduler = scheduler(url, "QRTZ_");
    let mut over = Vec::new();
    let batches = [plain(1000), with_request_ids(1000), with_request_ids(1000), marked(1000)];
    for ((what, batch), most) in ["plain", "request ids", "asked again", "marks"].into_iter().zip(batches).zip(most) {
        let before = scheduler.store().database().counts();
        let taken = scheduler.submit_all(batch).unwrap();
        let after = scheduler.store().database().counts();
        let (statements, commits) = (after.statements - before.statements, after.commits - before.commits);
        println!("submissions database={database} what={what} count=1000 statements={statements} commits={commits}");
        assert_eq!(taken.iter().filter(|taken| taken.is_new).count(), if what == "asked again" { 0 } else { 1000 });
        assert_eq!(commits, 1, "{what}");
        over.extend((statements > most).then(|| format!("{what}: {statements} statements, at most {most}")));
    }
    assert_eq!(over, [""; 0]);
    assert_eq!(scheduler.find_jobs(&JobFilter::new()).unwrap().len(), 3000);
    assert_eq!(scheduler.find_jobs(&JobFilter::new().tag("mail").biz_key("order-7")).unwrap().len(), 1);
    scheduler.store().database().forget_scheduler().unwrap();
}

/// One text for any number of rows: the number of statements does not depend on that of
/// submissions.
#[test]
fn postgres_takes_a_thousand_submissions_in_a_handful_of_statements() {
    census("postgres", &support::postgres_url(), [1, 13, 6, 15]);
}

#[test]
fn mysql_takes_a_thousand_submissions_in_batches() {
    // A process asks once whether locks have to be written, as on Galera.
    census("mysql", &support::mysql_url(), [41, 74, 13, 99]);
}

/// In this process a statement is no round trip: SQLite loops over prepared ones. Each job has one:
/// whether a fire of such a job executes. With request ids there are two more: whether the job is
/// there, and whether its trigger is.
#[test]
fn sqlite_takes_a_thousand_submissions_in_one_commit() {
    let (_folder, url) = sqlite();
    census("sqlite", &url, [1035, 3053, 12, 5062]);
}

/// The time that submissions in bulk take. A few submissions are a test that all are taken. A
/// figure is made by hand, in a release build: `CARNELIAN_SUBMISSIONS=10000 ./tests/run --release
/// --test submission --no-capture figures`.
#[test]
fn figures() {
    let count = std::env::var("CARNELIAN_SUBMISSIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(100);
    let clock = SystemClock::default();
    let (_folder, sqlite) = sqlite();
    for (database, url) in [("sqlite", sqlite), ("postgres", support::postgres_url()), ("mysql", support::mysql_url())]
    {
        let scheduler = scheduler(&url, "QRTZ_");
        let batches = [("plain", plain(count)), ("request ids", with_request_ids(count)), ("marks", marked(count))];
        for (what, batch) in batches {
            let begun = clock.ticks();
            assert_eq!(scheduler.submit_all(batch).unwrap().len(), count);
            println!("submit_all database={database} what={what} count={count} took={:?}", clock.ticks() - begun);
        }
        scheduler.store().database().forget_scheduler().unwrap();
    }
}

fn execute(url: &str, text: &str) {
    match url.split(':').next() {
        Some("sqlite") => {
            SqliteConnection::establish(url.trim_start_matches("sqlite:")).unwrap().batch_execute(text).unwrap();
        }
        Some("postgres") => PgConnection::establish(url).unwrap().batch_execute(text).unwrap(),
        _ => MysqlConnection::establish(url).unwrap().batch_execute(text).unwrap(),
    }
}

/// A program that knows nothing of marks has put another job in the place of a marked one: the new
/// one does not have them, is not found by them, and the audit sweeps them.
#[test]
fn marks_are_not_those_of_a_job_that_another_program_has_put_in_place() {
    let (_folder, sqlite) = sqlite();
    for url in [sqlite, support::postgres_url(), support::mysql_url()] {
        let scheduler = scheduler(&url, "QRTZ_");
        let marks = JobMarks::new().biz_key("order-1").tag("mail").tag("v2");
        let taken = scheduler.submit(Submission::new("mail").marks(marks.clone())).unwrap();
        let found = || scheduler.find_jobs(&JobFilter::new().tag("mail")).unwrap().len();
        assert_eq!(found(), 1);
        let name = scheduler.name();
        execute(&url, &format!("UPDATE QRTZ_JOB_DETAILS SET JOB_CLASS_NAME = 'x' WHERE SCHED_NAME = '{name}'"));
        assert_eq!(found(), 0);
        assert!(scheduler.job(&taken.job).unwrap().unwrap().marks().is_empty());
        assert_eq!(scheduler.store().upkeep().audit().unwrap().swept, 3, "the marks and two tags");
        execute(&url, &format!("UPDATE QRTZ_JOB_DETAILS SET JOB_CLASS_NAME = 'mail' WHERE SCHED_NAME = '{name}'"));
        assert_eq!(found(), 0, "they are gone");
        scheduler.store().database().forget_scheduler().unwrap();
    }
}
