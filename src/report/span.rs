//! Lengths of time as people write them.

use crate::span::{UNITS, parse};
use std::time::Duration;

/// Reads `500ms 30s 5m 2h 1d`; the error says what was expected.
pub fn read_span(text: &str) -> Result<Duration, String> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    if !UNITS.iter().any(|(name, _)| *name == unit) {
        return Err("expected a number with its unit, such as 500ms, 30s, 5m, 2h or 1d".to_owned());
    }
    let span = parse(text).filter(|span| i64::try_from(span.as_millis()).is_ok());
    span.ok_or_else(|| "expected a whole number before the unit, as in 30s".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_with_their_unit() {
        assert_eq!(read_span("90 s"), Ok(Duration::from_secs(90)));
        for text in ["", "5", "s", "-1s", "1.5s", "1 week", "99999999999999999999d"] {
            assert!(read_span(text).is_err(), "{text}");
        }
    }
}
