//! A row of `FIRED_TRIGGERS` as statements read and write it.

use crate::key::{JobKey, TriggerKey};
use crate::store::row::{FiredRow, FiredState};
use crate::store::sql::by_place::{Columns, by_place};
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

/// The columns as they are written.
pub(super) const WRITTEN: &[&str] = Row::NAMES;

/// The columns as they are read.
pub(super) fn columns() -> String {
    Row::select("")
}

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
