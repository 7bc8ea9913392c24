//! Recurrence rules of iCalendar (RFC 5545): what their next times look like, also where clocks change, and one that runs.
//! Needs the feature `recurrence`.
#![allow(clippy::disallowed_methods, reason = "an example is an application: it may read clocks and sleep")]

use carnelian::{
    JobContext, JobDetail, JobError, JobKey, MisfireInstruction, RecurrenceSchedule, Scheduler, Trigger, TriggerKey,
};
use chrono::{DateTime, NaiveDate, Utc};
use chrono_tz::Europe::Paris;
use std::error::Error;
use std::time::Duration;

fn tick(ctx: &mut JobContext) -> Result<(), JobError> {
    println!("fired at {}", ctx.scheduled_fire_time().format("%H:%M:%S"));
    Ok(())
}

/// The first times of a recurrence that begins at `start`, as clocks in Paris show them.
fn show(what: &str, schedule: RecurrenceSchedule, start: DateTime<Utc>) -> carnelian::Result<()> {
    let builder = Trigger::builder(TriggerKey::named("shown"), JobKey::named("none"));
    let trigger = builder.schedule(schedule.in_zone(Paris)).start_at(start).build()?;
    let times = trigger.upcoming(None, start).take(4);
    let times: Vec<_> = times.map(|time| time.with_timezone(&Paris).format("%a %d %b %H:%M").to_string()).collect();
    println!("{what}: {}", times.join(", "));
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let start = "2026-01-01T08:00:00Z".parse()?; // nine o'clock in Paris
    show(
        "the last workday of the month",
        RecurrenceSchedule::new("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1")?,
        start,
    )?;
    show("every other Tuesday", RecurrenceSchedule::new("FREQ=WEEKLY;INTERVAL=2;BYDAY=TU")?, start)?;

    let at_nine = |day| NaiveDate::from_ymd_opt(2026, 1, day).and_then(|day| day.and_hms_opt(9, 0, 0)).ok_or("no day");
    let moved = RecurrenceSchedule::new("FREQ=WEEKLY;BYDAY=MO")?.leaving_out([at_nine(12)?]).also_at([at_nine(14)?]);
    show("Mondays, but Wednesday the 14th for Monday the 12th", moved, start)?;

    let half_past_two = "2026-03-28T01:30:00Z".parse()?; // the night before clocks jump over it
    show("daily at 02:30", RecurrenceSchedule::new("FREQ=DAILY")?, half_past_two)?;

    let scheduler = Scheduler::builder().job_fn("recurrence.tick", tick).build()?;
    let job = JobDetail::builder(JobKey::new("clock", "tick"), "recurrence.tick").build()?;
    // Every day at the time of day that it is now, for which the start stands.
    let trigger = Trigger::builder(TriggerKey::new("clock", "now"), job.key().clone())
        .schedule(RecurrenceSchedule::new("FREQ=DAILY;COUNT=2")?)
        .misfire(MisfireInstruction::DoNothing)
        .build()?;
    let stored = scheduler.schedule_job(job, trigger)?;
    println!("fires first at {stored}");
    scheduler.start()?;
    std::thread::sleep(Duration::from_secs(2));
    scheduler.shutdown_and_wait();
    Ok(())
}
