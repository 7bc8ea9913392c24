//! `RecurrenceSchedule`: by a recurrence rule of iCalendar (RFC 5545).

mod rule;
mod times;

use crate::error::{Error, Result};
use crate::zone::of_machine;
use chrono::{NaiveDateTime, Timelike};
use chrono_tz::Tz;
use rule::{Rule, TIME};
use std::collections::BTreeSet;

/// The longest text that its column takes.
const MAX_LENGTH: usize = 2_000;

/// Fires by a recurrence rule of iCalendar, as clocks in its zone show its times:
/// `FREQ=MONTHLY;BYDAY=-1FR`.
///
/// A recurrence begins with the trigger's start, which is the rule's `DTSTART`: the start gives the
/// time of day and whatever else the rule leaves open, and is cut to the whole second. A trigger
/// that starts when it is stored thus recurs at that time of day.
///
/// Of a time that the clock shows twice the first is meant, and both in hourly rules; a time that
/// the clock jumps over is later by the length of the gap. Rules of minutes and seconds are
/// refused: those are simple or cron schedules.
///
/// Quartz has no such kind. A recurrence is stored so that a Java node never takes it, and refused
/// while one is a member of the cluster. Needs the feature `recurrence`; without it
/// [`RecurrenceSchedule::new`] fails and stored recurrences are left alone.
///
/// ```
/// use carnelian::{JobKey, RecurrenceSchedule, Trigger, TriggerKey};
/// use chrono::{DateTime, Utc};
/// use chrono_tz::Europe::Berlin;
///
/// let start: DateTime<Utc> = "2027-01-01T16:00:00Z".parse()?;
/// # #[cfg(feature = "recurrence")] {
/// let trigger = Trigger::builder(TriggerKey::named("last-friday"), JobKey::named("report"))
///     .schedule(RecurrenceSchedule::new("FREQ=MONTHLY;BYDAY=-1FR")?.in_zone(Berlin))
///     .start_at(start)
///     .build()?;
/// let shown = |time: DateTime<Utc>| time.with_timezone(&Berlin).format("%d.%m. %H:%M").to_string();
/// let times: Vec<_> = trigger.upcoming(None, start).map(shown).take(3).collect();
/// assert_eq!(times, ["29.01. 17:00", "26.02. 17:00", "26.03. 17:00"]);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RecurrenceSchedule {
    rule: Rule,
    zone: Tz,
    /// The zone was given; otherwise that of the scheduler takes its place.
    pub(super) is_zone_given: bool,
    left_out: BTreeSet<NaiveDateTime>,
    added: BTreeSet<NaiveDateTime>,
}

impl RecurrenceSchedule {
    /// The schedule of a rule in the scheduler's zone.
    ///
    /// The rule may stand alone, or be one of the lines of iCalendar: `RRULE:…`, and `EXDATE:…` and
    /// `RDATE:…` with times on the clock of the zone, such as `20270101T090000`, that are left out
    /// or added.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is no rule, or one of minutes or seconds, counts more than 10,000
    /// times, or may have more than 50,000 times in one of its periods.
    pub fn new(text: &str) -> Result<Self> {
        let bad = |reason: String| Error::invalid("recurrence", text, reason);
        let (mut rule, mut left_out, mut added) = (None, BTreeSet::new(), BTreeSet::new());
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').unwrap_or(("RRULE", line));
            match name.to_ascii_uppercase().as_str() {
                "RRULE" if rule.is_none() => rule = Some(Rule::parse(value).map_err(bad)?),
                "RRULE" => return Err(bad("expected one rule, found two".to_owned())),
                "EXDATE" => left_out.extend(times_of(value).map_err(bad)?),
                "RDATE" => added.extend(times_of(value).map_err(bad)?),
                name if name.starts_with("DTSTART") => {
                    return Err(bad("DTSTART: the rule begins with the start time of its trigger".to_owned()));
                }
                name => return Err(bad(format!("`{name}`: expected RRULE, EXDATE or RDATE without parameters"))),
            }
        }
        let rule = rule.ok_or_else(|| bad("expected a rule such as FREQ=WEEKLY;BYDAY=MO,FR".to_owned()))?;
        Ok(Self { rule, zone: of_machine(), is_zone_given: false, left_out, added })
    }

    /// A copy with the same times on the clocks of this zone. Default: the zone of the scheduler,
    /// as for [`CronSchedule`](crate::CronSchedule).
    pub fn in_zone(mut self, zone: Tz) -> Self {
        (self.zone, self.is_zone_given) = (zone, true);
        self
    }

    /// Leaves out these times on the clock of its zone (`EXDATE`).
    pub fn leaving_out(mut self, times: impl IntoIterator<Item = NaiveDateTime>) -> Self {
        self.left_out.extend(times);
        self
    }

    /// Fires at these times on the clock of its zone too (`RDATE`).
    pub fn also_at(mut self, times: impl IntoIterator<Item = NaiveDateTime>) -> Self {
        self.added.extend(times);
        self
    }

    /// The rule.
    pub fn rule(&self) -> &str {
        &self.rule.text
    }

    /// The time zone; that of the machine before a schedule without a zone is stored.
    pub fn zone(&self) -> Tz {
        self.zone
    }

    /// The times left out, see [`leaving_out`](Self::leaving_out).
    pub fn left_out(&self) -> impl Iterator<Item = NaiveDateTime> {
        self.left_out.iter().copied()
    }

    /// The times added, see [`also_at`](Self::also_at).
    pub fn added(&self) -> impl Iterator<Item = NaiveDateTime> {
        self.added.iter().copied()
    }

    /// The lines of iCalendar that say all but start and zone, as [`new`](Self::new) reads them.
    pub fn lines(&self) -> String {
        let list = |name: &str, times: &BTreeSet<NaiveDateTime>| match times.is_empty() {
            true => String::new(),
            false => {
                let times: Vec<_> = times.iter().map(|time| time.format(TIME).to_string()).collect();
                format!("\n{name}:{}", times.join(","))
            }
        };
        format!("RRULE:{}{}{}", self.rule(), list("EXDATE", &self.left_out), list("RDATE", &self.added))
    }

    pub(crate) fn check(&self) -> Result<()> {
        if let Some(time) = self.left_out.iter().chain(&self.added).find(|time| time.nanosecond() != 0) {
            return Err(Error::invalid("time of a recurrence", time, "expected whole seconds"));
        }
        let length = self.lines().chars().count();
        if length > MAX_LENGTH {
            let expected = format!("expected at most {MAX_LENGTH} characters with all times left out or added");
            return Err(Error::invalid("recurrence", format!("{} … ({length} characters)", self.rule()), expected));
        }
        Ok(())
    }
}

/// `20270101T090000,20270108T090000`
fn times_of(list: &str) -> std::result::Result<Vec<NaiveDateTime>, String> {
    let time = |text: &str| {
        NaiveDateTime::parse_from_str(&text.trim().to_ascii_uppercase(), TIME).map_err(|_| {
            format!("`{text}`: expected times on the clock of the schedule's zone, such as 20270101T090000")
        })
    };
    list.split(',').map(time).collect()
}

#[cfg(test)]
#[cfg(feature = "recurrence")]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let lines = "RRULE:FREQ=WEEKLY;BYDAY=MO,FR\nEXDATE:20270104T090000,20270108T090000\nRDATE:20270105T120000";
        let read = RecurrenceSchedule::new(lines).unwrap();
        assert_eq!(read.lines(), lines);
        assert_eq!(RecurrenceSchedule::new(&read.lines()).unwrap(), read);
        assert_eq!((read.left_out().count(), read.added().count()), (2, 1));
        let alone = RecurrenceSchedule::new(" freq=weekly;byday=mo,fr ").unwrap();
        assert_eq!(alone.lines(), "RRULE:FREQ=WEEKLY;BYDAY=MO,FR");
        assert_eq!(alone.leaving_out(read.left_out()).also_at(read.added()), read);
        assert!(read.check().is_ok());
    }

    #[test]
    fn mistakes_are_named_with_what_was_expected() {
        for (text, hint) in [
            ("", "expected a rule such as"),
            ("every day", "parsing"),
            ("FREQ=MINUTELY", "HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY"),
            ("FREQ=SECONDLY;INTERVAL=5", "HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY"),
            ("FREQ=DAILY;INTERVAL=0", "INTERVAL"),
            ("RRULE:FREQ=DAILY;INTERVAL=RRULE:FREQ=DAILY;INTERVAL=4", "without a colon"),
            ("FREQ=WEEKLY;BYDAY=€M", "ASCII"),
            ("FREQ=DAILY;COUNT=0", "COUNT"),
            ("FREQ=DAILY;COUNT=10001", "10000"),
            ("FREQ=DAILY;COUNT=2;UNTIL=20270101", "UNTIL or COUNT"),
            ("FREQ=DAILY;UNTIL=tomorrow", "`TOMORROW`"),
            ("FREQ=DAILY;BYMONTH=13", "BYMONTH"),
            ("FREQ=DAILY;BYSETPOS=0", "BYSETPOS"),
            ("FREQ=WEEKLY;BYMONTHDAY=1", "BYMONTHDAY"),
            ("RRULE:FREQ=DAILY\nRRULE:FREQ=WEEKLY", "found two"),
            ("DTSTART:20270101T090000\nRRULE:FREQ=DAILY", "start time of its trigger"),
            ("RRULE:FREQ=DAILY\nEXDATE:20270101T090000Z", "on the clock of the schedule's zone"),
            ("RRULE:FREQ=DAILY\nEXDATE;TZID=Europe/Berlin:20270101T090000", "without parameters"),
            ("RRULE:FREQ=DAILY\nEXRULE:FREQ=WEEKLY", "`EXRULE`"),
        ] {
            let error = RecurrenceSchedule::new(text).unwrap_err().to_string();
            assert!(error.contains(hint), "{text}: {error}");
        }
        let many = (0..200).map(|day| NaiveDateTime::default() + chrono::TimeDelta::days(day));
        let error = RecurrenceSchedule::new("FREQ=DAILY").unwrap().leaving_out(many).check().unwrap_err().to_string();
        assert!(error.contains("at most 2000 characters"), "{error}");
        let odd = NaiveDateTime::default() + chrono::TimeDelta::milliseconds(1);
        assert!(RecurrenceSchedule::new("FREQ=DAILY").unwrap().also_at([odd]).check().is_err());
    }
}
