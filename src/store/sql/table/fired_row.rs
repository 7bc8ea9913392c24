//! A row of `FIRED_TRIGGERS` as statements read and write it.

use crate::key::{JobKey, TriggerKey};
use crate::store::row::{FiredRow, FiredState};
use crate::store::sql::by_place::by_place;
use crate::store::sql::statement::{Flag, FlagType, Value};
use diesel::sql_types::{BigInt, Integer, Nullable, Text};

by_place! {
    pub(super) struct EntryId {
        pub(super) entry_id: String as Text,
    }
}

by_place! {
    pub(super) struct Row {
        pub(super) entry_id: String as Text,
        trigger_name: String as Text,
        trigger_group: String as Text,
        instance_name: String as Text,
        fired_time: i64 as BigInt,
        sched_time: i64 as BigInt,
        priority: i32 as Integer,
        state: String as Text,
        job_name: Option<String> as Nullable<Text>,
        job_group: Option<String> as Nullable<Text>,
        is_nonconcurrent: Option<Flag> as Nullable<FlagType>,
        requests_recovery: Option<Flag> as Nullable<FlagType>,
    }
}

impl From<Row> for FiredRow {
    fn from(row: Row) -> Self {
        FiredRow {
            fire_id: row.entry_id,
            trigger: TriggerKey::new(row.trigger_group, row.trigger_name),
            instance: row.instance_name,
            fired_ms: row.fired_time,
            scheduled_ms: row.sched_time,
            priority: row.priority,
            state: state(&row.state),
            job: row.job_name.zip(row.job_group).map(|(name, group)| JobKey::new(group, name)),
            nonconcurrent: row.is_nonconcurrent.is_some_and(bool::from),
            requests_recovery: row.requests_recovery.is_some_and(bool::from),
        }
    }
}

/// Anything but `ACQUIRED` has been started.
fn state(text: &str) -> FiredState {
    if text == FiredState::Acquired.name() { FiredState::Acquired } else { FiredState::Executing }
}

pub(super) const COLUMNS: &str = "entry_id AS entry_id, trigger_name AS trigger_name, trigger_group AS trigger_group, instance_name AS \
     instance_name, fired_time AS fired_time, sched_time AS sched_time, priority AS priority, state AS state, \
     job_name AS job_name, job_group AS job_group, is_nonconcurrent AS is_nonconcurrent, requests_recovery AS \
     requests_recovery";

pub(super) const INSERTED: [&str; 12] = [
    "entry_id",
    "trigger_name",
    "trigger_group",
    "instance_name",
    "fired_time",
    "sched_time",
    "priority",
    "state",
    "job_name",
    "job_group",
    "is_nonconcurrent",
    "requests_recovery",
];

pub(super) fn values(row: &FiredRow) -> Vec<Value> {
    vec![
        (&row.fire_id).into(),
        row.trigger.name().into(),
        row.trigger.group().into(),
        (&row.instance).into(),
        row.fired_ms.into(),
        row.scheduled_ms.into(),
        i64::from(row.priority).into(),
        row.state.name().into(),
        row.job.as_ref().map(JobKey::name).into(),
        row.job.as_ref().map(JobKey::group).into(),
        row.nonconcurrent.into(),
        row.requests_recovery.into(),
    ]
}
