//! A cron expression in plain English.

use super::day::DayRule;
use super::field::{Span, Values};
use super::kind::{FIRST_YEAR, FieldKind, LAST_YEAR};
use super::parse::Plan;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Describes when an expression fires, from the time of day to the years.
pub(super) fn explain(plan: &Plan) -> String {
    if let Some(missing) = missing(plan) {
        return format!("never: no {missing} is named");
    }
    let parts = [Some(time(plan)), Some(day(&plan.day)), months(plan.months), years(plan.years.spans())];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The field without a value that exists, which Quartz accepts and then cannot evaluate.
fn missing(plan: &Plan) -> Option<&'static str> {
    let fields = [
        (plan.seconds.is_empty(), "second"),
        (plan.minutes.is_empty(), "minute"),
        (plan.hours.is_empty(), "hour"),
        (plan.day.is_empty(), "day"),
        (plan.months.is_empty(), "month"),
        (plan.years.spans().is_empty(), "year"),
    ];
    fields.into_iter().find_map(|(is_empty, name)| is_empty.then_some(name))
}

fn time(plan: &Plan) -> String {
    if let (Some(minute), Some(second)) = (only(plan.minutes), only(plan.seconds)) {
        return match only(plan.hours) {
            Some(hour) => format!("at {hour:02}:{minute:02}:{second:02}"),
            None => format!("at {minute:02}:{second:02} past {}", field(FieldKind::Hour, plan.hours)),
        };
    }
    let mut fields =
        vec![(FieldKind::Second, plan.seconds), (FieldKind::Minute, plan.minutes), (FieldKind::Hour, plan.hours)];
    // `every minute` says that it is at second 0, and that it is in every hour.
    if only(plan.seconds) == Some(0) {
        fields.remove(0);
    }
    while fields.len() > 1 && fields.iter().rev().take(2).all(|(kind, values)| is_every(*kind, *values)) {
        fields.pop();
    }
    let words: Vec<String> = fields.iter().map(|(kind, values)| field(*kind, *values)).collect();
    let words = words.join(" of ");
    if words.starts_with("every") { words } else { format!("at {words}") }
}

pub(super) fn is_every(kind: FieldKind, values: Values) -> bool {
    (kind.min()..=kind.max()).all(|value| values.contains(value))
}

fn only(values: Values) -> Option<i32> {
    let first = values.first()?;
    values.at_or_after(first + 1).is_none().then_some(first)
}

/// `every minute`, `minute 5`, `minutes 5 to 10`, `every 15th minute from 0`, `minutes 1, 2 and 7`.
fn field(kind: FieldKind, values: Values) -> String {
    let numbers: Vec<i32> = values.iter().collect();
    let name = kind.name();
    match (numbers.as_slice(), progression(&numbers)) {
        ([one], _) => format!("{name} {one}"),
        ([first, .., last], Some(1)) if (*first, *last) == (kind.min(), kind.max()) => {
            format!("every {name}")
        }
        ([first, .., last], Some(1)) => format!("{name}s {first} to {last}"),
        ([first, .., last], Some(step)) if last + step > kind.max() => {
            format!("every {} {name} from {first}", ordinal(step))
        }
        _ => format!("{name}s {}", list(&numbers, i32::to_string)),
    }
}

/// The common distance of three values and more, or of two neighbours.
fn progression(numbers: &[i32]) -> Option<i32> {
    let mut steps = numbers.iter().zip(numbers.iter().skip(1)).map(|(one, next)| next - one);
    let step = steps.next()?;
    (steps.all(|other| other == step) && (numbers.len() > 2 || step == 1)).then_some(step)
}

fn day(rule: &DayRule) -> String {
    match *rule {
        DayRule::OfMonth(days) => {
            let numbers: Vec<i32> = days.iter().collect();
            match (numbers.as_slice(), progression(&numbers)) {
                ([1, .., 31], Some(1)) => "every day".to_owned(),
                ([first, .., last], Some(1)) => {
                    format!("on the {} to the {} of the month", ordinal(*first), ordinal(*last))
                }
                _ => format!("on the {} of the month", list(&numbers, |day| ordinal(*day))),
            }
        }
        DayRule::LastDay { offset } => format!("on {} of the month", last_day(offset)),
        DayRule::LastWorkday { offset: 0 } => "on the last weekday (Monday to Friday) of the month".to_owned(),
        DayRule::LastWorkday { offset } => {
            format!("on the weekday (Monday to Friday) nearest to {} of the month", last_day(offset))
        }
        DayRule::NearestWorkday { day } => {
            format!("on the weekday (Monday to Friday) nearest to the {} of the month", ordinal(day))
        }
        DayRule::OfWeek(days) => {
            let numbers: Vec<i32> = days.iter().collect();
            match (numbers.as_slice(), progression(&numbers)) {
                ([1, .., 7], Some(1)) => "every day".to_owned(),
                ([first, _, .., last], Some(1)) if numbers.len() > 2 => {
                    format!("on {} to {}", named(&WEEKDAYS, *first), named(&WEEKDAYS, *last))
                }
                _ => format!("on {}", list(&numbers, |day| named(&WEEKDAYS, *day))),
            }
        }
        DayRule::LastOf { weekday } => {
            format!("on the last {} of the month", named(&WEEKDAYS, weekday))
        }
        // Quartz takes day 0 for the day before Sunday.
        DayRule::NthOf { weekday: 0, nth } => {
            format!("on the {} Saturday of the month", ordinal(nth))
        }
        DayRule::NthOf { weekday, nth } => {
            format!("on the {} {} of the month", ordinal(nth), named(&WEEKDAYS, weekday))
        }
    }
}

fn last_day(offset: i32) -> String {
    match offset {
        0 => "the last day".to_owned(),
        1 => "the day before the last day".to_owned(),
        days => format!("the day {days} days before the last day"),
    }
}

fn months(values: Values) -> Option<String> {
    let numbers: Vec<i32> = values.iter().collect();
    match (numbers.as_slice(), progression(&numbers)) {
        ([1, .., 12], Some(1)) => None,
        ([first, _, .., last], Some(1)) if numbers.len() > 2 => {
            Some(format!("in {} to {}", named(&MONTHS, *first), named(&MONTHS, *last)))
        }
        _ => Some(format!("in {}", list(&numbers, |month| named(&MONTHS, *month)))),
    }
}

fn years(spans: &[Span]) -> Option<String> {
    let every = Span { first: FIRST_YEAR, last: LAST_YEAR, step: 1 };
    if spans.contains(&every) {
        return None;
    }
    let span = |span: &Span| match *span {
        Span { first, last, .. } if first == last => first.to_string(),
        Span { first, last: LAST_YEAR, step: 1 } => format!("{first} and later"),
        Span { first, last: LAST_YEAR, step } => format!("every {} year from {first}", ordinal(step)),
        Span { first, last, step: 1 } => format!("{first} to {last}"),
        Span { first, last, step } => {
            format!("every {} year from {first} to {last}", ordinal(step))
        }
    };
    Some(format!("in {}", list(spans, span)))
}

fn named(names: &[&str], number: i32) -> String {
    let name = usize::try_from(number - 1).ok().and_then(|at| names.get(at));
    name.map_or_else(|| number.to_string(), |name| (*name).to_owned())
}

fn list<T>(items: &[T], word: impl Fn(&T) -> String) -> String {
    match items.split_last() {
        None => String::new(),
        Some((last, [])) => word(last),
        Some((last, before)) => {
            let before: Vec<String> = before.iter().map(&word).collect();
            format!("{} and {}", before.join(", "), word(last))
        }
    }
}

fn ordinal(number: i32) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}
