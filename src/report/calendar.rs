//! A calendar as surfaces show it: its kinds in words, and its line in a list.

use crate::calendar::Calendar;
use crate::error::{Error, Result};
use crate::store::JobStore;
use serde_json::{Value, json};

/// The stored calendars of these names; one that cannot be read with the reason.
///
/// # Errors
/// The error of the database that is left after the bounded retries.
pub fn calendars(store: &JobStore, names: Vec<String>) -> Result<Vec<(String, Result<Calendar>)>> {
    let mut calendars = Vec::new();
    for name in names {
        match store.catalogue().calendar(&name) {
            Ok(Some(calendar)) => calendars.push((name, Ok(calendar))),
            Ok(None) => {}
            Err(error @ Error::Unreadable { .. }) => calendars.push((name, Err(error))),
            Err(error) => return Err(error),
        }
    }
    Ok(calendars)
}

/// The JSON form of a calendar in a list.
pub fn calendar((name, calendar): &(String, Result<Calendar>)) -> Value {
    match calendar {
        Ok(calendar) => json!({
            "calendar": name,
            "type": calendar.rule().name(),
            "tz": calendar.zone().map(|zone| zone.name()),
            "description": calendar.description(),
            "error": null,
        }),
        Err(error) => json!({
            "calendar": name, "type": null, "tz": null, "description": null, "error": error.to_string(),
        }),
    }
}

/// The kinds from the uppermost to the lowest, with their zones.
pub fn calendar_in_words(calendar: &Calendar) -> String {
    let own = match calendar.zone() {
        Some(zone) => format!("{} in {zone}", calendar.rule().name()),
        None => calendar.rule().name().to_owned(),
    };
    match calendar.base() {
        Some(base) => format!("{own} over {}", calendar_in_words(base)),
        None => own,
    }
}
