//! A trigger as it comes from the tables: its own row, the row of its kind, its job's.

use super::time;
use crate::key::{JobKey, TriggerKey};
use crate::store::row::{Candidate, JobRow, RecoveryRow, ScheduleRow, TriggerRow};
use crate::store::sql::statement::{Flag, FlagType};
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Binary, Integer, Nullable, SmallInt, Text};

pub(super) const COLUMNS: &str = "t.trigger_name AS trigger_name, t.trigger_group AS trigger_group, t.job_name AS job_name, t.job_group AS \
     job_group, t.description AS description, t.next_fire_time AS next_fire_time, t.prev_fire_time AS \
     prev_fire_time, t.priority AS priority, t.trigger_state AS trigger_state, t.trigger_type AS trigger_type, \
     t.start_time AS start_time, t.end_time AS end_time, t.calendar_name AS calendar_name, t.misfire_instr AS \
     misfire_instr, t.job_data AS trigger_data, COALESCE(s.repeat_count, p.long_prop_1) AS repeat_count, \
     COALESCE(s.repeat_interval, p.int_prop_1) AS repeat_interval, \
     COALESCE(s.times_triggered, p.int_prop_2) AS times_triggered, \
     COALESCE(c.cron_expression, p.str_prop_1) AS expression_or_unit, \
     COALESCE(c.time_zone_id, p.str_prop_2) AS zone_or_days, p.str_prop_3 AS times_of_day, \
     p.bool_prop_1 AS preserve_hour, p.bool_prop_2 AS skip_day";

/// The table of the kind, one of three: the columns of the others are null.
pub(super) const KINDS: &str = " LEFT JOIN {p}SIMPLE_TRIGGERS s ON t.trigger_type = 'SIMPLE' \
     AND s.sched_name = t.sched_name AND s.trigger_name = t.trigger_name AND s.trigger_group = t.trigger_group \
     LEFT JOIN {p}CRON_TRIGGERS c ON t.trigger_type = 'CRON' \
     AND c.sched_name = t.sched_name AND c.trigger_name = t.trigger_name AND c.trigger_group = t.trigger_group \
     LEFT JOIN {p}SIMPROP_TRIGGERS p ON t.trigger_type IN ('CAL_INT', 'DAILY_I') \
     AND p.sched_name = t.sched_name AND p.trigger_name = t.trigger_name AND p.trigger_group = t.trigger_group";

/// The kinds that this version fires.
pub(super) const KNOWN_KIND: &str = "t.trigger_type IN ('SIMPLE', 'CRON', 'CAL_INT', 'DAILY_I')";

pub(super) const JOB: &str = " JOIN {p}JOB_DETAILS j ON j.sched_name = t.sched_name \
     AND j.job_name = t.job_name AND j.job_group = t.job_group";

#[derive(QueryableByName)]
pub(super) struct Row {
    #[diesel(sql_type = Text)]
    trigger_name: String,
    #[diesel(sql_type = Text)]
    trigger_group: String,
    #[diesel(sql_type = Text)]
    job_name: String,
    #[diesel(sql_type = Text)]
    job_group: String,
    #[diesel(sql_type = Nullable<Text>)]
    description: Option<String>,
    #[diesel(sql_type = Nullable<BigInt>)]
    next_fire_time: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    prev_fire_time: Option<i64>,
    #[diesel(sql_type = Nullable<Integer>)]
    priority: Option<i32>,
    #[diesel(sql_type = Text)]
    trigger_state: String,
    #[diesel(sql_type = Text)]
    trigger_type: String,
    #[diesel(sql_type = BigInt)]
    start_time: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    end_time: Option<i64>,
    #[diesel(sql_type = Nullable<Text>)]
    calendar_name: Option<String>,
    #[diesel(sql_type = Nullable<SmallInt>)]
    misfire_instr: Option<i16>,
    #[diesel(sql_type = Nullable<Binary>)]
    trigger_data: Option<Vec<u8>>,
    #[diesel(sql_type = Nullable<BigInt>)]
    repeat_count: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    repeat_interval: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    times_triggered: Option<i64>,
    #[diesel(sql_type = Nullable<Text>)]
    expression_or_unit: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    zone_or_days: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    times_of_day: Option<String>,
    #[diesel(sql_type = Nullable<FlagType>)]
    preserve_hour: Option<Flag>,
    #[diesel(sql_type = Nullable<FlagType>)]
    skip_day: Option<Flag>,
}

#[derive(QueryableByName)]
pub(super) struct CandidateRow {
    #[diesel(embed)]
    trigger: Row,
    #[diesel(sql_type = Nullable<Text>)]
    job_description: Option<String>,
    #[diesel(sql_type = Text)]
    job_class_name: String,
    #[diesel(sql_type = FlagType)]
    is_durable: Flag,
    #[diesel(sql_type = FlagType)]
    is_nonconcurrent: Flag,
    #[diesel(sql_type = FlagType)]
    is_update_data: Flag,
    #[diesel(sql_type = FlagType)]
    requests_recovery: Flag,
    #[diesel(sql_type = Nullable<Binary>)]
    job_data: Option<Vec<u8>>,
    #[diesel(sql_type = BigInt)]
    executing: i64,
    #[diesel(sql_type = Nullable<Text>)]
    origin_fire_id: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    root_fire_id: Option<String>,
    #[diesel(sql_type = Nullable<BigInt>)]
    original_sched_ms: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    attempt: Option<i64>,
}

impl Row {
    /// The row of the kind. A null in a column of numbers or flags is what it is to Java: 0 or false.
    fn take_schedule(&mut self) -> ScheduleRow {
        let number = |column: Option<i64>| column.unwrap_or(0);
        let flag = |column: Option<Flag>| column.is_some_and(bool::from);
        let (count, interval, times) = (self.repeat_count, self.repeat_interval, number(self.times_triggered));
        match (self.trigger_type.as_str(), self.expression_or_unit.take()) {
            ("SIMPLE", _) => match (count, interval) {
                (Some(repeat_count), Some(interval_ms)) => {
                    ScheduleRow::Simple { repeat_count, interval_ms, times_triggered: times }
                }
                _ => ScheduleRow::Missing,
            },
            ("CRON", Some(expression)) => ScheduleRow::Cron { expression, zone: self.zone_or_days.take() },
            ("CAL_INT", Some(unit)) => ScheduleRow::CalendarInterval {
                interval: number(interval),
                unit,
                zone: self.zone_or_days.take(),
                preserve_hour: flag(self.preserve_hour),
                skip_day: flag(self.skip_day),
                times_triggered: times,
            },
            ("DAILY_I", Some(unit)) => ScheduleRow::DailyTimeInterval {
                interval: number(interval),
                unit,
                repeat_count: number(count),
                days: self.zone_or_days.take(),
                times_of_day: self.times_of_day.take(),
                times_triggered: times,
            },
            _ => ScheduleRow::Missing,
        }
    }
}

impl From<Row> for TriggerRow {
    fn from(mut row: Row) -> Self {
        let schedule = row.take_schedule();
        TriggerRow {
            key: TriggerKey::new(row.trigger_group, row.trigger_name),
            job: JobKey::new(row.job_group, row.job_name),
            description: row.description,
            next_ms: time(row.next_fire_time),
            previous_ms: time(row.prev_fire_time),
            priority: row.priority.unwrap_or(crate::DEFAULT_PRIORITY),
            state: row.trigger_state,
            kind: row.trigger_type,
            start_ms: row.start_time,
            end_ms: time(row.end_time),
            calendar: row.calendar_name.filter(|name| !name.is_empty()),
            misfire: i32::from(row.misfire_instr.unwrap_or(0)),
            data: row.trigger_data,
            schedule,
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
                })
            }
            _ => None,
        };
        Candidate {
            job: JobRow {
                key: trigger.job.clone(),
                description: row.job_description,
                job_type: row.job_class_name,
                durable: row.is_durable.into(),
                nonconcurrent: row.is_nonconcurrent.into(),
                update_data: row.is_update_data.into(),
                requests_recovery: row.requests_recovery.into(),
                data: row.job_data,
            },
            job_is_executing: row.executing > 0,
            recovery,
            trigger,
        }
    }
}
