//! The changes that a fire makes in the table of a trigger's kind.

use super::ScheduleRow;

/// The columns of the table of a trigger's kind that a fire changes.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Counts {
    /// In `SIMPLE_TRIGGERS`.
    Simple {
        /// `REPEAT_COUNT`; −1 is for ever.
        repeat_count: i64,
        /// `TIMES_TRIGGERED`.
        times_triggered: i64,
    },
    /// In `SIMPROP_TRIGGERS`.
    Interval {
        /// `INT_PROP_2`.
        times_triggered: i64,
    },
    /// In `SIMPROP_TRIGGERS`, of a daily trigger.
    Daily {
        /// `INT_PROP_2`.
        times_triggered: i64,
        /// `STR_PROP_3`: Quartz writes 23:59:59 for a trigger without an end of day as soon as that
        /// has fired.
        times_of_day: String,
    },
}

impl ScheduleRow {
    /// The counts of this row; there are none of a cron trigger.
    pub(in crate::store) fn counts(&self) -> Option<Counts> {
        match self {
            ScheduleRow::Simple { repeat_count, times_triggered, .. } => {
                Some(Counts::Simple { repeat_count: *repeat_count, times_triggered: *times_triggered })
            }
            ScheduleRow::CalendarInterval { times_triggered, .. } => {
                Some(Counts::Interval { times_triggered: *times_triggered })
            }
            ScheduleRow::DailyTimeInterval { times_triggered, times_of_day, .. } => Some(Counts::Daily {
                times_triggered: *times_triggered,
                times_of_day: times_of_day.clone().unwrap_or_default(),
            }),
            ScheduleRow::Cron { .. } | ScheduleRow::Recurrence { .. } | ScheduleRow::Missing => None,
        }
    }

    /// Puts in the counts of a schedule of this kind; there are none for a cron trigger.
    pub(in crate::store) fn set_counts(&mut self, counts: Option<Counts>) {
        use ScheduleRow::*;
        match (self, counts) {
            (
                Simple { repeat_count, times_triggered, .. },
                Some(Counts::Simple { repeat_count: count, times_triggered: times }),
            ) => {
                (*repeat_count, *times_triggered) = (count, times);
            }
            (
                CalendarInterval { times_triggered, .. } | DailyTimeInterval { times_triggered, .. },
                Some(Counts::Interval { times_triggered: times }),
            ) => *times_triggered = times,
            (
                DailyTimeInterval { times_triggered, times_of_day, .. },
                Some(Counts::Daily { times_triggered: times, times_of_day: text }),
            ) => {
                *times_triggered = times;
                *times_of_day = Some(text);
            }
            _ => {}
        }
    }
}
