//! The place of `java` in a program without the feature `java-streams`: calendars have no stored
//! form then.

use super::Calendar;
use crate::error::{Error, Result};

const REFUSAL: &str =
    "a calendar is stored as a Java object stream, which needs the feature `java-streams` of the crate carnelian";

/// The stream that a calendar was read from: there is none.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin(());

/// The stored form, which needs the feature `java-streams`.
impl Calendar {
    /// Refuses the bytes.
    ///
    /// # Errors
    /// [`Error::Invalid`], always: this program was built without the feature `java-streams`.
    pub fn from_java_bytes(bytes: &[u8]) -> Result<Self> {
        Err(Error::invalid("stored calendar", format!("{} bytes", bytes.len()), REFUSAL))
    }

    /// Refuses the calendar.
    ///
    /// # Errors
    /// [`Error::Invalid`], always: this program was built without the feature `java-streams`.
    pub fn to_java_bytes(&self) -> Result<Vec<u8>> {
        Err(Error::invalid("calendar", self.rule.name(), REFUSAL))
    }

    /// Refuses a stored calendar.
    pub(crate) fn decode(_: &[u8]) -> Result<Self, String> {
        Err(REFUSAL.to_owned())
    }
}
