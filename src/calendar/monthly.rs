//! `MonthDays`: days that are excluded in every month.

use crate::error::{Error, Result};
use chrono::{Datelike, NaiveDate};
use std::collections::BTreeSet;

/// Excludes days of every month, such as the first.
///
/// ```
/// use carnelian::calendar::MonthDays;
///
/// assert_eq!(MonthDays::excluding([15, 1])?.days().collect::<Vec<_>>(), [1, 15]);
/// assert!(MonthDays::excluding([32]).is_err());
/// # Ok::<(), carnelian::Error>(())
/// ```
#[doc(alias = "org.quartz.impl.calendar.MonthlyCalendar")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MonthDays {
    days: BTreeSet<u32>,
}

impl MonthDays {
    /// Excludes these days of the month, 1–31.
    ///
    /// # Errors
    /// [`Error::Invalid`] for another number.
    pub fn excluding(days: impl IntoIterator<Item = u32>) -> Result<Self> {
        let days: BTreeSet<_> = days.into_iter().collect();
        match days.iter().find(|day| !(1..=31).contains(*day)) {
            Some(day) => Err(Error::invalid("day of month", day, "expected 1 to 31")),
            None => Ok(Self { days }),
        }
    }

    /// The excluded days of the month.
    pub fn days(&self) -> impl Iterator<Item = u32> + '_ {
        self.days.iter().copied()
    }

    pub(super) fn excludes(&self, date: NaiveDate) -> bool {
        self.days.contains(&date.day())
    }

    pub(super) fn excludes_all(&self) -> bool {
        self.days.len() == 31
    }
}
