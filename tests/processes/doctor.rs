//! `carnelian doctor` beside a cluster at work: in pages, and without the lock.
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql"))]

use crate::support;
use carnelian::clock::SystemClock;
use carnelian::settings::Settings;
use carnelian::store::{AcquireRequest, Database, JobStore, Membership, SqlDatabase};
use carnelian::{JobDetail, JobKey, SimpleSchedule, Trigger, TriggerKey};
use chrono::{DateTime, Utc};
use diesel::connection::SimpleConnection;
use diesel::{Connection, MysqlConnection, PgConnection, SqliteConnection};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// The largest number of rows of a page.
const PAGE: usize = 1_000;

/// Sends statements.
type Statements = Box<dyn FnMut(&str) -> diesel::QueryResult<()>>;

/// A scheduler, and the command line of its operator.
struct Place {
    folder: TempDir,
    url: String,
    name: String,
    store: JobStore,
    database: Arc<SqlDatabase>,
}

fn on_sqlite() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("doctor.db").display());
    place(folder, url)
}

fn on_postgres() -> Place {
    place(tempfile::tempdir().unwrap(), support::postgres_url())
}

fn on_mysql() -> Place {
    place(tempfile::tempdir().unwrap(), support::mysql_url())
}

fn place(folder: TempDir, url: String) -> Place {
    let name = support::fresh_name("doctor");
    let clock = Arc::new(SystemClock::default());
    let settings = Settings::in_database(&*name, url.parse().unwrap());
    let database = Arc::new(SqlDatabase::open(&settings, clock.clone()).unwrap());
    database.migrate().unwrap();
    let store = JobStore::new(Arc::clone(&database) as Arc<dyn Database>, clock, settings);
    let text = format!("scheduler.instanceName = {name}\njobStore.dataSource = d\ndataSource.d.URL = {url}\n");
    std::fs::write(folder.path().join("carnelian.properties"), text).unwrap();
    Place { folder, url, name, store, database }
}

impl Place {
    /// A session of somebody else's.
    fn session(&self) -> Statements {
        if let Some(file) = self.url.strip_prefix("sqlite:") {
            let mut db = SqliteConnection::establish(file).unwrap();
            return Box::new(move |text| db.batch_execute(text));
        }
        if self.url.starts_with("postgres") {
            let mut db = PgConnection::establish(&self.url).unwrap();
            return Box::new(move |text| db.batch_execute(text));
        }
        let mut db = MysqlConnection::establish(&self.url).unwrap();
        Box::new(move |text| db.batch_execute(text))
    }

    /// The statements that take `TRIGGER_ACCESS`, and that fail at once if another session has it.
    fn locks(&self) -> (String, String) {
        if self.url.starts_with("sqlite:") {
            return ("BEGIN IMMEDIATE".to_owned(), "PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK".to_owned());
        }
        let lock = format!(
            "SELECT * FROM QRTZ_LOCKS WHERE SCHED_NAME = '{}' AND LOCK_NAME = 'TRIGGER_ACCESS' FOR UPDATE",
            self.name
        );
        (format!("BEGIN; {lock}"), format!("BEGIN; {lock} NOWAIT; ROLLBACK"))
    }

    /// A place on a database of its own, on the same server.
    fn own_database(&self) -> Place {
        let folder = tempfile::tempdir().unwrap();
        if self.url.starts_with("sqlite:") {
            let url = format!("sqlite:{}", folder.path().join("own.db").display());
            return place(folder, url);
        }
        let name = format!("carnelian_test_{}", support::fresh_name("own"));
        self.session()(&format!("CREATE DATABASE {name}")).unwrap();
        place(folder, format!("{}/{name}", self.url.rsplit_once('/').unwrap().0))
    }

    fn drop_index(&self, index: &str, table: &str) -> String {
        match self.url.starts_with("mysql") {
            true => format!("DROP INDEX {index} ON {table}"),
            false => format!("DROP INDEX {index}"),
        }
    }

    /// The findings of `doctor`, as kind and subject.
    fn findings(&self, more: &[&str]) -> Vec<(String, String)> {
        let document = self.doctor(more);
        let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
        let findings = document["findings"].as_array().unwrap();
        findings.iter().map(|f| (text(f, "kind"), text(f, "subject"))).collect::<Vec<_>>()
    }

    /// The document of `doctor`; exit code 1 goes with findings.
    fn doctor(&self, more: &[&str]) -> Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_carnelian"));
        command.current_dir(self.folder.path()).args(["doctor", "--json"]).args(more).env_remove("CARNELIAN_CONFIG");
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|why| panic!("{why}: {said}"));
        let is_ill = !document["findings"].as_array().unwrap().is_empty();
        assert_eq!(output.status.code(), Some(i32::from(is_ill)), "{said}");
        document
    }

    /// A job with a trigger of this key, due at this time.
    fn work(&self, key: TriggerKey, at: DateTime<Utc>) -> (JobDetail, Vec<Trigger>) {
        let job = JobDetail::builder(JobKey::new(key.group(), key.name()), "work").build().unwrap();
        let schedule = SimpleSchedule::every(Duration::from_secs(3_600));
        let trigger = Trigger::builder(key, job.key().clone()).start_at(at).schedule(schedule).build().unwrap();
        (job, vec![trigger])
    }
}

fn later() -> DateTime<Utc> {
    DateTime::from_timestamp_millis(4_000_000_000_000).unwrap()
}

macro_rules! on_each {
    ($($test:ident: $on_sqlite:ident $on_postgres:ident $on_mysql:ident)*) => {$(
        #[test]
        fn $on_sqlite() {
            $test(&on_sqlite());
        }

        #[test]
        fn $on_postgres() {
            $test(&on_postgres());
        }

        #[test]
        fn $on_mysql() {
            $test(&on_mysql());
        }
    )*};
}
on_each! {
    rows_of_many_pages_are_each_seen_once:
        rows_of_many_pages_are_each_seen_once_on_sqlite
        rows_of_many_pages_are_each_seen_once_on_postgres
        rows_of_many_pages_are_each_seen_once_on_mysql
    missing_parts_are_named_and_made_again:
        missing_parts_are_named_and_made_again_on_sqlite
        missing_parts_are_named_and_made_again_on_postgres
        missing_parts_are_named_and_made_again_on_mysql
    doctor_answers_while_another_holds_the_lock:
        doctor_answers_while_another_holds_the_lock_on_sqlite
        doctor_answers_while_another_holds_the_lock_on_postgres
        doctor_answers_while_another_holds_the_lock_on_mysql
}

/// Also where a page ends between keys that share a name.
fn rows_of_many_pages_are_each_seen_once(place: &Place) {
    const FIRED: usize = PAGE + 100;
    let keys = |n: usize| [TriggerKey::new(format!("g{n:04}"), "same"), TriggerKey::new("g", format!("t{n:04}"))];
    let keys: BTreeSet<TriggerKey> = (0..PAGE + 200).flat_map(keys).collect();
    let now = DateTime::from_timestamp_millis(place.store.now_ms().unwrap()).unwrap();
    let at = |n: usize| if n < FIRED { now } else { later() };
    let works = keys.iter().enumerate().map(|(n, key)| place.work(key.clone(), at(n))).collect();
    place.store.catalogue().schedule(works, false).unwrap();
    let mut me = Membership::new("node");
    place.store.upkeep().check_in(&mut me).unwrap();
    let (types, quarantined) = (vec!["work".to_owned()], BTreeSet::new());
    let (max, job_types) = (FIRED, &*types);
    let request = AcquireRequest {
        max,
        prefetch: None,
        look_ahead_ms: 0,
        fire_ahead_ms: 0,
        job_types,
        quarantined: &quarantined,
    };
    let fired = place.store.firing().acquire(&me.owner().unwrap(), &request).unwrap().fired;
    assert_eq!(fired.len(), FIRED);
    place.session()(&format!(
        "INSERT INTO QRTZ_CRON_TRIGGERS (SCHED_NAME, TRIGGER_NAME, TRIGGER_GROUP, CRON_EXPRESSION) \
         SELECT SCHED_NAME, TRIGGER_NAME, TRIGGER_GROUP, '0 0 0 * * ?' FROM QRTZ_TRIGGERS WHERE SCHED_NAME = '{}'",
        place.name
    ))
    .unwrap();

    let before = place.database.counts().statements;
    let seen = place.store.upkeep().read_everything().unwrap();
    let statements = place.database.counts().statements - before;
    assert_eq!(
        seen.triggers.iter().map(|row| row.key.clone()).collect::<Vec<_>>(),
        keys.iter().cloned().collect::<Vec<_>>()
    );
    let jobs: Vec<_> = keys.iter().map(|key| JobKey::new(key.group(), key.name())).collect();
    assert_eq!(seen.jobs.iter().map(|row| row.key.clone()).collect::<Vec<_>>(), jobs);
    let ids = |fires: &mut dyn Iterator<Item = String>| fires.collect::<BTreeSet<_>>();
    assert_eq!(seen.fired.len(), FIRED);
    assert_eq!(ids(&mut seen.fired.iter().map(|f| f.fire_id.clone())), ids(&mut fired.into_iter().map(|f| f.fire_id)));
    assert!(seen.stray_schedules.is_empty(), "{:?}", seen.stray_schedules);
    // Triggers, jobs, and two tables of kinds in three pages each, fires in two, two empty ones,
    // recoveries, four of the rest.
    assert_eq!(statements, 3 * 4 + 2 + 2 + 1 + 4, "a statement reads a page");
    place.store.database().forget_scheduler().unwrap();
}

/// A row that is damaged is found behind the first page, and nobody waits for anybody.
fn doctor_answers_while_another_holds_the_lock(place: &Place) {
    let key = |n: usize| TriggerKey::new("g", format!("t{n:04}"));
    place
        .store
        .catalogue()
        .schedule((0..2 * PAGE + 100).map(|n| place.work(key(n), later())).collect(), false)
        .unwrap();
    let damaged = [0, PAGE - 1, PAGE, 2 * PAGE + 99].map(|n| key(n).name().to_owned());
    place.session()(&format!(
        "UPDATE QRTZ_TRIGGERS SET TRIGGER_STATE = 'NONSENSE' WHERE SCHED_NAME = '{}' AND TRIGGER_NAME IN ('{}')",
        place.name,
        damaged.join("', '")
    ))
    .unwrap();
    let (mut holder, (lock, lock_at_once)) = (place.session(), place.locks());
    holder(&lock).unwrap();
    assert!(place.session()(&lock_at_once).is_err(), "it is held");
    let found = place.findings(&[]);
    assert!(place.session()(&lock_at_once).is_err(), "it is held still");
    holder("ROLLBACK").unwrap();
    place.session()(&lock_at_once).unwrap();
    let expected = damaged.map(|name| ("unknown_state".to_owned(), format!("g.{name}")));
    assert_eq!(found, expected);

    place.session()(&format!("UPDATE QRTZ_TRIGGERS SET TRIGGER_STATE = 'WAITING' WHERE SCHED_NAME = '{}'", place.name))
        .unwrap();
    assert_eq!(json!(place.findings(&["--invariants"])), json!([]));
    place.store.database().forget_scheduler().unwrap();
}

fn pair(kind: &str, subject: &str) -> (String, String) {
    (kind.to_owned(), subject.to_owned())
}

/// An index, a lock row and a row of a kind without a trigger. The tables are the test's own:
/// others would miss the index.
fn missing_parts_are_named_and_made_again(server: &Place) {
    let place = &server.own_database();
    let name = &place.name;
    assert_eq!(place.findings(&[]), []);
    place.session()(&place.drop_index("IDX_QRTZ_CN_H_J", "QRTZ_CN_HISTORY")).unwrap();
    place.session()(&format!("DELETE FROM QRTZ_LOCKS WHERE SCHED_NAME = '{name}' AND LOCK_NAME = 'STATE_ACCESS'"))
        .unwrap();
    place.session()(&format!(
        "INSERT INTO QRTZ_CRON_TRIGGERS (SCHED_NAME, TRIGGER_NAME, TRIGGER_GROUP, CRON_EXPRESSION) \
         VALUES ('{name}', 'nobody', 'g', '0 0 0 * * ?')"
    ))
    .unwrap();
    let expected =
        [("missing_index", "IDX_QRTZ_CN_H_J"), ("missing_lock", "STATE_ACCESS"), ("stray_schedule", "g.nobody")];
    let expected = expected.map(|(kind, subject)| pair(kind, subject));
    assert_eq!(place.findings(&[]), expected);
    assert_eq!(place.findings(&[]), expected, "a look mends nothing");

    let done = place.doctor(&["--repair"]);
    assert_eq!((&done["findings"], done["repaired"].as_array().unwrap().len()), (&json!([]), 3), "{done}");
    assert_eq!(place.findings(&["--invariants"]), []);
    // The tables of Quartz have other indexes, some of which are named as ours: nothing is missing.
    place.session()(&place.drop_index("IDX_QRTZ_T_DUE", "QRTZ_TRIGGERS")).unwrap();
    assert_eq!(place.findings(&[]), [pair("missing_index", "IDX_QRTZ_T_DUE")]);
    if !server.url.starts_with("postgres") {
        place.session()(&place.drop_index("IDX_QRTZ_FT_INST", "QRTZ_FIRED_TRIGGERS")).unwrap();
    }
    place.session()("CREATE INDEX IDX_QRTZ_T_NFT_ST ON QRTZ_TRIGGERS (SCHED_NAME, TRIGGER_STATE, NEXT_FIRE_TIME)")
        .unwrap();
    assert_eq!(place.findings(&[]), []);
    // The index is the one that the migration makes.
    place.session()(&place.drop_index("IDX_QRTZ_CN_H_J", "QRTZ_CN_HISTORY")).unwrap();
    assert_eq!(place.store.diagnosis().repair().unwrap().len(), 1);
    assert_eq!(place.store.diagnosis().doctor(true).unwrap(), []);
    if server.url.starts_with("postgres") {
        place.session()("DROP FUNCTION QRTZ_CN_SCHEDULE").unwrap();
        assert_eq!(place.findings(&[]), [pair("missing_function", "QRTZ_CN_SCHEDULE")]);
        assert_eq!(place.doctor(&["--repair", "--yes"])["findings"], json!([]));
    }
    if !server.url.starts_with("sqlite:") {
        let force = if server.url.starts_with("postgres") { " WITH (FORCE)" } else { "" };
        let (_, database) = place.url.rsplit_once('/').unwrap();
        let drop = format!("DROP DATABASE {database}{force}");
        // An autovacuum worker may be in it, which only a superuser may end.
        support::wait_until("the database is dropped", Duration::from_secs(60), || server.session()(&drop).is_ok());
    }
}
