//! Calendars: the times that a trigger leaves out.

mod annual;
mod cron;
mod daily;
mod holiday;
#[cfg(feature = "java-streams")]
mod java;
#[cfg(not(feature = "java-streams"))]
#[path = "no_java.rs"]
mod java;
mod monthly;
#[cfg(feature = "java-streams")]
mod origin;
mod weekly;

pub use annual::AnnualDays;
pub use cron::CronTimes;
pub use daily::DailyRange;
pub use holiday::Holidays;
pub use monthly::MonthDays;
pub use weekly::Weekdays;

use crate::epoch::moment;
use crate::error::{Error, Result};
use crate::from::from;
use crate::key::check_text;
use crate::local;
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
#[cfg(not(feature = "java-streams"))]
use java::Origin;
#[cfg(feature = "java-streams")]
use origin::Origin;

/// The largest number of calendars that may be laid upon each other.
pub const MAX_CALENDAR_DEPTH: usize = 32;

/// The largest number of excluded spans that a search passes before it gives up: decades of days.
const MAX_SPANS: usize = 20_000;

/// The most questions that one search asks the base for its next included time: each answer may be
/// a search of its own.
const MAX_QUESTIONS: usize = 10;

/// The most days that a search tries for one that is not excluded: the 29th of February comes
/// within eight years.
const MAX_DAYS: usize = 4_000;

/// A set of excluded times, which the triggers that name it leave out.
///
/// A time is included if the calendar's own rule and the calendars below it all include it. Rules
/// look at the clock and the date in the calendar's zone, with the answers of Quartz where clocks
/// change.
///
/// ```
/// use carnelian::calendar::{Calendar, Holidays, Weekdays};
/// use chrono::NaiveDate;
/// use chrono_tz::Europe::Berlin;
///
/// let christmas = NaiveDate::from_ymd_opt(2026, 12, 25).into_iter();
/// let working_days = Calendar::new(Holidays::on(christmas))
///     .in_zone(Berlin)
///     .over(Calendar::new(Weekdays::weekend()).in_zone(Berlin));
///
/// assert!(working_days.is_time_included("2026-12-24T12:00:00+01:00".parse()?));
/// assert!(!working_days.is_time_included("2026-12-25T12:00:00+01:00".parse()?));
/// assert!(!working_days.is_time_included("2026-12-26T12:00:00+01:00".parse()?));
/// # Ok::<(), chrono::ParseError>(())
/// ```
#[doc(alias = "org.quartz.Calendar")]
#[derive(Clone, Debug)]
pub struct Calendar {
    pub(crate) rule: CalendarRule,
    pub(crate) zone: Option<Tz>,
    pub(crate) default_zone: Tz,
    pub(crate) description: Option<String>,
    pub(crate) base: Option<Box<Calendar>>,
    origin: Origin,
}

/// Calendars are equal if they leave out the same times and read alike: the default zone counts
/// only where a calendar has none of its own, and the bytes that one was read from do not.
impl PartialEq for Calendar {
    fn eq(&self, other: &Self) -> bool {
        self.rule == other.rule
            && self.zone == other.zone
            && (self.zone.is_some() || self.default_zone == other.default_zone)
            && self.description == other.description
            && self.base == other.base
    }
}

impl Eq for Calendar {}

/// The rule by which a calendar itself excludes times.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CalendarRule {
    /// Nothing.
    #[doc(alias = "BaseCalendar")]
    Nothing,
    /// Days of every year.
    Annual(AnnualDays),
    /// The seconds that match a cron expression.
    Cron(CronTimes),
    /// A time of every day, or all but that.
    Daily(DailyRange),
    /// Dates.
    Holiday(Holidays),
    /// Days of every month.
    Monthly(MonthDays),
    /// Days of every week.
    Weekly(Weekdays),
}

impl CalendarRule {
    /// The kind, in Quartz's word: `base`, `annual`, `cron`, `daily`, `holiday`, `monthly` or
    /// `weekly`.
    pub fn name(&self) -> &'static str {
        match self {
            CalendarRule::Nothing => "base",
            CalendarRule::Annual(_) => "annual",
            CalendarRule::Cron(_) => "cron",
            CalendarRule::Daily(_) => "daily",
            CalendarRule::Holiday(_) => "holiday",
            CalendarRule::Monthly(_) => "monthly",
            CalendarRule::Weekly(_) => "weekly",
        }
    }
}

from! {
    CalendarRule {
        AnnualDays => |days| Self::Annual(days),
        CronTimes => |times| Self::Cron(times),
        DailyRange => |range| Self::Daily(range),
        Holidays => |days| Self::Holiday(days),
        MonthDays => |days| Self::Monthly(days),
        Weekdays => |days| Self::Weekly(days),
    }
}

impl Calendar {
    /// The calendar of a rule: no zone of its own, no base, no description.
    pub fn new(rule: impl Into<CalendarRule>) -> Self {
        Self {
            rule: rule.into(),
            zone: None,
            default_zone: Tz::UTC,
            description: None,
            base: None,
            origin: Origin::default(),
        }
    }

    /// The zone in whose clocks and dates the rule is read. Default: the default zone.
    pub fn in_zone(mut self, zone: Tz) -> Self {
        self.zone = Some(zone);
        self.changed()
    }

    /// The zone that counts where a calendar, or one below it, has none of its own. Default: UTC.
    ///
    /// The default zone is not part of the stored calendar: in Java it is the zone of the virtual
    /// machine that asks.
    pub fn with_default_zone(mut self, zone: Tz) -> Self {
        self.default_zone = zone;
        self.base = self.base.map(|base| Box::new(base.with_default_zone(zone)));
        self
    }

    /// Excludes also what another calendar excludes.
    #[doc(alias = "setBaseCalendar")]
    pub fn over(mut self, base: Calendar) -> Self {
        self.base = Some(Box::new(base));
        self.changed()
    }

    /// A note for people.
    pub fn describe(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self.changed()
    }

    /// The stored text no longer describes a changed calendar.
    fn changed(mut self) -> Self {
        self.origin = Origin::default();
        self
    }

    /// The rule of the calendar itself, without its base.
    pub fn rule(&self) -> &CalendarRule {
        &self.rule
    }

    /// The calendar's own zone; none means the default zone.
    pub fn zone(&self) -> Option<Tz> {
        self.zone
    }

    /// The zone that counts where there is none of its own.
    pub fn default_zone(&self) -> Tz {
        self.default_zone
    }

    /// The calendar below, which excludes times too.
    pub fn base(&self) -> Option<&Calendar> {
        self.base.as_deref()
    }

    /// A note for people.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// True if nothing excludes this instant.
    ///
    /// ```
    /// use carnelian::calendar::{Calendar, MonthDays};
    ///
    /// let not_on_the_first = Calendar::new(MonthDays::excluding([1])?);
    /// assert!(!not_on_the_first.is_time_included("2026-03-01T12:00:00Z".parse()?));
    /// assert!(not_on_the_first.is_time_included("2026-03-02T12:00:00Z".parse()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "isTimeIncluded")]
    pub fn is_time_included(&self, time: DateTime<Utc>) -> bool {
        self.includes(time.timestamp_millis())
    }

    /// As [`Calendar::is_time_included`], in epoch milliseconds.
    pub(crate) fn includes(&self, ms: i64) -> bool {
        self.base().is_none_or(|base| base.includes(ms)) && self.own_rule_includes(ms)
    }

    /// The next included time as Quartz defines it, which differs from rule to rule.
    ///
    /// For cron and daily rules the first included instant *after* `time`. For annual, monthly and
    /// weekly ones `time` itself if its day is not excluded, otherwise the beginning of the next
    /// day that is not. For holidays the beginning of the first day that is not excluded, counted
    /// from the one of `time`, so that it may lie before `time`. None if there is no such time, or
    /// none within some years. Triggers do not use it: they step from one of their own times to the
    /// next.
    ///
    /// ```
    /// use carnelian::calendar::{Calendar, MonthDays};
    ///
    /// let not_on_the_first = Calendar::new(MonthDays::excluding([1])?);
    /// let next = not_on_the_first.next_included_time("2026-03-01T12:00:00Z".parse()?);
    /// assert_eq!(next, Some("2026-03-02T00:00:00Z".parse()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "getNextIncludedTime")]
    pub fn next_included_time(&self, time: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.next_included_ms(time.timestamp_millis()).map(moment)
    }

    /// As [`Calendar::next_included_time`], in epoch milliseconds.
    fn next_included_ms(&self, ms: i64) -> Option<i64> {
        let zone = self.effective_zone();
        match &self.rule {
            CalendarRule::Nothing => self.base().map_or(Some(ms), |base| base.next_included_ms(ms)),
            CalendarRule::Cron(_) | CalendarRule::Daily(_) => self.first_included(ms.checked_add(1)?),
            CalendarRule::Monthly(days) if days.excludes_all() => None,
            CalendarRule::Weekly(days) if days.excludes_all() => None,
            CalendarRule::Monthly(_) | CalendarRule::Weekly(_) => {
                next_day_that(ms.max(self.next_of_base(ms)?), zone, false, |day| self.own_rule_includes(day))
            }
            CalendarRule::Annual(_) => {
                next_day_that(ms.max(self.next_of_base(ms)?), zone, false, |day| self.includes(day))
            }
            CalendarRule::Holiday(_) => {
                next_day_that(ms.max(self.next_of_base(ms)?), zone, true, |day| self.includes(day))
            }
        }
    }

    /// For an excluded instant, a later one before which nothing is included; none if nothing will
    /// ever be.
    pub(crate) fn skip(&self, ms: i64) -> Option<i64> {
        let mut later = ms.checked_add(1)?;
        if let Some(base) = self.base()
            && !base.includes(ms)
        {
            later = later.max(base.skip(ms)?);
        }
        if !self.own_rule_includes(ms) {
            later = later.max(self.skip_by_own_rule(ms)?);
        }
        Some(later)
    }

    /// As [`Calendar::skip`], for an instant that the own rule excludes, by that rule alone.
    fn skip_by_own_rule(&self, ms: i64) -> Option<i64> {
        let zone = self.effective_zone();
        match &self.rule {
            CalendarRule::Nothing => ms.checked_add(1),
            CalendarRule::Monthly(days) if days.excludes_all() => None,
            CalendarRule::Weekly(days) if days.excludes_all() => None,
            CalendarRule::Annual(_) | CalendarRule::Holiday(_) | CalendarRule::Monthly(_) | CalendarRule::Weekly(_) => {
                local::next_day(ms, zone)
            }
            CalendarRule::Cron(times) => times.skip(ms, zone),
            CalendarRule::Daily(range) => range.skip(ms, zone),
        }
    }

    /// Checks what can be checked without the store.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a description cannot be stored or more than [`MAX_CALENDAR_DEPTH`]
    /// calendars are laid upon each other.
    pub fn check(&self) -> Result<()> {
        let mut depth = 0;
        let mut at = Some(self);
        while let Some(calendar) = at {
            depth += 1;
            if let Some(text) = &calendar.description {
                check_text("calendar description", text, 1000)?;
            }
            at = calendar.base();
        }
        if depth > MAX_CALENDAR_DEPTH {
            let expected = format!("at most {MAX_CALENDAR_DEPTH} calendars upon each other");
            return Err(Error::invalid("calendar depth", depth, expected));
        }
        Ok(())
    }

    fn effective_zone(&self) -> Tz {
        self.zone.unwrap_or(self.default_zone)
    }

    /// True if the own rule includes an instant; one beyond what a date can show is not.
    fn own_rule_includes(&self, ms: i64) -> bool {
        let zone = self.effective_zone();
        match &self.rule {
            CalendarRule::Nothing => Some(true),
            CalendarRule::Annual(days) => local::date_at(ms, zone).map(|date| !days.excludes(date)),
            CalendarRule::Cron(times) => times.includes(ms, zone),
            CalendarRule::Daily(range) => range.includes(ms, zone),
            CalendarRule::Holiday(days) => days.includes(ms, zone),
            CalendarRule::Monthly(days) => local::date_at(ms, zone).map(|date| !days.excludes(date)),
            CalendarRule::Weekly(days) => local::date_at(ms, zone).map(|date| !days.excludes(date)),
        }
        .unwrap_or(false)
    }

    /// The base's answer, or the instant itself where there is no base.
    fn next_of_base(&self, ms: i64) -> Option<i64> {
        self.base().map_or(Some(ms), |base| base.next_included_ms(ms))
    }

    /// The first included instant from `from` on.
    ///
    /// Quartz asks the base where only the base excludes an instant, and takes its answer, which
    /// after a midnight that the clock jumps over may be an hour late.
    fn first_included(&self, from: i64) -> Option<i64> {
        let mut at = from;
        for span in 0..MAX_SPANS {
            if self.includes(at) {
                return Some(at);
            }
            let mut later = at.checked_add(1)?;
            if !self.own_rule_includes(at) {
                later = later.max(match &self.rule {
                    CalendarRule::Cron(times) => times.skip_on_clock(at, self.effective_zone())?,
                    _ => self.skip_by_own_rule(at)?,
                });
            }
            if let Some(base) = self.base()
                && !base.includes(at)
            {
                let ask = || base.next_included_ms(at).filter(|answer| *answer > at);
                let answer = if span < MAX_QUESTIONS { ask() } else { None };
                later = later.max(answer.or_else(|| base.skip(at))?);
            }
            at = later;
        }
        None
    }
}

/// `ms`, or with `whole_day` the beginning of its day, if that beginning is `fine`; otherwise that
/// of the next day that is.
fn next_day_that(ms: i64, zone: Tz, whole_day: bool, fine: impl Fn(i64) -> bool) -> Option<i64> {
    let mut day = local::start_of_day(ms, zone)?;
    if fine(day) {
        return Some(if whole_day { day } else { ms });
    }
    for _ in 0..MAX_DAYS {
        day = local::add_day(day, zone)?;
        if fine(day) {
            return Some(day);
        }
    }
    None
}

#[cfg(test)]
mod tests;
