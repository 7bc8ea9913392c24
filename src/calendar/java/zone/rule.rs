//! `DaylightRule`: how clocks change year by year, as `java.util.SimpleTimeZone` says it.

use chrono::{DateTime, Datelike, NaiveDateTime, Timelike};
use chrono_tz::Tz;

use super::spans::{Span, milliseconds, spans};

/// 2087-01-01T00:00Z: no zone has exceptions from its rule after this.
const RULES_ONLY: i64 = 3_692_217_600;
/// 2099-01-01T00:00Z. In these twelve years every day of a month falls on every weekday.
const RULES_END: i64 = 4_070_908_800;
const DAY: i64 = 86_400;

/// Both changes of a year.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::calendar::java) struct DaylightRule {
    pub(in crate::calendar::java) start: RuleDay,
    pub(in crate::calendar::java) end: RuleDay,
    /// Milliseconds.
    pub(in crate::calendar::java) savings: i32,
}

/// The moment of one change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::calendar::java) struct RuleDay {
    /// From 0.
    pub(in crate::calendar::java) month: i32,
    /// The first day of the month that may be the weekday (1 is Sunday), or −1 for the last such
    /// weekday of the month.
    pub(in crate::calendar::java) day: i32,
    pub(in crate::calendar::java) weekday: i32,
    /// Milliseconds of the day.
    pub(in crate::calendar::java) time: i32,
    pub(in crate::calendar::java) clock: Clock,
}

/// The clock that shows the time of a change. The numbers are Java's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::calendar::java) enum Clock {
    Wall = 0,
    Standard = 1,
    Utc = 2,
}

impl DaylightRule {
    /// The rule of a zone whose clocks change in every year to come.
    pub(super) fn of(zone: Tz) -> Option<Self> {
        let spans = spans(zone, RULES_ONLY, RULES_END);
        let changes: Vec<(&Span, &Span)> = spans.iter().zip(spans.iter().skip(1)).collect();
        let (to_summer, to_winter): (Vec<_>, Vec<_>) = changes.into_iter().partition(|(a, b)| b.wall > a.wall);
        // Morocco, last seen on the way out of its exceptions, goes on without changes.
        if to_summer.len() < 11 || to_winter.len() < 11 {
            return None;
        }
        let (first, back) = (to_summer.first()?, to_winter.first()?);
        let clock = clock_of(zone, first.1.from, back.1.from);
        Some(Self {
            start: RuleDay::of(&to_summer, clock)?,
            end: RuleDay::of(&to_winter, clock)?,
            savings: milliseconds(first.1.wall - first.0.wall),
        })
    }

    /// The numbers that a `SimpleTimeZone` is made with.
    pub(in crate::calendar::java) fn coded(&self) -> Vec<i32> {
        [self.start, self.end].iter().flat_map(RuleDay::coded).collect()
    }
}

impl RuleDay {
    fn of(changes: &[(&Span, &Span)], clock: Clock) -> Option<Self> {
        let local = |(before, after): &(&Span, &Span)| {
            let offset = match clock {
                Clock::Wall => before.wall,
                Clock::Standard => after.standard,
                Clock::Utc => 0,
            };
            after.from + offset
        };
        let times: Vec<i64> = changes.iter().map(local).collect();
        // A midnight that is sometimes at the end of a month and sometimes at the beginning of the
        // next is the end of a day.
        Self::in_one_month(&times, clock, 0).or_else(|| Self::in_one_month(&times, clock, DAY))
    }

    fn in_one_month(times: &[i64], clock: Clock, ahead: i64) -> Option<Self> {
        let moments = times.iter().map(|time| Some(DateTime::from_timestamp(time - ahead, 0)?.naive_utc()));
        let moments: Vec<NaiveDateTime> = moments.collect::<Option<_>>()?;
        let earliest = moments.iter().min_by_key(|moment| moment.day())?;
        if moments.iter().any(|moment| moment.month() != earliest.month()) {
            return None;
        }
        Some(Self {
            month: i32::try_from(earliest.month0()).ok()?,
            day: if earliest.day() >= 24 { -1 } else { i32::try_from(earliest.day()).ok()? },
            weekday: i32::try_from(earliest.weekday().number_from_sunday()).ok()?,
            time: milliseconds(i64::from(earliest.num_seconds_from_midnight()) + ahead),
            clock,
        })
    }

    fn coded(&self) -> [i32; 5] {
        let weekday = if self.day == -1 { self.weekday } else { -self.weekday };
        [self.month, self.day, weekday, self.time, self.clock as i32]
    }
}

/// The clock by which a zone's rule is written, which its changes alone do not always tell.
fn clock_of(zone: Tz, start: i64, end: i64) -> Clock {
    match zone {
        Tz::Australia__LHI | Tz::Australia__Lord_Howe | Tz::Europe__Chisinau | Tz::Europe__Tiraspol => Clock::Wall,
        Tz::America__Santiago | Tz::Chile__Continental | Tz::Pacific__Easter | Tz::Chile__EasterIsland => Clock::Utc,
        // At the same time in UTC both ways.
        _ if start.rem_euclid(DAY) != end.rem_euclid(DAY) => Clock::Wall,
        Tz::America__Havana | Tz::Cuba | Tz::NZ | Tz::NZCHAT => Clock::Standard,
        Tz::Antarctica__Macquarie | Tz::Antarctica__McMurdo | Tz::Antarctica__South_Pole => Clock::Standard,
        _ if zone.name().starts_with("Australia/") || zone.name().starts_with("Pacific/") => Clock::Standard,
        _ => Clock::Utc,
    }
}
