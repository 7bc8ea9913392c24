//! Passing over: a trigger moves on past times that it does not fire.

use crate::calendar::Calendar;
use crate::trigger::{Schedule, Trigger};

/// The largest number of times that are left out one by one, each with its own count. Further times
/// are left out at once, so that the store's lock is not held for long.
const MOST_SINGLY: u64 = 1_000;
/// The largest number for a schedule that a count of fires ends, and whose times follow no formula.
const MOST_COUNTED: u64 = 10_000;

/// Moves `trigger` on to its first time at or after `before_ms`; returns how many times are left
/// out, which is a lower bound beyond a thousand, of a daily schedule with a count beyond ten
/// thousand, unless the schedule is simple.
///
/// Times that are left out count as fired if the schedule counts its fires; the previous fire time
/// stays what it was.
pub(crate) fn pass_over(trigger: &mut Trigger, before_ms: i64, calendar: Option<&Calendar>, now_ms: i64) -> u64 {
    let previous_ms = trigger.previous_ms;
    let is_ended_by_count = matches!(&trigger.schedule, Schedule::DailyTimeInterval(daily) if daily.repeat_count >= 0);
    let most_singly = if is_ended_by_count { MOST_COUNTED } else { MOST_SINGLY };
    let mut times = 0;
    while let Some(next_ms) = trigger.next_ms.filter(|next_ms| *next_ms < before_ms) {
        if times == most_singly {
            trigger.next_ms = trigger.included_time_after(before_ms - 1, calendar, now_ms);
            times = times.saturating_add(count_rest(trigger, next_ms, before_ms));
            break;
        }
        trigger.move_on(calendar, now_ms);
        times += 1;
    }
    trigger.previous_ms = previous_ms;
    times
}

/// Leaves out the times that are older than the trigger's catch-up window; returns how many.
pub(crate) fn leave_out_old(trigger: &mut Trigger, calendar: Option<&Calendar>, now_ms: i64) -> u64 {
    match trigger.policies.catch_up_ms {
        Some(window_ms) => pass_over(trigger, now_ms.saturating_sub(window_ms), calendar, now_ms),
        None => 0,
    }
}

/// The times from `from_ms` up to `before_ms` of a simple schedule, of which no calendar is asked;
/// they count as fired.
fn count_rest(trigger: &mut Trigger, from_ms: i64, before_ms: i64) -> u64 {
    let Schedule::Simple(simple) = &mut trigger.schedule else { return 1 };
    let interval_ms = simple.interval_ms.max(1);
    let left = if simple.repeat_count < 0 {
        i64::MAX
    } else {
        simple.repeat_count.saturating_add(1).saturating_sub(simple.times_triggered)
    };
    let rest = ((before_ms.saturating_sub(from_ms) - 1).max(0) / interval_ms + 1).min(left);
    trigger.schedule.count_fires(rest);
    rest.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::moment;
    use crate::key::{JobKey, TriggerKey};
    use crate::trigger::{CronSchedule, DailyTimeIntervalSchedule, IntervalUnit, SimpleSchedule};
    use std::time::Duration;

    const START: i64 = 1_772_366_400_000;
    const MINUTE: i64 = 60_000;

    fn stored(schedule: impl Into<Schedule>) -> Trigger {
        let builder = Trigger::builder(TriggerKey::named("t"), JobKey::named("j")).schedule(schedule);
        let mut trigger = builder.start_at(moment(START)).build().unwrap();
        trigger.compute_first_ms(None, START);
        trigger
    }

    fn minutely() -> SimpleSchedule {
        SimpleSchedule::every(Duration::from_secs(60))
    }

    /// Times left out, next time, times counted as fired.
    fn passed(mut trigger: Trigger, before_ms: i64) -> (u64, Option<i64>, Option<i64>) {
        trigger.previous_ms = Some(START - MINUTE);
        let times = pass_over(&mut trigger, before_ms, None, before_ms);
        assert_eq!(trigger.previous_ms, Some(START - MINUTE), "it has not fired");
        (times, trigger.next_ms, trigger.schedule.times_triggered())
    }

    #[test]
    fn a_trigger_moves_to_its_first_time_from_a_moment_on() {
        let next = |minutes| Some(START + minutes * MINUTE);
        assert_eq!(passed(stored(minutely()), START), (0, next(0), Some(0)));
        assert_eq!(passed(stored(minutely()), START + 1), (1, next(1), Some(1)));
        assert_eq!(passed(stored(minutely()), START + 3 * MINUTE), (3, next(3), Some(3)));
        let cron = || stored(CronSchedule::new("0 * * * * ?").unwrap());
        assert_eq!(passed(cron(), START + 3 * MINUTE + 1), (4, next(4), None));
    }

    #[test]
    fn one_that_has_no_time_left_has_none() {
        assert_eq!(passed(stored(SimpleSchedule::once()), START + 1), (1, None, Some(1)));
        assert_eq!(passed(stored(minutely().repeat(2)), START + 60 * MINUTE), (3, None, Some(3)));
        let daily = DailyTimeIntervalSchedule::every(1, IntervalUnit::Minute).repeat(2);
        assert_eq!(passed(stored(daily), START + 60 * MINUTE), (3, None, Some(3)));
    }

    #[test]
    fn many_times_are_left_behind_at_once() {
        let week = START + 7 * 24 * 60 * MINUTE;
        assert_eq!(passed(stored(minutely()), week), (10_080, Some(week), Some(10_080)));
        assert_eq!(passed(stored(minutely().repeat(1_999)), week), (2_000, None, Some(2_000)));
        let (times, next, _) = passed(stored(CronSchedule::new("0 * * * * ?").unwrap()), week);
        assert_eq!((times, next), (1_001, Some(week)));
        let daily = DailyTimeIntervalSchedule::every(1, IntervalUnit::Minute).repeat(1_999);
        assert_eq!(passed(stored(daily), week), (2_000, None, Some(2_000)), "its count ends it");
    }

    #[test]
    fn only_what_is_older_than_the_window_is_left_out() {
        for (window_ms, left_out) in [(None, 0), (Some(MINUTE), 9), (Some(3 * MINUTE), 7), (Some(60 * MINUTE), 0)] {
            let mut trigger = stored(minutely());
            trigger.policies.catch_up_ms = window_ms;
            assert_eq!(leave_out_old(&mut trigger, None, START + 10 * MINUTE), left_out, "{window_ms:?}");
        }
    }
}
