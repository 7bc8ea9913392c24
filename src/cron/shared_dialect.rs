//! The crate `cron` at work: it reads every expression of the dialect that it shares with Quartz.
//!
//! Shared are six fields of numbers, ranges, steps and lists, with one `?` for a day. The crate
//! refuses what only Quartz has (names that begin anywhere, `L`, `W`, `#`, ranges that wrap around,
//! large steps, years beyond 2100), and what Quartz refuses too: both are left to `parse`, which
//! knows the dialect whole and says what is wrong.

use std::str::FromStr;

use cron::{Schedule, TimeUnitSpec};

use super::day::DayRule;
use super::field::{Span, Values};
use super::kind::{FIRST_YEAR, LAST_YEAR};
use super::parse::Plan;
use super::year::Years;

/// The fire times of an expression of the shared dialect.
pub(super) fn plan(text: &str) -> Option<Plan> {
    let fields: Vec<&str> = text.split(' ').filter(|field| !field.is_empty()).collect();
    let [second, minute, hour, day_of_month, month, day_of_week] = fields[..] else { return None };
    let (day, is_of_week) = match (day_of_month, day_of_week) {
        (day, "?") => (day, false),
        ("?", day) => (day, true),
        _ => return None,
    };
    if ![second, minute, hour, day, month].into_iter().all(is_shared) {
        return None;
    }
    let schedule = Schedule::from_str(text).ok()?;
    Some(Plan {
        seconds: values(schedule.seconds()),
        minutes: values(schedule.minutes()),
        hours: values(schedule.hours()),
        day: match is_of_week {
            true => DayRule::OfWeek(values(schedule.days_of_week())),
            false => DayRule::OfMonth(values(schedule.days_of_month())),
        },
        months: values(schedule.months()),
        years: Years::new(vec![Span { first: FIRST_YEAR, last: LAST_YEAR, step: 1 }]),
    })
}

/// True if a field is a list of `5`, `*`, `2-8`, `3/5`, `*/5` and `2-8/3`. The crate alone is more
/// lenient: it takes blanks within a field, and fields without blanks between.
fn is_shared(field: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    field.split(',').all(|element| {
        let (range, step) = element.split_once('/').unwrap_or((element, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, "1"));
        is_number(step) && (range == "*" || is_number(first) && is_number(last))
    })
}

fn values(unit: &impl TimeUnitSpec) -> Values {
    let mut values = Values::default();
    unit.iter().filter_map(|ordinal| i32::try_from(ordinal).ok()).for_each(|value| values.insert(value));
    values
}

#[cfg(test)]
mod tests {
    use super::super::kind::FieldKind;
    use super::super::parse::parse_whole_dialect;
    use super::*;

    /// Texts of one field with starts, ends and steps that differ from start to start: all of them
    /// would take minutes.
    fn texts(kind: FieldKind) -> Vec<String> {
        let mut texts = vec!["*".to_owned(), "*/2".to_owned(), "*,1".to_owned(), "03".to_owned()];
        for first in kind.min()..=kind.max() {
            texts.push(format!("{first}/{}", 1 + first % kind.max()));
            for last in (first..=kind.max()).step_by(7) {
                texts.push(format!("{first}-{last}"));
                texts.push(format!("{first}-{last}/{},{last}", 1 + (first + last) % kind.max()));
            }
        }
        texts
    }

    #[test]
    fn the_crate_reads_the_shared_dialect_as_quartz_does() {
        for kind in FieldKind::ALL.into_iter().filter(|kind| *kind != FieldKind::Year) {
            for text in texts(kind) {
                let field = |other| match other {
                    _ if other == kind => &text,
                    FieldKind::DayOfWeek if kind != FieldKind::DayOfWeek => "?",
                    FieldKind::DayOfMonth if kind == FieldKind::DayOfWeek => "?",
                    _ => "*",
                };
                let expression = FieldKind::ALL.map(|other| if other == FieldKind::Year { "" } else { field(other) });
                let expression = expression.join(" ");
                assert_eq!(plan(&expression), parse_whole_dialect(&expression).ok(), "{expression}");
                assert!(plan(&expression).is_some(), "{expression}");
            }
        }
    }

    #[test]
    fn what_only_quartz_has_is_left_to_the_whole_dialect() {
        for text in [
            "0 0 12 ? * MON",
            "0 0 12 L * ?",
            "0 0 12 15W * ?",
            "0 0 12 ? * 6#3",
            "0 0 22-2 * * ?",
            "0 0-59/70 * * * ?",
            "0 0 12 * * ? 2026",
            "0 0 12 ? * ?",
            "0 0 12 * * *",
            "0 0 24 * * ?",
            "0 5* 1 -2 * * ?",
            "0 0 1,,2 * * ?",
        ] {
            assert_eq!(plan(text), None, "{text}");
        }
    }
}
