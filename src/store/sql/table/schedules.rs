//! `SIMPLE_TRIGGERS`, `CRON_TRIGGERS`, `SIMPROP_TRIGGERS` and `BLOB_TRIGGERS`: what belongs to the
//! kind of a trigger.

use super::BARE_KEY;
use crate::error::Result;
use crate::store::row::{Advance, Counts, ScheduleRow, TriggerRow};
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;

/// The tables of the kinds; a trigger has a row in one of them. The triggers of the first seldom
/// have options.
pub(super) const KIND_TABLES: [&str; 4] = ["SIMPLE_TRIGGERS", "CRON_TRIGGERS", "SIMPROP_TRIGGERS", "BLOB_TRIGGERS"];

/// The columns of `SIMPROP_TRIGGERS` but the two of decimal numbers, which nothing uses.
const PROPERTIES: [&str; 11] = [
    "trigger_name",
    "trigger_group",
    "str_prop_1",
    "str_prop_2",
    "str_prop_3",
    "int_prop_1",
    "int_prop_2",
    "long_prop_1",
    "long_prop_2",
    "bool_prop_1",
    "bool_prop_2",
];

impl SqlSession<'_, '_> {
    /// Writes the rows of the kinds of new triggers.
    pub(super) fn insert_schedules(&mut self, triggers: &[TriggerRow]) -> Result<()> {
        let (mut simple, mut cron, mut properties) = (Vec::new(), Vec::new(), Vec::new());
        for t in triggers {
            let mut row = vec![t.key.name().into(), t.key.group().into()];
            match &t.schedule {
                ScheduleRow::Simple { repeat_count, interval_ms, times_triggered } => {
                    row.extend([(*repeat_count).into(), (*interval_ms).into(), (*times_triggered).into()]);
                    simple.push(row);
                }
                ScheduleRow::Cron { expression, zone } => {
                    row.extend([expression.into(), zone.as_deref().into()]);
                    cron.push(row);
                }
                ScheduleRow::CalendarInterval { interval, unit, zone, preserve_hour, skip_day, times_triggered } => {
                    row.extend([unit.into(), zone.as_deref().into(), None::<&str>.into()]);
                    row.extend([(*interval).into(), (*times_triggered).into(), 0_i64.into(), 0_i64.into()]);
                    row.extend([(*preserve_hour).into(), (*skip_day).into()]);
                    properties.push(row);
                }
                ScheduleRow::DailyTimeInterval {
                    interval,
                    unit,
                    repeat_count,
                    days,
                    times_of_day,
                    times_triggered,
                } => {
                    row.extend([unit.into(), days.as_deref().into(), times_of_day.as_deref().into()]);
                    row.extend([(*interval).into(), (*times_triggered).into(), (*repeat_count).into(), 0_i64.into()]);
                    row.extend([false.into(), false.into()]);
                    properties.push(row);
                }
                ScheduleRow::Recurrence { .. } | ScheduleRow::Missing => {}
            }
        }
        let columns = ["trigger_name", "trigger_group", "repeat_count", "repeat_interval", "times_triggered"];
        self.insert_rows("SIMPLE_TRIGGERS", &columns, simple)?;
        let columns = ["trigger_name", "trigger_group", "cron_expression", "time_zone_id"];
        self.insert_rows("CRON_TRIGGERS", &columns, cron)?;
        self.insert_rows("SIMPROP_TRIGGERS", &PROPERTIES, properties)
    }

    /// Writes the counts that a fire or a misfire has changed.
    pub(super) fn write_counts(&mut self, advances: &[Advance]) -> Result<()> {
        let (mut simple, mut interval, mut daily) = (Vec::new(), Vec::new(), Vec::new());
        for a in advances {
            let mut row = vec![a.key.name().into(), a.key.group().into()];
            match &a.counts {
                Some(Counts::Simple { repeat_count, times_triggered }) => {
                    row.extend([(*repeat_count).into(), (*times_triggered).into()]);
                    simple.push(row);
                }
                Some(Counts::Interval { times_triggered }) => {
                    row.push((*times_triggered).into());
                    interval.push(row);
                }
                Some(Counts::Daily { times_triggered, times_of_day }) => {
                    row.extend([(*times_triggered).into(), times_of_day.into()]);
                    daily.push(row);
                }
                None => {}
            }
        }
        self.update_rows("SIMPLE_TRIGGERS", &BARE_KEY, &[], &["repeat_count", "times_triggered"], &simple)?;
        self.update_rows("SIMPROP_TRIGGERS", &BARE_KEY, &[], &["int_prop_2"], &interval)?;
        self.update_rows("SIMPROP_TRIGGERS", &BARE_KEY, &[], &["int_prop_2", "str_prop_3"], &daily).map(drop)
    }

    /// Deletes the rows of the kinds of these triggers, and their options; `just_read` triggers
    /// have one each, and whoever read the options of a simple one deletes them.
    pub(super) fn delete_schedules(&mut self, keys: &[Vec<Value>], just_read: bool) -> Result<()> {
        // A fire deletes triggers it has just read with their kinds; everybody else clears all
        // tables, so that a trigger that once changed its kind leaves nothing behind.
        let mut deleted = 0;
        for table in KIND_TABLES {
            deleted += self.delete_rows(table, &BARE_KEY, keys, "")?;
            if just_read && deleted >= keys.len() {
                return Ok(());
            }
            if table == KIND_TABLES[0] {
                self.delete_option_rows(keys)?;
            }
        }
        self.delete_rows("CN_RECURRENCES", &BARE_KEY, keys, "").map(drop)
    }
}
