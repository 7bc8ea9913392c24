//! Calendars come, are replaced, and go; triggers follow.

use super::Catalogue;
use super::scheduling::remember_paused_groups;
use crate::calendar::Calendar;
use crate::error::{Error, Result};
use crate::key::{TriggerKey, check_name};
use crate::rules::new_calendar;
use crate::rules::new_trigger::PauseState;
use crate::store::Session;
use crate::store::calendars::unreadable_calendar;
use crate::store::row::{Advance, CalendarName, CalendarRow, TriggerRow, TriggerSelection};
use crate::trigger::{Trigger, TriggerState};

/// The most triggers that the refusal to delete a calendar names.
const MAX_NAMED: usize = 5;

impl Catalogue<'_> {
    /// Stores a calendar. With `update_triggers` the triggers that name a replaced one get the next
    /// fire time that the new one allows.
    ///
    /// As in Quartz such triggers are stored anew, whatever their state: one that is paused by
    /// itself or in error waits again, and only a paused group keeps its triggers paused. A trigger
    /// that has no time left stays, and gets one as soon as a later calendar allows it. Triggers
    /// that cannot be read, and those whose last fire is still running, stay as they are.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] without `replace`; [`Error::Invalid`] for a name or a calendar that
    /// cannot be stored.
    pub fn add_calendar(&self, name: &str, calendar: &Calendar, replace: bool, update_triggers: bool) -> Result<()> {
        check_name("calendar name", name)?;
        // A holiday is stored as the instant at which it begins in its zone.
        let calendar = calendar.clone().with_default_zone(self.store.settings.scheduler.time_zone);
        let row = CalendarRow { name: name.to_owned(), bytes: calendar.to_java_bytes()? };
        self.store.write("store a calendar", |s| {
            self.note(s, "put", "calendar", &[name])?;
            if s.row::<CalendarRow>(name)?.is_none() {
                return s.insert(&row);
            }
            if !replace {
                return Err(Error::AlreadyExists { what: "calendar", key: name.to_owned() });
            }
            s.rows::<CalendarRow>().with("name", name).write(&row)?;
            if update_triggers { self.update_triggers_of(s, name, &calendar) } else { Ok(()) }
        })
    }

    /// Deletes a calendar; false if there is none.
    ///
    /// # Errors
    /// [`Error::Refused`] while a trigger names it.
    pub fn delete_calendar(&self, name: &str) -> Result<bool> {
        self.store.write("delete a calendar", |s| {
            let users = s.triggers(TriggerSelection::OfCalendar(name))?;
            if users.is_empty() {
                let deleted = s.rows::<CalendarRow>().with("name", name).delete()? > 0;
                self.note(s, "delete", "calendar", deleted.then_some(name).as_slice())?;
                return Ok(deleted);
            }
            let named: Vec<_> = users.iter().take(MAX_NAMED).map(|row| format!("`{}`", row.key)).collect();
            let more = match users.len().saturating_sub(MAX_NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            Err(Error::Refused(format!(
                "calendar `{name}` is used by trigger {}{more}: unschedule them, or give them another calendar",
                named.join(", ")
            )))
        })
    }

    /// The calendar of this name.
    ///
    /// # Errors
    /// [`Error::Unreadable`] if its bytes cannot be read here, as those of a Java class of
    /// somebody's own.
    pub fn calendar(&self, name: &str) -> Result<Option<Calendar>> {
        let row = self.store.read("read a calendar", |s| s.row::<CalendarRow>(name))?;
        row.map(|row| self.check_calendar_row(&row)).transpose()
    }

    /// The names of all calendars, in order.
    pub fn calendar_names(&self) -> Result<Vec<String>> {
        let rows: Vec<CalendarName> = self.store.read("list calendars", |s| s.rows().by(&["name"]).list())?;
        Ok(rows.into_iter().map(|row| row.name).collect())
    }

    /// Reads the row of a calendar.
    ///
    /// # Errors
    /// [`Error::Unreadable`] with what is wrong with it.
    pub fn check_calendar_row(&self, row: &CalendarRow) -> Result<Calendar> {
        let calendar = Calendar::decode(&row.bytes).map_err(|reason| unreadable_calendar(&row.name, &reason))?;
        Ok(calendar.with_default_zone(self.store.settings.scheduler.time_zone))
    }

    fn update_triggers_of(&self, s: &mut dyn Session, name: &str, calendar: &Calendar) -> Result<()> {
        let now_ms = s.now_ms()?;
        let threshold_ms = now_ms - self.store.misfired_before(now_ms);
        let updatable = self.updatable(s, name)?;
        let pauses = PauseState::read(s, updatable.iter().map(|(row, _)| &row.job))?;
        let mut changes = Vec::new();
        for (row, mut trigger) in updatable {
            new_calendar::update(&mut trigger, calendar, now_ms, threshold_ms);
            let Some(from) = TriggerState::from_name(&row.state) else { continue };
            let state = pauses.state_of_new(&trigger.key, &trigger.job_key);
            changes.push(Advance::of_row(&row, from, state, trigger.next_ms));
        }
        let keys: Vec<_> = changes.iter().map(|change| change.key.clone()).collect();
        if keys.is_empty() {
            return Ok(());
        }
        s.delete_reservations(&keys)?;
        remember_paused_groups(s, &pauses, keys.iter().map(TriggerKey::group))?;
        if s.advance(&changes)? == changes.len() { Ok(()) } else { Err(Error::overtaken("store a calendar")) }
    }

    /// The triggers of a calendar that can follow it, as far as they can be read.
    fn updatable(&self, s: &mut dyn Session, name: &str) -> Result<Vec<(TriggerRow, Trigger)>> {
        let mut updatable = Vec::new();
        for row in s.triggers(TriggerSelection::OfCalendar(name))? {
            match self.store.trigger_value(&row) {
                Ok(_) if row.state == TriggerState::Complete.name() => {}
                Ok(trigger) => updatable.push((row, trigger)),
                Err(error) => log::warn!("trigger left as it is calendar={name} error={error}"),
            }
        }
        Ok(updatable)
    }
}
