//! Misfires: which triggers are too late, and what becomes of them.

use crate::calendar::Calendar;
use crate::epoch::millis;
use crate::trigger::{FOREVER, MisfireInstruction, Schedule, Trigger};
use chrono::{DateTime, Utc};
use std::time::Duration;

impl Trigger {
    /// True if the trigger is later than the threshold allows, so that its misfire instruction
    /// applies.
    pub fn is_misfired(&self, now: DateTime<Utc>, threshold: Duration) -> bool {
        is_misfired(self, now.timestamp_millis(), millis(threshold))
    }

    /// Does what its misfire instruction wants: usually a new next time, for simple schedules also
    /// a new start and count.
    ///
    /// ```
    /// use carnelian::{JobKey, SimpleSchedule, Trigger, TriggerKey};
    /// use chrono::{DateTime, TimeDelta, Utc};
    /// use std::time::Duration;
    ///
    /// let start: DateTime<Utc> = "2026-03-01T12:00:00Z".parse()?;
    /// let mut trigger = Trigger::builder(TriggerKey::named("often"), JobKey::named("report"))
    ///     .schedule(SimpleSchedule::every(Duration::from_secs(60)))
    ///     .build()?;
    /// trigger.compute_first_fire_time(None, start);
    /// // Five and a half minutes late: the smart policy of an endless schedule waits for the next time.
    /// trigger.apply_misfire(None, start + TimeDelta::seconds(330));
    /// assert_eq!(trigger.next_fire_time(), Some(start + TimeDelta::seconds(360)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "updateAfterMisfire")]
    pub fn apply_misfire(&mut self, calendar: Option<&Calendar>, now: DateTime<Utc>) {
        apply(self, calendar, now.timestamp_millis());
    }
}

/// True if a trigger is later than the threshold allows, and not told to ignore that.
pub(crate) fn is_misfired(trigger: &Trigger, now_ms: i64, threshold_ms: i64) -> bool {
    let latest = now_ms.saturating_sub(threshold_ms).max(0);
    trigger.misfire != MisfireInstruction::Ignore && trigger.next_ms.is_some_and(|next| next < latest)
}

/// Quartz's `updateAfterMisfire`: gives the trigger the state that its misfire instruction asks
/// for.
pub(crate) fn apply(trigger: &mut Trigger, calendar: Option<&Calendar>, now_ms: i64) {
    use MisfireInstruction::*;
    match instruction_in_effect(trigger) {
        // Only the smart policy is never in effect itself.
        Ignore | Smart => {}
        FireNow | FireOnceNow => trigger.next_ms = Some(now_ms).filter(|now| !is_over(trigger, *now)),
        DoNothing | RescheduleNextWithExistingCount => wait_for_next(trigger, calendar, now_ms),
        RescheduleNextWithRemainingCount => {
            let due = trigger.next_ms;
            wait_for_next(trigger, calendar, now_ms);
            let missed = missed_between(trigger, due, trigger.next_ms);
            trigger.schedule.count_fires(missed);
        }
        RescheduleNowWithExistingCount => start_again(trigger, 0, now_ms),
        RescheduleNowWithRemainingCount => {
            let missed = missed_between(trigger, trigger.next_ms, Some(now_ms));
            start_again(trigger, missed, now_ms);
        }
    }
}

/// True if a trigger that respects its end may no longer fire; others do so late whatever their
/// end.
fn is_over(trigger: &Trigger, now_ms: i64) -> bool {
    match &trigger.schedule {
        Schedule::DailyTimeInterval(daily) => daily.is_over(trigger.end_ms, now_ms),
        _ => false,
    }
}

/// The instruction with the smart policy resolved, and without those that the schedule turns into
/// others.
fn instruction_in_effect(trigger: &Trigger) -> MisfireInstruction {
    use MisfireInstruction::*;
    match (&trigger.schedule, trigger.misfire) {
        // One fire alone can be late, and its end sets the next.
        (Schedule::Simple(simple), instruction) if simple.fixed_delay => match instruction {
            RescheduleNextWithExistingCount | RescheduleNextWithRemainingCount => DoNothing,
            Ignore => Ignore,
            _ => FireOnceNow,
        },
        (Schedule::Simple(simple), Smart) => match simple.repeat_count {
            0 => FireNow,
            FOREVER => RescheduleNextWithRemainingCount,
            _ => RescheduleNowWithExistingCount,
        },
        (Schedule::Simple(simple), FireNow) if simple.repeat_count != 0 => RescheduleNowWithRemainingCount,
        (_, Smart) => FireOnceNow,
        (_, instruction) => instruction,
    }
}

fn wait_for_next(trigger: &mut Trigger, calendar: Option<&Calendar>, now_ms: i64) {
    trigger.next_ms = trigger.included_time_after(now_ms, calendar, now_ms);
}

/// Starts again now, with a count that lacks the fires so far and the missed ones; ends if the end
/// has passed.
fn start_again(trigger: &mut Trigger, missed: i64, now_ms: i64) {
    if let Schedule::Simple(simple) = &mut trigger.schedule
        && !matches!(simple.repeat_count, 0 | FOREVER)
    {
        let gone = simple.times_triggered.saturating_add(missed);
        // Never below zero: minus one would mean "for ever".
        simple.repeat_count = simple.repeat_count.saturating_sub(gone).max(0);
        simple.times_triggered = 0;
    }
    if trigger.end_ms.is_some_and(|end| end < now_ms) {
        trigger.next_ms = None;
    } else {
        trigger.start_ms = now_ms;
        trigger.next_ms = Some(now_ms);
    }
}

/// The number of intervals between two times.
fn missed_between(trigger: &Trigger, from: Option<i64>, to: Option<i64>) -> i64 {
    match (&trigger.schedule, from, to) {
        (Schedule::Simple(simple), Some(from), Some(to)) if simple.interval_ms > 0 => {
            to.saturating_sub(from) / simple.interval_ms
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::moment;
    use crate::key::{JobKey, TriggerKey};
    use crate::trigger::{
        CalendarIntervalSchedule, CronSchedule, DailyTimeIntervalSchedule, IntervalUnit, SimpleSchedule,
    };
    use MisfireInstruction::*;

    const START: i64 = 1_772_366_400_000;
    const MINUTE: i64 = 60_000;
    /// Half a minute after the sixth time of a trigger of every minute.
    const LATE: i64 = START + 5 * MINUTE + 30_000;

    /// Fired once, at its start, and due since one minute after.
    fn minutely(count: Option<u32>, instruction: MisfireInstruction) -> Trigger {
        let every = SimpleSchedule::every(Duration::from_secs(60));
        due_again(count.map_or(every.clone(), |count| every.repeat(count)).into(), instruction)
    }

    fn due_again(schedule: Schedule, instruction: MisfireInstruction) -> Trigger {
        let builder = Trigger::builder(TriggerKey::named("t"), JobKey::named("j")).schedule(schedule);
        let mut trigger = builder.start_at(moment(START)).misfire(instruction).build().unwrap();
        trigger.set_history(Some(moment(START + MINUTE)), Some(moment(START)), 1);
        trigger
    }

    /// Next time, start, count and times fired after the misfire.
    fn after(mut trigger: Trigger) -> (Option<i64>, i64, i64, i64) {
        apply(&mut trigger, None, LATE);
        let Schedule::Simple(simple) = &trigger.schedule else {
            panic!("a simple schedule");
        };
        (trigger.next_ms, trigger.start_ms, simple.repeat_count, simple.times_triggered)
    }

    #[test]
    fn a_trigger_is_misfired_when_it_is_later_than_the_threshold() {
        let trigger = minutely(None, Smart);
        assert!(!is_misfired(&trigger, START + 2 * MINUTE, MINUTE));
        assert!(is_misfired(&trigger, START + 2 * MINUTE + 1, MINUTE));
        assert!(!is_misfired(&minutely(None, Ignore), LATE, MINUTE));
    }

    #[test]
    fn who_ignores_misfires_is_left_as_it_is() {
        assert_eq!(after(minutely(None, Ignore)), (Some(START + MINUTE), START, -1, 1));
    }

    #[test]
    fn the_smart_policy_depends_on_the_count() {
        let next = START + 6 * MINUTE;
        assert_eq!(after(minutely(None, Smart)), (Some(next), START, -1, 6));
        assert_eq!(after(minutely(Some(9), Smart)), (Some(LATE), LATE, 8, 0));
        assert_eq!(after(minutely(Some(0), Smart)), (Some(LATE), START, 0, 1));
    }

    #[test]
    fn waiting_for_the_next_time_may_or_may_not_count_the_missed_ones() {
        let next = START + 6 * MINUTE;
        assert_eq!(after(minutely(Some(9), RescheduleNextWithExistingCount)), (Some(next), START, 9, 1));
        assert_eq!(after(minutely(Some(9), RescheduleNextWithRemainingCount)), (Some(next), START, 9, 6));
    }

    #[test]
    fn starting_again_may_or_may_not_count_the_missed_ones() {
        assert_eq!(after(minutely(Some(9), RescheduleNowWithExistingCount)), (Some(LATE), LATE, 8, 0));
        assert_eq!(after(minutely(Some(9), RescheduleNowWithRemainingCount)), (Some(LATE), LATE, 4, 0));
        assert_eq!(after(minutely(Some(9), FireNow)), (Some(LATE), LATE, 4, 0));
    }

    #[test]
    fn a_count_that_is_used_up_becomes_zero_and_never_for_ever() {
        assert_eq!(after(minutely(Some(2), RescheduleNowWithRemainingCount)), (Some(LATE), LATE, 0, 0));
        let mut worn = minutely(Some(2), RescheduleNowWithExistingCount);
        worn.set_history(worn.next_fire_time(), worn.previous_fire_time(), 3);
        assert_eq!(after(worn), (Some(LATE), LATE, 0, 0));
    }

    #[test]
    fn nothing_starts_again_after_the_end() {
        let mut trigger = minutely(Some(9), RescheduleNowWithExistingCount);
        trigger.end_ms = Some(LATE - 1);
        assert_eq!(after(trigger).0, None);
    }

    #[test]
    fn a_cron_trigger_fires_once_now_or_waits() {
        let schedule = || Schedule::from(CronSchedule::new("0 * * * * ?").unwrap());
        for (instruction, next) in
            [(Smart, LATE + 1), (FireOnceNow, LATE + 1), (DoNothing, START + 6 * MINUTE), (Ignore, START + MINUTE)]
        {
            let mut trigger = due_again(schedule(), instruction);
            apply(&mut trigger, None, LATE + 1);
            assert_eq!(trigger.next_ms, Some(next), "{instruction:?}");
        }
    }

    #[test]
    fn who_waits_waits_for_the_end_of_a_gap_or_for_the_other_pass() {
        let ms = |text| chrono::DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis();
        let half_past_two = CronSchedule::new("0 30 2 * * ?").unwrap().in_zone(chrono_tz::Europe::Berlin);
        let schedule = half_past_two.fire_at_gap_end(true).both_passes(true);
        for (now, next) in [
            ("2026-03-29T01:59:00+01:00", "2026-03-29T03:00:00+02:00"),
            ("2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"),
            ("2026-10-25T02:29:00+02:00", "2026-10-25T02:30:00+02:00"),
            ("2026-10-25T02:45:00+02:00", "2026-10-25T02:30:00+01:00"),
            ("2026-10-25T02:30:00+01:00", "2026-10-26T02:30:00+01:00"),
        ] {
            let mut trigger = due_again(schedule.clone().into(), DoNothing);
            apply(&mut trigger, None, ms(now));
            assert_eq!(trigger.next_ms, Some(ms(next)), "{now}");
            let mut trigger = due_again(schedule.clone().into(), Smart);
            apply(&mut trigger, None, ms(now));
            assert_eq!(trigger.next_ms, Some(ms(now)));
        }
    }

    #[test]
    fn a_month_counted_from_the_start_survives_a_misfire() {
        let ms = |text| chrono::DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis();
        let monthly = CalendarIntervalSchedule::every(1, IntervalUnit::Month).without_drift(true);
        let builder = Trigger::builder(TriggerKey::named("t"), JobKey::named("j")).schedule(monthly);
        let start = ms("2026-01-31T09:00:00Z");
        let mut trigger = builder.start_at(moment(start)).build().unwrap();
        trigger.set_history(Some(moment(ms("2026-02-28T09:00:00Z"))), Some(moment(start)), 1);
        let late = ms("2026-03-02T00:00:00Z");
        apply(&mut trigger, None, late);
        assert_eq!(trigger.next_ms, Some(late), "the smart policy fires now");
        trigger.move_on(None, late);
        assert_eq!(trigger.next_ms, Some(ms("2026-03-31T09:00:00Z")));
    }

    #[test]
    fn after_an_end_that_is_respected_nothing_is_made_up_for() {
        for (respects, instruction, next) in [
            (true, Smart, None),
            (true, FireOnceNow, None),
            (true, DoNothing, None),
            (true, Ignore, Some(START + MINUTE)),
            (false, Smart, Some(LATE)),
        ] {
            let schedule = DailyTimeIntervalSchedule::every(1, IntervalUnit::Minute).respect_end_time(respects);
            let mut trigger = due_again(schedule.into(), instruction);
            trigger.end_ms = Some(LATE - 1);
            apply(&mut trigger, None, LATE);
            assert_eq!(trigger.next_ms, next, "{respects} {instruction:?}");
            trigger.set_history(Some(moment(START + MINUTE)), Some(moment(START)), 1);
            trigger.end_ms = Some(LATE);
            apply(&mut trigger, None, LATE);
            assert_eq!(
                trigger.next_ms.is_some(),
                instruction != DoNothing,
                "a fire at the end itself: {instruction:?}"
            );
        }
    }
}
