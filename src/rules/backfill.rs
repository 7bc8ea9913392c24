//! Backfill: the times that a trigger has had, or would have had, in a range of the past.

use crate::calendar::Calendar;
use crate::trigger::{FOREVER, Schedule, Trigger};

/// The times from `from_ms` to `to_ms`, both included, by the trigger's schedule and calendar, at
/// most `most` and one more.
///
/// Times that the trigger is still going to fire itself are left out. A schedule that goes by the
/// clock has times before the trigger's start too, as if it had been stored earlier; one that
/// counts from its start has none.
pub(crate) fn times(
    trigger: &Trigger,
    calendar: Option<&Calendar>,
    from_ms: i64,
    to_ms: i64,
    most: usize,
    now_ms: i64,
) -> Vec<i64> {
    let mut past = trigger.clone();
    if let Some(times) = past.schedule.times_triggered_mut() {
        *times = 0;
    }
    let earlier_ms = from_ms.div_euclid(1000).saturating_mul(1000).saturating_sub(1000);
    match &mut past.schedule {
        Schedule::Cron(_) => past.start_ms = past.start_ms.min(earlier_ms),
        Schedule::DailyTimeInterval(daily) => {
            daily.repeat_count = FOREVER;
            past.start_ms = past.start_ms.min(earlier_ms);
        }
        // The times of such a trigger would be ends of runs that there were not.
        Schedule::Simple(simple) if simple.fixed_delay => return Vec::new(),
        _ => {}
    }
    let last_ms = trigger.next_ms.map_or(to_ms, |own_ms| to_ms.min(own_ms.saturating_sub(1)));
    let mut at = from_ms.saturating_sub(1001);
    let following = std::iter::from_fn(|| {
        at = past.included_time_after(at, calendar, now_ms)?;
        Some(at)
    });
    following
        .skip_while(|time| *time < from_ms)
        .take_while(|time| *time <= last_ms)
        .take(most.saturating_add(1))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::Weekdays;
    use crate::key::{JobKey, TriggerKey};
    use crate::trigger::{
        CalendarIntervalSchedule, CronSchedule, DailyTimeIntervalSchedule, IntervalUnit, SimpleSchedule,
    };
    use std::time::Duration;

    fn ms(text: &str) -> i64 {
        chrono::DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis()
    }

    const NOW: &str = "2026-03-11T12:00:00Z";

    /// A trigger that was stored on the 9th of March, a Monday, at noon, and has fired until now.
    fn stored(schedule: impl Into<Schedule>) -> Trigger {
        let start = crate::epoch::moment(ms("2026-03-09T12:00:00Z"));
        let builder = Trigger::builder(TriggerKey::named("t"), JobKey::named("j")).schedule(schedule);
        let mut trigger = builder.start_at(start).build().unwrap();
        trigger.compute_first_ms(None, ms(NOW));
        while trigger.next_ms.is_some_and(|next| next <= ms(NOW)) {
            trigger.move_on(None, ms(NOW));
        }
        trigger
    }

    fn between(trigger: &Trigger, calendar: Option<&Calendar>, from: &str, to: &str) -> Vec<String> {
        let times = times(trigger, calendar, ms(from), ms(to), 10, ms(NOW));
        times.into_iter().map(|time| crate::epoch::moment(time).format("%d %H:%M").to_string()).collect()
    }

    #[test]
    fn both_ends_are_included_and_a_clock_has_times_before_the_start() {
        let noon = stored(CronSchedule::new("0 0 12 * * ?").unwrap());
        assert_eq!(
            between(&noon, None, "2026-03-07T12:00:00Z", "2026-03-10T12:00:00Z"),
            ["07 12:00", "08 12:00", "09 12:00", "10 12:00"]
        );
        assert_eq!(between(&noon, None, "2026-03-07T12:00:00.001Z", "2026-03-09T11:59:59.999Z"), ["08 12:00"]);
        let weekdays = Calendar::new(Weekdays::weekend());
        assert_eq!(
            between(&noon, Some(&weekdays), "2026-03-06T00:00:00Z", "2026-03-09T23:00:00Z"),
            ["06 12:00", "09 12:00"]
        );
        let daily = DailyTimeIntervalSchedule::every(12, IntervalUnit::Hour).repeat(1);
        assert_eq!(
            between(&stored(daily), None, "2026-03-08T00:00:00Z", "2026-03-08T12:00:00Z"),
            ["08 00:00", "08 12:00"]
        );
    }

    #[test]
    fn what_is_counted_from_the_start_has_none_before() {
        let day = Duration::from_secs(24 * 3600);
        let from_start = ["09 12:00", "10 12:00"];
        for schedule in [
            Schedule::from(SimpleSchedule::every(day)),
            SimpleSchedule::every(day).repeat(1).into(),
            CalendarIntervalSchedule::every(1, IntervalUnit::Day).into(),
        ] {
            let found = between(&stored(schedule), None, "2026-03-01T00:00:00Z", "2026-03-11T00:00:00Z");
            assert_eq!(found, from_start);
        }
        assert_eq!(
            between(&stored(SimpleSchedule::once()), None, "2026-03-01T00:00:00Z", "2026-03-11T00:00:00Z"),
            ["09 12:00"]
        );
    }

    #[test]
    fn what_the_trigger_has_still_to_fire_is_its_own() {
        let mut late = stored(CronSchedule::new("0 0 12 * * ?").unwrap());
        late.next_ms = Some(ms("2026-03-10T12:00:00Z"));
        assert_eq!(between(&late, None, "2026-03-09T00:00:00Z", NOW), ["09 12:00"]);
    }

    #[test]
    fn one_more_than_the_most_tells_that_there_are_more() {
        let often = stored(CronSchedule::new("* * * * * ?").unwrap());
        assert_eq!(between(&often, None, "2026-03-07T12:00:00Z", NOW).len(), 11);
    }
}
