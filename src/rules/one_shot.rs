//! One-shots: triggers of the scheduler's own, which fire once and however late they are.

use crate::data_map::JobDataMap;
use crate::key::{JobKey, TriggerKey};
use crate::trigger::{MisfireInstruction, Policies, Schedule, SimpleSchedule, Trigger};

/// A trigger that fires the job once at `due_ms`, or as soon as it can be fired after that.
pub(crate) fn one_shot(key: TriggerKey, job: JobKey, data: JobDataMap, priority: i32, due_ms: i64) -> Trigger {
    Trigger {
        key,
        job_key: job,
        description: None,
        calendar_name: None,
        data,
        priority,
        misfire: MisfireInstruction::Ignore,
        start_ms: due_ms,
        end_ms: None,
        next_ms: Some(due_ms),
        previous_ms: None,
        schedule: Schedule::Simple(SimpleSchedule::once()),
        policies: Policies::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::misfire::is_misfired;

    #[test]
    fn a_one_shot_fires_once_and_is_never_too_late() {
        let mut trigger = one_shot(TriggerKey::new("g", "t"), JobKey::new("g", "j"), JobDataMap::new(), 7, 1_000);
        assert_eq!((trigger.next_ms, trigger.start_ms, trigger.priority), (Some(1_000), 1_000, 7));
        assert!(!is_misfired(&trigger, i64::MAX, 0));
        trigger.move_on(None, 5_000);
        assert_eq!((trigger.next_ms, trigger.previous_ms), (None, Some(1_000)));
    }
}
