//! Calendars: office hours without weekends and holidays, and a calendar that is replaced while its
//! trigger runs.

use carnelian::calendar::{Calendar, CronTimes, DailyRange, Holidays, Weekdays};
use carnelian::{IfExists, JobContext, JobDetail, JobError, JobKey, Scheduler, SimpleSchedule, Trigger, TriggerKey};
use chrono::{NaiveDate, NaiveTime, TimeZone};
use chrono_tz::Europe::Berlin;
use std::error::Error;
use std::time::Duration;

fn tick(ctx: &mut JobContext) -> Result<(), JobError> {
    let left_out = ctx.calendar().and_then(Calendar::description).unwrap_or("nothing");
    println!("  fired at {}, left out: {left_out}", ctx.scheduled_fire_time().format("%H:%M:%S"));
    Ok(())
}

/// Leaves out seconds of every minute.
fn seconds(expression: &str, description: &str) -> carnelian::Result<Calendar> {
    Ok(Calendar::new(CronTimes::excluding(&format!("{expression} * * * * ?"))?).describe(description))
}

fn main() -> Result<(), Box<dyn Error>> {
    let (eight, six) = (NaiveTime::from_hms_opt(8, 0, 0), NaiveTime::from_hms_opt(18, 0, 0));
    let hours = DailyRange::including_only(eight.ok_or("a time")?, six.ok_or("a time")?)?;
    let christmas = [NaiveDate::from_ymd_opt(2026, 12, 25), NaiveDate::from_ymd_opt(2026, 12, 28)];
    let office_hours = Calendar::new(hours).in_zone(Berlin).over(
        Calendar::new(Holidays::on(christmas.into_iter().flatten()))
            .in_zone(Berlin)
            .over(Calendar::new(Weekdays::weekend()).in_zone(Berlin)),
    );
    let start = Berlin.with_ymd_and_hms(2026, 12, 24, 16, 0, 0).single().ok_or("a moment")?;
    let hourly = Trigger::builder(TriggerKey::named("hourly"), JobKey::named("report"))
        .schedule(SimpleSchedule::every(Duration::from_secs(3600)))
        .start_at(start.to_utc())
        .build()?;
    println!("hourly in office hours:");
    for time in hourly.upcoming(Some(&office_hours), start.to_utc()).take(5) {
        println!("  {}", time.with_timezone(&Berlin).format("%a %d %b %H:%M"));
    }

    let scheduler = Scheduler::builder().job_fn("clock.tick", tick).build()?;
    scheduler.add_calendar("quiet", &seconds("0/2", "even seconds")?, IfExists::Refuse)?;
    let job = JobDetail::builder(JobKey::new("clock", "tick"), "clock.tick").build()?;
    let trigger = Trigger::builder(TriggerKey::new("clock", "second"), job.key().clone())
        .schedule(SimpleSchedule::every(Duration::from_secs(1)))
        .calendar("quiet")
        .build()?;
    println!("every second, on {:?}:", scheduler.calendar_names()?);
    scheduler.schedule_job(job, trigger)?;
    scheduler.start()?;
    std::thread::sleep(Duration::from_secs(5));
    scheduler.update_calendar("quiet", &seconds("1/2", "odd seconds")?)?;
    std::thread::sleep(Duration::from_secs(5));
    println!("{}", scheduler.delete_calendar("quiet").err().ok_or("it is in use")?);
    scheduler.shutdown_and_wait();
    Ok(())
}
