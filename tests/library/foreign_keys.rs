//! Tables as Quartz's own scripts make them: with foreign keys, which hold at the end of each
//! statement.
#![cfg(all(feature = "postgres", feature = "mysql"))]

use crate::support;
use carnelian::clock::{Clock as _, SystemClock};
use carnelian::settings::Settings;
use carnelian::store::{AcquireRequest, CompletionInstruction, JobStore, Membership, SqlDatabase};
use carnelian::{
    CalendarIntervalSchedule, CronSchedule, DailyTimeIntervalSchedule, IntervalUnit, JobDetail, JobKey,
    MisfireInstruction, Schedule, SimpleSchedule, Trigger, TriggerKey,
};
use diesel::connection::{Connection, SimpleConnection};
use diesel::{MysqlConnection, PgConnection};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A store in tables of its own, which have the foreign keys of Quartz's scripts.
fn store_with_foreign_keys(url: &str, execute: impl FnOnce(&str)) -> JobStore {
    let name = support::fresh_name("keys");
    let prefix = format!("{}_", name.replace('-', "_"));
    let clock = Arc::new(SystemClock::default());
    let mut settings = Settings::in_database(&name, url.parse().unwrap());
    settings.job_store.table_prefix = prefix.clone();
    let database = Arc::new(SqlDatabase::open(&settings, clock.clone()).unwrap());
    let store = JobStore::new(database, clock, settings);
    store.database().migrate().unwrap();
    let of_job = format!(
        "ALTER TABLE {prefix}TRIGGERS ADD FOREIGN KEY (SCHED_NAME, JOB_NAME, JOB_GROUP) \
         REFERENCES {prefix}JOB_DETAILS (SCHED_NAME, JOB_NAME, JOB_GROUP);"
    );
    let of_trigger = ["SIMPLE", "CRON", "SIMPROP", "BLOB"].map(|kind| {
        format!(
            "ALTER TABLE {prefix}{kind}_TRIGGERS ADD FOREIGN KEY (SCHED_NAME, TRIGGER_NAME, TRIGGER_GROUP) \
             REFERENCES {prefix}TRIGGERS (SCHED_NAME, TRIGGER_NAME, TRIGGER_GROUP);"
        )
    });
    execute(&(of_job + &of_trigger.concat()));
    store
}

/// Work of each kind whose only fire is due, taken in one batch and ended: the cluster stood still
/// once on PostgreSQL, since the row of a cron trigger was deleted a statement later than the
/// trigger.
fn the_last_fires_of_all_kinds_are_taken(store: &JobStore) {
    let past = SystemClock::default().wall_time() - chrono::TimeDelta::hours(1);
    let past = chrono::DateTime::from_timestamp(past.timestamp(), 0).unwrap();
    let schedules: [(&str, Schedule); 4] = [
        ("simple", SimpleSchedule::once().into()),
        ("cron", CronSchedule::new("* * * * * ?").unwrap().into()),
        ("interval", CalendarIntervalSchedule::every(1, IntervalUnit::Day).into()),
        ("daily", DailyTimeIntervalSchedule::every(1, IntervalUnit::Second).repeat(0).into()),
    ];
    let work = schedules.map(|(name, schedule)| {
        let trigger = Trigger::builder(TriggerKey::named(name), JobKey::named(name)).schedule(schedule).start_at(past);
        let trigger = match name {
            "cron" => trigger.end_at(past),
            "interval" => trigger.end_at(past + chrono::TimeDelta::hours(23)),
            _ => trigger,
        };
        let job = JobDetail::builder(JobKey::named(name), "t").build().unwrap();
        (job, vec![trigger.misfire(MisfireInstruction::Ignore).build().unwrap()])
    });
    store.catalogue().schedule(work.into(), false).unwrap();
    let mut me = Membership::new("node");
    store.upkeep().check_in(&mut me).unwrap();
    let (types, quarantined) = (vec!["t".to_owned()], BTreeSet::new());
    let request = AcquireRequest {
        max: 10,
        prefetch: None,
        look_ahead_ms: 0,
        fire_ahead_ms: 0,
        job_types: &types,
        quarantined: &quarantined,
    };
    let owner = me.owner().unwrap();
    let fired = store.firing().acquire(&owner, &request).unwrap().fired;
    assert_eq!(fired.len(), 4);
    let ends: Vec<_> = fired.iter().map(|fire| fire.completion(CompletionInstruction::NoInstruction, None)).collect();
    store.firing().complete(&owner, &ends).unwrap();
    let left = store.upkeep().snapshot().unwrap();
    assert_eq!((left.jobs.len(), left.triggers.len(), left.fired.len(), left.stray_schedules.len()), (0, 0, 0, 0));
}

#[test]
fn the_last_fires_of_all_kinds_are_taken_on_postgres() {
    let url = support::postgres_url();
    let execute = |sql: &str| PgConnection::establish(&url).unwrap().batch_execute(sql).unwrap();
    the_last_fires_of_all_kinds_are_taken(&store_with_foreign_keys(&url, execute));
}

#[test]
fn the_last_fires_of_all_kinds_are_taken_on_mysql() {
    let url = support::mysql_url();
    let execute = |sql: &str| MysqlConnection::establish(&url).unwrap().batch_execute(sql).unwrap();
    the_last_fires_of_all_kinds_are_taken(&store_with_foreign_keys(&url, execute));
}
