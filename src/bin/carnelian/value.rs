//! Values of options: durations, moments, time zones, misfire names, `K=V`.

use carnelian::JobDataMap;
use carnelian::store::JobStore;
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use log::LevelFilter;
use std::time::Duration;

/// A moment as the user writes it; relative ones are resolved by the store's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The time at which the store gets the request.
    Now,
    /// Time after now.
    After(Duration),
    /// Time before now.
    Before(Duration),
    /// Epoch milliseconds.
    At(i64),
}

/// Milliseconds; the largest number for a time that is longer.
pub fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// The epoch milliseconds of a moment.
pub fn epoch_ms(time: DateTime<Utc>) -> i64 {
    time.timestamp_millis()
}

pub use carnelian::report::read_span as duration;

/// Reads ISO 8601 with an offset, `now`, or `+30s`.
pub fn moment(text: &str) -> Result<Moment, String> {
    if text == "now" {
        return Ok(Moment::Now);
    }
    if let Some(after) = text.strip_prefix('+') {
        return duration(after).map(Moment::After);
    }
    let with_offset = text.strip_suffix('Z').map_or(text.to_owned(), |utc| format!("{utc}+00:00"));
    let forms = ["%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%dT%H:%M%#z", "%Y%m%dT%H%M%S%.f%#z", "%Y%m%dT%H%M%#z"];
    let in_form = || forms.iter().find_map(|form| DateTime::parse_from_str(&with_offset, form).ok());
    DateTime::parse_from_rfc3339(text)
        .ok()
        .or_else(in_form)
        .map(|time| Moment::At(time.timestamp_millis()))
        .ok_or_else(|| "expected ISO 8601 with offset such as 2030-01-31T08:00:00+01:00, `now`, or +30s".to_owned())
}

/// Reads ISO 8601 with an offset, or epoch milliseconds, to epoch milliseconds.
pub fn moment_ms(text: &str) -> Result<i64, String> {
    match (text.parse(), moment(text)) {
        (Ok(ms), _) | (Err(_), Ok(Moment::At(ms))) => Ok(ms),
        _ => Err("expected ISO 8601 with offset such as 2030-01-31T08:00:00+01:00, or epoch milliseconds".to_owned()),
    }
}

/// Reads what [`moment`] reads, and `-2h`.
pub fn past(text: &str) -> Result<Moment, String> {
    match text.strip_prefix('-') {
        Some(before) => duration(before).map(Moment::Before),
        None => moment(text).map_err(|why| format!("{why}, or -2h for what is over")),
    }
}

impl Moment {
    /// The moment itself, given the store's present one; none for `now`, which the store fills in.
    pub fn resolve(self, now_ms: impl FnOnce() -> carnelian::Result<i64>) -> carnelian::Result<Option<DateTime<Utc>>> {
        let ms = match self {
            Moment::Now => return Ok(None),
            Moment::After(wait) => now_ms()?.saturating_add(millis(wait)),
            Moment::Before(wait) => now_ms()?.saturating_sub(millis(wait)),
            Moment::At(ms) => ms,
        };
        Ok(Some(DateTime::from_timestamp_millis(ms).unwrap_or(DateTime::<Utc>::MAX_UTC)))
    }
}

/// The moment itself, by the store's clock.
pub fn resolved(store: &JobStore, moment: Moment) -> carnelian::Result<DateTime<Utc>> {
    match moment.resolve(|| store.now_ms())? {
        Some(time) => Ok(time),
        None => Ok(DateTime::from_timestamp_millis(store.now_ms()?).unwrap_or(DateTime::<Utc>::MAX_UTC)),
    }
}

/// Reads the name of a time zone.
pub fn zone(text: &str) -> Result<Tz, String> {
    text.parse().map_err(|_| "expected the name of a time zone such as UTC or Europe/Paris".to_owned())
}

/// Reads `K=V`.
pub fn entry(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

/// Reads one of these values by its name.
pub fn named<T>(values: impl IntoIterator<Item = T>, name: fn(T) -> &'static str) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let values: Vec<(&str, T)> = values.into_iter().map(|value| (name(value), value)).collect();
    PossibleValuesParser::new(values.iter().map(|(name, _)| *name)).try_map(move |given| {
        let found = values.iter().find(|(name, _)| name.eq_ignore_ascii_case(&given));
        found.map(|(_, value)| *value).ok_or_else(|| format!("`{given}` is not the name of a value"))
    })
}

/// Reads the name of a level of log lines, or `off`.
pub fn level() -> impl TypedValueParser<Value = LevelFilter> {
    PossibleValuesParser::new(["off", "error", "warn", "info", "debug", "trace"])
        .try_map(|name| name.parse::<LevelFilter>().map_err(|why| why.to_string()))
}

/// A builder that takes an option of the command line only if the option is given.
pub trait With: Sized {
    fn with<T>(self, given: Option<T>, set: impl FnOnce(Self, T) -> Self) -> Self {
        match given {
            Some(value) => set(self, value),
            None => self,
        }
    }
}

impl<B> With for B {}

/// Entries as a data map of texts.
pub fn data_map(entries: &[(String, String)]) -> JobDataMap {
    entries.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("2h"), Ok(Duration::from_secs(7200)));
        for text in ["", "5", "s", "-5s", "1.5s", "99999999999999999999s", "999999999999999999d", "é"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn moments_are_read_in_three_forms() {
        assert_eq!(moment("now"), Ok(Moment::Now));
        assert_eq!(moment("+30s"), Ok(Moment::After(Duration::from_secs(30))));
        assert_eq!(moment("1970-01-01T01:00:00+01:00"), Ok(Moment::At(0)));
        assert_eq!(moment("1970-01-01T00:00:00.250Z"), Ok(Moment::At(250)));
        assert_eq!(moment("1970-01-01T00:01Z"), Ok(Moment::At(60_000)));
        assert_eq!(moment("1970-01-01T01:00:01+0100"), Ok(Moment::At(1_000)));
        assert_eq!(moment("1970-01-01T01:00:01+01"), Ok(Moment::At(1_000)));
        assert_eq!(moment("19700101T000001Z"), Ok(Moment::At(1_000)));
        assert_eq!(moment("19700101T010001+0100"), Ok(Moment::At(1_000)));
        for text in ["", "tomorrow", "2030-01-31", "2030-01-31T08:00:00", "+", "+5"] {
            assert!(moment(text).is_err(), "{text}");
        }
    }

    #[test]
    fn data_may_hold_equals_signs() {
        assert_eq!(entry("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert!(entry("a").is_err());
        assert!(entry("=b").is_err());
    }
}
