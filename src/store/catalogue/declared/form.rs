//! The form of a definition: bytes that differ for different definitions, and that no later version
//! of this crate writes otherwise.

use crate::data_map::JobDataMap;
use crate::hash::fnv1a;
use crate::job::{JobDefinition, JobDetail};
use crate::store::row::ScheduleRow;
use crate::store::schedule_row::{options_row, schedule_row};
use crate::trigger::Trigger;

/// The hash of the form, and behind it the hash of what it says of the triggers. The hashes are
/// stored with a definition, so that a node that starts sees whether its *code* has changed:
/// another hash of the same code would undo the changes of an operator.
pub(super) fn hash(definition: &JobDefinition) -> String {
    let mut triggers = Form::default();
    definition.triggers().iter().for_each(|trigger| put_trigger(&mut triggers, trigger));
    format!("{:016x}{:016x}", fnv1a(form(definition)), fnv1a(triggers.0))
}

/// True if a stored hash, which may be without that of the triggers, is of this form.
pub(super) fn is_of(noted: &str, hash: &str) -> bool {
    !noted.is_empty() && hash.starts_with(noted)
}

/// True if the form of these hashes says the same of the triggers.
pub(super) fn has_same_triggers(noted: &str, hash: &str) -> bool {
    matches!((noted.get(16..), hash.get(16..)), (Some(noted), Some(now)) if noted == now && !noted.is_empty())
}

/// Each given field, by its name and the length of its value. A value that is not given has no
/// field, so that a later version may know more fields.
#[derive(Default)]
struct Form(Vec<u8>);

impl Form {
    fn put(&mut self, name: &str, value: impl AsRef<[u8]>) {
        let value = value.as_ref();
        self.0.extend_from_slice(format!("{name} {}:", value.len()).as_bytes());
        self.0.extend_from_slice(value);
        self.0.push(b'\n');
    }

    fn put_if_given(&mut self, name: &str, value: Option<impl AsRef<[u8]>>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    fn put_if(&mut self, name: &str, is_so: bool) {
        if is_so {
            self.put(name, "");
        }
    }

    fn put_number(&mut self, name: &str, value: impl Into<i64>) {
        self.put(name, value.into().to_string());
    }
}

fn form(definition: &JobDefinition) -> Vec<u8> {
    let mut form = Form::default();
    put_job(&mut form, definition.job());
    definition.triggers().iter().for_each(|trigger| put_trigger(&mut form, trigger));
    form.0
}

/// The data as Java stores it; as text in a program without the feature `java-streams`, which
/// cannot store it otherwise.
fn bytes_of(data: &JobDataMap) -> Vec<u8> {
    data.to_java_bytes().or_else(|_| data.to_properties_text()).unwrap_or_default()
}

/// Writes a job. Data that cannot be encoded cannot be stored either, and are refused before their
/// hash is compared.
fn put_job(form: &mut Form, job: &JobDetail) {
    form.put("job.group", job.key.group());
    form.put("job.name", job.key.name());
    form.put("job.type", job.job_type());
    form.put_if_given("job.description", job.description.as_ref());
    form.put_if("job.durable", job.durable);
    form.put_if("job.recovery", job.requests_recovery);
    form.put_if("job.nonconcurrent", job.disallow_concurrent_execution);
    form.put_if("job.persists", job.persist_job_data_after_execution);
    form.put_if_given("job.data", (!job.data.is_empty()).then(|| bytes_of(&job.data)));
    form.put_if_given("job.policy", job.policy().encode().ok().flatten());
    form.put_if_given("job.marks", job.marks().encode().ok().flatten());
    form.put_if_given("job.version", job.version.map(|version| version.to_string()));
}

fn put_trigger(form: &mut Form, trigger: &Trigger) {
    form.put("trigger.group", trigger.key.group());
    form.put("trigger.name", trigger.key.name());
    form.put_if_given("trigger.description", trigger.description.as_ref());
    form.put_if_given("trigger.calendar", trigger.calendar_name.as_ref());
    let data = (!trigger.data.is_empty()).then(|| bytes_of(&trigger.data));
    form.put_if_given("trigger.data", data);
    form.put_number("trigger.priority", trigger.priority);
    form.put_number("trigger.misfire", trigger.misfire.code());
    form.put_number("trigger.start", trigger.start_ms);
    form.put_if_given("trigger.end", trigger.end_ms.map(|end| end.to_string()));
    form.put("trigger.kind", trigger.schedule.kind());
    put_schedule(form, &schedule_row(&trigger.schedule));
    form.put_if_given("trigger.options", options_row(trigger).map(|options| options.names));
}

/// Writes a schedule without its counters, which are no part of the definition.
fn put_schedule(form: &mut Form, schedule: &ScheduleRow) {
    match schedule {
        ScheduleRow::Simple { repeat_count, interval_ms, times_triggered: _ } => {
            form.put_number("repeat", *repeat_count);
            form.put_number("interval", *interval_ms);
        }
        ScheduleRow::Cron { expression, zone } => {
            form.put("expression", expression);
            form.put_if_given("zone", zone.as_ref());
        }
        ScheduleRow::CalendarInterval { interval, unit, zone, preserve_hour, skip_day, times_triggered: _ } => {
            form.put_number("interval", *interval);
            form.put("unit", unit);
            form.put_if_given("zone", zone.as_ref());
            form.put_if("preserve_hour", *preserve_hour);
            form.put_if("skip_day", *skip_day);
        }
        ScheduleRow::DailyTimeInterval { interval, unit, repeat_count, days, times_of_day, times_triggered: _ } => {
            form.put_number("interval", *interval);
            form.put("unit", unit);
            form.put_number("repeat", *repeat_count);
            form.put_if_given("days", days.as_ref());
            form.put_if_given("times", times_of_day.as_ref());
        }
        ScheduleRow::Recurrence { rule, zone } => {
            form.put("rule", rule);
            form.put("zone", zone);
        }
        ScheduleRow::Missing => {} // a trigger that was read only
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;
    use crate::job::{JobMarks, JobPolicy, RetryPolicy};
    use crate::key::{JobKey, TriggerKey};
    use crate::trigger::{
        CalendarIntervalSchedule, CronSchedule, DailyTimeIntervalSchedule, IntervalUnit, RecurrenceSchedule, Schedule,
        SimpleSchedule,
    };
    use std::time::Duration;

    fn job() -> JobDetail {
        JobDetail::builder(JobKey::new("g", "n"), "t").build().unwrap()
    }

    fn with(schedule: impl Into<Schedule>) -> JobDefinition {
        let start = chrono::DateTime::from_timestamp_millis(1_700_000_000_000).unwrap();
        let trigger = Trigger::builder(TriggerKey::new("g", "n"), JobKey::new("g", "n")).start_at(start);
        JobDefinition::new(job()).trigger(trigger.schedule(schedule).build().unwrap())
    }

    fn text(definition: &JobDefinition) -> String {
        String::from_utf8_lossy(&form(definition)).into_owned()
    }

    #[test]
    fn the_hash_is_that_of_the_job_and_its_triggers() {
        let defined = JobDefinition::new(job()).cron("0 0 3 * * ?").unwrap();
        let same = JobDefinition::new(job()).cron("0 0 3 * * ?").unwrap().revision(7).auto_register(false);
        assert_eq!(hash(&defined), hash(&same));
        assert_ne!(hash(&defined), hash(&JobDefinition::new(job()).cron("0 0 4 * * ?").unwrap()));
        let described = job().to_builder().description("x").build().unwrap();
        assert_ne!(hash(&defined), hash(&JobDefinition::new(described).cron("0 0 3 * * ?").unwrap()));
    }

    /// LT-102: these hashes are in databases. A changed hash makes every unchanged program store
    /// its jobs again, over the changes of operators.
    #[test]
    fn no_upgrade_changes_the_hash_of_what_was_not_changed() {
        let retry = RetryPolicy::exponential(Duration::from_secs(10), 2.0).jitter(0.2);
        let whole = job()
            .to_builder()
            .description("nightly")
            .requests_recovery(true)
            .disallow_concurrent_execution(true)
            .persist_job_data_after_execution(true)
            .data("currency", "EUR")
            .data("times", 3)
            .policy(JobPolicy::new().timeout(Duration::from_secs(60)).retry(retry))
            .marks(JobMarks::new().owner("ada").tag("billing"))
            .build()
            .unwrap();
        let zone = chrono_tz::Europe::Berlin;
        let month = CalendarIntervalSchedule::every(1, IntervalUnit::Month).in_zone(zone).without_drift(true);
        let definitions = [
            JobDefinition::new(job()),
            JobDefinition::new(whole),
            with(SimpleSchedule::every(Duration::from_secs(5)).repeat(3)),
            with(CronSchedule::new("0 0 3 * * ?").unwrap().in_zone(zone)),
            with(month),
            with(DailyTimeIntervalSchedule::every(5, IntervalUnit::Minute)),
            with(RecurrenceSchedule::new("FREQ=DAILY;BYHOUR=3").unwrap().in_zone(zone)),
        ];
        let expected = [
            "0e89d49ce4030206",
            "f0ad88507ed0a9d6",
            "28f3ec5508604324",
            "0df5503985bd2978",
            "86e7d2dddd28fca3",
            "1141858eeaace266",
            "a071a4f32182c988",
        ];
        let whole: Vec<String> = definitions.iter().map(|d| hash(d)[..16].to_owned()).collect();
        assert_eq!(whole, expected, "{}", text(&definitions[1]));
        let no_triggers = hash(&definitions[0]);
        assert_eq!(no_triggers, "0e89d49ce4030206cbf29ce484222325");
        assert!(is_of("0e89d49ce4030206", &no_triggers), "without a hash of the triggers, as it was once stored");
        assert!(!has_same_triggers("0e89d49ce4030206", &no_triggers), "nothing is known of the triggers then");
        assert!(has_same_triggers(&hash(&definitions[1]), &no_triggers));
        assert!(!has_same_triggers(&hash(&definitions[2]), &no_triggers));
    }
}
