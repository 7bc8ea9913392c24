//! Duration text: `500ms 30s 5m 2h 1d`, or a whole number of milliseconds.

use std::time::Duration;

/// Reads `500ms`, `30s`, `5m`, `2h`, `1d`, or a plain number of milliseconds.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let digits_end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at_checked(digits_end)?;
    let count: u64 = digits.parse().ok()?;
    let scale: u64 = match unit.trim_start() {
        "" | "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    count.checked_mul(scale).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_is_read() {
        for (text, millis) in [
            ("1500", 1_500),
            ("500ms", 500),
            ("30s", 30_000),
            ("5m", 300_000),
            ("2 h", 7_200_000),
            ("1d", 86_400_000),
            ("0", 0),
        ] {
            assert_eq!(parse(text), Some(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "s", "-5s", "1.5s", "5 weeks", "1s2", "99999999999999999999", "18446744073709551615d", "é"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
