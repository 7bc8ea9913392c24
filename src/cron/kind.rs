//! The seven fields of a cron expression: their order, names and bounds.

/// A field of an expression: one of seven, in the order in which they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldKind {
    Second,
    Minute,
    Hour,
    DayOfMonth,
    Month,
    DayOfWeek,
    Year,
}

/// The last year any search looks at: Quartz's own limit against endless loops.
pub(super) const LAST_YEAR: i32 = 2999;

/// The first year that `*` stands for.
pub(super) const FIRST_YEAR: i32 = 1970;

impl FieldKind {
    /// All fields, as written from left to right.
    pub(super) const ALL: [FieldKind; 7] = [
        FieldKind::Second,
        FieldKind::Minute,
        FieldKind::Hour,
        FieldKind::DayOfMonth,
        FieldKind::Month,
        FieldKind::DayOfWeek,
        FieldKind::Year,
    ];

    /// The name used in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            FieldKind::Second => "second",
            FieldKind::Minute => "minute",
            FieldKind::Hour => "hour",
            FieldKind::DayOfMonth => "day of month",
            FieldKind::Month => "month",
            FieldKind::DayOfWeek => "day of week",
            FieldKind::Year => "year",
        }
    }

    /// The smallest value, where a `*` begins.
    pub(super) fn min(self) -> i32 {
        match self {
            FieldKind::Second | FieldKind::Minute | FieldKind::Hour => 0,
            FieldKind::DayOfMonth | FieldKind::Month | FieldKind::DayOfWeek => 1,
            FieldKind::Year => FIRST_YEAR,
        }
    }

    /// The largest value, where a `*` ends.
    pub(super) fn max(self) -> i32 {
        match self {
            FieldKind::Second | FieldKind::Minute => 59,
            FieldKind::Hour => 23,
            FieldKind::DayOfMonth => 31,
            FieldKind::Month => 12,
            FieldKind::DayOfWeek => 7,
            FieldKind::Year => LAST_YEAR,
        }
    }

    /// The number of values before a range begins again at [`FieldKind::min`].
    pub(super) fn count(self) -> i32 {
        self.max() - self.min() + 1
    }

    /// The largest step of `*/n` and `a/n`; Quartz has no such limit in `a-b/n` and in years.
    pub(super) fn max_step(self) -> Option<i32> {
        match self {
            FieldKind::Second | FieldKind::Minute => Some(59),
            FieldKind::Hour => Some(23),
            FieldKind::DayOfMonth => Some(31),
            FieldKind::Month => Some(12),
            FieldKind::DayOfWeek => Some(7),
            FieldKind::Year => None,
        }
    }

    /// True if the field is one of the two day fields, of which exactly one is `?`.
    pub(super) fn is_day(self) -> bool {
        matches!(self, FieldKind::DayOfMonth | FieldKind::DayOfWeek)
    }

    /// True if `value` may be written in this field; years are not checked, as in Quartz.
    pub(super) fn allows(self, value: i32) -> bool {
        self == FieldKind::Year || (self.min()..=self.max()).contains(&value)
    }
}

/// Month names; the first is month 1.
pub(super) const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];

/// Weekday names; the first, Sunday, is day 1.
pub(super) const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// The number of a name in a list of names that begins with 1.
pub(super) fn number_of(names: &[&str], name: &str) -> Option<i32> {
    (1..).zip(names).find(|(_, known)| **known == name).map(|(number, _)| number)
}
