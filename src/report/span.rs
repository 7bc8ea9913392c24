//! Lengths of time as people write them.

use std::time::Duration;

/// The units of a length of time as people write it, the longest first, with their milliseconds.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Reads `500ms 30s 5m 2h 1d`; the error says what was expected.
pub fn read_span(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (count, unit) = text.split_at(digits);
    let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit.trim_start()) else {
        return Err("expected a number with its unit, such as 500ms, 30s, 5m, 2h or 1d".to_owned());
    };
    let ms = count.parse::<u64>().ok().and_then(|count| count.checked_mul(*scale));
    match ms.filter(|ms| i64::try_from(*ms).is_ok()) {
        Some(ms) => Ok(Duration::from_millis(ms)),
        None => Err("expected a whole number before the unit, as in 30s".to_owned()),
    }
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
