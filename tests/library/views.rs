//! The views for reports of people's own: read as a person would, on each database.
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql"))]

use crate::support;
use carnelian::clock::SystemClock;
use carnelian::node::{NodeInfo, NodeReport};
use carnelian::settings::Settings;
use carnelian::store::{AcquireRequest, CompletionInstruction, FireBundle, JobStore, Membership, Owner};
use carnelian::{JobDetail, JobKey, SimpleSchedule, Trigger, TriggerKey};
use diesel::sql_types::{BigInt, Text};
use diesel::{Connection, MysqlConnection, PgConnection, QueryableByName, RunQueryDsl, SqliteConnection, sql_query};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = BigInt)]
    number: i64,
}

struct Place {
    url: String,
    scheduler: String,
    store: JobStore,
    owner: Owner,
}

impl Place {
    fn open(url: String) -> Self {
        let scheduler = support::fresh_name("views");
        let settings = Settings::in_database(&scheduler, url.parse().unwrap());
        let store = carnelian::store::open(&settings, Arc::new(SystemClock::default())).unwrap();
        store.database().migrate().unwrap();
        let mut info = NodeInfo::default();
        info.node_name = "rack7".to_owned();
        let mut me = Membership::new("A");
        me.node = Some(NodeReport { info, ..NodeReport::default() });
        store.upkeep().check_in(&mut me).unwrap();
        let owner = me.owner().unwrap();
        Self { url, scheduler, store, owner }
    }

    fn schedule(&self, name: &str) {
        let job = JobDetail::builder(JobKey::named(name), "t").durable(true).build().unwrap();
        let schedule = SimpleSchedule::every(Duration::from_secs(3600));
        let trigger = Trigger::builder(TriggerKey::named(name), JobKey::named(name)).schedule(schedule);
        self.store.catalogue().schedule(vec![(job, vec![trigger.build().unwrap()])], false).unwrap();
    }

    fn fire(&self) -> FireBundle {
        let (types, quarantined) = (vec!["t".to_owned()], BTreeSet::new());
        let (prefetch, look_ahead_ms, fire_ahead_ms) = (None, 0, 0);
        let request = AcquireRequest {
            max: 1,
            prefetch,
            look_ahead_ms,
            fire_ahead_ms,
            job_types: &types,
            quarantined: &quarantined,
        };
        self.store.firing().acquire(&self.owner, &request).unwrap().fired.pop().unwrap()
    }

    /// A time of a trigger of the job has misfired, long after all runs.
    fn misfires(&self, job: &str) {
        let text = format!(
            "INSERT INTO QRTZ_CN_HISTORY (SCHED_NAME, FIRE_ID, TRIGGER_NAME, TRIGGER_GROUP, JOB_NAME, JOB_GROUP, SCHED_MS, \
             ENDED_MS, OUTCOME, ATTEMPT) VALUES ('{}', 'misfire-1', '{job}', 'DEFAULT', '{job}', 'DEFAULT', 0, \
             9000000000000, 'misfired', 0)",
            self.scheduler
        );
        match self.url.split_once(':') {
            Some(("sqlite", path)) => sql_query(text).execute(&mut SqliteConnection::establish(path).unwrap()),
            Some(("mysql", _)) => sql_query(text).execute(&mut MysqlConnection::establish(&self.url).unwrap()),
            _ => sql_query(text).execute(&mut PgConnection::establish(&self.url).unwrap()),
        }
        .unwrap();
    }

    /// A name and a number of each row of a view, in order of the names.
    fn rows(&self, name: &str, number: &str, view: &str) -> Vec<(String, i64)> {
        let kind = if self.url.starts_with("mysql") { "SIGNED" } else { "BIGINT" };
        let text = format!(
            "SELECT {name} AS name, CAST({number} AS {kind}) AS number FROM QRTZ_CN_VIEW_{view} WHERE SCHED_NAME = '{}' \
             ORDER BY {name}",
            self.scheduler
        );
        let query = sql_query(text);
        let rows: Vec<Row> = match self.url.split_once(':') {
            Some(("sqlite", path)) => query.load(&mut SqliteConnection::establish(path).unwrap()),
            Some(("mysql", _)) => query.load(&mut MysqlConnection::establish(&self.url).unwrap()),
            _ => query.load(&mut PgConnection::establish(&self.url).unwrap()),
        }
        .unwrap();
        rows.into_iter().map(|row| (row.name, row.number)).collect()
    }
}

/// DS-05, DS-72, DS-81: what runs, waits, lives and has ended.
fn views_tell_what_goes_on(url: String) {
    let place = Place::open(url);
    let named = |name: &str, number| vec![(name.to_owned(), number)];
    assert_eq!(place.rows("INSTANCE_NAME", "IS_ALIVE", "NODES"), named("A", 1));
    assert_eq!(place.rows("NODE_NAME", "RUNNING", "NODES"), named("rack7", 0));
    let silent = place.rows("INSTANCE_NAME", "SILENT_MS", "NODES");
    assert!((0..60_000).contains(&silent[0].1), "{silent:?}");
    assert_eq!(place.rows("JOB_NAME", "LATE_MS", "DUE"), []);

    place.schedule("a");
    let due = place.rows("JOB_NAME", "LATE_MS", "DUE");
    assert!(due.len() == 1 && due[0].0 == "a" && (0..60_000).contains(&due[0].1), "{due:?}");
    let first = place.fire();
    place.schedule("b");
    assert_eq!(place.rows("JOB_NAME", "PRIORITY", "DUE"), named("b", 5));
    let running = place.rows("FIRE_ID", "AGE_MS", "RUNNING");
    assert!(running.len() == 1 && running[0].0 == first.fire_id && (0..60_000).contains(&running[0].1), "{running:?}");
    assert_eq!(place.rows("NODE_NAME", "FIRED_MS", "RUNNING"), named("rack7", first.fired_ms));

    assert_eq!(place.rows("JOB_NAME", "ATTEMPT", "LAST_RUNS"), []);
    let second = place.fire();
    let end = |fire: &FireBundle| fire.completion(CompletionInstruction::NoInstruction, None);
    place.store.firing().complete(&place.owner, &[end(&first), end(&second)]).unwrap();
    assert_eq!(place.rows("FIRE_ID", "AGE_MS", "RUNNING"), []);
    assert_eq!(place.rows("INSTANCE_NAME", "FIRES", "THROUGHPUT"), named("A", 2));
    assert_eq!(place.rows("INSTANCE_NAME", "NOT_SUCCEEDED", "THROUGHPUT"), named("A", 0));
    let runs = BTreeSet::from([(first.fire_id, 0), (second.fire_id, 0)]);
    assert_eq!(BTreeSet::from_iter(place.rows("FIRE_ID", "ATTEMPT", "LAST_RUNS")), runs);
    // A time that misfires later is no run.
    place.misfires("a");
    assert_eq!(BTreeSet::from_iter(place.rows("FIRE_ID", "ATTEMPT", "LAST_RUNS")), runs);
    place.store.upkeep().leave(&place.owner).unwrap();
    assert_eq!(place.rows("INSTANCE_NAME", "IS_ALIVE", "NODES"), []);
    place.store.database().forget_scheduler().unwrap();
}

#[test]
fn views_tell_what_goes_on_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    views_tell_what_goes_on(format!("sqlite:{}", folder.path().join("views.db").display()));
}

#[test]
fn views_tell_what_goes_on_on_postgres() {
    views_tell_what_goes_on(support::postgres_url());
}

#[test]
fn views_tell_what_goes_on_on_mysql() {
    views_tell_what_goes_on(support::mysql_url());
}
