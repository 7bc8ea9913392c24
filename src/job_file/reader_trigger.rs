//! Reading a trigger of a job file: what all kinds have, and what each has.

use super::document::Element;
use super::reader::Reader;
use super::shape::Fields;
use super::{FileTrigger, Start};
use crate::epoch::moment;
use crate::key::{JobKey, TriggerKey};
use crate::trigger::{
    CalendarIntervalSchedule, CronSchedule, FOREVER, IntervalUnit, MisfireInstruction, Schedule, SimpleSchedule,
    Trigger,
};
use crate::zone;

/// The instructions by the names of Java's constants. The schema lacks
/// `MISFIRE_INSTRUCTION_IGNORE_MISFIRE_POLICY`.
const MISFIRES: &[(&str, MisfireInstruction)] = &[
    ("MISFIRE_INSTRUCTION_SMART_POLICY", MisfireInstruction::Smart),
    ("MISFIRE_INSTRUCTION_FIRE_NOW", MisfireInstruction::FireNow),
    (
        "MISFIRE_INSTRUCTION_RESCHEDULE_NOW_WITH_EXISTING_REPEAT_COUNT",
        MisfireInstruction::RescheduleNowWithExistingCount,
    ),
    (
        "MISFIRE_INSTRUCTION_RESCHEDULE_NOW_WITH_REMAINING_REPEAT_COUNT",
        MisfireInstruction::RescheduleNowWithRemainingCount,
    ),
    ("MISFIRE_INSTRUCTION_RESCHEDULE_NEXT_WITH_REMAINING_COUNT", MisfireInstruction::RescheduleNextWithRemainingCount),
    ("MISFIRE_INSTRUCTION_RESCHEDULE_NEXT_WITH_EXISTING_COUNT", MisfireInstruction::RescheduleNextWithExistingCount),
    ("MISFIRE_INSTRUCTION_FIRE_ONCE_NOW", MisfireInstruction::FireOnceNow),
    ("MISFIRE_INSTRUCTION_DO_NOTHING", MisfireInstruction::DoNothing),
];

/// The trigger of `element`, which is a `simple`, `cron` or `calendar-interval`.
pub(super) fn read(reader: &mut Reader<'_>, element: &Element, fields: &Fields<'_>) -> Option<FileTrigger> {
    let (name, group) = reader.name_and_group(fields, "name", "group");
    let (job_name, job_group) = reader.name_and_group(fields, "job-name", "job-group");
    let start = reader.start(fields);
    let end = fields.get("end-time").filter(|end| !end.trimmed().is_empty());
    let end = end.and_then(|end| reader.start_or_end(end));
    let data = reader.data(fields);
    let description = reader.text_of(fields, "description");
    let calendar = reader.text_of(fields, "calendar-name");
    let priority = fields.get("priority").and_then(|element| reader.number(element, 0, i64::from(i32::MAX)));
    let schedule = match element.name.as_str() {
        "simple" => simple(reader, fields),
        "cron" => cron(reader, fields),
        _ => calendar_interval(reader, fields),
    };
    let misfire = schedule.as_ref().map(|schedule| misfire(reader, fields, schedule.kind()));

    let mut builder = Trigger::builder(TriggerKey::new(group, name?), JobKey::new(job_group, job_name?));
    builder = builder.data_map(data).misfire(misfire?);
    if let Some(text) = description {
        builder = builder.description(text);
    }
    if let Some(name) = calendar {
        builder = builder.calendar(name);
    }
    if let Some(priority) = priority.and_then(|priority| i32::try_from(priority).ok()) {
        builder = builder.priority(priority);
    }
    if let Start::At(ms) = start {
        builder = builder.start_at(moment(ms));
    }
    if let Some(ms) = end {
        builder = builder.end_at(moment(ms));
    }
    match builder.schedule(schedule?).build() {
        Ok(trigger) => Some(FileTrigger { line: element.line, trigger, start }),
        Err(error) => {
            reader.refuse(element, error.to_string());
            None
        }
    }
}

fn simple(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Schedule> {
    let (Some(count), Some(interval)) = (fields.get("repeat-count"), fields.get("repeat-interval")) else {
        return Some(SimpleSchedule::once().into());
    };
    let repeat_count = reader.number(count, FOREVER, i64::from(i32::MAX));
    let interval_ms = reader.number(interval, 0, i64::MAX);
    let simple = SimpleSchedule { repeat_count: repeat_count?, interval_ms: interval_ms?, ..SimpleSchedule::once() };
    if simple.repeat_count != 0 && simple.interval_ms == 0 {
        reader.refuse_value(interval, "expected at least 1 (milliseconds), since the trigger repeats");
        return None;
    }
    Some(simple.into())
}

fn cron(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Schedule> {
    let zone = match fields.get("time-zone").filter(|zone| !zone.trimmed().is_empty()) {
        None => Some(reader.zone),
        Some(element) => {
            let zone = zone::named(element.trimmed());
            if zone.is_none() {
                let expected = "expected the name of a time zone such as Europe/Paris (Quartz would silently take GMT)";
                reader.refuse_value(element, expected);
            }
            zone
        }
    };
    let expression = fields.get("cron-expression")?;
    match CronSchedule::new(expression.trimmed()) {
        Ok(schedule) => Some(schedule.in_zone(zone?).into()),
        Err(error) => {
            reader.refuse(expression, error.to_string());
            None
        }
    }
}

fn calendar_interval(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Schedule> {
    let interval = fields.get("repeat-interval").and_then(|element| reader.number(element, 1, i64::from(i32::MAX)));
    let element = fields.get("repeat-interval-unit")?;
    let unit = IntervalUnit::from_name(element.trimmed());
    if unit.is_none() {
        let names = IntervalUnit::ALL.map(IntervalUnit::name).join(", ");
        reader.refuse_value(element, format!("expected one of {names}"));
    }
    let interval = interval.and_then(|interval| u32::try_from(interval).ok());
    // The schema has no zone for it: Java takes the machine's.
    Some(CalendarIntervalSchedule::every(interval?, unit?).in_zone(reader.zone).into())
}

fn misfire(reader: &mut Reader<'_>, fields: &Fields<'_>, kind: &str) -> MisfireInstruction {
    let Some(element) = fields.get("misfire-instruction").filter(|element| !element.trimmed().is_empty()) else {
        return MisfireInstruction::Smart;
    };
    let fits =
        |instruction: MisfireInstruction| MisfireInstruction::from_code(kind, instruction.code()) == Some(instruction);
    let named = MISFIRES.iter().find(|(name, _)| *name == element.trimmed());
    match named.filter(|(_, instruction)| fits(*instruction)) {
        Some((_, instruction)) => *instruction,
        None => {
            let fitting: Vec<_> = MISFIRES.iter().filter(|(_, i)| fits(*i)).map(|(name, _)| *name).collect();
            reader.refuse_value(element, format!("expected one of {}", fitting.join(", ")));
            MisfireInstruction::Smart
        }
    }
}
