//! The rows of triggers, and of their groups that are paused.

use super::table::table;
use crate::key::{JobKey, TriggerKey};

/// A row of `TRIGGERS` with its row in the table of its kind.
///
/// Times are epoch milliseconds; Quartz's sentinels for "none" are gone.
#[derive(Clone, Debug, PartialEq)]
pub struct TriggerRow {
    /// The key.
    pub key: TriggerKey,
    /// The job.
    pub job: JobKey,
    /// A note for people.
    pub description: Option<String>,
    /// `NEXT_FIRE_TIME`.
    pub next_ms: Option<i64>,
    /// `PREV_FIRE_TIME`.
    pub previous_ms: Option<i64>,
    /// `PRIORITY`: higher fires first.
    pub priority: i32,
    /// The text of `TRIGGER_STATE`; kept as text since anybody may have written it.
    pub state: String,
    /// `TRIGGER_TYPE`.
    pub kind: String,
    /// `START_TIME`.
    pub start_ms: i64,
    /// `END_TIME`.
    pub end_ms: Option<i64>,
    /// `CALENDAR_NAME`.
    pub calendar: Option<String>,
    /// `MISFIRE_INSTR`.
    pub misfire: i32,
    /// `JOB_DATA`, in whichever form `useProperties` says.
    pub data: Option<Vec<u8>>,
    /// The row of its kind.
    pub schedule: ScheduleRow,
    /// The row in `CN_TRIGGER_OPTIONS`.
    pub options: Option<OptionsRow>,
}

/// A row of `CN_TRIGGER_OPTIONS`: what a trigger does otherwise than Quartz.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionsRow {
    /// The names of its options, with commas between.
    pub names: String,
    /// True if a node of Quartz is a member of the cluster, so that they have no effect. Read only.
    pub beside_quartz: bool,
}

table! {
    /// A row of `CN_TRIGGER_OPTIONS` as it is stored.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct StoredOptionsRow in "CN_TRIGGER_OPTIONS" by [trigger] under trigger_access {
        /// The trigger.
        pub trigger: TriggerKey = [trigger_name, trigger_group],
        /// The type of the trigger that the options were given to.
        pub trigger_type: String,
        /// The start of that trigger, epoch milliseconds.
        pub start_ms: i64 = [start_time],
        /// The names of the options, with commas between.
        pub names: String = [options],
    }
}

table! {
    /// A row of `CN_RECURRENCES`: the rule of a trigger.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct RecurrenceRow in "CN_RECURRENCES" by [trigger] under trigger_access {
        /// The trigger.
        pub trigger: TriggerKey = [trigger_name, trigger_group],
        /// The lines of iCalendar.
        pub rule: String,
        /// The zone of the rule's times.
        pub zone: String = [time_zone_id],
        /// The misfire instruction.
        pub misfire: i64 = [misfire_instr],
    }
}

/// The columns of the table of a trigger's kind.
#[derive(Clone, Debug, PartialEq)]
pub enum ScheduleRow {
    /// `SIMPLE_TRIGGERS`.
    Simple {
        /// `REPEAT_COUNT`; −1 is for ever.
        repeat_count: i64,
        /// `REPEAT_INTERVAL`.
        interval_ms: i64,
        /// `TIMES_TRIGGERED`.
        times_triggered: i64,
    },
    /// `CRON_TRIGGERS`.
    Cron {
        /// `CRON_EXPRESSION`.
        expression: String,
        /// `TIME_ZONE_ID`.
        zone: Option<String>,
    },
    /// `SIMPROP_TRIGGERS` of a calendar interval.
    CalendarInterval {
        /// `INT_PROP_1`.
        interval: i64,
        /// `STR_PROP_1`.
        unit: String,
        /// `STR_PROP_2`.
        zone: Option<String>,
        /// `BOOL_PROP_1`.
        preserve_hour: bool,
        /// `BOOL_PROP_2`.
        skip_day: bool,
        /// `INT_PROP_2`.
        times_triggered: i64,
    },
    /// `SIMPROP_TRIGGERS` of a daily time interval.
    DailyTimeInterval {
        /// `INT_PROP_1`.
        interval: i64,
        /// `STR_PROP_1`.
        unit: String,
        /// `LONG_PROP_1`; −1 is for ever.
        repeat_count: i64,
        /// `STR_PROP_2`: numbers of days of the week, 1 is Sunday.
        days: Option<String>,
        /// `STR_PROP_3`: hour, minute and second of the first and of the last time of the day.
        times_of_day: Option<String>,
        /// `INT_PROP_2`.
        times_triggered: i64,
    },
    /// `CN_RECURRENCES`; its misfire instruction is the trigger's.
    Recurrence {
        /// `RULE`: lines of iCalendar.
        rule: String,
        /// `TIME_ZONE_ID`.
        zone: String,
    },
    /// The kind has no table we read, or its row is missing.
    Missing,
}

table! {
    /// A row of `PAUSED_TRIGGER_GRPS`: a paused group, or the marker for all groups.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PausedGroupRow in "PAUSED_TRIGGER_GRPS" by [group] under trigger_access {
        /// `TRIGGER_GROUP`.
        pub group: String = [trigger_group],
    }
}
