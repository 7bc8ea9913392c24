//! Triggers of kinds that only Java nodes fire, and rows as Java nodes read and write them,
//! examined with plain SQL.
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql", feature = "recurrence"))]

use crate::support;
use carnelian::clock::{Clock, SystemClock};
use carnelian::settings::Settings;
use carnelian::store::{AcquireRequest, CompletionInstruction, JobStore, Membership, SqlDatabase, violations};
use carnelian::{
    CalendarIntervalSchedule, Continuation, DailyTimeIntervalSchedule, Error, GroupMatcher, IntervalUnit, JobDetail,
    JobKey, MisfireInstruction, Parent, RecurrenceSchedule, Trigger, TriggerKey,
};
use chrono::{NaiveTime, Weekday};
use diesel::connection::{Connection, SimpleConnection};
use diesel::sql_types::{Nullable, Text};
use diesel::{MysqlConnection, PgConnection, QueryableByName, RunQueryDsl, SqliteConnection, sql_query};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A program beside the store, on the same tables.
enum Other {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
    Mysql(MysqlConnection),
}

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Nullable<Text>)]
    line: Option<String>,
}

impl Other {
    fn execute(&mut self, sql: &str) {
        match self {
            Other::Sqlite(connection) => connection.batch_execute(sql),
            Other::Postgres(connection) => connection.batch_execute(sql),
            Other::Mysql(connection) => connection.batch_execute(sql),
        }
        .unwrap_or_else(|error| panic!("{error}: {sql}"));
    }

    /// The only row of a table whose trigger is `name`, its columns in one text, `-` for null.
    fn line(&mut self, table: &str, columns: &str, scheduler: &str, name: &str) -> Option<String> {
        let text = |column: &str| match self {
            Other::Mysql(_) => format!("COALESCE(CAST({column} AS CHAR), '-')"),
            _ => format!("COALESCE(CAST({column} AS VARCHAR), '-')"),
        };
        let columns: Vec<_> = columns.split(' ').map(text).collect();
        let columns = match self {
            Other::Mysql(_) => format!("CONCAT_WS('|', {})", columns.join(", ")),
            _ => columns.join(" || '|' || "),
        };
        let sql = format!(
            "SELECT {columns} AS line FROM QRTZ_{table} WHERE SCHED_NAME = '{scheduler}' AND TRIGGER_NAME = '{name}'"
        );
        let lines = self.lines(&sql);
        assert!(lines.len() <= 1, "{sql}");
        lines.into_iter().next().flatten()
    }

    /// The column `line` of what is selected.
    fn lines(&mut self, sql: &str) -> Vec<Option<String>> {
        let lines: Vec<Line> = match self {
            Other::Sqlite(connection) => sql_query(sql).load(connection),
            Other::Postgres(connection) => sql_query(sql).load(connection),
            Other::Mysql(connection) => sql_query(sql).load(connection),
        }
        .unwrap_or_else(|error| panic!("{error}: {sql}"));
        lines.into_iter().map(|line| line.line).collect()
    }

    /// The literals of a flag and of three bytes.
    fn literals(&self) -> (&'static str, &'static str) {
        match self {
            Other::Sqlite(_) => ("0", "X'ACED00'"),
            Other::Postgres(_) => ("false", r"'\xACED00'"),
            Other::Mysql(_) => ("'0'", "X'ACED00'"),
        }
    }
}

/// A store and a program beside it.
struct Both {
    name: String,
    store: JobStore,
    other: Other,
    now: i64,
}

impl Both {
    fn new(url: &str, other: Other) -> Self {
        let name = support::fresh_name("kinds");
        let clock = Arc::new(SystemClock::default());
        let now = clock.wall_time().timestamp_millis();
        let settings = Settings::in_database(&name, url.parse().unwrap());
        let database = Arc::new(SqlDatabase::open(&settings, clock.clone()).unwrap());
        let store = JobStore::new(database, clock, settings);
        store.database().migrate().unwrap();
        Self { name, store, other, now }
    }

    fn job(&self) -> JobDetail {
        JobDetail::builder(JobKey::named("j"), "t").durable(true).build().unwrap()
    }

    /// A trigger as a Java node stores it that serialises what it has no table for; due for a day.
    fn insert_foreign(&mut self, name: &str, kind: &str) {
        let (scheduler, long_ago, bytes) = (&self.name, self.now - 86_400_000, self.other.literals().1);
        self.other.execute(&format!(
            "INSERT INTO QRTZ_TRIGGERS (SCHED_NAME, TRIGGER_NAME, TRIGGER_GROUP, JOB_NAME, JOB_GROUP, NEXT_FIRE_TIME, \
             PREV_FIRE_TIME, PRIORITY, TRIGGER_STATE, TRIGGER_TYPE, START_TIME, END_TIME, MISFIRE_INSTR) VALUES \
             ('{scheduler}', '{name}', 'DEFAULT', 'j', 'DEFAULT', {long_ago}, -1, 5, 'WAITING', '{kind}', {long_ago}, 0, 0); \
             INSERT INTO QRTZ_BLOB_TRIGGERS (SCHED_NAME, TRIGGER_NAME, TRIGGER_GROUP, BLOB_DATA) VALUES \
             ('{scheduler}', '{name}', 'DEFAULT', {bytes})"
        ));
    }

    /// The row of a trigger and that of its kind.
    fn rows(&mut self, name: &str) -> (Option<String>, bool) {
        let columns =
            "NEXT_FIRE_TIME PREV_FIRE_TIME PRIORITY TRIGGER_TYPE START_TIME END_TIME CALENDAR_NAME MISFIRE_INSTR";
        let row = self.other.line("TRIGGERS", columns, &self.name, name);
        let kind = self.other.line("BLOB_TRIGGERS", "TRIGGER_GROUP", &self.name, name);
        (row, kind.is_some())
    }

    fn end(self) {
        self.store.catalogue().clear().unwrap();
        self.store.database().forget_scheduler().unwrap();
    }
}

/// Triggers of foreign kinds are listed, paused and resumed, never fired or changed, and named on
/// request. A delete takes the row of their kind too.
fn foreign_kinds_are_left_alone(mut both: Both) {
    both.store.catalogue().add_job(&both.job(), false).unwrap();
    let kinds = [("blob", "BLOB"), ("custom", "MY_KIND")];
    for (name, kind) in kinds {
        both.insert_foreign(name, kind);
    }
    let before = kinds.map(|(name, _)| both.rows(name));
    assert!(before.iter().all(|(row, kind)| row.is_some() && *kind), "{before:?}");

    let store = both.store.clone();
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
    let look = || {
        let acquisition = store.firing().acquire(&me.owner().unwrap(), &request).unwrap();
        assert!(acquisition.fired.is_empty() && acquisition.reserved.is_empty() && acquisition.unreadable.is_empty());
        assert_eq!(store.firing().poll(None, "", &types).unwrap().earliest_ms, None);
        assert!(store.upkeep().handle_misfires().unwrap().handled.is_empty());
        store.upkeep().audit().unwrap();
    };
    look();
    let keys: Vec<_> = kinds.iter().map(|(name, _)| TriggerKey::named(*name)).collect();
    store.catalogue().pause_triggers(&keys).unwrap();
    look();
    assert_eq!(store.catalogue().resume_triggers(&keys, true).unwrap(), 2);
    look();

    let listed = store.catalogue().trigger_summaries(&GroupMatcher::any()).unwrap();
    let listed: Vec<_> = listed.iter().map(|t| (t.key.name(), t.kind.as_str(), t.state.as_str())).collect();
    assert_eq!(listed, [("blob", "BLOB", "WAITING"), ("custom", "MY_KIND", "WAITING")]);
    for key in &keys {
        let error = store.catalogue().trigger(key).unwrap_err();
        assert!(matches!(&error, Error::Unreadable { reason, .. } if reason.contains("knows SIMPLE")), "{error}");
    }
    assert_eq!(violations(&store.upkeep().snapshot().unwrap()), []);
    assert_eq!(kinds.map(|(name, _)| both.rows(name)), before);

    assert_eq!(store.catalogue().unschedule(&keys[..1]).unwrap(), 1);
    store.catalogue().delete_jobs(&[JobKey::named("j")]).unwrap();
    assert_eq!(kinds.map(|(name, _)| both.rows(name)), [(None, false), (None, false)]);
    both.end();
}

/// The columns of `SIMPROP_TRIGGERS`, also those that nothing uses, have what a Java node writes
/// into them.
fn intervals_have_the_columns_of_quartz(mut both: Both) {
    let clock = |hour| NaiveTime::from_hms_opt(hour, 0, 0).unwrap();
    let trigger = |name: &str| Trigger::builder(TriggerKey::named(name), JobKey::named("j"));
    let interval = CalendarIntervalSchedule::every(6, IntervalUnit::Week).in_zone(chrono_tz::America::New_York);
    let daily = DailyTimeIntervalSchedule::every(106, IntervalUnit::Minute).on_days([Weekday::Sat, Weekday::Tue]);
    let triggers = vec![
        trigger("interval").schedule(interval.preserve_hour(true).skip_day_without_hour(true)).build().unwrap(),
        trigger("daily")
            .schedule(daily.starting_daily_at(clock(13)).ending_daily_at(clock(18)).repeat(3))
            .build()
            .unwrap(),
    ];
    both.store.catalogue().schedule(vec![(both.job(), triggers)], false).unwrap();
    let columns = "STR_PROP_1 STR_PROP_2 STR_PROP_3 INT_PROP_1 INT_PROP_2 LONG_PROP_1 LONG_PROP_2 DEC_PROP_1 DEC_PROP_2 \
                   BOOL_PROP_1 BOOL_PROP_2";
    let (no, yes) = match both.other {
        Other::Postgres(_) => ("false", "true"),
        _ => ("0", "1"),
    };
    let mut row = |name: &str| both.other.line("SIMPROP_TRIGGERS", columns, &both.name, name).unwrap();
    assert_eq!(row("interval"), format!("WEEK|America/New_York|-|6|0|0|0|-|-|{yes}|{yes}"));
    assert_eq!(row("daily"), format!("MINUTE|3,7|13,0,0,18,0,0|106|0|3|0|-|-|{no}|{no}"));
    both.end();
}

/// A program that knows nothing of options deletes and replaces triggers, and leaves them.
fn options_belong_to_the_trigger_they_were_given_to(mut both: Both) {
    let start = |ms: i64| chrono::DateTime::from_timestamp_millis(ms).unwrap();
    let trigger = |name: &str, at: i64, options: bool| {
        let schedule = CalendarIntervalSchedule::every(1, IntervalUnit::Month).without_drift(options);
        Trigger::builder(TriggerKey::named(name), JobKey::named("j"))
            .schedule(schedule)
            .start_at(start(at))
            .build()
            .unwrap()
    };
    let now = both.now;
    let triggers = ["kept", "deleted", "replaced"].map(|name| trigger(name, now, true));
    both.store.catalogue().schedule(vec![(both.job(), triggers.to_vec())], false).unwrap();
    let options = |store: &JobStore, name: &str| {
        store.catalogue().trigger(&TriggerKey::named(name)).unwrap().map(|trigger| trigger.schedule().options().len())
    };
    let line = "TRIGGER_TYPE START_TIME OPTIONS";
    let stored = both.other.line("CN_TRIGGER_OPTIONS", line, &both.name, "kept");
    assert_eq!(stored, Some(format!("CAL_INT|{now}|without-drift")));

    let scheduler = both.name.clone();
    both.other.execute(&format!(
        "DELETE FROM QRTZ_SIMPROP_TRIGGERS WHERE SCHED_NAME = '{scheduler}' AND TRIGGER_NAME = 'deleted'; \
         DELETE FROM QRTZ_TRIGGERS WHERE SCHED_NAME = '{scheduler}' AND TRIGGER_NAME = 'deleted'; \
         UPDATE QRTZ_TRIGGERS SET START_TIME = START_TIME + 1 WHERE SCHED_NAME = '{scheduler}' AND TRIGGER_NAME = 'replaced'"
    ));
    let seen = |store: &JobStore| ["kept", "deleted", "replaced"].map(|name| options(store, name));
    assert_eq!(seen(&both.store), [Some(1), None, Some(0)]);
    // A new trigger has the key, kind and start of the old one.
    both.store.catalogue().add_trigger(trigger("deleted", now, false), false).unwrap();
    assert_eq!(seen(&both.store), [Some(1), Some(0), Some(0)]);
    assert_eq!(both.store.upkeep().audit().unwrap().swept, 1);
    assert_eq!(both.store.upkeep().audit().unwrap().swept, 0);
    assert_eq!(both.other.line("CN_TRIGGER_OPTIONS", line, &both.name, "replaced"), None);
    assert_eq!(seen(&both.store), [Some(1), Some(0), Some(0)]);
    both.end();
}

/// LT-12: what a program that knows nothing of continuations does to their jobs makes them void,
/// and they are swept.
fn continuations_belong_to_the_jobs_they_were_given_to(mut both: Both) {
    let job = |name: &str| JobDetail::builder(JobKey::named(name), "t").durable(true).build().unwrap();
    for name in ["same", "other", "kept", "gone"] {
        both.store.catalogue().add_job(&job(name), false).unwrap();
    }
    for (parent, child) in [("same", "kept"), ("same", "gone"), ("other", "kept")] {
        both.store.catalogue().follow(&Continuation::new(JobKey::named(parent), JobKey::named(child))).unwrap();
    }
    let mut me = Membership::new("here");
    both.store.upkeep().check_in(&mut me).unwrap();
    let scheduler = both.name.clone();
    both.other.execute(&format!(
        "UPDATE QRTZ_JOB_DETAILS SET JOB_CLASS_NAME = 'u' WHERE SCHED_NAME = '{scheduler}' AND JOB_NAME = 'other'; \
         DELETE FROM QRTZ_JOB_DETAILS WHERE SCHED_NAME = '{scheduler}' AND JOB_NAME = 'gone'"
    ));
    let left = |store: &JobStore| -> Vec<String> {
        store
            .catalogue()
            .continuations()
            .unwrap()
            .iter()
            .map(|link| format!("{}-{}", link.parent().name(), link.child().name()))
            .collect()
    };
    assert_eq!(left(&both.store), ["same-kept"]);
    for name in ["same", "other"] {
        both.store.catalogue().trigger_job(&JobKey::named(name), carnelian::JobDataMap::new()).unwrap();
    }
    let (types, none) = (["t", "u"].map(str::to_owned), BTreeSet::new());
    let request = AcquireRequest {
        max: 10,
        prefetch: None,
        look_ahead_ms: 0,
        fire_ahead_ms: 0,
        job_types: &types,
        quarantined: &none,
    };
    let owner = me.owner().unwrap();
    let fired = both.store.firing().acquire(&owner, &request).unwrap().fired;
    let ends: Vec<_> = fired.iter().map(|fire| fire.completion(CompletionInstruction::NoInstruction, None)).collect();
    assert_eq!(ends.len(), 2);
    let recorded = both.store.firing().complete(&owner, &ends).unwrap();
    assert_eq!(recorded.following.len(), 1);
    let child = both.store.catalogue().trigger(&recorded.following[0]).unwrap().unwrap();
    assert_eq!(child.job_key().name(), "kept");
    assert_eq!(Parent::of(child.data()).unwrap().job.name(), "same");
    // A job of ours in the place of theirs does not take over what was void.
    both.store.catalogue().add_job(&job("other"), true).unwrap();
    assert_eq!(left(&both.store), ["same-kept"]);
    assert_eq!(both.store.upkeep().audit().unwrap().swept, 1);
    assert_eq!(both.store.upkeep().audit().unwrap().swept, 0);
    assert_eq!(left(&both.store), ["same-kept"]);
    both.store.catalogue().unschedule(&recorded.following).unwrap();
    both.store.upkeep().leave(&owner).unwrap();
    both.end();
}

/// Quartz takes triggers, and handles their misfires, by what their misfire instruction is compared
/// with: null is neither equal nor unequal to anything.
fn recurrences_are_never_due_for_quartz(mut both: Both) {
    let start = chrono::DateTime::from_timestamp_millis(both.now - 3_600_000).unwrap();
    let trigger = |name: &str, misfire| {
        let schedule = RecurrenceSchedule::new("FREQ=HOURLY").unwrap();
        let builder = Trigger::builder(TriggerKey::named(name), JobKey::named("j")).schedule(schedule);
        builder.start_at(start).misfire(misfire).build().unwrap()
    };
    let triggers =
        vec![trigger("waits", MisfireInstruction::DoNothing), trigger("ignores", MisfireInstruction::Ignore)];
    both.store.catalogue().schedule(vec![(both.job(), triggers)], false).unwrap();
    let columns = "TRIGGER_TYPE TRIGGER_STATE MISFIRE_INSTR";
    for (name, kind, code) in [("waits", "RRULE", 2), ("ignores", "RRULE_IG", -1)] {
        let row = both.other.line("TRIGGERS", columns, &both.name, name);
        assert_eq!(row, Some(format!("{kind}|WAITING|-")));
        let rule = both.other.line("CN_RECURRENCES", "RULE TIME_ZONE_ID MISFIRE_INSTR", &both.name, name);
        assert_eq!(rule, Some(format!("RRULE:FREQ=HOURLY|UTC|{code}")));
    }
    let waiting = format!(
        "SELECT TRIGGER_NAME AS line FROM QRTZ_TRIGGERS WHERE SCHED_NAME = '{}' AND TRIGGER_STATE = 'WAITING'",
        both.name
    );
    assert_eq!(both.other.lines(&waiting).len(), 2);
    let due = format!("{waiting} AND (MISFIRE_INSTR = -1 OR (MISFIRE_INSTR <> -1 AND NEXT_FIRE_TIME >= 0))");
    assert_eq!(both.other.lines(&due), []);
    assert_eq!(both.other.lines(&format!("{waiting} AND NOT (MISFIRE_INSTR = -1)")), []);
    // Deleted by a program that does not know their table.
    let scheduler = both.name.clone();
    both.other
        .execute(&format!("DELETE FROM QRTZ_TRIGGERS WHERE SCHED_NAME = '{scheduler}' AND TRIGGER_NAME = 'waits'"));
    let again = trigger("waits", MisfireInstruction::FireOnceNow);
    assert_eq!(
        both.store.catalogue().add_trigger(again, false).unwrap().misfire_instruction(),
        MisfireInstruction::FireOnceNow
    );
    both.other
        .execute(&format!("DELETE FROM QRTZ_TRIGGERS WHERE SCHED_NAME = '{scheduler}' AND TRIGGER_NAME = 'waits'"));
    assert_eq!(both.store.upkeep().audit().unwrap().swept, 1);
    assert_eq!(both.store.upkeep().audit().unwrap().swept, 0);
    both.end();
}

/// A late trigger without an instruction was neither due nor misfired, and waited for ever.
fn a_late_trigger_without_a_misfire_instruction_goes_on(mut both: Both) {
    let schedule = CalendarIntervalSchedule::every(1, IntervalUnit::Hour);
    let start = chrono::DateTime::from_timestamp_millis(both.now - 86_400_000).unwrap();
    let trigger = Trigger::builder(TriggerKey::named("late"), JobKey::named("j")).schedule(schedule).start_at(start);
    both.store.catalogue().schedule(vec![(both.job(), vec![trigger.build().unwrap()])], false).unwrap();
    let name = both.name.clone();
    both.other.execute(&format!("UPDATE QRTZ_TRIGGERS SET MISFIRE_INSTR = NULL WHERE SCHED_NAME = '{name}'"));
    both.store.upkeep().handle_misfires().unwrap();
    let moved = both.store.catalogue().trigger(&TriggerKey::named("late")).unwrap().unwrap();
    assert!(moved.next_fire_time().unwrap().timestamp_millis() >= both.now, "{moved:?}");
    both.end();
}

/// A dump of tables alone, restored, has no function that stores new work: it is stored all the
/// same, and a migration makes the function again.
fn loses_its_function(store: &JobStore, other: &mut Other, prefix: &str) {
    if !store.database().has_fast_path() {
        return;
    }
    other.execute(&format!("DROP FUNCTION {prefix}CN_SCHEDULE"));
    store.database().check_schema().unwrap();
    let statements = |name: &str| {
        let before = store.database().counts().statements;
        store
            .catalogue()
            .add_job(&JobDetail::builder(JobKey::named("lost"), "t").durable(true).build().unwrap(), true)
            .unwrap();
        let added = store.database().counts().statements - before;
        let trigger = Trigger::builder(TriggerKey::named(name), JobKey::named("lost")).build().unwrap();
        store.catalogue().add_trigger(trigger, false).unwrap();
        store.database().counts().statements - before - added
    };
    assert!(statements("slow") > 1);
    store.database().migrate().unwrap();
    assert_eq!(statements("fast again"), 1);
    // The function goes while nodes run: a few calls fail, and for a while none is tried.
    other.execute(&format!("DROP FUNCTION {prefix}CN_SCHEDULE"));
    assert!(store.database().has_fast_path());
    assert!(["first", "second", "third"].into_iter().all(|name| statements(name) > 1));
    assert!(!store.database().has_fast_path());
    // A function of another version counts as none.
    other.execute(&format!(
        "CREATE FUNCTION {prefix}CN_SCHEDULE(TEXT) RETURNS BIGINT LANGUAGE sql AS 'SELECT 1::bigint'"
    ));
    store.database().check_schema().unwrap();
    assert!(!store.database().has_fast_path());
    other.execute(&format!("DROP FUNCTION {prefix}CN_SCHEDULE"));
    let made = store.database().migrate().unwrap();
    assert_eq!(made, ["created the function that stores new jobs and triggers again"]);
    assert_eq!(statements("fast"), 1);
    store.catalogue().clear().unwrap();
}

/// Drops the views and all side tables but `gone`.
fn drop_side_tables(other: &mut Other, prefix: &str, gone: &str) {
    let ours = "CN_MIGRATIONS CN_FENCES CN_INSTANCES CN_PROCESSES CN_NODES CN_RECOVERIES CN_PARKED CN_COMMITS CN_TRIGGER_OPTIONS CN_CHECKPOINTS CN_REQUESTS \
                CN_RECURRENCES CN_JOB_POLICIES CN_CONTINUATIONS CN_JOB_MARKS CN_TAGS CN_BEATS CN_CANCELS CN_JOB_TYPES CN_JOB_VERSIONS CN_ORPHANS \
                CN_HISTORY CN_HISTORY_LOG CN_BLACKLIST CN_GROUP_LIMITS CN_DEFINITIONS CN_DEFINED_TRIGGERS CN_CHANGES CN_LOCKS CN_ACTIONS \
                CN_INCARNATIONS CN_LAST_RUNS CN_TYPE_POLICIES CN_TICK_PARTS CN_AHEAD CN_BEGUN CN_OUTAGES CN_RECOVERY_MODE";
    for view in ["NODES", "RUNNING", "DUE", "THROUGHPUT", "LAST_RUNS"] {
        other.execute(&format!("DROP VIEW {prefix}CN_VIEW_{view}"));
    }
    for table in ours.split_whitespace().filter(|table| *table != gone) {
        other.execute(&format!("DROP TABLE {prefix}{table}"));
    }
}

/// A table that somebody has dropped: whoever looks names it, all else is mended, and the advice
/// works.
fn side_tables_that_are_gone_are_named(store: &JobStore, other: &mut Other, prefix: &str) {
    let gone = format!("{prefix}CN_ACTIONS");
    other.execute(&format!("DROP TABLE {gone}; DELETE FROM {prefix}LOCKS WHERE LOCK_NAME = 'STATE_ACCESS'"));
    let error = store.database().migrate().unwrap_err().to_string();
    for part in [&gone, "backup", "drop the views and all tables", "carnelian migrate"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let found = || {
        let found = store.diagnosis().doctor(false).unwrap();
        found.into_iter().map(|one| (one.kind, one.subject, one.is_repairable)).collect::<Vec<_>>()
    };
    let table = ("missing_table", gone.clone(), false);
    assert_eq!(found(), [table.clone(), ("missing_lock", "STATE_ACCESS".to_owned(), true)]);
    let mended = store.diagnosis().repair().unwrap();
    assert_eq!(mended.iter().map(|one| one.kind).collect::<Vec<_>>(), ["missing_lock"]);
    assert_eq!(found(), [table]);
    drop_side_tables(other, prefix, "CN_ACTIONS");
    assert!(!store.database().migrate().unwrap().is_empty());
    store.database().check_schema().unwrap();
    assert_eq!(found(), []);
}

/// Tables that an older version made get what it did not know.
fn older_tables_are_upgraded(url: &str, mut other: Other) {
    let name = support::fresh_name("older");
    let prefix = format!("{}_", name.replace('-', "_"));
    let clock = Arc::new(SystemClock::default());
    let mut settings = Settings::in_database(&name, url.parse().unwrap());
    settings.job_store.table_prefix = prefix.clone();
    let database = Arc::new(SqlDatabase::open(&settings, clock.clone()).unwrap());
    let store = JobStore::new(database, clock, settings);
    store.database().migrate().unwrap();
    store.database().check_schema().unwrap();
    other.execute(&format!(
        "DROP TABLE {prefix}CN_TRIGGER_OPTIONS; DROP TABLE {prefix}CN_RECURRENCES; \
         DELETE FROM {prefix}CN_MIGRATIONS WHERE VERSION IN ('0003_trigger_options', '0005_recurrences')"
    ));
    let error = store.database().check_schema().unwrap_err().to_string();
    assert!(error.contains("`0003_trigger_options` is missing; run `carnelian migrate`"), "{error}");
    assert_eq!(
        store.database().migrate().unwrap(),
        ["created the side table of options of triggers", "created the side table of recurrences"]
    );
    store.database().check_schema().unwrap();
    assert_eq!(store.database().migrate().unwrap(), Vec::<String>::new());
    loses_its_function(&store, &mut other, &prefix);
    if let Other::Mysql(_) = other {
        // The server commits what a script makes at once: a crash leaves it without the row of its
        // version.
        other.execute(&format!("DELETE FROM {prefix}CN_MIGRATIONS WHERE VERSION <> '0001_quartz'"));
        let again = store.database().migrate().unwrap();
        assert!(again.contains(&"created the columns of the last progress of running fires".to_owned()), "{again:?}");
        store.database().check_schema().unwrap();
        // A migration that was cut off while it made Quartz's tables goes on with the same call.
        other.execute(&format!("DELETE FROM {prefix}CN_MIGRATIONS; DROP TABLE {prefix}LOCKS"));
        store.database().migrate().unwrap();
        store.database().check_schema().unwrap();
    }
    // A fence that somebody has lost goes on behind all that were drawn.
    let fire_id = "00c0ffee-0123456789abcdef-41";
    other.execute(&format!(
        "DELETE FROM {prefix}CN_FENCES; INSERT INTO {prefix}CN_HISTORY (SCHED_NAME, FIRE_ID, TRIGGER_NAME, TRIGGER_GROUP, \
         SCHED_MS, ENDED_MS, OUTCOME, ATTEMPT) VALUES ('{name}', '{fire_id}', 't', 'g', 1, 1, 'succeeded', 0)"
    ));
    store.database().check_schema().unwrap();
    assert_eq!(store.upkeep().fence_behind().unwrap(), None);
    other.execute(&format!("DELETE FROM {prefix}CN_HISTORY"));
    side_tables_that_are_gone_are_named(&store, &mut other, &prefix);
    // A newer program adds what this one does not need, unless it says otherwise.
    other.execute(&format!("INSERT INTO {prefix}CN_MIGRATIONS (VERSION) VALUES ('9998_newer')"));
    store.database().check_schema().unwrap();
    assert_eq!(store.database().migrate().unwrap(), Vec::<String>::new());
    other.execute(&format!("INSERT INTO {prefix}CN_MIGRATIONS (VERSION) VALUES ('9999_incompatible')"));
    let error = store.database().check_schema().unwrap_err().to_string();
    assert!(error.contains("cannot work with their version `9999_incompatible`; use a newer program"), "{error}");
    other.execute(&format!("DELETE FROM {prefix}CN_MIGRATIONS WHERE VERSION LIKE '999%'"));

    let job = JobDetail::builder(JobKey::named("j"), "t").build().unwrap();
    let schedule = CalendarIntervalSchedule::every(1, IntervalUnit::Month).without_drift(true);
    let trigger = Trigger::builder(TriggerKey::named("t"), JobKey::named("j")).schedule(schedule).build().unwrap();
    let stored = store.catalogue().schedule(vec![(job, vec![trigger])], false).unwrap();
    assert_eq!(store.catalogue().trigger(&TriggerKey::named("t")).unwrap().as_ref(), stored.first());
    drop(store);
    let quartz = "FIRED_TRIGGERS PAUSED_TRIGGER_GRPS SCHEDULER_STATE LOCKS SIMPLE_TRIGGERS SIMPROP_TRIGGERS CRON_TRIGGERS \
                  BLOB_TRIGGERS TRIGGERS JOB_DETAILS CALENDARS";
    drop_side_tables(&mut other, &prefix, "");
    for table in quartz.split(' ').filter(|table| !table.is_empty()) {
        other.execute(&format!("DROP TABLE {prefix}{table}"));
    }
    if let Other::Postgres(_) = other {
        other.execute(&format!("DROP FUNCTION {prefix}CN_SCHEDULE"));
    }
}

fn postgres() -> Both {
    let url = support::postgres_url();
    Both::new(&url, Other::Postgres(PgConnection::establish(&url).unwrap()))
}

fn mysql() -> Both {
    let url = support::mysql_url();
    Both::new(&url, Other::Mysql(MysqlConnection::establish(&url).unwrap()))
}

fn sqlite(folder: &tempfile::TempDir) -> Both {
    let file = folder.path().join("kinds.db").display().to_string();
    Both::new(&format!("sqlite:{file}"), Other::Sqlite(SqliteConnection::establish(&file).unwrap()))
}

#[test]
fn foreign_kinds_are_left_alone_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    foreign_kinds_are_left_alone(sqlite(&folder));
}

#[test]
fn foreign_kinds_are_left_alone_on_postgres() {
    foreign_kinds_are_left_alone(postgres());
}

#[test]
fn foreign_kinds_are_left_alone_on_mysql() {
    foreign_kinds_are_left_alone(mysql());
}

#[test]
fn intervals_have_the_columns_of_quartz_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    intervals_have_the_columns_of_quartz(sqlite(&folder));
}

#[test]
fn intervals_have_the_columns_of_quartz_on_postgres() {
    intervals_have_the_columns_of_quartz(postgres());
}

#[test]
fn intervals_have_the_columns_of_quartz_on_mysql() {
    intervals_have_the_columns_of_quartz(mysql());
}

#[test]
fn continuations_belong_to_the_jobs_they_were_given_to_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    continuations_belong_to_the_jobs_they_were_given_to(sqlite(&folder));
}

#[test]
fn continuations_belong_to_the_jobs_they_were_given_to_on_postgres() {
    continuations_belong_to_the_jobs_they_were_given_to(postgres());
}

#[test]
fn continuations_belong_to_the_jobs_they_were_given_to_on_mysql() {
    continuations_belong_to_the_jobs_they_were_given_to(mysql());
}

#[test]
fn options_belong_to_the_trigger_they_were_given_to_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    options_belong_to_the_trigger_they_were_given_to(sqlite(&folder));
}

#[test]
fn options_belong_to_the_trigger_they_were_given_to_on_postgres() {
    options_belong_to_the_trigger_they_were_given_to(postgres());
}

#[test]
fn options_belong_to_the_trigger_they_were_given_to_on_mysql() {
    options_belong_to_the_trigger_they_were_given_to(mysql());
}

#[test]
fn older_tables_are_upgraded_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("older.db").display().to_string();
    let url = format!("sqlite:{file}");
    older_tables_are_upgraded(&url, Other::Sqlite(SqliteConnection::establish(&file).unwrap()));
}

#[test]
fn older_tables_are_upgraded_on_postgres() {
    let url = support::postgres_url();
    older_tables_are_upgraded(&url, Other::Postgres(PgConnection::establish(&url).unwrap()));
}

#[test]
fn older_tables_are_upgraded_on_mysql() {
    let url = support::mysql_url();
    older_tables_are_upgraded(&url, Other::Mysql(MysqlConnection::establish(&url).unwrap()));
}

#[test]
fn recurrences_are_never_due_for_quartz_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    recurrences_are_never_due_for_quartz(sqlite(&folder));
}

#[test]
fn recurrences_are_never_due_for_quartz_on_postgres() {
    recurrences_are_never_due_for_quartz(postgres());
}

#[test]
fn recurrences_are_never_due_for_quartz_on_mysql() {
    recurrences_are_never_due_for_quartz(mysql());
}

#[test]
fn a_late_trigger_without_a_misfire_instruction_goes_on_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    a_late_trigger_without_a_misfire_instruction_goes_on(sqlite(&folder));
}

#[test]
fn a_late_trigger_without_a_misfire_instruction_goes_on_on_postgres() {
    a_late_trigger_without_a_misfire_instruction_goes_on(postgres());
}

#[test]
fn a_late_trigger_without_a_misfire_instruction_goes_on_on_mysql() {
    a_late_trigger_without_a_misfire_instruction_goes_on(mysql());
}
