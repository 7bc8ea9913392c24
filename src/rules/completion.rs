//! Completion: the triggers and jobs that may be over when fires have ended.

use crate::hash::HashMap;
use crate::key::{JobKey, TriggerKey};
use crate::store::row::TriggerRow;
use crate::trigger::TriggerState;

/// A run that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedRun<'a> {
    pub(crate) trigger: &'a TriggerKey,
    pub(crate) job: &'a JobKey,
    /// True if the trigger had no fire time left after this fire.
    pub(crate) last: bool,
    /// True if the trigger's row went with the fire.
    pub(crate) removed: bool,
    /// True if the job stays without triggers.
    pub(crate) durable: bool,
    /// True if the job has said what becomes of its triggers.
    pub(crate) is_instructed: bool,
}

/// Triggers that go if nothing else of theirs runs, and jobs that go if they have nothing else to
/// do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Deletable {
    pub(crate) triggers: Vec<TriggerKey>,
    pub(crate) jobs: Vec<JobKey>,
}

/// The triggers and jobs that these runs may have left for deletion; `stored` are the rows that are
/// there of triggers whose fires were not their last.
///
/// A fire that was not its trigger's last when it began may be the last to end: the trigger was
/// completed, or deleted, while the job ran, and waits for this fire; so does its job. A trigger
/// that was stored for another job meanwhile is another one.
pub(crate) fn deletable(fires: &[EndedRun<'_>], stored: &[TriggerRow]) -> Deletable {
    let is_complete: HashMap<(&TriggerKey, &JobKey), bool> =
        stored.iter().map(|row| ((&row.key, &row.job), row.state == TriggerState::Complete.name())).collect();
    let mut found = Deletable::default();
    for fire in fires {
        let state = if fire.last { None } else { Some(is_complete.get(&(fire.trigger, fire.job))) };
        let is_deletable = match state {
            None => !fire.removed,
            Some(state) => state == Some(&true),
        };
        if is_deletable {
            found.triggers.push(fire.trigger.clone());
        }
        let has_gone_meanwhile = state.is_some_and(|state| state != Some(&false));
        if has_gone_meanwhile || !fire.durable && (fire.last || fire.is_instructed) {
            found.jobs.push(fire.job.clone());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::row::ScheduleRow;

    fn row(key: &TriggerKey, job: &JobKey, state: TriggerState) -> TriggerRow {
        TriggerRow {
            key: key.clone(),
            job: job.clone(),
            description: None,
            next_ms: None,
            previous_ms: None,
            priority: 5,
            state: state.name().to_owned(),
            kind: "SIMPLE".to_owned(),
            start_ms: 0,
            end_ms: None,
            calendar: None,
            misfire: 0,
            data: None,
            schedule: ScheduleRow::Missing,
            options: None,
        }
    }

    #[test]
    fn the_fire_and_the_row_say_what_may_be_over() {
        use TriggerState::{Complete, Waiting};
        let (trigger, job) = (TriggerKey::named("t"), JobKey::named("j"));
        // Last, its row went, durable job, instructed, the row's state; trigger over, job over.
        for (last, removed, durable, is_instructed, state, expected) in [
            (true, true, true, false, None, (false, false)),
            (true, true, false, false, None, (false, true)),
            (true, false, true, false, None, (true, false)),
            (true, false, false, false, None, (true, true)),
            (false, false, true, false, Some(Waiting), (false, false)),
            (false, false, false, false, Some(Waiting), (false, false)),
            (false, false, false, true, Some(Waiting), (false, true)),
            (false, false, true, true, Some(Waiting), (false, false)),
            (false, false, true, false, Some(Complete), (true, true)),
            (false, false, true, false, None, (false, true)),
        ] {
            let fire = EndedRun { trigger: &trigger, job: &job, last, removed, durable, is_instructed };
            let stored: Vec<TriggerRow> = state.map(|state| row(&trigger, &job, state)).into_iter().collect();
            let over = deletable(&[fire], &stored);
            assert_eq!((!over.triggers.is_empty(), !over.jobs.is_empty()), expected, "{fire:?} {state:?}");
        }
        // Stored for another job meanwhile.
        let other = row(&trigger, &JobKey::named("other"), Waiting);
        let fire = EndedRun {
            trigger: &trigger,
            job: &job,
            last: false,
            removed: false,
            durable: false,
            is_instructed: false,
        };
        let over = deletable(&[fire], &[other]);
        assert_eq!((over.triggers, over.jobs), (vec![], vec![job]));
    }
}
