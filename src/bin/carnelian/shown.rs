//! Values in the words of people: moments, lengths of time, numbers.

use crate::look::look;
use carnelian::clock::{Clock, SystemClock};
pub use carnelian::store::{ago, span};
use chrono::DateTime;

/// The value as text; `-` for none.
pub fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// A moment for people; `-` for none. A person also sees how far the moment is from
/// now.
pub fn time(ms: Option<i64>) -> String {
    let Some(ms) = ms else { return "-".to_owned() };
    let Some(time) = DateTime::from_timestamp_millis(ms) else { return format!("{ms} ms") };
    if !look().is_person {
        return time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
    }
    let now_ms = SystemClock::default().wall_time().timestamp_millis();
    format!("{} ({})", time.format("%Y-%m-%dT%H:%M:%SZ"), from_now(ms, now_ms))
}

/// The distance of a moment from now, in its largest unit.
fn from_now(ms: i64, now_ms: i64) -> String {
    let seconds = ms.abs_diff(now_ms) / 1_000;
    let distance = match seconds {
        0 => return "now".to_owned(),
        1..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    };
    if ms > now_ms { format!("in {distance}") } else { format!("{distance} ago") }
}

/// A number with a comma before each three digits.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 trigger`, `1,234 triggers`.
pub fn count(number: usize, thing: &str) -> String {
    format!("{} {thing}{}", grouped(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_near_or_far() {
        let hour = 3_600_000;
        let shown = [500, -500, 65_000, -hour, 30 * hour, 60 * hour].map(|ms| from_now(ms, 0));
        assert_eq!(shown, ["now", "now", "in 1 min", "1 h ago", "in 30 h", "in 2 d"]);
    }

    #[test]
    fn numbers_are_read_in_threes() {
        assert_eq!([1, 12, 123, 1_234, 1_234_567].map(grouped), ["1", "12", "123", "1,234", "1,234,567"]);
        assert_eq!((count(1, "job"), count(0, "job")), ("1 job".to_owned(), "0 jobs".to_owned()));
    }
}
