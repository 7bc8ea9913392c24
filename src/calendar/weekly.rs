//! `Weekdays`: days that are excluded in every week.

use chrono::{Datelike, NaiveDate, Weekday};

/// Excludes days of every week.
///
/// ```
/// use carnelian::calendar::Weekdays;
/// use chrono::Weekday;
///
/// assert_eq!(Weekdays::weekend(), Weekdays::excluding([Weekday::Sat, Weekday::Sun]));
/// ```
#[doc(alias = "org.quartz.impl.calendar.WeeklyCalendar")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weekdays {
    /// By the number of days since Sunday.
    excluded: [bool; 7],
}

const FROM_SUNDAY: [Weekday; 7] =
    [Weekday::Sun, Weekday::Mon, Weekday::Tue, Weekday::Wed, Weekday::Thu, Weekday::Fri, Weekday::Sat];

impl Weekdays {
    /// Excludes these weekdays and no other.
    pub fn excluding(days: impl IntoIterator<Item = Weekday>) -> Self {
        let days: Vec<_> = days.into_iter().collect();
        Self { excluded: FROM_SUNDAY.map(|day| days.contains(&day)) }
    }

    /// Excludes Saturday and Sunday: what Quartz's `new WeeklyCalendar()` excludes.
    pub fn weekend() -> Self {
        Self::excluding([Weekday::Sat, Weekday::Sun])
    }

    /// The excluded weekdays, from Sunday on.
    pub fn days(&self) -> impl Iterator<Item = Weekday> + '_ {
        FROM_SUNDAY.into_iter().zip(self.excluded).filter_map(|(day, excluded)| excluded.then_some(day))
    }

    pub(super) fn excludes(&self, date: NaiveDate) -> bool {
        self.days().any(|day| day == date.weekday())
    }

    pub(super) fn excludes_all(&self) -> bool {
        self.excluded == [true; 7]
    }
}
