//! Sessions that stop while they hold a lock, on servers that can only end silent ones (MySQL; here
//! MariaDB stands for it).
#![cfg(all(feature = "mysql", feature = "test-util"))]

use crate::support;
use carnelian::Result;
use carnelian::clock::{Clock, SystemClock};
use carnelian::clock::{Signal, Woken};
use carnelian::settings::Settings;
use carnelian::store::{Database, Lock, SqlDatabase, TxMode};
use chrono::{DateTime, Utc};
use diesel::connection::SimpleConnection;
use diesel::{Connection, MysqlConnection};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const MYSQL: Option<&str> = Some("8.4.0 MySQL Community Server - GPL");

/// The clock of the machine, which a test may have run ahead.
#[derive(Default)]
struct Ahead {
    system: SystemClock,
    ahead_s: AtomicU64,
}

impl Clock for Ahead {
    fn wall_time(&self) -> DateTime<Utc> {
        self.system.wall_time()
    }

    fn ticks(&self) -> Duration {
        self.system.ticks() + Duration::from_secs(self.ahead_s.load(Ordering::SeqCst))
    }

    fn wait(&self, signal: &Signal, until: Option<Duration>) -> Woken {
        self.system.wait(signal, until)
    }
}

/// A database with a single connection, and its clock.
fn database(taken_for: Option<&'static str>) -> (SqlDatabase, Arc<Ahead>) {
    let mut settings = Settings::in_database(support::fresh_name("silent"), support::mysql_url().parse().unwrap());
    settings.data_source.as_mut().unwrap().max_connections = 1;
    let clock = Arc::new(Ahead::default());
    let database = SqlDatabase::open_taken_for(taken_for, &settings, clock.clone()).unwrap();
    database.migrate().unwrap();
    (database, clock)
}

fn limits(database: &SqlDatabase) -> (i64, i64) {
    let ask = |name: &str| database.number(&format!("SELECT CAST(@@SESSION.{name} AS SIGNED) AS n")).unwrap();
    (ask("idle_transaction_timeout"), ask("wait_timeout"))
}

#[test]
fn a_server_without_a_limit_for_transactions_is_told_to_end_silent_sessions() {
    let (mariadb, _) = database(None);
    let usual = mariadb.number("SELECT CAST(@@GLOBAL.wait_timeout AS SIGNED) AS n").unwrap();
    assert_eq!(limits(&mariadb), (5, usual));
    let words = mariadb.session_limit().unwrap().unwrap();
    assert!(words.contains("MariaDB") && words.contains("after 5 s"), "{words}");

    let (mysql, _) = database(MYSQL);
    assert_eq!(limits(&mysql), (0, 30));
    let words = mysql.session_limit().unwrap().unwrap();
    assert!(words.contains("silent for 30 s (wait_timeout)"), "{words}");
    assert!(mysql.claims_rows().unwrap(), "asked once, by what the server is");
}

/// A report that has read a table, and somebody who waits to change it: all nodes waited for both,
/// for a day by the server's own limit, and no statement failed.
#[test]
fn a_table_that_somebody_changes_is_waited_for_as_long_as_a_lock() {
    let (database, _) = database(None);
    let ask = |name: &str| database.number(&format!("SELECT CAST(@@SESSION.{name} AS SIGNED) AS n")).unwrap();
    assert_eq!((ask("lock_wait_timeout"), ask("innodb_lock_wait_timeout")), (10, 10));
}

#[test]
fn connections_that_rest_are_opened_anew_before_the_server_ends_them() {
    let id = |database: &SqlDatabase| database.number("SELECT CAST(CONNECTION_ID() AS SIGNED) AS n").unwrap();
    for (taken_for, rests_for_s, stays) in [(MYSQL, 15, true), (MYSQL, 25, false), (None, 25, true)] {
        let (database, clock) = database(taken_for);
        let first = id(&database);
        for _ in 0..3 {
            clock.ahead_s.fetch_add(rests_for_s, Ordering::SeqCst);
            assert_eq!(id(&database) == first, stays, "{taken_for:?} {rests_for_s} s");
        }
    }
}

/// The assumption behind this: `wait_timeout` also ends a session in the middle of a transaction,
/// and frees its locks.
#[test]
fn the_lock_of_a_session_that_is_silent_for_too_long_is_free() {
    let (database, _) = database(MYSQL);
    let url = support::mysql_url();
    let mut stopped = MysqlConnection::establish(&url).unwrap();
    let name = support::fresh_name("stopped");
    let text = format!(
        "SET SESSION wait_timeout = 1; INSERT INTO QRTZ_LOCKS (SCHED_NAME, LOCK_NAME) VALUES ('{name}', 'TRIGGER_ACCESS'); \
         START TRANSACTION"
    );
    stopped.batch_execute(&text).unwrap();
    let lock = format!("SELECT * FROM QRTZ_LOCKS WHERE SCHED_NAME = '{name}' FOR UPDATE");
    stopped.batch_execute(&lock).unwrap();
    let mut other = MysqlConnection::establish(&url).unwrap();
    other.batch_execute("SET SESSION innodb_lock_wait_timeout = 20; START TRANSACTION").unwrap();
    other.batch_execute(&lock).expect("the server ends the one that stopped");
    assert!(stopped.batch_execute("SELECT 1").is_err(), "its session is gone");
    other.batch_execute(&format!("DELETE FROM QRTZ_LOCKS WHERE SCHED_NAME = '{name}'; COMMIT")).unwrap();

    // Beside all that the store works as ever.
    let work: &mut dyn FnMut(&mut dyn carnelian::store::Session) -> Result<()> = &mut |s| s.now_ms().map(drop);
    database.transact("test", TxMode::Exclusive(Lock::TriggerAccess), work).unwrap();
    database.forget_scheduler().unwrap();
}
