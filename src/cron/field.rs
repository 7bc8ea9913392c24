//! The values of one field as a set: what the `cron` crate can expand, it expands; the rest is
//! ours.
//!
//! The crate takes every ordinary span of the six fields from second to day of week. The crate does
//! not fit three things, which [`expand_here`] does: ranges that wrap around (`22-2`, refused by
//! the crate), steps beyond the field's largest value (`0-59/70`, likewise), and years, of which
//! the crate knows 1970 to 2100 only while Quartz has no bounds and an open end (see `year.rs`).

use std::str::FromStr;

use cron::{Schedule, TimeUnitSpec};

use super::kind::FieldKind;

/// A span of values: `first`, `first + step` and so on up to `last`; `last < first` wraps around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: i32,
    pub(super) last: i32,
    pub(super) step: i32,
}

/// The values a field may take, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Values(u64);

impl Values {
    /// Every value that is larger counts as this one: no field ever reaches it.
    const BEYOND: i32 = 63;

    pub(super) fn insert(&mut self, value: i32) {
        if value >= 0 {
            self.0 |= 1 << value.min(Self::BEYOND);
        }
    }

    pub(super) fn contains(self, value: i32) -> bool {
        (0..=Self::BEYOND).contains(&value) && self.0 & (1 << value) != 0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn first(self) -> Option<i32> {
        self.at_or_after(0)
    }

    /// The smallest value that is not smaller than `value`.
    pub(super) fn at_or_after(self, value: i32) -> Option<i32> {
        let kept = match u32::try_from(value) {
            Ok(shift) => self.0 & u64::MAX.checked_shl(shift).unwrap_or(0),
            Err(_) => self.0,
        };
        (kept != 0).then(|| kept.trailing_zeros().cast_signed())
    }

    pub(super) fn iter(self) -> impl Iterator<Item = i32> {
        (0..=Self::BEYOND).filter(move |value| self.contains(*value))
    }

    pub(super) fn union(self, other: Values) -> Values {
        Values(self.0 | other.0)
    }
}

/// The values of a list of spans in a field.
pub(super) fn expand(kind: FieldKind, spans: &[Span]) -> Values {
    let (plain, own): (Vec<Span>, Vec<Span>) = spans.iter().partition(|span| is_plain(kind, **span));
    // Should a later version of the crate refuse what this one takes, the result stays the same.
    let by_crate = expand_by_crate(kind, &plain).unwrap_or_else(|| expand_here(kind, &plain));
    by_crate.union(expand_here(kind, &own))
}

/// True if the `cron` crate can express this span.
fn is_plain(kind: FieldKind, span: Span) -> bool {
    kind != FieldKind::Year
        && kind.allows(span.first)
        && kind.allows(span.last)
        && span.first <= span.last
        && (1..=kind.max()).contains(&span.step)
}

/// The part of the work that the `cron` crate does.
fn expand_by_crate(kind: FieldKind, spans: &[Span]) -> Option<Values> {
    if spans.is_empty() {
        return Some(Values::default());
    }
    let spans: Vec<String> = spans
        .iter()
        .map(|Span { first, last, step }| match step {
            _ if first == last => first.to_string(),
            1 => format!("{first}-{last}"),
            step => format!("{first}-{last}/{step}"),
        })
        .collect();
    let list = spans.join(",");
    let expression: Vec<&str> = FieldKind::ALL
        .iter()
        .filter(|other| **other != FieldKind::Year)
        .map(|other| if *other == kind { list.as_str() } else { "*" })
        .collect();
    let schedule = Schedule::from_str(&expression.join(" ")).ok()?;
    let mut values = Values::default();
    let mut collect = |ordinals: &mut dyn Iterator<Item = u32>| {
        ordinals.for_each(|ordinal| values.insert(i32::try_from(ordinal).unwrap_or(Values::BEYOND)));
    };
    match kind {
        FieldKind::Second => collect(&mut schedule.seconds().iter()),
        FieldKind::Minute => collect(&mut schedule.minutes().iter()),
        FieldKind::Hour => collect(&mut schedule.hours().iter()),
        FieldKind::DayOfMonth => collect(&mut schedule.days_of_month().iter()),
        FieldKind::Month => collect(&mut schedule.months().iter()),
        FieldKind::DayOfWeek => collect(&mut schedule.days_of_week().iter()),
        FieldKind::Year => return None,
    }
    Some(values)
}

/// Expansion without the crate: a range whose end is before its start goes once around the clock.
fn expand_here(kind: FieldKind, spans: &[Span]) -> Values {
    let mut values = Values::default();
    for span in spans {
        let wraps = span.last < span.first;
        let end = if wraps { span.last + kind.count() } else { span.last };
        let step = usize::try_from(span.step).unwrap_or(1).max(1);
        for value in (span.first..=end).step_by(step) {
            let turned = if wraps { (value - kind.min()).rem_euclid(kind.count()) + kind.min() } else { value };
            values.insert(turned);
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crate_and_own_expansion_agree_on_every_plain_span() {
        for kind in FieldKind::ALL.into_iter().filter(|kind| *kind != FieldKind::Year) {
            for first in kind.min()..=kind.max() {
                // Each start with ends and steps that differ from start to start: all of them would
                // take minutes.
                for last in (first..=kind.max()).step_by(7) {
                    for step in [1, 2, 3, 5 + first % 4, kind.max()] {
                        let span = Span { first, last, step };
                        if !is_plain(kind, span) {
                            continue;
                        }
                        let lists = [vec![span], vec![span, Span { first: last, last, step: 1 }]];
                        for list in lists {
                            assert_eq!(
                                expand_by_crate(kind, &list),
                                Some(expand_here(kind, &list)),
                                "{kind:?} {list:?}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn ranges_wrap_around() {
        let values =
            |kind, first, last, step| -> Vec<i32> { expand(kind, &[Span { first, last, step }]).iter().collect() };
        assert_eq!(values(FieldKind::Hour, 22, 2, 1), [0, 1, 2, 22, 23]);
        assert_eq!(values(FieldKind::DayOfWeek, 6, 2, 1), [1, 2, 6, 7]);
        assert_eq!(values(FieldKind::DayOfMonth, 28, 3, 2), [1, 3, 28, 30]);
        assert_eq!(values(FieldKind::Month, 11, 0, 1), [11, 12]);
        assert_eq!(values(FieldKind::Minute, 0, 59, 70), [0]);
    }

    #[test]
    fn sets_find_the_next_value() {
        let set = expand(FieldKind::Minute, &[Span { first: 10, last: 50, step: 20 }]);
        assert_eq!(set.at_or_after(10), Some(10));
        assert_eq!(set.at_or_after(11), Some(30));
        assert_eq!(set.at_or_after(51), None);
        assert_eq!(set.at_or_after(64), None);
        assert_eq!(set.at_or_after(-1), Some(10));
        assert_eq!(Values::default().first(), None);
    }
}
