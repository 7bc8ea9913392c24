//! The effect of a new calendar on the triggers that name it.

use crate::calendar::Calendar;
use crate::trigger::{Overlap, Trigger};

/// The largest number of excluded past times that are gone through one by one.
const MAX_STEPS: usize = 100_000;

/// Quartz's `updateWithNewCalendar`: the next fire time becomes the first after the last fire, or
/// after now if there was none, that the calendar includes.
///
/// Beyond Quartz, what is due and has no later time stays as it is. A time that counts from the end
/// of a run stays, and times that an overlap has passed over do not come back.
///
/// Of excluded times that are long past Quartz leaves out every second one without asking the
/// calendar; so it is here, since nodes of both kinds must agree.
pub(crate) fn update(trigger: &mut Trigger, calendar: &Calendar, now_ms: i64, threshold_ms: i64) {
    let mut next = first_candidate(trigger, now_ms);
    for _ in 0..MAX_STEPS {
        let Some(excluded) = next.filter(|at| !calendar.includes(*at)) else { break };
        next = trigger.fire_ms_after(excluded, now_ms);
        match next {
            Some(at) if now_ms.saturating_sub(at) >= threshold_ms.max(1) => next = trigger.fire_ms_after(at, now_ms),
            // From here on nothing is left out.
            Some(_) => {
                next = trigger.included_time_after(excluded, Some(calendar), now_ms);
                break;
            }
            None => break,
        }
    }
    // A trigger without a later time is not kept from that which is due.
    let due = trigger.next_ms.filter(|at| next.is_none() && *at <= now_ms);
    trigger.next_ms = next.or(due).filter(|at| calendar.includes(*at));
}

/// The first time that the new calendar is asked for.
fn first_candidate(trigger: &Trigger, now_ms: i64) -> Option<i64> {
    let after_last = || trigger.fire_ms_after(trigger.previous_ms.unwrap_or(now_ms), now_ms);
    let Some(next_ms) = trigger.next_ms.filter(|_| trigger.previous_ms.is_some()) else { return after_last() };
    let is_delayed = trigger.schedule.is_fixed_delay();
    let is_passed_over = trigger.policies.overlap != Overlap::AllowAll;
    match is_delayed || is_passed_over {
        true if is_delayed || next_ms <= now_ms => Some(next_ms),
        // Times before now have fired, or were passed over while the job ran.
        true => trigger.fire_ms_after(now_ms.max(trigger.previous_ms.unwrap_or(now_ms)), now_ms),
        false => after_last(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::{CronTimes, MonthDays, Weekdays};
    use crate::epoch::moment;
    use crate::key::{JobKey, TriggerKey};
    use crate::trigger::SimpleSchedule;
    use std::time::Duration;

    /// 2026-03-01T12:00:00Z, a Sunday.
    const NOW: i64 = 1_772_366_400_000;
    const HOUR: i64 = 3_600_000;

    fn hourly(start_ms: i64, previous_ms: Option<i64>) -> Trigger {
        let builder = Trigger::builder(TriggerKey::named("t"), JobKey::named("j"));
        let every = SimpleSchedule::every(Duration::from_secs(3600));
        let mut trigger = builder.schedule(every).build().expect("a trigger");
        trigger.start_ms = start_ms;
        trigger.set_history(previous_ms.or(Some(start_ms)).map(moment), previous_ms.map(moment), 1);
        trigger
    }

    fn next(mut trigger: Trigger, calendar: &Calendar) -> Option<i64> {
        update(&mut trigger, calendar, NOW, 60_000);
        trigger.next_ms
    }

    #[test]
    fn the_next_time_is_the_first_after_the_last_fire_that_is_included() {
        let weekend = Calendar::new(Weekdays::weekend());
        assert_eq!(next(hourly(NOW - 48 * HOUR, Some(NOW)), &weekend), Some(NOW + 12 * HOUR));
        let first = Calendar::new(MonthDays::excluding([2]).expect("a day"));
        assert_eq!(next(hourly(NOW - 48 * HOUR, Some(NOW)), &first), Some(NOW + HOUR));
        // A time that is past and included stays, to be fired late or as misfired.
        assert_eq!(next(hourly(NOW - 48 * HOUR, Some(NOW - 5 * HOUR)), &first), Some(NOW - 4 * HOUR));
    }

    #[test]
    fn one_that_has_not_fired_yet_begins_after_now() {
        let first = Calendar::new(MonthDays::excluding([2]).expect("a day"));
        assert_eq!(next(hourly(NOW - 2 * HOUR, None), &first), Some(NOW + HOUR));
        assert_eq!(next(hourly(NOW + 2 * HOUR, None), &first), Some(NOW + 2 * HOUR));
    }

    #[test]
    fn what_is_due_and_has_no_later_time_stays_due() {
        let builder = Trigger::builder(TriggerKey::named("t"), JobKey::named("j")).start_at(moment(NOW - 1_000));
        let mut once = builder.build().expect("a trigger");
        once.set_history(Some(moment(NOW - 1_000)), None, 0);
        let saturdays = Calendar::new(Weekdays::excluding([chrono::Weekday::Sat]));
        assert_eq!(next(once.clone(), &saturdays), Some(NOW - 1_000));
        assert_eq!(next(once, &Calendar::new(Weekdays::weekend())), None, "the new calendar excludes it");
    }

    #[test]
    fn a_time_that_counts_from_the_end_of_a_run_stays_and_passed_over_times_do_not_come_back() {
        let first = Calendar::new(MonthDays::excluding([2]).expect("a day"));
        for fixed_delay in [true, false] {
            let mut trigger = hourly(NOW - 48 * HOUR, Some(NOW - HOUR));
            match fixed_delay {
                true => trigger.schedule = SimpleSchedule::fixed_delay(Duration::from_secs(3600)).into(),
                false => trigger.policies.overlap = Overlap::Skip,
            }
            // At half past eleven a run was under way, until ten to twelve.
            trigger.next_ms = Some(if fixed_delay { NOW + 5 * HOUR / 6 } else { NOW + HOUR });
            trigger.previous_ms = Some(NOW - 3 * HOUR / 2);
            assert_eq!(next(trigger.clone(), &first), trigger.next_ms, "{fixed_delay}");
            // Somebody has set the clock back.
            (trigger.previous_ms, trigger.next_ms) = (Some(NOW + HOUR), Some(NOW + 2 * HOUR));
            assert_eq!(next(trigger, &first), Some(NOW + 2 * HOUR), "{fixed_delay}");
        }
    }

    #[test]
    fn of_excluded_times_long_past_every_second_is_left_out() {
        // Excluded: 7 and 8 o'clock; included: 9 o'clock and later.
        let early = Calendar::new(CronTimes::excluding("* * 7-8 * * ?").expect("an expression"));
        // From 6: 7 is excluded, 8 is left out, 9 is included.
        assert_eq!(next(hourly(NOW - 6 * HOUR, Some(NOW - 6 * HOUR)), &early), Some(NOW - 3 * HOUR));
        let seven = Calendar::new(CronTimes::excluding("* * 7 * * ?").expect("an expression"));
        assert_eq!(next(hourly(NOW - 6 * HOUR, Some(NOW - 6 * HOUR)), &seven), Some(NOW - 3 * HOUR), "not 8");
    }

    #[test]
    fn where_nothing_is_included_there_is_no_next_time() {
        let never = Calendar::new(MonthDays::excluding(1..=31).expect("days"));
        assert_eq!(next(hourly(NOW, Some(NOW)), &never), None);
        assert_eq!(next(hourly(NOW - 1_000_000 * HOUR, Some(NOW - 999_999 * HOUR)), &never), None);
    }
}
