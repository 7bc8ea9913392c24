//! Servers whose messages are in another language.
#![cfg(feature = "postgres")]

use crate::support;
use carnelian::settings::Settings;
use carnelian::{FailureClass, Scheduler};
use diesel::connection::SimpleConnection;
use diesel::{Connection, PgConnection};

fn scheduler(name: &str, url: &str, statement: &str) -> Scheduler {
    let text = format!(
        "scheduler.instanceName = {name}\njobStore.dataSource = d\ndataSource.d.URL = {url}\n\
         dataSource.d.connectionInitSql = {statement}"
    );
    Scheduler::builder().settings(Settings::from_text("test", &text, |_| None).unwrap()).build().unwrap()
}

/// A lock that is not granted in time is tried again, whatever the language in which the server
/// says so: German where it can, and the user of the test may set no other. The data of a job were
/// lost where its end met such a lock.
#[test]
fn a_lock_is_waited_for_in_every_language() {
    let (own, abroad) = ("carnelian:carnelian@", "carnelian_abroad:carnelian_abroad@");
    let url = support::postgres_url();
    assert!(url.contains(own), "{url}: expected the servers of ./tests/run, which has the user carnelian_abroad");
    let name = support::fresh_name("abroad");
    let owner = scheduler(&name, &url, "SELECT 1");
    owner.migrate().unwrap();
    let guest = scheduler(&name, &url.replace(own, abroad), "SET lock_timeout = '50ms'");
    guest.pause_all().unwrap();
    let mut holder = PgConnection::establish(&url).unwrap();
    holder.batch_execute("BEGIN").unwrap();
    holder.batch_execute(&format!("SELECT * FROM QRTZ_LOCKS WHERE SCHED_NAME = '{name}' FOR UPDATE")).unwrap();
    let error = guest.resume_all().unwrap_err();
    println!("languages refusal={error}");
    assert_eq!(error.failure_class(), Some(FailureClass::LockWait), "{error}");
    holder.batch_execute("ROLLBACK").unwrap();
    guest.resume_all().unwrap();
    owner.store().database().forget_scheduler().unwrap();
}
