//! A trigger as it comes from the tables: its own row, the row of its kind, its job's.

use super::options::OptionColumns;
use super::recurrences::{Recurrence, kind_of};
use super::row_beside::{OF_TRIGGER, left_join};
use super::time;
use crate::job::JobMarks;
use crate::key::{JobKey, TriggerKey};
use crate::store::row::{Candidate, JobRow, RecoveryRow, ScheduleRow, TriggerRow};
use crate::store::sql::backend::Backend;
use crate::store::sql::by_place::by_place;
use crate::store::sql::statement::{Flag, FlagType};
use crate::trigger::TriggerState;
use diesel::sql_types::{BigInt, Binary, Integer, Nullable, SmallInt, Text};
use std::sync::Arc;

pub(super) const COLUMNS: &str = "t.trigger_name AS trigger_name, t.trigger_group AS trigger_group, t.job_name AS job_name, t.job_group AS \
     job_group, t.description AS description, t.next_fire_time AS next_fire_time, t.prev_fire_time AS \
     prev_fire_time, t.priority AS priority, t.trigger_state AS trigger_state, t.trigger_type AS trigger_type, \
     t.start_time AS start_time, t.end_time AS end_time, t.calendar_name AS calendar_name, t.misfire_instr AS \
     misfire_instr, t.job_data AS trigger_data, s.repeat_count AS repeat_count, s.repeat_interval AS \
     repeat_interval, s.times_triggered AS times_triggered, c.cron_expression AS cron_expression, c.time_zone_id \
     AS time_zone_id";

/// The joins of a trigger `t` with the rows of the two kinds that are read together.
pub(super) fn kinds(backend: Backend) -> String {
    let simple = left_join(backend, "SIMPLE_TRIGGERS", "s", "t", OF_TRIGGER);
    simple + &left_join(backend, "CRON_TRIGGERS", "c", "t", OF_TRIGGER)
}

/// The kinds that this version fires.
pub(super) const KNOWN_KIND: &str = "t.trigger_type IN ('SIMPLE', 'CRON', 'CAL_INT', 'DAILY_I', 'RRULE', 'RRULE_IG')";

by_place! {
    /// The key of a trigger.
    pub(super) struct KeyRow {
        pub trigger_name: String as Text,
        pub trigger_group: String as Text,
    }
}

impl From<KeyRow> for TriggerKey {
    fn from(row: KeyRow) -> Self {
        TriggerKey::new(row.trigger_group, row.trigger_name)
    }
}

by_place! {
    pub(super) struct Row {
        trigger_name: String as Text,
        trigger_group: String as Text,
        job_name: String as Text,
        job_group: String as Text,
        description: Option<String> as Nullable<Text>,
        next_fire_time: Option<i64> as Nullable<BigInt>,
        prev_fire_time: Option<i64> as Nullable<BigInt>,
        priority: Option<i32> as Nullable<Integer>,
        trigger_state: String as Text,
        trigger_type: String as Text,
        start_time: i64 as BigInt,
        end_time: Option<i64> as Nullable<BigInt>,
        calendar_name: Option<String> as Nullable<Text>,
        misfire_instr: Option<i16> as Nullable<SmallInt>,
        trigger_data: Option<Vec<u8>> as Nullable<Binary>,
        repeat_count: Option<i64> as Nullable<BigInt>,
        repeat_interval: Option<i64> as Nullable<BigInt>,
        times_triggered: Option<i64> as Nullable<BigInt>,
        cron_expression: Option<String> as Nullable<Text>,
        time_zone_id: Option<String> as Nullable<Text>,
        options: OptionColumns,
    }
}

by_place! {
    /// The columns of `SIMPROP_TRIGGERS` for a trigger; all null if it has no row.
    pub(super) struct Interval {
        str_prop_1: Option<String> as Nullable<Text>,
        str_prop_2: Option<String> as Nullable<Text>,
        str_prop_3: Option<String> as Nullable<Text>,
        int_prop_1: Option<i32> as Nullable<Integer>,
        int_prop_2: Option<i32> as Nullable<Integer>,
        long_prop_1: Option<i64> as Nullable<BigInt>,
        bool_prop_1: Option<Flag> as Nullable<FlagType>,
        bool_prop_2: Option<Flag> as Nullable<FlagType>,
    }
}

by_place! {
    /// A row of `SIMPROP_TRIGGERS` by itself.
    pub(super) struct IntervalRow {
        trigger_name: String as Text,
        trigger_group: String as Text,
        interval: Interval,
    }
}

by_place! {
    /// A trigger with whatever its kind has.
    pub(super) struct WholeRow {
        trigger: Row,
        interval: Interval,
        recurrence: Recurrence,
    }
}

by_place! {
    pub(super) struct CandidateRow {
        trigger: Row,
        job_description: Option<String> as Nullable<Text>,
        job_class_name: String as Text,
        is_durable: Flag as FlagType,
        is_nonconcurrent: Flag as FlagType,
        is_update_data: Flag as FlagType,
        requests_recovery: Flag as FlagType,
        job_data: Option<Vec<u8>> as Nullable<Binary>,
        policy: Option<String> as Nullable<Text>,
        marks: Option<String> as Nullable<Text>,
        executing: i64 as BigInt,
        followers: i64 as BigInt,
        trigger_executing: i64 as BigInt,
        origin_fire_id: Option<String> as Nullable<Text>,
        root_fire_id: Option<String> as Nullable<Text>,
        original_sched_ms: Option<i64> as Nullable<BigInt>,
        attempt: Option<i64> as Nullable<BigInt>,
    }
}

impl Interval {
    /// The row of a trigger of this kind. A null in a column of numbers or flags is what it is to
    /// Java: 0 or false.
    fn schedule(self, kind: &str) -> ScheduleRow {
        let Some(unit) = self.str_prop_1 else { return ScheduleRow::Missing };
        let number = |column: Option<i32>| i64::from(column.unwrap_or(0));
        let flag = |column: Option<Flag>| column.is_some_and(bool::from);
        match kind {
            "CAL_INT" => ScheduleRow::CalendarInterval {
                interval: number(self.int_prop_1),
                unit,
                zone: self.str_prop_2,
                preserve_hour: flag(self.bool_prop_1),
                skip_day: flag(self.bool_prop_2),
                times_triggered: number(self.int_prop_2),
            },
            "DAILY_I" => ScheduleRow::DailyTimeInterval {
                interval: number(self.int_prop_1),
                unit,
                repeat_count: self.long_prop_1.unwrap_or(0),
                days: self.str_prop_2,
                times_of_day: self.str_prop_3,
                times_triggered: number(self.int_prop_2),
            },
            _ => ScheduleRow::Missing,
        }
    }
}

impl IntervalRow {
    /// Fills in the row of the kind of the trigger it belongs to.
    pub(super) fn fill_in(self, triggers: &mut [Candidate]) {
        let is_its = |c: &&mut Candidate| {
            c.trigger.key.name() == self.trigger_name && c.trigger.key.group() == self.trigger_group
        };
        if let Some(Candidate { trigger, .. }) = triggers.iter_mut().find(is_its) {
            let schedule = self.interval.schedule(&trigger.kind);
            Arc::make_mut(trigger).schedule = schedule;
        }
    }
}

impl From<WholeRow> for TriggerRow {
    fn from(row: WholeRow) -> Self {
        let mut trigger = TriggerRow::from(row.trigger);
        if is_of_interval(&trigger) {
            trigger.schedule = row.interval.schedule(&trigger.kind);
        }
        row.recurrence.fill_in(&mut trigger);
        trigger
    }
}

/// Tells whether the row of its kind is in `SIMPROP_TRIGGERS`.
pub(super) fn is_of_interval(trigger: &TriggerRow) -> bool {
    matches!(trigger.kind.as_str(), "CAL_INT" | "DAILY_I")
}

impl From<Row> for TriggerRow {
    fn from(row: Row) -> Self {
        let schedule = match (row.repeat_count, row.repeat_interval, row.times_triggered, row.cron_expression) {
            (Some(repeat_count), Some(interval_ms), Some(times_triggered), _) if row.trigger_type == "SIMPLE" => {
                ScheduleRow::Simple { repeat_count, interval_ms, times_triggered }
            }
            (_, _, _, Some(expression)) if row.trigger_type == "CRON" => {
                ScheduleRow::Cron { expression, zone: row.time_zone_id }
            }
            _ => ScheduleRow::Missing,
        };
        let options = row.options.given_to(&row.trigger_type, row.start_time);
        TriggerRow {
            key: TriggerKey::new(row.trigger_group, row.trigger_name),
            job: JobKey::new(row.job_group, row.job_name),
            description: row.description,
            next_ms: time(row.next_fire_time),
            previous_ms: time(row.prev_fire_time),
            priority: row.priority.unwrap_or(crate::trigger::DEFAULT_PRIORITY),
            state: row.trigger_state,
            kind: kind_of(row.trigger_type),
            start_ms: row.start_time,
            end_ms: time(row.end_time),
            calendar: row.calendar_name.filter(|name| !name.is_empty()),
            misfire: i32::from(row.misfire_instr.unwrap_or(0)),
            data: row.trigger_data,
            schedule,
            options,
        }
    }
}

impl From<CandidateRow> for Candidate {
    fn from(row: CandidateRow) -> Self {
        let trigger = TriggerRow::from(row.trigger);
        let recovery = match (row.origin_fire_id, row.root_fire_id, row.original_sched_ms, row.attempt) {
            (Some(origin_fire_id), Some(root_fire_id), Some(original_scheduled_ms), Some(attempt)) => {
                Some(RecoveryRow {
                    trigger: trigger.key.clone(),
                    origin_fire_id,
                    root_fire_id,
                    original_scheduled_ms,
                    attempt,
                    takeovers: 0, // no fire asks for it
                })
            }
            _ => None,
        };
        Candidate {
            job: Arc::new(JobRow {
                key: trigger.job.clone(),
                description: row.job_description,
                job_type: row.job_class_name.into(),
                durable: row.is_durable.into(),
                nonconcurrent: row.is_nonconcurrent.into(),
                update_data: row.is_update_data.into(),
                requests_recovery: row.requests_recovery.into(),
                data: row.job_data,
                policy: row.policy,
                // Marks that cannot be read keep no work from being done.
                marks: row.marks.filter(|text| JobMarks::decode(text).is_ok()),
            }),
            job_is_executing: row.executing > 0,
            trigger_is_executing: row.trigger_executing > 0,
            job_is_followed: row.followers > 0,
            recovery,
            trigger: Arc::new(trigger),
        }
    }
}

/// States as a list of literals; they are ours, so nothing needs quoting.
pub(super) fn quoted(states: impl Iterator<Item = TriggerState>) -> String {
    states.map(|state| format!("'{}'", state.name())).collect::<Vec<_>>().join(", ")
}
