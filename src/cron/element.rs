//! An element of a field's comma-separated list, as Quartz reads it, oddities included.

use super::error::Complaint;
use super::kind::{FieldKind, MONTHS, WEEKDAYS, number_of};
use super::scan::Scan;

/// Quartz's internal marker for `*`; whoever writes the number gets the meaning.
const EVERY_MARKER: i32 = 99;
/// Quartz's internal marker for `?`, likewise.
const UNSPECIFIED_MARKER: i32 = 98;

/// The meaning of an element of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// `5`, `*`, `2-8`, `3/5`, `2-8/3`: every `step`-th value; `last < first` wraps around.
    Span { first: i32, last: i32, step: i32 },
    /// `?`: this day field says nothing.
    Unspecified,
    /// `L`, `L-3`, `LW`, `L-3W` in day of month.
    LastDay { offset: i32, weekday: bool },
    /// `15W`: the weekday nearest to that day of the month.
    NearestWeekday(i32),
    /// `6L`, `FRIL`: the last such weekday of the month.
    LastWeekday(i32),
    /// `6#3`, `FRI#3`: the third such weekday of the month.
    NthWeekday { weekday: i32, nth: i32 },
    /// No value at all: an `L` where it has no meaning.
    Nothing,
}

impl Element {
    fn single(value: i32) -> Self {
        Element::Span { first: value, last: value, step: 1 }
    }
}

/// Reads one element that begins at `column`; what follows a complete element is ignored, as in
/// Quartz.
pub(super) fn parse(kind: FieldKind, text: &str, column: usize) -> Result<Element, Complaint> {
    let mut scan = Scan::new(text, column);
    match scan.peek() {
        None => Ok(Element::Nothing),
        Some('A'..='Z') if !is_last_day(text) => name(kind, &mut scan),
        Some('L') => last_day(kind, &mut scan),
        Some('?') => unspecified(kind, &mut scan),
        Some('*' | '/') => every(kind, &mut scan),
        Some('0'..='9') => number(kind, &mut scan),
        Some(other) => Err(scan.complain(format!("expected {}, found `{other}`", what_may_begin(kind)))),
    }
}

fn what_may_begin(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::DayOfMonth => "a number, `*`, `?`, `/` or `L`",
        FieldKind::DayOfWeek => "a number, a weekday name, `*`, `?`, `/` or `L`",
        FieldKind::Month => "a number, a month name, `*` or `/`",
        _ => "a number, `*` or `/`",
    }
}

/// `L`, `LW`, `L-`, `L-3`, `L-3W`: the spellings that Quartz does not take for a name.
fn is_last_day(text: &str) -> bool {
    match text.strip_prefix('L') {
        Some("" | "W") => true,
        Some(rest) => rest.strip_prefix('-').is_some_and(|rest| {
            let digits = rest.strip_suffix('W').unwrap_or(rest);
            digits.chars().all(|c| c.is_ascii_digit())
        }),
        None => false,
    }
}

fn name(kind: FieldKind, scan: &mut Scan<'_>) -> Result<Element, Complaint> {
    let (names, what): (&[&str], _) = match kind {
        FieldKind::Month => (&MONTHS, "a month name from `JAN` to `DEC`"),
        FieldKind::DayOfWeek => (&WEEKDAYS, "a weekday name from `SUN` to `SAT`"),
        _ => {
            return Err(scan.complain(format!("expected {}, found `{}`", what_may_begin(kind), scan.rest)));
        }
    };
    let first = one_name(scan, names, what)?;
    if scan.take('-') {
        let last = one_name(scan, names, what)?;
        return Ok(Element::Span { first, last, step: 1 });
    }
    if kind == FieldKind::DayOfWeek {
        if scan.take('#') {
            return nth(scan, first);
        }
        if scan.take('L') {
            return Ok(Element::LastWeekday(first));
        }
    }
    Ok(Element::single(first))
}

fn one_name(scan: &mut Scan<'_>, names: &[&str], what: &str) -> Result<i32, Complaint> {
    let known = scan.first_chars(3).and_then(|name| number_of(names, name));
    match known {
        Some(number) => {
            scan.skip(3);
            Ok(number)
        }
        None => Err(scan.complain(format!("expected {what}, found `{}`", scan.rest))),
    }
}

fn last_day(kind: FieldKind, scan: &mut Scan<'_>) -> Result<Element, Complaint> {
    scan.take('L');
    match kind {
        FieldKind::DayOfMonth => {
            let mut offset = 0;
            if scan.take('-') && scan.peek() != Some('W') {
                let column = scan.column;
                offset = scan.number()?;
                if offset > 30 {
                    return Err(Complaint::new(
                        column,
                        format!("expected an offset from the last day of at most 30, found `{offset}`"),
                    ));
                }
            }
            Ok(Element::LastDay { offset, weekday: scan.take('W') })
        }
        // Alone in day of week it is Saturday, the last day of the week, and what follows is
        // ignored.
        FieldKind::DayOfWeek => Ok(Element::single(7)),
        _ => Ok(Element::Nothing),
    }
}

fn unspecified(kind: FieldKind, scan: &mut Scan<'_>) -> Result<Element, Complaint> {
    if !kind.is_day() {
        return Err(scan.complain(format!(
            "expected {}, found `?`, which only day of month and day of week may hold",
            what_may_begin(kind)
        )));
    }
    scan.take('?');
    // Quartz lets one stray character pass, but not two.
    if scan.rest.chars().nth(1).is_some() {
        return Err(scan.complain(format!("expected nothing after `?`, found `{}`", scan.rest)));
    }
    Ok(Element::Unspecified)
}

fn every(kind: FieldKind, scan: &mut Scan<'_>) -> Result<Element, Complaint> {
    scan.take('*');
    if !scan.take('/') {
        return spanning(kind, scan.column, EVERY_MARKER, None, Some(1));
    }
    let column = scan.column;
    let step = scan.signed_to_end()?;
    check_step(kind, column, step)?;
    spanning(kind, column, EVERY_MARKER, None, Some(step))
}

fn number(kind: FieldKind, scan: &mut Scan<'_>) -> Result<Element, Complaint> {
    let column = scan.column;
    let value = scan.number()?;
    let here = scan.column;
    if scan.take('L') {
        return match kind {
            FieldKind::DayOfWeek if kind.allows(value) => Ok(Element::LastWeekday(value)),
            FieldKind::DayOfWeek => Err(out_of_bounds(kind, column, value)),
            _ => Err(Complaint::new(here, misplaced('L', kind))),
        };
    }
    if scan.take('W') {
        return match kind {
            FieldKind::DayOfMonth if value <= kind.max() => Ok(Element::NearestWeekday(value)),
            FieldKind::DayOfMonth => Err(out_of_bounds(kind, column, value)),
            _ => Err(Complaint::new(here, misplaced('W', kind))),
        };
    }
    if scan.take('#') {
        return match kind {
            FieldKind::DayOfWeek => nth(scan, value),
            _ => Err(Complaint::new(here, misplaced('#', kind))),
        };
    }
    if scan.take('-') {
        let last = scan.number()?;
        let step = if scan.take('/') { scan.number()? } else { 1 };
        return spanning(kind, column, value, Some(last), Some(step));
    }
    if scan.take('/') {
        let column_of_step = scan.column;
        let digits = scan.digits();
        let step = scan.number()?;
        // Quartz looks at what follows a step only when the step has a single digit.
        if let (1, Some(other)) = (digits, scan.peek()) {
            return Err(scan.complain(format!("expected nothing after the step, found `{other}`")));
        }
        check_step(kind, column_of_step, step)?;
        return spanning(kind, column, value, None, Some(step));
    }
    spanning(kind, column, value, None, None)
}

fn misplaced(letter: char, kind: FieldKind) -> String {
    let home = if letter == 'W' { FieldKind::DayOfMonth } else { FieldKind::DayOfWeek };
    format!("expected no `{letter}` after a number in {}, it belongs to {}", kind.name(), home.name())
}

fn nth(scan: &mut Scan<'_>, weekday: i32) -> Result<Element, Complaint> {
    let column = scan.column;
    let wrong = || Complaint::new(column, format!("expected a number from 1 to 5 after `#`, found `{}`", scan.rest));
    let nth = scan.rest.parse::<i32>().map_err(|_| wrong())?;
    if !(1..=5).contains(&nth) {
        return Err(wrong());
    }
    // The weekday itself is not checked: `8#1` never fires, `0#1` is a Saturday, `98#1` is `?`.
    if weekday == UNSPECIFIED_MARKER {
        return Ok(Element::Unspecified);
    }
    Ok(Element::NthWeekday { weekday, nth })
}

fn check_step(kind: FieldKind, column: usize, step: i32) -> Result<(), Complaint> {
    match kind.max_step() {
        Some(most) if step > most => Err(Complaint::new(
            column,
            format!("expected a step of at most {most} for {}, found `{step}`", kind.name()),
        )),
        _ => Ok(()),
    }
}

fn out_of_bounds(kind: FieldKind, column: usize, value: i32) -> Complaint {
    let article = if kind == FieldKind::Hour { "an" } else { "a" };
    Complaint::new(
        column,
        format!("expected {article} {} from {} to {}, found `{value}`", kind.name(), kind.min(), kind.max()),
    )
}

/// `first`, `first-last`, `first/step` or `first-last/step`, with the bounds and markers of Quartz.
fn spanning(
    kind: FieldKind,
    column: usize,
    first: i32,
    last: Option<i32>,
    step: Option<i32>,
) -> Result<Element, Complaint> {
    if first == EVERY_MARKER {
        let step = step.filter(|step| *step > 0).unwrap_or(1);
        let last = last.unwrap_or(kind.max()).min(kind.max());
        return Ok(Element::Span { first: kind.min(), last, step });
    }
    if first == UNSPECIFIED_MARKER && kind.is_day() {
        let alone = step.is_none_or(|step| step == 0);
        return Ok(if alone { Element::Unspecified } else { Element::Nothing });
    }
    if !kind.allows(first) {
        return Err(out_of_bounds(kind, column, first));
    }
    // Only the upper bound of a range's end is checked: `5-0` in day of month runs to the 31st.
    if let Some(last) = last.filter(|last| kind != FieldKind::Year && *last > kind.max()) {
        return Err(out_of_bounds(kind, column, last));
    }
    let step = match step {
        Some(step) if step > 0 => step,
        _ => return Ok(Element::single(first)),
    };
    let last = last.unwrap_or(kind.max());
    if kind == FieldKind::Year && last < first {
        return Err(Complaint::new(
            column,
            format!("expected a first year no later than the last, found `{first}` to `{last}`"),
        ));
    }
    Ok(Element::Span { first, last, step })
}
