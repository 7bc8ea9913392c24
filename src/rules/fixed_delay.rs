//! Fixed delay: the end of a run sets the next time of its trigger.

use crate::calendar::Calendar;
use crate::trigger::{Trigger, TriggerState};

/// Lets a trigger whose last run has ended now wait for its delay; returns its new state, none if
/// its state leaves nothing to wait for. A trigger whose job runs elsewhere stays blocked.
pub(crate) fn count_from_end(
    trigger: &mut Trigger,
    calendar: Option<&Calendar>,
    from: TriggerState,
    is_blocked_by_job: bool,
    now_ms: i64,
) -> Option<TriggerState> {
    use TriggerState::{Blocked, Paused, PausedBlocked, Waiting};
    let to = match from {
        Blocked | PausedBlocked if is_blocked_by_job => from,
        Blocked | Waiting => Waiting,
        PausedBlocked | Paused => Paused,
        _ => return None,
    };
    // A trigger that was replaced while its run went on has a first time of its own.
    if let Some(previous_ms) = trigger.previous_ms {
        // No time comes a second time, even if the clock was set back.
        trigger.next_ms = trigger.included_time_after(now_ms.max(previous_ms), calendar, now_ms);
    }
    Some(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{JobKey, TriggerKey};
    use crate::trigger::SimpleSchedule;
    use TriggerState::{Blocked, Complete, Error, Paused, PausedBlocked, Waiting};
    use std::time::Duration;

    const MINUTE: i64 = 60_000;

    fn fired(schedule: SimpleSchedule, end_ms: Option<i64>) -> Trigger {
        let builder = Trigger::builder(TriggerKey::named("t"), JobKey::named("j")).schedule(schedule);
        let mut trigger = builder.build().unwrap();
        (trigger.start_ms, trigger.end_ms) = (0, end_ms);
        trigger.compute_first_ms(None, 0);
        trigger.move_on(None, 0);
        trigger
    }

    fn delay() -> SimpleSchedule {
        SimpleSchedule::fixed_delay(Duration::from_secs(60))
    }

    #[test]
    fn the_delay_counts_from_the_end() {
        let mut trigger = fired(delay(), None);
        assert_eq!(trigger.next_ms, Some(MINUTE));
        for (from, blocked, to) in [
            (Blocked, false, Some(Waiting)),
            (Blocked, true, Some(Blocked)),
            (Waiting, true, Some(Waiting)),
            (PausedBlocked, false, Some(Paused)),
            (PausedBlocked, true, Some(PausedBlocked)),
            (Paused, false, Some(Paused)),
            (Complete, false, None),
            (Error, false, None),
        ] {
            assert_eq!(count_from_end(&mut trigger, None, from, blocked, 5 * MINUTE), to, "{from:?}");
            assert_eq!(trigger.next_ms, Some(6 * MINUTE));
        }
    }

    /// The clock of the store was set back by ten minutes while the job ran.
    #[test]
    fn no_time_comes_twice_when_the_clock_is_set_back() {
        let mut trigger = fired(delay(), None);
        trigger.previous_ms = Some(10 * MINUTE);
        count_from_end(&mut trigger, None, Blocked, false, MINUTE);
        assert_eq!(trigger.next_ms, Some(11 * MINUTE));
    }

    #[test]
    fn the_count_and_the_end_of_the_schedule_hold() {
        let mut counted = fired(delay().repeat(1), None);
        count_from_end(&mut counted, None, Blocked, false, 5 * MINUTE);
        assert_eq!(counted.next_ms, Some(6 * MINUTE));
        counted.move_on(None, 6 * MINUTE);
        assert_eq!(counted.next_ms, None, "two fires in all");
        let mut ending = fired(delay(), Some(3 * MINUTE));
        assert_eq!(ending.next_ms, Some(MINUTE));
        count_from_end(&mut ending, None, Blocked, false, 2 * MINUTE);
        assert_eq!(ending.next_ms, None, "nothing fires at the end of the trigger or after it");
    }

    #[test]
    fn a_trigger_that_has_not_fired_keeps_its_first_time() {
        let mut trigger = fired(delay(), None);
        (trigger.next_ms, trigger.previous_ms) = (Some(2 * MINUTE), None);
        count_from_end(&mut trigger, None, Blocked, false, 5 * MINUTE);
        assert_eq!(trigger.next_ms, Some(2 * MINUTE));
    }
}
