//! A process that is killed while its scheduling call is on the server. On PostgreSQL the call is
//! one statement, which goes on without its caller.
#![cfg(all(target_os = "linux", feature = "postgres"))]

use crate::support;
use carnelian::TriggerKey;
use carnelian::clock::SystemClock;
use carnelian::settings::Settings;
use carnelian::store::{JobStore, SqlDatabase, violations};
use diesel::connection::SimpleConnection;
use diesel::sql_types::BigInt;
use diesel::{Connection, PgConnection, QueryableByName, RunQueryDsl, sql_query};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

fn count(connection: &mut PgConnection, query: &str) -> i64 {
    sql_query(query).get_result::<Count>(connection).unwrap().n
}

fn carnelian(config: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_carnelian"));
    command.arg("--config").arg(config).args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

const SCHEDULE: [&str; 9] =
    ["schedule", "--job", "g.j", "--type", "t", "--trigger", "g.t", "--at", "2099-01-01T00:00:00Z"];

/// Job, trigger and schedule are all there once the lock is free, or none of them would be; and
/// whoever calls again, not knowing what became of the first call, is told.
#[test]
fn what_a_killed_process_was_about_to_store_is_stored_whole() {
    let (url, name) = (support::postgres_url(), support::fresh_name("killed"));
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("killed.properties");
    let properties = format!(
        "org.quartz.scheduler.instanceName = {name}\norg.quartz.jobStore.dataSource = main\norg.quartz.dataSource.main.URL = {url}\n"
    );
    std::fs::write(&config, properties).unwrap();
    assert!(carnelian(&config, &["migrate"]).status().unwrap().success());
    let settings = Settings::in_database(&name, url.parse().unwrap());
    let clock = Arc::new(SystemClock::default());
    let database = Arc::new(SqlDatabase::open(&settings, clock.clone()).unwrap());
    let store = JobStore::new(database, clock, settings);

    let mut holder = PgConnection::establish(&url).unwrap();
    let mut watcher = PgConnection::establish(&url).unwrap();
    let pid = count(&mut holder, "SELECT pg_backend_pid()::bigint AS n");
    holder
        .batch_execute(&format!(
            "BEGIN; SELECT 1 FROM QRTZ_LOCKS WHERE SCHED_NAME = '{name}' AND LOCK_NAME = 'TRIGGER_ACCESS' FOR UPDATE"
        ))
        .unwrap();
    let waiting = format!(
        "SELECT count(*) AS n FROM pg_stat_activity WHERE query LIKE '%CN_SCHEDULE(%' AND {pid} = ANY (pg_blocking_pids(pid))"
    );
    let mut caller = carnelian(&config, &SCHEDULE).spawn().unwrap();
    support::wait_until("its call waits for the lock", LONG, || count(&mut watcher, &waiting) == 1);
    caller.kill().unwrap();
    caller.wait().unwrap();
    assert_eq!(count(&mut watcher, &waiting), 1, "the server has not noticed");
    let is_stored = || store.catalogue().trigger(&TriggerKey::new("g", "t")).unwrap().is_some();
    assert!(!is_stored());

    holder.batch_execute("COMMIT").unwrap();
    support::wait_until("the call has ended", LONG, is_stored);
    let snapshot = store.upkeep().snapshot().unwrap();
    assert_eq!((snapshot.jobs.len(), snapshot.triggers.len()), (1, 1));
    assert_eq!(violations(&snapshot), []);
    let again = carnelian(&config, &SCHEDULE).output().unwrap();
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(!again.status.success() && said.contains("exists already"), "{said}");
    assert_eq!(store.upkeep().snapshot().unwrap().triggers, snapshot.triggers);
    store.database().forget_scheduler().unwrap();
}
