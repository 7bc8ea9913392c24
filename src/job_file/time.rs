//! `xs:dateTime`: a moment as a job file writes it, with an offset or by the clocks of a zone.

use crate::local;
use chrono::NaiveDate;
use chrono_tz::Tz;

/// The epoch milliseconds of `2026-03-05T18:00:00[.123][Z|+01:00]`.
///
/// A text without an offset is a time on the clocks of `zone`, as in Java. A time that the clock
/// jumps over is later by the jump. A time that comes twice is the second. Digits beyond the
/// millisecond are cut.
pub(super) fn date_time(text: &str, zone: Tz) -> Option<i64> {
    let (date, time) = text.split_once('T')?;
    let mut parts = date.splitn(3, '-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    // Years before 0 and beyond 9999 are legal there, and of no use here.
    let date = NaiveDate::from_ymd_opt(whole(year, 4)?, whole(month, 2)?, whole(day, 2)?)?;
    let (time, offset_ms) = offset(time)?;
    let of_day = time_of_day(time)?;
    match offset_ms {
        Some(offset) => {
            date.and_hms_opt(0, 0, 0)?.and_utc().timestamp_millis().checked_add(of_day)?.checked_sub(offset)
        }
        None => local::instant(date, of_day, zone),
    }
}

/// The text before the offset, and the offset.
fn offset(time: &str) -> Option<(&str, Option<i64>)> {
    if let Some(time) = time.strip_suffix('Z') {
        return Some((time, Some(0)));
    }
    let Some(at) = time.find(['+', '-']) else { return Some((time, None)) };
    let (time, written) = time.split_at_checked(at)?;
    let (hours, minutes) = written.get(1..)?.split_once(':')?;
    let (hours, minutes): (i64, i64) = (whole(hours, 2)?, whole(minutes, 2)?);
    if minutes > 59 || hours * 60 + minutes > 14 * 60 {
        return None;
    }
    let sign = if written.starts_with('-') { -1 } else { 1 };
    Some((time, Some(sign * (hours * local::HOUR + minutes * local::MINUTE))))
}

/// Milliseconds after midnight of `hh:mm:ss[.fff]`; `24:00:00` is the midnight after.
fn time_of_day(time: &str) -> Option<i64> {
    let (whole_seconds, fraction) = match time.split_once('.') {
        Some((seconds, fraction)) if !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit()) => {
            (seconds, fraction)
        }
        Some(_) => return None,
        None => (time, ""),
    };
    let mut parts = whole_seconds.splitn(3, ':');
    let (hour, minute, second): (i64, i64, i64) =
        (whole(parts.next()?, 2)?, whole(parts.next()?, 2)?, whole(parts.next()?, 2)?);
    let millis: i64 = fraction.chars().chain("000".chars()).take(3).collect::<String>().parse().ok()?;
    let is_end = hour == 24 && minute == 0 && second == 0 && millis == 0;
    if (hour > 23 && !is_end) || minute > 59 || second > 59 {
        return None;
    }
    Some(hour * local::HOUR + minute * local::MINUTE + second * local::SECOND + millis)
}

/// A number of exactly so many digits.
fn whole<N: std::str::FromStr>(text: &str, digits: usize) -> Option<N> {
    let is_plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;
    use chrono_tz::Europe::Berlin;

    fn shown(text: &str) -> Option<String> {
        let ms = date_time(text, Berlin)?;
        Some(DateTime::from_timestamp_millis(ms)?.format("%Y-%m-%dT%H:%M:%S%.3f").to_string())
    }

    #[test]
    fn moments_are_read_with_and_without_an_offset() {
        for (text, utc) in [
            ("2012-01-01T18:00:00Z", "2012-01-01T18:00:00.000"),
            ("2012-01-01T22:00:00+03:00", "2012-01-01T19:00:00.000"),
            ("2012-01-01T16:00:00-03:30", "2012-01-01T19:30:00.000"),
            ("2012-01-01T06:00:00", "2012-01-01T05:00:00.000"),
            ("2012-07-01T06:00:00.5", "2012-07-01T04:00:00.500"),
            ("2012-07-01T06:00:00.1239Z", "2012-07-01T06:00:00.123"),
            ("2012-02-28T24:00:00Z", "2012-02-29T00:00:00.000"),
            // Jumped over, and twice there.
            ("2026-03-29T02:30:00", "2026-03-29T01:30:00.000"),
            ("2026-10-25T02:30:00", "2026-10-25T01:30:00.000"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(utc), "{text}");
        }
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "2012-01-01",
            "2012-01-01 18:00:00",
            "2012-1-1T18:00:00",
            "2012-02-30T18:00:00",
            "2012-01-01T25:00:00",
            "2012-01-01T24:00:01",
            "2012-01-01T18:00",
            "2012-01-01T18:00:60",
            "2012-01-01T18:00:00.",
            "T",
            "-T-:",
            "2012-01-01T18:00:00+3:00",
            "2012-01-01T18:00:00+15:00",
            "2012-01-01T18:00:00 UTC",
            "2012-01-01T18:00:00+é:0",
            "12012-01-01T18:00:00",
            "2012-01-01T+8:00:00",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
    }
}
