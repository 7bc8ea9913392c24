//! `AnnualDays`: days that are excluded in every year.

use crate::error::{Error, Result};
use chrono::{Datelike, NaiveDate};
use std::collections::BTreeSet;

/// Excludes days of every year, such as the first of January.
///
/// ```
/// use carnelian::calendar::{AnnualDays, Calendar};
///
/// let calendar = Calendar::new(AnnualDays::excluding([(1, 1), (12, 25)])?);
/// assert!(!calendar.is_time_included("2026-01-01T00:00:00Z".parse()?));
/// assert!(AnnualDays::excluding([(2, 30)]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "org.quartz.impl.calendar.AnnualCalendar")]
#[derive(Clone, Debug, Default)]
pub struct AnnualDays {
    days: BTreeSet<(u32, u32)>,
    /// As Quartz stores them: in the order in which they were given, and twice if given twice.
    given: Vec<(u32, u32)>,
}

impl AnnualDays {
    /// Excludes these days, each as month (1–12) and day of month.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a day that not even a leap year has.
    pub fn excluding(days: impl IntoIterator<Item = (u32, u32)>) -> Result<Self> {
        let given: Vec<_> = days.into_iter().collect();
        let days: BTreeSet<_> = given.iter().copied().collect();
        match days.iter().find(|(month, day)| NaiveDate::from_ymd_opt(2024, *month, *day).is_none()) {
            Some((month, day)) => {
                Err(Error::invalid("annual day", format!("{month}-{day}"), "expected month and day of a leap year"))
            }
            None => Ok(Self { days, given }),
        }
    }

    /// The excluded days as month and day of month, as they were given.
    pub fn days(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.given.iter().copied()
    }

    pub(super) fn excludes(&self, date: NaiveDate) -> bool {
        self.days.contains(&(date.month(), date.day()))
    }
}

/// Equal if the same days are excluded.
impl PartialEq for AnnualDays {
    fn eq(&self, other: &Self) -> bool {
        self.days == other.days
    }
}

impl Eq for AnnualDays {}
