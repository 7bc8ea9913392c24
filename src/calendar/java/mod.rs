//! Calendars as Java stores them: object streams of the classes in `org.quartz.impl.calendar`.

mod classes;
mod days;
mod reading;
mod writing;
mod zone;

use super::Calendar;
use super::origin::Origin;
use crate::data_map::MAX_STORED_BYTES;
use crate::error::{Error, Result};

/// The stored form.
impl Calendar {
    /// Reads the column `CALENDAR` of Quartz: a serialised calendar of one of Quartz's own classes.
    ///
    /// Quartz stores a zone with each day of an annual calendar; the zone becomes part of the day.
    /// A calendar without a zone has the [default zone](Self::with_default_zone).
    ///
    /// # Errors
    /// [`Error::Invalid`] if the bytes are no object stream, or one of another class, which the
    /// error names.
    pub fn from_java_bytes(bytes: &[u8]) -> Result<Self> {
        let read = Self::decode(bytes);
        read.map_err(|reason| Error::invalid("stored calendar", format!("{} bytes", bytes.len()), reason))
    }

    /// The bytes that Quartz would store. A calendar that was read and not changed gives the bytes
    /// that it was read from.
    ///
    /// Time zones are written with tables of their offsets, made of this crate's zone data. A Java
    /// node believes these tables.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the calendar fails its [`check`](Self::check), or has more bytes than
    /// every database can store: 65,535.
    ///
    /// ```
    /// use carnelian::calendar::{Calendar, Weekdays};
    ///
    /// let weekend = Calendar::new(Weekdays::weekend()).in_zone(chrono_tz::Europe::Berlin);
    /// assert_eq!(Calendar::from_java_bytes(&weekend.to_java_bytes()?)?, weekend);
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    pub fn to_java_bytes(&self) -> Result<Vec<u8>> {
        if let Some(bytes) = &self.origin.0 {
            return Ok(bytes.to_vec());
        }
        self.check()?;
        let subject = || self.rule.name();
        let bytes = writing::write(self).map_err(|reason| Error::invalid("calendar", subject(), reason))?;
        if bytes.len() > MAX_STORED_BYTES {
            let expected = format!("{} bytes are more than the {MAX_STORED_BYTES} that can be stored", bytes.len());
            return Err(Error::invalid("calendar", subject(), expected));
        }
        Ok(bytes)
    }

    /// Reads a stored calendar. An error says, for people, why the bytes cannot be read.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let mut calendar = reading::read(bytes)?;
        calendar.check().map_err(|error| error.to_string())?;
        calendar.origin = Origin(Some(bytes.into()));
        Ok(calendar)
    }
}

#[cfg(test)]
mod tests;
