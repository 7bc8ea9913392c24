//! `Calendars`: the stored calendars that a batch of triggers needs, read once per transaction.

use super::decoded_calendars::Decoded;
use super::row::{CalendarRow, TriggerRow};
use super::schedule_row::unreadable;
use super::{JobStore, Session};
use crate::calendar::Calendar;
use crate::error::{Error, Result};
use crate::hash::HashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The calendars read so far in one transaction.
#[derive(Default)]
pub(super) struct Calendars {
    /// By name; none for one that is not stored.
    read: HashMap<String, Option<Decoded>>,
}

impl JobStore {
    /// Reads those of these calendars that have not been read yet: one statement, none if there are
    /// none.
    pub(super) fn read_calendars<'n>(
        &self,
        s: &mut dyn Session,
        calendars: &mut Calendars,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<()> {
        let new: BTreeSet<&str> = names.filter(|name| !calendars.read.contains_key(*name)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = new.into_iter().map(str::to_owned).collect();
        let rows: Vec<CalendarRow> = s.rows().any_of(&["name"], &names).list()?;
        calendars.read.extend(names.into_iter().map(|name| (name, None)));
        for row in rows {
            calendars
                .read
                .insert(row.name.clone(), Some(self.decoded_calendars.decode(row, self.settings.scheduler.time_zone)));
        }
        Ok(())
    }

    /// The calendars that these triggers name.
    pub(super) fn calendars_of(&self, s: &mut dyn Session, rows: &[TriggerRow]) -> Result<Calendars> {
        let mut calendars = Calendars::default();
        self.read_calendars(s, &mut calendars, rows.iter().filter_map(|row| row.calendar.as_deref()))?;
        Ok(calendars)
    }
}

impl Calendars {
    /// The calendar of this name; none if it is not stored.
    ///
    /// # Errors
    /// [`Error::Unreadable`] if its bytes cannot be read.
    pub(super) fn named(&self, name: &str) -> Result<Option<Arc<Calendar>>> {
        match self.read.get(name) {
            Some(Some(decoded)) => decoded.clone().map(Some).map_err(|reason| unreadable_calendar(name, &reason)),
            Some(None) | None => Ok(None),
        }
    }

    /// The calendar of a trigger that is about to be fired: it must be at hand.
    ///
    /// # Errors
    /// [`Error::Unreadable`] if it is not stored, or cannot be read.
    pub(super) fn needed_by(&self, row: &TriggerRow) -> Result<Option<Arc<Calendar>>> {
        let unreadable = |reason: String| {
            let name = row.calendar.as_deref().unwrap_or_default();
            unreadable(row, format!("CALENDAR_NAME = {name}: {reason}"))
        };
        let Some(name) = &row.calendar else { return Ok(None) };
        match self.read.get(name) {
            Some(Some(decoded)) => decoded.clone().map(Some).map_err(unreadable),
            Some(None) | None => Err(unreadable("no calendar of this name is stored".to_owned())),
        }
    }

    /// The calendar of a trigger that gets a new fire time without being fired. As in Quartz, one
    /// that is not stored excludes nothing.
    ///
    /// # Errors
    /// [`Error::Unreadable`] if it cannot be read.
    pub(super) fn of(&self, row: &TriggerRow) -> Result<Option<Arc<Calendar>>> {
        match &row.calendar {
            Some(name) if matches!(self.read.get(name), Some(Some(_))) => self.needed_by(row),
            _ => Ok(None),
        }
    }
}

pub(super) fn unreadable_calendar(name: &str, reason: &str) -> Error {
    Error::unreadable("CALENDARS", name, format!("CALENDAR: {reason}"))
}
