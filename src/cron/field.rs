//! The values of one field as a set.

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
}

/// The values of a list of spans in a field. A range that ends before its start goes once around
/// the clock.
pub(super) fn expand(kind: FieldKind, spans: &[Span]) -> Values {
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
