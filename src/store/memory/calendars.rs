//! Calendars in a map.

use super::MemorySession;
use crate::error::Result;
use crate::store::database::CalendarRows;
use crate::store::row::{CalendarRow, TriggerRow};

impl CalendarRows for MemorySession<'_> {
    fn calendars(&mut self, names: &[String]) -> Result<Vec<CalendarRow>> {
        self.reads()?;
        Ok(names.iter().filter_map(|name| self.tables.calendars.get(name)).cloned().collect())
    }

    fn calendar_names(&mut self) -> Result<Vec<String>> {
        self.reads()?;
        Ok(self.tables.calendars.keys().cloned().collect())
    }

    fn insert_calendar(&mut self, calendar: &CalendarRow) -> Result<()> {
        self.changes()?;
        if self.tables.calendars.get(&calendar.name).is_some() {
            return Err(self.duplicate("calendar", &calendar.name));
        }
        self.tables.calendars.put(calendar.name.clone(), calendar.clone());
        Ok(())
    }

    fn update_calendar(&mut self, calendar: &CalendarRow) -> Result<()> {
        self.changes()?;
        self.tables.calendars.change(&calendar.name, |row| *row = calendar.clone());
        Ok(())
    }

    fn delete_calendar(&mut self, name: &str) -> Result<bool> {
        self.changes()?;
        Ok(self.tables.calendars.remove(&name.to_owned()).is_some())
    }

    fn triggers_of_calendar(&mut self, name: &str) -> Result<Vec<TriggerRow>> {
        self.reads()?;
        Ok(self.select(|trigger| trigger.calendar.as_deref() == Some(name)))
    }
}
