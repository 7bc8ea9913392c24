//! Lengths of time as people read and write them.

use std::time::Duration;

/// The units of a length of time, the longest first, with their milliseconds.
pub(crate) const UNITS: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// The length of a number of milliseconds, such as `2 h 5 min`; of a negative number without its
/// sign.
pub fn span(ms: i64) -> String {
    let ms = ms.unsigned_abs();
    let (seconds, minutes, hours) = (ms / 1_000, ms / 60_000, ms / 3_600_000);
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{seconds}.{} s", ms % 1_000 / 100),
        60_000..3_600_000 => format!("{minutes} min {} s", seconds % 60),
        3_600_000..86_400_000 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{} d {} h", hours / 24, hours % 24),
    }
}

/// A moment before now, such as `2 h 5 min ago`.
pub fn ago(ms: i64, now_ms: i64) -> String {
    format!("{} ago", span(now_ms.saturating_sub(ms).max(0)))
}

/// Reads `500ms`, `30s`, `5m`, `2h`, `1d`, or a plain number of milliseconds.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let scale = match unit.trim_start() {
        "" => 1,
        unit => UNITS.iter().find(|(name, _)| *name == unit)?.1,
    };
    digits.parse::<u64>().ok()?.checked_mul(scale).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_two_parts_at_most() {
        let shown = [7, 1_250, 61_000, 3_700_000, 90_000_000, -1_250].map(span);
        assert_eq!(shown, ["7 ms", "1.2 s", "1 min 1 s", "1 h 1 min", "1 d 1 h", "1.2 s"]);
    }

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
