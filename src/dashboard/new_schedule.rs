//! `NewSchedule`: another schedule for a trigger, as a form or a document says it in the words of
//! the command line.

use super::form::Fields;
use super::keys::Subject;
use crate::epoch::{millis, moment};
use crate::error::{Error, Result};
use crate::key::TriggerKey;
use crate::report::read_span;
use crate::span::UNITS;
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
pub(super) struct NewSchedule {
    pub(super) kind: String,
    pub(super) when: String,
    pub(super) zone: Option<String>,
    /// The trigger that it restores.
    restored: Option<Restored>,
}

/// The next time and the instruction that a trigger had beside its schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Restored {
    /// The next time, or the start if there was none.
    next: DateTime<Utc>,
    misfire: MisfireInstruction,
}

impl Restored {
    /// The fields of a form: the time, and the number of the instruction.
    const FIELDS: [&str; 2] = ["next", "misfire"];

    fn of_form(form: &Fields, kind: &str) -> Option<Self> {
        let [next, misfire] = Self::FIELDS.map(|name| form.get(name));
        let next = DateTime::parse_from_rfc3339(next?).ok()?.with_timezone(&Utc);
        let table = if kind == "cron" { "CRON" } else { "SIMPLE" };
        Some(Self { next, misfire: MisfireInstruction::from_code(table, misfire?.parse().ok()?)? })
    }

    /// The first time from `now` on that is a number of spans after the next time.
    fn from(&self, now: DateTime<Utc>, span: Duration) -> DateTime<Utc> {
        let (next, span) = (self.next.timestamp_millis(), millis(span).max(1));
        let late = now.timestamp_millis().saturating_sub(next).max(0);
        let spans = late / span + i64::from(late % span != 0);
        moment(next.saturating_add(spans.saturating_mul(span)))
    }
}

impl NewSchedule {
    /// The new schedule of the fields `kind`, `when` and `zone`.
    pub(super) fn read<'a>(field: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        let (kind, when) = (field("kind")?.to_owned(), field("when")?.trim().to_owned());
        Some(Self { kind, when, zone: field("zone").map(|zone| zone.trim().to_owned()), restored: None })
    }

    /// The new schedule of a form.
    pub(super) fn of_form(form: &Fields) -> Option<Self> {
        let new_schedule = Self::read(|name| form.get(name))?;
        Some(Self { restored: Restored::of_form(form, &new_schedule.kind), ..new_schedule })
    }

    /// The new schedule that gives a trigger the schedule which it has, with its next time; none
    /// if these words cannot say it.
    pub(super) fn of(trigger: &Trigger) -> Option<Self> {
        let next = trigger.next_fire_time().unwrap_or(trigger.start_time());
        let restored = Some(Restored { next, misfire: trigger.misfire_instruction() });
        let new_schedule = |kind: &str, when: String| Some(Self { kind: kind.to_owned(), when, zone: None, restored });
        match trigger.schedule() {
            Schedule::Cron(cron) if !cron.fires_at_gap_end() && !cron.fires_in_both_passes() => Some(Self {
                zone: Some(cron.zone().name().to_owned()),
                ..new_schedule("cron", cron.expression().text().to_owned())?
            }),
            Schedule::Simple(simple) if simple.is_fixed_delay() => {
                new_schedule("fixed-delay", short_span(simple.interval()))
            }
            Schedule::Simple(simple) if simple.repeat_count().is_none() => {
                new_schedule("every", short_span(simple.interval()))
            }
            Schedule::Simple(simple) if simple.repeat_count() == Some(0) => {
                new_schedule("at", rfc3339(trigger.start_time()))
            }
            _ => None,
        }
    }

    /// The trigger with this schedule, beginning now, or where the one that it restores would go
    /// on. A cron schedule without a zone is read in `zone`.
    pub(super) fn trigger(&self, old: &Trigger, now: DateTime<Utc>, zone: Tz) -> Result<Trigger> {
        let span = || read_span(&self.when).map_err(|expected| Error::invalid("when", &self.when, expected));
        let next = self.restored.as_ref().map_or(now, |before| before.next.max(now));
        let (mut schedule, start): (Schedule, _) = match self.kind.as_str() {
            "cron" => (self.in_zone(CronSchedule::new(&self.when)?, old)?.into(), next),
            "every" => {
                let span = span()?;
                (
                    SimpleSchedule::every(span).into(),
                    self.restored.as_ref().map_or(now, |before| before.from(now, span)),
                )
            }
            "fixed-delay" => (SimpleSchedule::fixed_delay(span()?).into(), next),
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
        schedule.set_default_zone(zone);
        // An instruction of another kind of schedule may mean nothing for this one.
        let misfire = match (&self.restored, schedule.kind() == old.schedule().kind()) {
            (Some(before), _) => before.misfire,
            (None, true) => old.misfire_instruction(),
            (None, false) => MisfireInstruction::Smart,
        };
        old.to_builder().schedule(schedule).start_at(start).misfire(misfire).build()
    }

    /// The schedule in its own zone, or else in that of the trigger's schedule until now.
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
            @if let Some(before) = &self.restored {
                @let values = [rfc3339(before.next), before.misfire.code().to_string()];
                @for (name, value) in Restored::FIELDS.iter().zip(values) { input type="hidden" name=(name) value=(value); }
            }
        }
    }
}

/// The trigger of a subject.
pub(super) fn stored(store: &JobStore, key: &TriggerKey) -> Result<Trigger> {
    store.catalogue().trigger(key)?.ok_or_else(|| Error::not_found("trigger", key))
}

/// Gives a trigger another schedule; false if it is gone meanwhile.
pub(super) fn reschedule(store: &JobStore, key: &TriggerKey, new_schedule: Option<&NewSchedule>) -> Result<bool> {
    let new_schedule =
        new_schedule.ok_or_else(|| Error::Refused("expected a new schedule: `kind` and `when`".to_owned()))?;
    let zone = store.settings().scheduler.time_zone;
    let trigger = new_schedule.trigger(&stored(store, key)?, moment(store.now_ms()?), zone)?;
    Ok(store.catalogue().reschedule(key, trigger)?.is_some())
}

/// The new schedule that takes a rescheduling of these triggers back, if there is one for all.
pub(super) fn taking_back(store: &JobStore, subjects: &[Subject]) -> Option<NewSchedule> {
    let [subject] = subjects else { return None };
    NewSchedule::of(&stored(store, &subject.key().ok()?).ok()?)
}

fn rfc3339(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// The text that [`read_span`] reads, in the longest unit of which the time is a whole number.
fn short_span(time: Duration) -> String {
    let ms = time.as_millis();
    let whole = UNITS.iter().find(|(_, scale)| ms > 0 && ms.is_multiple_of(u128::from(*scale)));
    whole.map_or(format!("{ms}ms"), |(unit, scale)| format!("{}{unit}", ms / u128::from(*scale)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::JobKey;

    fn trigger(schedule: impl Into<Schedule>) -> Trigger {
        let builder = Trigger::builder(TriggerKey::new("g", "t"), JobKey::new("g", "j")).schedule(schedule);
        builder.start_at(moment(1_000)).build().unwrap()
    }

    fn new_schedule(kind: &str, when: &str) -> NewSchedule {
        NewSchedule { kind: kind.to_owned(), when: when.to_owned(), zone: None, restored: None }
    }

    #[test]
    fn a_new_schedule_says_the_schedule_that_a_trigger_has() {
        let now = moment(10_000);
        let berlin = CronSchedule::new("0 30 6 ? * MON-FRI").unwrap().in_zone(Tz::Europe__Berlin);
        for schedule in [
            Schedule::from(berlin),
            SimpleSchedule::every(Duration::from_secs(90)).into(),
            SimpleSchedule::fixed_delay(Duration::from_millis(1_500)).into(),
        ] {
            let trigger = trigger(schedule);
            let again = NewSchedule::of(&trigger).unwrap().trigger(&trigger, now, Tz::UTC).unwrap();
            assert_eq!(again.schedule(), trigger.schedule());
        }
        let once = trigger(SimpleSchedule::once());
        assert_eq!(NewSchedule::of(&once).unwrap().when, "1970-01-01T00:00:01.000Z");
        assert_eq!(NewSchedule::of(&trigger(SimpleSchedule::every(Duration::from_secs(1)).repeat(3))), None);
    }

    #[test]
    fn a_new_schedule_that_restores_goes_on_where_the_trigger_was() {
        let (hourly, new) = (Duration::from_secs(3600), trigger(SimpleSchedule::every(Duration::from_secs(5))));
        let restored = |next, schedule: Schedule, now| {
            let new_schedule = NewSchedule::of(&trigger(schedule)).unwrap();
            let new_schedule = NewSchedule {
                restored: Some(Restored { next: moment(next), ..new_schedule.restored.unwrap() }),
                ..new_schedule
            };
            new_schedule.trigger(&new, moment(now), Tz::UTC).unwrap().start_time().timestamp_millis()
        };
        let every = || SimpleSchedule::every(hourly).into();
        assert_eq!(restored(7_000, every(), 5_000), 7_000);
        assert_eq!(restored(7_000, every(), 7_000), 7_000);
        assert_eq!(restored(7_000, every(), 7_001), 3_607_000, "the time came meanwhile");
        assert_eq!(restored(7_000, SimpleSchedule::fixed_delay(hourly).into(), 9_000), 9_000);
        let cron = || CronSchedule::new("0 0 12 * * ?").unwrap().into();
        assert_eq!((restored(7_000, cron(), 5_000), restored(7_000, cron(), 9_000)), (7_000, 9_000));
    }

    #[test]
    fn spans_are_written_in_their_longest_unit() {
        for text in ["1ms", "1500ms", "30s", "90s", "5m", "2h", "1d", "36h"] {
            assert_eq!(short_span(read_span(text).unwrap()), text);
        }
    }

    #[test]
    fn a_new_schedule_that_says_nothing_is_refused_with_what_was_expected() {
        let old = trigger(SimpleSchedule::once());
        let problem = |kind, when| new_schedule(kind, when).trigger(&old, moment(0), Tz::UTC).unwrap_err().to_string();
        assert!(problem("cron", "every day").contains("every day"));
        assert!(problem("every", "5").contains("with its unit"));
        assert!(problem("at", "noon").contains("2030-01-31T08:00:00Z"));
        assert!(problem("never", "").contains("fixed-delay"));
        let nowhere = NewSchedule { zone: Some("Mars/Base".to_owned()), ..new_schedule("cron", "0 0 12 * * ?") };
        assert!(nowhere.trigger(&old, moment(0), Tz::UTC).unwrap_err().to_string().contains("Mars/Base"));
    }
}
