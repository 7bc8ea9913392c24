//! `Wish`: another schedule for a trigger, as a form or a document says it in the words of the
//! command line.

use super::form::Fields;
use super::keys::Subject;
use crate::epoch::moment;
use crate::error::{Error, Result};
use crate::key::TriggerKey;
use crate::report::read_span;
use crate::store::JobStore;
use crate::trigger::{CronSchedule, MisfireInstruction, Schedule, SimpleSchedule, Trigger};
use chrono::{DateTime, SecondsFormat, Utc};
use chrono_tz::Tz;
use maud::{Markup, html};
use std::time::Duration;

/// The kinds of schedules: the option of the command line, and what its value may be.
pub(super) const KINDS: [(&str, &str); 4] = [
    ("cron", "0 30 6 ? * MON-FRI"),
    ("every", "90s, 5m, 2h, 1d"),
    ("fixed-delay", "30s after the end of a run"),
    ("at", "2030-01-31T08:00:00Z"),
];

/// The schedule that a person wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wish {
    pub(super) kind: String,
    pub(super) when: String,
    pub(super) zone: Option<String>,
}

impl Wish {
    /// The wish of the fields `kind`, `when` and `zone`.
    pub(super) fn read<'a>(field: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        let (kind, when) = (field("kind")?.to_owned(), field("when")?.trim().to_owned());
        Some(Self { kind, when, zone: field("zone").map(|zone| zone.trim().to_owned()) })
    }

    /// The wish of a form.
    pub(super) fn of_form(form: &Fields) -> Option<Self> {
        Self::read(|name| form.get(name))
    }

    /// The wish that gives a trigger the schedule which it has; none if these words cannot say it.
    pub(super) fn of(trigger: &Trigger) -> Option<Self> {
        let wish = |kind: &str, when: String| Some(Self { kind: kind.to_owned(), when, zone: None });
        match trigger.schedule() {
            Schedule::Cron(cron) if !cron.fires_at_gap_end() && !cron.fires_in_both_passes() => Some(Self {
                zone: Some(cron.zone().name().to_owned()),
                ..wish("cron", cron.expression().text().to_owned())?
            }),
            Schedule::Simple(simple) if simple.is_fixed_delay() => wish("fixed-delay", short_span(simple.interval())),
            Schedule::Simple(simple) if simple.repeat_count().is_none() => wish("every", short_span(simple.interval())),
            Schedule::Simple(simple) if simple.repeat_count() == Some(0) => {
                wish("at", trigger.start_time().to_rfc3339_opts(SecondsFormat::Millis, true))
            }
            _ => None,
        }
    }

    /// The trigger with this schedule, beginning now.
    pub(super) fn trigger(&self, old: &Trigger, now: DateTime<Utc>) -> Result<Trigger> {
        let span = || read_span(&self.when).map_err(|expected| Error::invalid("when", &self.when, expected));
        let (schedule, start): (Schedule, _) = match self.kind.as_str() {
            "cron" => (self.in_zone(CronSchedule::new(&self.when)?, old)?.into(), now),
            "every" => (SimpleSchedule::every(span()?).into(), now),
            "fixed-delay" => (SimpleSchedule::fixed_delay(span()?).into(), now),
            "at" => {
                let time = DateTime::parse_from_rfc3339(&self.when).map_err(|_| {
                    Error::invalid("when", &self.when, "expected a time such as 2030-01-31T08:00:00Z".to_owned())
                })?;
                (SimpleSchedule::once().into(), time.with_timezone(&Utc))
            }
            _ => {
                let expected = format!("expected one of {}", KINDS.map(|(kind, _)| kind).join(", "));
                return Err(Error::invalid("kind", &self.kind, expected));
            }
        };
        // An instruction of another kind of schedule may mean nothing for this one.
        let misfire = match schedule.kind() == old.schedule().kind() {
            true => old.misfire_instruction(),
            false => MisfireInstruction::Smart,
        };
        old.to_builder().schedule(schedule).start_at(start).misfire(misfire).build()
    }

    /// The schedule in the zone of the wish, or else in that of the trigger's schedule until now.
    fn in_zone(&self, cron: CronSchedule, old: &Trigger) -> Result<CronSchedule> {
        let Some(zone) = &self.zone else {
            let kept = match old.schedule() {
                Schedule::Cron(old) => Some(old.zone()),
                _ => None,
            };
            return Ok(kept.map_or(cron.clone(), |zone| cron.in_zone(zone)));
        };
        let zone: Tz = zone
            .parse()
            .map_err(|_| Error::invalid("zone", zone, "expected a zone such as Europe/Berlin".to_owned()))?;
        Ok(cron.in_zone(zone))
    }

    /// The fields of a form that say the same.
    pub(super) fn hidden(&self) -> Markup {
        html! {
            input type="hidden" name="kind" value=(self.kind);
            input type="hidden" name="when" value=(self.when);
            @if let Some(zone) = &self.zone { input type="hidden" name="zone" value=(zone); }
        }
    }
}

/// The trigger of a subject.
pub(super) fn stored(store: &JobStore, key: &TriggerKey) -> Result<Trigger> {
    store.catalogue().trigger(key)?.ok_or_else(|| Error::not_found("trigger", key))
}

/// Gives triggers another schedule; returns how many there were.
pub(super) fn reschedule(store: &JobStore, keys: &[TriggerKey], wish: Option<&Wish>) -> Result<usize> {
    let wish = wish.ok_or_else(|| Error::Refused("expected a new schedule: `kind` and `when`".to_owned()))?;
    let now = moment(store.now_ms()?);
    let mut done = 0;
    for key in keys {
        let trigger = wish.trigger(&stored(store, key)?, now)?;
        done += usize::from(store.catalogue().reschedule(key, trigger)?.is_some());
    }
    Ok(done)
}

/// The wish that takes a rescheduling of these triggers back, if there is one for all.
pub(super) fn taking_back(store: &JobStore, subjects: &[Subject]) -> Option<Wish> {
    let [subject] = subjects else { return None };
    Wish::of(&stored(store, &subject.trigger().ok()?).ok()?)
}

/// The text that [`read_span`] reads, in the longest unit of which the time is a whole number.
fn short_span(time: Duration) -> String {
    let ms = time.as_millis();
    let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
    let whole = units.iter().find(|(_, scale)| ms.is_multiple_of(*scale));
    whole.filter(|_| ms > 0).map_or(format!("{ms}ms"), |(unit, scale)| format!("{}{unit}", ms / scale))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::JobKey;

    fn trigger(schedule: impl Into<Schedule>) -> Trigger {
        let builder = Trigger::builder(TriggerKey::new("g", "t"), JobKey::new("g", "j")).schedule(schedule);
        builder.start_at(moment(1_000)).build().unwrap()
    }

    fn wish(kind: &str, when: &str) -> Wish {
        Wish { kind: kind.to_owned(), when: when.to_owned(), zone: None }
    }

    #[test]
    fn a_wish_says_the_schedule_that_a_trigger_has() {
        let now = moment(10_000);
        let berlin = CronSchedule::new("0 30 6 ? * MON-FRI").unwrap().in_zone(Tz::Europe__Berlin);
        for schedule in [
            Schedule::from(berlin),
            SimpleSchedule::every(Duration::from_secs(90)).into(),
            SimpleSchedule::fixed_delay(Duration::from_millis(1_500)).into(),
        ] {
            let trigger = trigger(schedule);
            let again = Wish::of(&trigger).unwrap().trigger(&trigger, now).unwrap();
            assert_eq!(again.schedule(), trigger.schedule());
            assert_eq!(again.start_time(), now);
        }
        let once = trigger(SimpleSchedule::once());
        assert_eq!(Wish::of(&once), Some(wish("at", "1970-01-01T00:00:01.000Z")));
        assert_eq!(Wish::of(&trigger(SimpleSchedule::every(Duration::from_secs(1)).repeat(3))), None);
    }

    #[test]
    fn spans_are_written_in_their_longest_unit() {
        for text in ["1ms", "1500ms", "30s", "90s", "5m", "2h", "1d", "36h"] {
            assert_eq!(short_span(read_span(text).unwrap()), text);
        }
    }

    #[test]
    fn a_wish_that_says_nothing_is_refused_with_what_was_expected() {
        let old = trigger(SimpleSchedule::once());
        let problem = |kind, when| wish(kind, when).trigger(&old, moment(0)).unwrap_err().to_string();
        assert!(problem("cron", "every day").contains("every day"));
        assert!(problem("every", "5").contains("with its unit"));
        assert!(problem("at", "noon").contains("2030-01-31T08:00:00Z"));
        assert!(problem("never", "").contains("fixed-delay"));
        let nowhere = Wish { zone: Some("Mars/Base".to_owned()), ..wish("cron", "0 0 12 * * ?") };
        assert!(nowhere.trigger(&old, moment(0)).unwrap_err().to_string().contains("Mars/Base"));
    }
}
