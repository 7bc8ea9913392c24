//! The times between two changes of a zone's clocks, with standard time as Java has it.

use chrono::{DateTime, TimeDelta, TimeZone};
use chrono_tz::{OffsetComponents, Tz};

/// A time in which a zone's offsets stay the same. Seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: i64,
    /// Standard time, ahead of UTC.
    pub(super) standard: i64,
    /// Offset that the clocks show, ahead of UTC.
    pub(super) wall: i64,
}

/// Shorter than the time between any two changes that undo each other.
const STEP: i64 = 12 * 3600;

/// The spans of a zone from `from` up to `end`; the first begins at `from`.
pub(super) fn spans(zone: Tz, from: i64, end: i64) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut known = (0, 0);
    let mut at = from;
    while at < end {
        let here = offsets(zone, at);
        if spans.is_empty() || here != known {
            // The span begins at the first instant of the last step whose offsets differ. These may
            // be offsets in between.
            let begins = if spans.is_empty() { from } else { first_other(zone, known, at - STEP, at) };
            known = offsets(zone, begins);
            spans.push(Span { from: begins, standard: known.0, wall: known.1 });
            at = begins;
        }
        at += STEP;
    }
    spans
}

/// The first instant after `same` at which the offsets are not `known`; at `other` they are not.
fn first_other(zone: Tz, known: (i64, i64), mut same: i64, mut other: i64) -> i64 {
    while other - same > 1 {
        let middle = same.midpoint(other);
        if offsets(zone, middle) == known {
            same = middle;
        } else {
            other = middle;
        }
    }
    other
}

/// Standard time and clock at an instant.
fn offsets(zone: Tz, at: i64) -> (i64, i64) {
    let utc = DateTime::from_timestamp(at, 0).unwrap_or_default().naive_utc();
    let offset = zone.offset_from_utc_datetime(&utc);
    let (base, saving): (TimeDelta, TimeDelta) = (offset.base_utc_offset(), offset.dst_offset());
    let wall = (base + saving).num_seconds();
    (java_standard(zone, at).unwrap_or(base.num_seconds()), wall)
}

/// The standard time as Java has it. Java knows no negative summer time. If the sources of the zone
/// data let the clocks go back for winter or Ramadan, the earlier time is Java's standard time.
fn java_standard(zone: Tz, at: i64) -> Option<i64> {
    let (from, until, standard) = match zone {
        Tz::Europe__Dublin | Tz::Eire => (-37_242_000, i64::MAX, 0),
        Tz::Africa__Casablanca | Tz::Africa__El_Aaiun => (1_540_692_000, i64::MAX, 0),
        Tz::Africa__Windhoek => (637_970_400, i64::MAX, 3600),
        Tz::Europe__Prague | Tz::Europe__Bratislava => (-728_517_600, -721_260_000, 0),
        _ => return None,
    };
    (from..until).contains(&at).then_some(standard)
}

pub(super) fn milliseconds(seconds: i64) -> i32 {
    i32::try_from(seconds.saturating_mul(1000)).unwrap_or(i32::MAX)
}
