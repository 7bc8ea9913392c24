//! A whole cron expression: its fields, and the rules that hold between them.

use super::day::DayRule;
use super::element::{self, Element};
use super::error::Complaint;
use super::field::{Span, Values, expand};
use super::kind::FieldKind;
use super::year::Years;

/// A parsed expression, in the form that the search uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) seconds: Values,
    pub(super) minutes: Values,
    pub(super) hours: Values,
    pub(super) day: DayRule,
    pub(super) months: Values,
    pub(super) years: Years,
}

/// A field as written.
#[derive(Clone, Copy)]
struct Term<'a> {
    text: &'a str,
    column: usize,
}

const UNIX: &str = "; Quartz's expressions begin with the seconds, as in `0 */5 * * * ?`";

/// Reads the upper-cased text of an expression.
pub(super) fn parse_whole_dialect(text: &str) -> Result<Plan, Complaint> {
    let end = text.chars().count() + 1;
    let mut terms = terms(text);
    let mut lists: Vec<(Term<'_>, Vec<Element>)> = Vec::with_capacity(FieldKind::ALL.len());
    for kind in FieldKind::ALL {
        let term = match terms.next() {
            Some(term) => term,
            None if kind == FieldKind::Year => Term { text: "*", column: end },
            None => {
                // The five fields of Unix.
                let hint = if kind == FieldKind::DayOfWeek { UNIX } else { "" };
                return Err(Complaint::new(
                    end,
                    format!("expected a field for {}, found the end of the expression{hint}", kind.name()),
                ));
            }
        };
        lists.push((term, elements(kind, term)?));
    }
    let [second, minute, hour, day_of_month, month, day_of_week, year] =
        <[_; 7]>::try_from(lists).map_err(|_| Complaint::new(end, "expected six or seven fields"))?;
    let values = |kind, (_, list): &(Term<'_>, Vec<Element>)| expand(kind, &spans(list));
    Ok(Plan {
        seconds: values(FieldKind::Second, &second),
        minutes: values(FieldKind::Minute, &minute),
        hours: values(FieldKind::Hour, &hour),
        day: day_rule(&day_of_month, &day_of_week)?,
        months: values(FieldKind::Month, &month),
        years: Years::new(spans(&year.1)),
    })
}

/// The fields, which blanks and tabs separate. Other control characters around a field are ignored,
/// as Java's `trim` does, and so is what comes after the seventh.
fn terms(text: &str) -> impl Iterator<Item = Term<'_>> {
    let mut column = 1;
    text.split([' ', '\t'])
        .map(move |piece| {
            let begins = column;
            column += piece.chars().count() + 1;
            (piece, begins)
        })
        .filter(|(piece, _)| !piece.is_empty())
        .map(|(piece, begins)| {
            let text = piece.trim_start_matches(|c| c <= ' ');
            let column = begins + piece.chars().count() - text.chars().count();
            Term { text: text.trim_end_matches(|c| c <= ' '), column }
        })
}

fn elements(kind: FieldKind, term: Term<'_>) -> Result<Vec<Element>, Complaint> {
    refuse_what_cannot_be_listed(kind, term)?;
    let mut column = term.column;
    let mut found = Vec::new();
    for piece in term.text.split(',') {
        if !piece.is_empty() {
            found.push(element::parse(kind, piece, column)?);
        }
        column += piece.chars().count() + 1;
    }
    Ok(found)
}

fn refuse_what_cannot_be_listed(kind: FieldKind, term: Term<'_>) -> Result<(), Complaint> {
    let column_of = |place: usize| term.column + term.text.get(..place).map_or(0, |before| before.chars().count());
    if let (true, Some(last), true) = (kind.is_day(), term.text.find('L'), term.text.contains(',')) {
        return Err(Complaint::new(
            column_of(last),
            format!("expected `L` alone in {}, found it in the list `{}`", kind.name(), term.text),
        ));
    }
    if let (FieldKind::DayOfWeek, Some((second, _))) = (kind, term.text.match_indices('#').nth(1)) {
        return Err(Complaint::new(column_of(second), format!("expected at most one `#`, found `{}`", term.text)));
    }
    Ok(())
}

fn spans(list: &[Element]) -> Vec<Span> {
    let span = |element: &Element| match *element {
        Element::Span { first, last, step } => Some(Span { first, last, step }),
        _ => None,
    };
    list.iter().filter_map(span).collect()
}

/// The rule of the two day fields, of which exactly one is `?`.
fn day_rule(
    (month_term, of_month): &(Term<'_>, Vec<Element>),
    (week_term, of_week): &(Term<'_>, Vec<Element>),
) -> Result<DayRule, Complaint> {
    match (of_month.contains(&Element::Unspecified), of_week.contains(&Element::Unspecified)) {
        (false, true) if of_month.is_empty() => {
            Err(Complaint::new(month_term.column, format!("expected a day of month, found `{}`", month_term.text)))
        }
        (false, true) => Ok(day_of_month_rule(of_month)),
        (true, false) => Ok(day_of_week_rule(of_week)),
        (true, true) => Err(Complaint::new(
            week_term.column,
            "expected `?` in only one of day of month and day of week, found it in both",
        )),
        (false, false) => Err(Complaint::new(
            week_term.column,
            format!(
                "expected `?` in day of month or in day of week, found `{}` and `{}`",
                month_term.text, week_term.text
            ),
        )),
    }
}

fn day_of_month_rule(list: &[Element]) -> DayRule {
    let mut values = expand(FieldKind::DayOfMonth, &spans(list));
    let mut nearest_weekday = false;
    for element in list {
        match *element {
            Element::LastDay { offset, weekday: false } => return DayRule::LastDay { offset },
            Element::LastDay { offset, weekday: true } => return DayRule::LastWorkday { offset },
            Element::NearestWeekday(day) => {
                nearest_weekday = true;
                values.insert(day);
            }
            _ => {}
        }
    }
    // One `W` holds for the whole list, of which then only the smallest day counts.
    match values.first() {
        Some(day) if nearest_weekday => DayRule::NearestWorkday { day },
        _ => DayRule::OfMonth(values),
    }
}

fn day_of_week_rule(list: &[Element]) -> DayRule {
    let mut values = expand(FieldKind::DayOfWeek, &spans(list));
    let mut which = None;
    for element in list {
        match *element {
            Element::LastWeekday(weekday) => return DayRule::LastOf { weekday },
            Element::NthWeekday { weekday, nth } => {
                which = Some(nth);
                values.insert(weekday);
            }
            _ => {}
        }
    }
    // One `#` holds for the whole list, of which then only the smallest day counts.
    match (which, values.first()) {
        (Some(nth), Some(weekday)) => DayRule::NthOf { weekday, nth },
        _ => DayRule::OfWeek(values),
    }
}
