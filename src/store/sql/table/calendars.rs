//! `CALENDARS`.

use super::texts;
use crate::error::Result;
use crate::store::database::CalendarRows;
use crate::store::row::{CalendarRow, TriggerRow};
use crate::store::sql::session::SqlSession;
use diesel::QueryableByName;
use diesel::sql_types::{Binary, Text};

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    calendar_name: String,
    #[diesel(sql_type = Binary)]
    calendar: Vec<u8>,
}

#[derive(QueryableByName)]
struct NameRow {
    #[diesel(sql_type = Text)]
    calendar_name: String,
}

impl From<Row> for CalendarRow {
    fn from(row: Row) -> Self {
        CalendarRow { name: row.calendar_name, bytes: row.calendar }
    }
}

const SELECT: &str =
    "SELECT calendar_name AS calendar_name, calendar AS calendar FROM {p}CALENDARS WHERE sched_name = ?";

impl SqlSession<'_, '_> {
    pub(super) fn all_calendars(&mut self) -> Result<Vec<CalendarRow>> {
        let rows: Vec<Row> = self.load(&format!("{SELECT} ORDER BY calendar_name"), &[self.name()])?;
        Ok(rows.into_iter().map(CalendarRow::from).collect())
    }
}

impl CalendarRows for SqlSession<'_, '_> {
    fn calendars(&mut self, names: &[String]) -> Result<Vec<CalendarRow>> {
        let head = format!("{SELECT} AND");
        let rows: Vec<Row> = self.load_for_keys(&head, &[self.name()], &["calendar_name"], &texts(names))?;
        Ok(rows.into_iter().map(CalendarRow::from).collect())
    }

    fn calendar_names(&mut self) -> Result<Vec<String>> {
        let text =
            "SELECT calendar_name AS calendar_name FROM {p}CALENDARS WHERE sched_name = ? ORDER BY calendar_name";
        let rows: Vec<NameRow> = self.load(text, &[self.name()])?;
        Ok(rows.into_iter().map(|row| row.calendar_name).collect())
    }

    fn insert_calendar(&mut self, calendar: &CalendarRow) -> Result<()> {
        self.assert_trigger_access();
        let text = "INSERT INTO {p}CALENDARS (sched_name, calendar_name, calendar) VALUES (?, ?, ?)";
        let values = [self.name(), (&calendar.name).into(), Some(&calendar.bytes).into()];
        self.execute(text, &values).map(drop)
    }

    fn update_calendar(&mut self, calendar: &CalendarRow) -> Result<()> {
        self.assert_trigger_access();
        let text = "UPDATE {p}CALENDARS SET calendar = ? WHERE sched_name = ? AND calendar_name = ?";
        let values = [Some(&calendar.bytes).into(), self.name(), (&calendar.name).into()];
        self.execute(text, &values).map(drop)
    }

    fn delete_calendar(&mut self, name: &str) -> Result<bool> {
        self.assert_trigger_access();
        let text = "DELETE FROM {p}CALENDARS WHERE sched_name = ? AND calendar_name = ?";
        Ok(self.execute(text, &[self.name(), name.into()])? > 0)
    }

    fn triggers_of_calendar(&mut self, name: &str) -> Result<Vec<TriggerRow>> {
        let values = [self.name(), name.into()];
        self.load_triggers("t.sched_name = ? AND t.calendar_name = ? ORDER BY t.trigger_group, t.trigger_name", &values)
    }
}
