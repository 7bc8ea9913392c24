//! The day of month and day of week rules: which day of a month comes next.

use chrono::{Datelike, NaiveDate};

use super::field::Values;
use super::kind::FieldKind;
use super::wall::{days_in_month, lenient_date};

/// The rule that chooses the days: one of the two day fields, the other being `?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DayRule {
    /// `1,15`, `*`: these days of the month.
    OfMonth(Values),
    /// `L`, `L-3`: so many days before the last one.
    LastDay { offset: i32 },
    /// `LW`, `L-3W`: the day from Monday to Friday nearest to that day.
    LastWorkday { offset: i32 },
    /// `15W`: the day from Monday to Friday nearest to the 15th, in the same month.
    NearestWorkday { day: i32 },
    /// `2-6`, `MON,FRI`: these weekdays, 1 being Sunday.
    OfWeek(Values),
    /// `6L`: the last such weekday of the month.
    LastOf { weekday: i32 },
    /// `6#3`: the third such weekday of the month.
    NthOf { weekday: i32, nth: i32 },
}

/// The point from which the search for a day goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DayStep {
    /// The day at hand is one of the rule's days.
    Here,
    /// At midnight of this day, counted in the month at hand; beyond its end the next months
    /// follow.
    Day(i32),
    /// At midnight of this day of the next month.
    NextMonth(i32),
    /// Nowhere: the rule has no day at all.
    Never,
}

impl DayRule {
    /// Looks for the rule's first day that is not before `date`, within its month.
    ///
    /// `is_over` says whether the time of day at hand on that day of the month is over already.
    /// Only the nearest-weekday rules ask, because their day may lie before `date` or beside it.
    pub(super) fn step(&self, date: NaiveDate, is_over: impl Fn(i32) -> bool) -> DayStep {
        let today = date.day().cast_signed();
        let length = days_in_month(date.year(), date.month().cast_signed());
        let weekday = date.weekday().number_from_sunday().cast_signed();
        match *self {
            DayRule::OfMonth(days) => match (days.at_or_after(today), days.first()) {
                (Some(day), _) if day <= length => here_or(today, day),
                (_, Some(first)) => DayStep::NextMonth(first),
                (_, None) => DayStep::Never,
            },
            DayRule::LastDay { offset } if length - offset < today => DayStep::NextMonth(1),
            DayRule::LastDay { offset } => here_or(today, length - offset),
            DayRule::LastWorkday { offset } => {
                let day = nearest_workday(date, length - offset, length);
                workday_step(today, day, 1, &is_over)
            }
            DayRule::NearestWorkday { day: wanted } => {
                let day = nearest_workday(date, wanted, length);
                workday_step(today, day, wanted, &is_over)
            }
            DayRule::OfWeek(weekdays) => match weekdays.at_or_after(weekday).or_else(|| weekdays.first()) {
                Some(wanted) => within_month(today, today + days_until(weekday, wanted), length),
                None => DayStep::Never,
            },
            DayRule::LastOf { weekday: wanted } => {
                let next = today + days_until(weekday, wanted);
                let last = if next > length { next } else { next + (length - next) / 7 * 7 };
                within_month(today, last, length)
            }
            DayRule::NthOf { weekday: wanted, nth } => {
                let next = today + days_until(weekday, wanted);
                let week = (next + 6) / 7;
                match nth - week {
                    weeks if weeks < 0 => DayStep::NextMonth(1),
                    weeks => within_month(today, next + weeks * 7, length),
                }
            }
        }
    }

    /// True if no day can ever satisfy the rule, because its field names none that exists.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            DayRule::OfMonth(days) | DayRule::OfWeek(days) => days.is_empty(),
            // Of the `#` days Quartz accepts any number and never finds one beyond Saturday.
            DayRule::NthOf { weekday, .. } => *weekday > FieldKind::DayOfWeek.max(),
            // On `0W` it loops for ever.
            DayRule::NearestWorkday { day } => *day < 1,
            _ => false,
        }
    }
}

fn here_or(today: i32, day: i32) -> DayStep {
    if day == today { DayStep::Here } else { DayStep::Day(day) }
}

fn within_month(today: i32, day: i32, length: i32) -> DayStep {
    if day > length { DayStep::NextMonth(1) } else { here_or(today, day) }
}

/// The days from weekday `from` to the next weekday `to`.
fn days_until(from: i32, to: i32) -> i32 {
    if to >= from { to - from } else { to + 7 - from }
}

/// The step of `LW` and `15W`, which may go back a day: looking for `15W`, Quartz enters a month on
/// the 15th.
fn workday_step(today: i32, day: i32, next_month: i32, is_over: &impl Fn(i32) -> bool) -> DayStep {
    if is_over(day) { DayStep::NextMonth(next_month) } else { here_or(today, day) }
}

/// The day from Monday to Friday nearest to `day` of the month of `date`, not leaving the month:
/// from a Saturday back to Friday and from a Sunday on to Monday, but the other way at the month's
/// ends.
fn nearest_workday(date: NaiveDate, day: i32, length: i32) -> i32 {
    let weekday =
        lenient_date(date.year(), date.month().cast_signed(), day).map(|date| date.weekday().number_from_sunday());
    match weekday {
        Some(7) if day == 1 => day + 2,
        Some(7) => day - 1,
        Some(1) if day == length => day - 2,
        Some(1) => day + 1,
        _ => day,
    }
}
