//! Intervals of the calendar and of the day: what their next times look like, also where clocks change, and one that
//! fires every second second.
#![allow(clippy::disallowed_methods, reason = "an example is an application: it may read clocks and sleep")]

use carnelian::{
    CalendarIntervalSchedule, DailyTimeIntervalSchedule, IntervalUnit, JobContext, JobDetail, JobError, JobKey,
    Schedule, Scheduler, Trigger, TriggerKey,
};
use chrono::{DateTime, NaiveTime, Utc, Weekday};
use chrono_tz::Europe::Paris;
use std::error::Error;
use std::time::Duration;

fn tick(ctx: &mut JobContext) -> Result<(), JobError> {
    println!("fired at {}", ctx.scheduled_fire_time().format("%H:%M:%S"));
    Ok(())
}

/// The first times of a schedule that begins at `start`, as clocks in Paris show them.
fn show(what: &str, schedule: impl Into<Schedule>, start: DateTime<Utc>) -> carnelian::Result<()> {
    let builder = Trigger::builder(TriggerKey::named("shown"), JobKey::named("none"));
    let trigger = builder.schedule(schedule).start_at(start).build()?;
    let times = trigger.upcoming(None, start).take(5);
    let times: Vec<_> = times.map(|time| time.with_timezone(&Paris).format("%a %d %b %H:%M").to_string()).collect();
    println!("{what}: {}", times.join(", "));
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let clock = |hour, minute| NaiveTime::from_hms_opt(hour, minute, 0).ok_or("no time of day");
    let daily = CalendarIntervalSchedule::every(1, IntervalUnit::Day).in_zone(Paris);
    let half_past_two = "2026-03-27T01:30:00Z".parse()?; // two nights before clocks jump over it
    show("daily at 02:30, as Quartz counts", daily.clone(), half_past_two)?;
    show("daily at 02:30, keeping the hour", daily.preserve_hour(true), half_past_two)?;

    let monthly = CalendarIntervalSchedule::every(1, IntervalUnit::Month).in_zone(Paris);
    show("monthly from the 31st", monthly, "2026-01-31T08:00:00Z".parse()?)?;

    let office = DailyTimeIntervalSchedule::every(90, IntervalUnit::Minute)
        .on_days([Weekday::Mon, Weekday::Thu])
        .starting_daily_at(clock(9, 0)?)
        .ending_daily_at(clock(12, 30)?)
        .with_default_zone(Paris); // for this preview; a scheduler has carnelian.scheduler.timeZone
    show("Mondays and Thursdays, 9:00 to 12:30", office, "2026-03-02T00:00:00Z".parse()?)?;

    let scheduler = Scheduler::builder().job_fn("intervals.tick", tick).build()?;
    let job = JobDetail::builder(JobKey::new("clock", "tick"), "intervals.tick").build()?;
    let trigger = Trigger::builder(TriggerKey::new("clock", "even"), job.key().clone())
        .schedule(DailyTimeIntervalSchedule::every(2, IntervalUnit::Second))
        .build()?;
    scheduler.schedule_job(job, trigger)?;
    scheduler.start()?;
    std::thread::sleep(Duration::from_secs(5));
    scheduler.shutdown_and_wait();
    Ok(())
}
