//! The calendars that an application stores through the scheduler.

use super::handle::Scheduler;
use super::scheduling::IfExists;
use crate::calendar::Calendar;
use crate::error::Result;

/// Stored calendars. Each of these may also fail with what can go wrong with the store.
impl Scheduler {
    /// Stores a calendar, which triggers then name. The triggers of a calendar that is replaced
    /// notice it when they fire next: see [`Scheduler::update_calendar`].
    ///
    /// # Errors
    /// [`Error::AlreadyExists`](crate::Error::AlreadyExists) with [`IfExists::Refuse`],
    /// [`Error::Invalid`](crate::Error::Invalid) for what cannot be stored.
    ///
    /// ```
    /// use carnelian::calendar::{Calendar, Weekdays};
    /// use carnelian::{IfExists, Scheduler};
    ///
    /// let scheduler = Scheduler::builder().build()?;
    /// let weekend = Calendar::new(Weekdays::weekend()).in_zone(chrono_tz::Europe::Berlin);
    /// scheduler.add_calendar("working-days", &weekend, IfExists::Refuse)?;
    /// assert_eq!(scheduler.calendar_names()?, ["working-days"]);
    /// assert_eq!(scheduler.calendar("working-days")?, Some(weekend));
    /// assert!(scheduler.delete_calendar("working-days")?);
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    pub fn add_calendar(&self, name: &str, calendar: &Calendar, if_exists: IfExists) -> Result<()> {
        self.open_store()?.catalogue().add_calendar(name, calendar, if_exists.replaces(), false)?;
        self.wake();
        Ok(())
    }

    /// Stores a calendar, in the place of one of the same name if there is one, and the triggers
    /// that name it get the next fire time that the new calendar allows. As in Quartz the update
    /// wakes triggers that were paused one by one or in error: only a paused group keeps its
    /// triggers paused.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for what cannot be stored.
    pub fn update_calendar(&self, name: &str, calendar: &Calendar) -> Result<()> {
        self.open_store()?.catalogue().add_calendar(name, calendar, true, true)?;
        self.wake();
        Ok(())
    }

    /// Deletes a calendar; false if there is none.
    ///
    /// # Errors
    /// [`Error::Refused`](crate::Error::Refused), naming them, while triggers use it.
    pub fn delete_calendar(&self, name: &str) -> Result<bool> {
        self.open_store()?.catalogue().delete_calendar(name)
    }

    /// The calendar of this name.
    ///
    /// # Errors
    /// [`Error::Unreadable`](crate::Error::Unreadable) if a Java node stored one of a class of its
    /// own.
    pub fn calendar(&self, name: &str) -> Result<Option<Calendar>> {
        self.store().catalogue().calendar(name)
    }

    /// The names of all calendars, in order.
    pub fn calendar_names(&self) -> Result<Vec<String>> {
        self.store().catalogue().calendar_names()
    }
}
