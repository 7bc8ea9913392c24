//! Cron expressions in the dialect of Quartz 2.3: when they fire, and what they say.

mod day;
mod element;
mod error;
mod explain;
mod field;
mod kind;
mod next;
mod parse;
mod scan;
mod shared_dialect;
mod time_change;
mod wall;
mod year;
pub(crate) mod zone;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

pub use self::error::CronParseError;
use self::explain::is_every;
use self::kind::FieldKind;
use self::parse::Plan;
pub(crate) use self::time_change::TimeChange;
use self::wall::Wall;
use crate::epoch::moment;

/// A cron expression: `second minute hour day-of-month month day-of-week [year]`.
///
/// The dialect is that of Quartz 2.3.2, all of it: `?` in exactly one of the two day fields, `L`,
/// `L-3`, `LW`, `L-3W` and `15W` in day of month, `L` (Saturday), `6L` and `6#3` in day of week,
/// where 1 is Sunday, names, lists, steps, and ranges that wrap around (`22-2`, `FRI-MON`,
/// `NOV-FEB`). The parser accepts everything that Quartz accepts, with the same meaning and its
/// oddities, because Java nodes work on the same rows.
///
/// ```
/// use carnelian::cron::CronExpression;
///
/// let expression = CronExpression::parse("0 30 8 ? * mon-fri")?;
/// assert_eq!(expression.text(), "0 30 8 ? * MON-FRI");
///
/// // The next weekday's 08:30 in Berlin after a Sunday is that of Monday, 07:30 UTC.
/// let sunday = "2026-03-01T12:00:00Z".parse()?;
/// let next = expression.next_after(sunday, chrono_tz::Europe::Berlin, 2026);
/// assert_eq!(next, Some("2026-03-02T07:30:00Z".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronExpression {
    text: String,
    plan: Plan,
}

impl CronExpression {
    /// Reads an expression; letters may be of either case.
    ///
    /// # Errors
    ///
    /// If the text is no cron expression: the error names the column and the expected text. The
    /// parser refuses what Quartz refuses, but for fields that name no time at all, such as `98/2`.
    ///
    /// ```
    /// use carnelian::cron::CronExpression;
    ///
    /// assert!(CronExpression::parse("0 0 12 L-3W * ? 2026-2030/2").is_ok());
    ///
    /// let error = CronExpression::parse("0 0 12 * * *").unwrap_err();
    /// assert_eq!(error.reason, "expected `?` in day of month or in day of week, found `*` and `*`");
    /// ```
    pub fn parse(text: &str) -> Result<Self, CronParseError> {
        let upper = text.to_uppercase();
        let plan = shared_dialect::plan(&upper).map_or_else(|| parse::parse_whole_dialect(&upper), Ok);
        match plan {
            Ok(plan) => Ok(CronExpression { text: upper, plan }),
            Err(complaint) => Err(complaint.about(text)),
        }
    }

    /// The text as Quartz stores it in `CRON_EXPRESSION`: upper-cased, white space kept.
    ///
    /// ```
    /// use carnelian::cron::CronExpression;
    ///
    /// let expression = CronExpression::parse(" 0 0  12 lw jan ?")?;
    /// assert_eq!(expression.text(), " 0 0  12 LW JAN ?");
    /// # Ok::<(), carnelian::cron::CronParseError>(())
    /// ```
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The first time after an instant at which the expression fires.
    ///
    /// Quartz's `getNextValidTimeAfter`: the result is a whole second, strictly later, and none
    /// beyond a hundred years after `now_year`. The search also follows Quartz where clocks change:
    /// a time that the clock jumps over does not fire that day, and of an hour that comes twice
    /// only the second pass fires, so that sub-hourly expressions pause for an hour. Expressions
    /// for which Quartz throws or loops for ever give no time, or go on with the next month.
    ///
    /// ```
    /// use carnelian::cron::CronExpression;
    /// use chrono_tz::Europe::Berlin;
    ///
    /// let half_past_two = CronExpression::parse("0 30 2 * * ?")?;
    /// // The 29th of March 2026 has no 02:30 in Berlin.
    /// let noon = "2026-03-28T11:00:00Z".parse()?;
    /// assert_eq!(half_past_two.next_after(noon, Berlin, 2026), Some("2026-03-30T00:30:00Z".parse()?));
    ///
    /// let never = CronExpression::parse("0 0 0 30 2 ?")?;
    /// assert_eq!(never.next_after(noon, Berlin, 2026), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "getNextValidTimeAfter")]
    #[doc(alias = "getTimeAfter")]
    pub fn next_after(&self, after: DateTime<Utc>, zone: Tz, now_year: i32) -> Option<DateTime<Utc>> {
        self.next_ms_after(after.timestamp_millis(), zone, now_year).map(moment)
    }

    /// As [`next_after`](Self::next_after), in epoch milliseconds.
    pub(crate) fn next_ms_after(&self, after_ms: i64, zone: Tz, now_year: i32) -> Option<i64> {
        next::next_after(&self.plan, after_ms, zone, now_year)
    }

    /// As [`next_after`](Self::next_after), where clocks change as `change` says.
    pub(crate) fn next_with(&self, after_ms: i64, zone: Tz, now_year: i32, change: TimeChange) -> Option<i64> {
        if change.is_quartz() {
            return self.next_ms_after(after_ms, zone, now_year);
        }
        time_change::next_after(&self.plan, after_ms, zone, now_year, change)
    }

    /// True if the expression fires in the second of this instant.
    ///
    /// As Quartz's `isSatisfiedBy`, it asks about the time on the wall clock: an instant in the
    /// first pass of a repeated hour gets the answer for the second pass.
    ///
    /// ```
    /// use carnelian::cron::CronExpression;
    ///
    /// let noon = CronExpression::parse("0 0 12 * * ?")?;
    /// assert!(noon.is_satisfied_by("2026-03-01T12:00:00.999Z".parse()?, chrono_tz::UTC, 2026));
    /// assert!(!noon.is_satisfied_by("2026-03-01T12:00:01Z".parse()?, chrono_tz::UTC, 2026));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "isSatisfiedBy")]
    pub fn is_satisfied_by(&self, time: DateTime<Utc>, zone: Tz, now_year: i32) -> bool {
        self.fires_at(time.timestamp_millis(), zone, now_year)
    }

    /// As [`is_satisfied_by`](Self::is_satisfied_by), in epoch milliseconds.
    pub(crate) fn fires_at(&self, ms: i64, zone: Tz, now_year: i32) -> bool {
        let Some(second) = Wall::at(ms, zone).and_then(Wall::instant) else {
            return false;
        };
        let before = second.checked_sub(1000);
        before.and_then(|before| self.next_ms_after(before, zone, now_year)) == Some(second)
    }

    /// The number of the first fields, seconds, minutes and hours, that have every value.
    pub(crate) fn open_fields(&self) -> usize {
        let Plan { seconds, minutes, hours, .. } = &self.plan;
        let fields = [(FieldKind::Second, seconds), (FieldKind::Minute, minutes), (FieldKind::Hour, hours)];
        fields.iter().take_while(|(kind, values)| is_every(*kind, **values)).count()
    }

    /// The expression in English words.
    ///
    /// ```
    /// use carnelian::cron::CronExpression;
    ///
    /// let explain = |text| CronExpression::parse(text).map(|expression| expression.explain());
    /// assert_eq!(explain("0 30 8 ? * MON-FRI")?, "at 08:30:00, on Monday to Friday");
    /// assert_eq!(
    ///     explain("0 0/15 * LW 6 ?")?,
    ///     "every 15th minute from 0 of every hour, on the last weekday (Monday to Friday) of the month, in June"
    /// );
    /// # Ok::<(), carnelian::cron::CronParseError>(())
    /// ```
    pub fn explain(&self) -> String {
        explain::explain(&self.plan)
    }
}

impl fmt::Display for CronExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for CronExpression {
    type Err = CronParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        CronExpression::parse(text)
    }
}

/// Equal expressions have equal texts, and the text says all.
impl Hash for CronExpression {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

#[cfg(test)]
mod tests;
