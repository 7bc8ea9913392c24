//! Schedules: the next times of each kind of schedule, also where clocks change. Nothing runs here.
//!
//! `cargo run --example schedules --features recurrence`

use carnelian::{
    CalendarIntervalSchedule, CronExpression, CronSchedule, DailyTimeIntervalSchedule, IntervalUnit, JobKey,
    RecurrenceSchedule, Schedule, Trigger, TriggerKey,
};
use chrono::{DateTime, NaiveDate, NaiveTime, Utc, Weekday};
use chrono_tz::Europe::Paris;
use std::error::Error;

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
    let new_year = "2026-01-01T08:00:00Z".parse()?; // nine o'clock in Paris
    let half_past_two = "2026-03-27T01:30:00Z".parse()?; // two nights before clocks jump over it

    println!("pay day: {}", CronExpression::parse("0 0 9 LW * ?")?.explain());
    show("  ", CronSchedule::new("0 0 9 LW * ?")?.in_zone(Paris), new_year)?;
    let night = CronSchedule::new("0 30 2 * * ?")?.in_zone(Paris);
    show("cron at 02:30, as Quartz counts", night.clone(), half_past_two)?;
    show("cron at 02:30, at the end of the gap", night.fire_at_gap_end(true), half_past_two)?;

    let daily = CalendarIntervalSchedule::every(1, IntervalUnit::Day).in_zone(Paris);
    show("daily at 02:30, as Quartz counts", daily.clone(), half_past_two)?;
    show("daily at 02:30, keeping the hour", daily.preserve_hour(true), half_past_two)?;
    let monthly = CalendarIntervalSchedule::every(1, IntervalUnit::Month).in_zone(Paris);
    show("monthly from the 31st", monthly, "2026-01-31T08:00:00Z".parse()?)?;

    let clock = |hour, minute| NaiveTime::from_hms_opt(hour, minute, 0).ok_or("no time of day");
    let office = DailyTimeIntervalSchedule::every(90, IntervalUnit::Minute)
        .on_days([Weekday::Mon, Weekday::Thu])
        .starting_daily_at(clock(9, 0)?)
        .ending_daily_at(clock(12, 30)?)
        .with_default_zone(Paris); // for this preview; a scheduler has carnelian.scheduler.timeZone
    show("Mondays and Thursdays, 9:00 to 12:30", office, "2026-03-02T00:00:00Z".parse()?)?;

    let last_workday = RecurrenceSchedule::new("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1")?;
    show("the last workday of the month", last_workday.in_zone(Paris), new_year)?;
    let at_nine = |day| NaiveDate::from_ymd_opt(2026, 1, day).and_then(|day| day.and_hms_opt(9, 0, 0)).ok_or("no day");
    let moved = RecurrenceSchedule::new("FREQ=WEEKLY;BYDAY=MO")?.leaving_out([at_nine(12)?]).also_at([at_nine(14)?]);
    show("Mondays, but Wednesday the 14th for Monday the 12th", moved.in_zone(Paris), new_year)?;
    Ok(())
}
