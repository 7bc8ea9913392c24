//! Local time and UTC, by the rule of `java.util.Calendar` and beyond the end of chrono-tz's data.
//!
//! chrono-tz knows the clock changes up to the year 2099; Java goes on with the last rules for
//! ever. A later time is therefore looked up in a year up to 2099 that has the same calendar.

use chrono::{Datelike, MappedLocalTime, NaiveDate, NaiveDateTime, Offset, TimeDelta, TimeZone};
use chrono_tz::{GapInfo, Tz};

/// The last year of chrono-tz's data.
const LAST_KNOWN_YEAR: i32 = 2099;

/// The first of the 28 years up to the last one, among which every calendar occurs.
const FIRST_OF_CYCLE: i32 = LAST_KNOWN_YEAR - 27;

/// The meanings of a local time, as times in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The clock shows it once.
    Once(NaiveDateTime),
    /// The clock shows it twice: the second time is the one that Java means.
    Twice { first: NaiveDateTime, second: NaiveDateTime },
    /// The clock jumps over it: what it is by the offset from before the jump, and when the clock
    /// jumps.
    InGap { by_old_offset: NaiveDateTime, end: NaiveDateTime },
}

impl Meaning {
    /// The time that Java means.
    pub(crate) fn in_java(self) -> NaiveDateTime {
        match self {
            Meaning::Once(utc) => utc,
            Meaning::Twice { second, .. } => second,
            Meaning::InGap { by_old_offset, .. } => by_old_offset,
        }
    }
}

/// The time that the clocks of a zone show at a time in UTC.
pub(crate) fn to_local(zone: Tz, utc: NaiveDateTime) -> Option<NaiveDateTime> {
    let shift = shift_of(utc)?;
    let offset = zone.offset_from_utc_datetime(&utc.checked_sub_signed(shift)?);
    utc.checked_add_signed(seconds(&offset))
}

/// The time in UTC that is meant by a time on the clocks of a zone.
pub(crate) fn to_utc(zone: Tz, local: NaiveDateTime) -> Option<Meaning> {
    let shift = shift_of(local)?;
    let known = local.checked_sub_signed(shift)?;
    Some(match zone.offset_from_local_datetime(&known) {
        MappedLocalTime::Single(offset) => Meaning::Once(local.checked_sub_signed(seconds(&offset))?),
        MappedLocalTime::Ambiguous(before, after) => Meaning::Twice {
            first: local.checked_sub_signed(seconds(&before))?,
            second: local.checked_sub_signed(seconds(&after))?,
        },
        MappedLocalTime::None => {
            let (begin, before) = GapInfo::new(&known, &zone)?.begin?;
            let before = seconds(&before);
            Meaning::InGap {
                by_old_offset: local.checked_sub_signed(before)?,
                end: begin.checked_add_signed(shift)?.checked_sub_signed(before)?,
            }
        }
    })
}

fn seconds(offset: &impl Offset) -> TimeDelta {
    TimeDelta::seconds(i64::from(offset.fix().local_minus_utc()))
}

/// The distance from a time to the earlier one that is looked up in its place.
fn shift_of(time: NaiveDateTime) -> Option<TimeDelta> {
    if time.year() <= LAST_KNOWN_YEAR {
        return Some(TimeDelta::zero());
    }
    let first = NaiveDate::from_yo_opt(time.year(), 1)?;
    (FIRST_OF_CYCLE..=LAST_KNOWN_YEAR)
        .filter_map(|year| NaiveDate::from_yo_opt(year, 1))
        .find(|known| known.weekday() == first.weekday() && known.leap_year() == first.leap_year())
        .map(|known| first - known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono_tz::Europe::Berlin;

    fn time(year: i32, month: u32, day: u32, hour: u32) -> NaiveDateTime {
        NaiveDate::from_ymd_opt(year, month, day).unwrap().and_hms_opt(hour, 30, 0).unwrap()
    }

    fn hour(year: i32, month: u32, day: u32, hour: u32) -> NaiveDateTime {
        NaiveDate::from_ymd_opt(year, month, day).unwrap().and_hms_opt(hour, 0, 0).unwrap()
    }

    #[test]
    fn a_time_in_the_gap_keeps_the_old_offset() {
        let in_gap = Meaning::InGap { by_old_offset: time(2026, 3, 29, 1), end: hour(2026, 3, 29, 1) };
        assert_eq!(to_utc(Berlin, time(2026, 3, 29, 2)), Some(in_gap));
        assert_eq!(to_utc(Berlin, time(2026, 3, 29, 3)), Some(Meaning::Once(time(2026, 3, 29, 1))));
    }

    #[test]
    fn a_time_that_comes_twice_is_the_second() {
        let twice = Meaning::Twice { first: time(2026, 10, 25, 0), second: time(2026, 10, 25, 1) };
        assert_eq!(to_utc(Berlin, time(2026, 10, 25, 2)), Some(twice));
        assert_eq!(twice.in_java(), time(2026, 10, 25, 1));
        assert_eq!(to_local(Berlin, time(2026, 10, 25, 0)), Some(time(2026, 10, 25, 2)));
        assert_eq!(to_local(Berlin, time(2026, 10, 25, 1)), Some(time(2026, 10, 25, 2)));
    }

    #[test]
    fn clocks_change_after_the_end_of_the_data() {
        // The last Sunday of March 2100 is the 28th.
        let in_gap = Meaning::InGap { by_old_offset: time(2100, 3, 28, 1), end: hour(2100, 3, 28, 1) };
        assert_eq!(to_utc(Berlin, time(2100, 3, 28, 2)), Some(in_gap));
        assert_eq!(to_local(Berlin, time(2104, 7, 1, 10)), Some(time(2104, 7, 1, 12)));
        assert_eq!(to_local(Berlin, time(2104, 12, 1, 10)), Some(time(2104, 12, 1, 11)));
    }
}
