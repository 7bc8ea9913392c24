//! `IntervalUnit`: what an interval counts.

use std::fmt;

/// The years ahead of the present one in which a time is looked for, as in Quartz.
pub(crate) const YEARS_AHEAD: i32 = 100;

/// The unit of an interval: a span of fixed length, or a step on the calendar.
#[doc(alias = "org.quartz.DateBuilder.IntervalUnit")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntervalUnit {
    /// One second.
    Second,
    /// Sixty seconds.
    Minute,
    /// 3600 seconds, whatever the clocks do.
    Hour,
    /// To the same time of the next day.
    Day,
    /// Seven days.
    Week,
    /// To the same day of the next month, or its last.
    Month,
    /// To the same date of the next year.
    Year,
}

use IntervalUnit::*;

impl IntervalUnit {
    /// Every unit, the shortest first.
    pub const ALL: [Self; 7] = [Second, Minute, Hour, Day, Week, Month, Year];

    /// The word that Quartz stores.
    pub fn name(self) -> &'static str {
        match self {
            Second => "SECOND",
            Minute => "MINUTE",
            Hour => "HOUR",
            Day => "DAY",
            Week => "WEEK",
            Month => "MONTH",
            Year => "YEAR",
        }
    }

    /// The unit of this name, in the spelling of [`IntervalUnit::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.name() == name)
    }

    /// The length in milliseconds, where all are of one length.
    pub(super) fn fixed_ms(self) -> Option<i64> {
        match self {
            Second => Some(1_000),
            Minute => Some(60_000),
            Hour => Some(3_600_000),
            Day | Week | Month | Year => None,
        }
    }
}

/// In lower case, as one of them.
impl fmt::Display for IntervalUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name().to_ascii_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_means_its_unit() {
        for unit in IntervalUnit::ALL {
            assert_eq!(IntervalUnit::from_name(unit.name()), Some(unit));
        }
        assert_eq!(IntervalUnit::from_name("MILLISECOND"), None);
    }
}
