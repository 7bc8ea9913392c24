//! Rules of submitted work: its state, from the rows that are left of it.

use crate::job::{FireOutcome, SubmissionState};
use crate::trigger::TriggerState;

/// The state of work from the triggers of its job, none if the job is gone, and the outcome of its
/// newest run. A job goes in the transaction that records its last run, if the history
/// `keeps_successes`: a failure is the last word only then. Work that `follows` other
/// work has no trigger before that has ended.
pub(crate) fn state(
    triggers: Option<&[TriggerState]>,
    newest: Option<FireOutcome>,
    keeps_successes: bool,
    follows: bool,
) -> SubmissionState {
    let Some(triggers) = triggers else {
        return newest.filter(|_| keeps_successes).map_or(SubmissionState::Gone, SubmissionState::Ended);
    };
    let mut left = triggers.iter().filter(|state| **state != TriggerState::Complete).peekable();
    let is_paused = |state: &TriggerState| matches!(state, TriggerState::Paused | TriggerState::PausedBlocked);
    match newest {
        Some(FireOutcome::Running) => SubmissionState::Running,
        None if follows && triggers.is_empty() => SubmissionState::Following,
        // The fire has begun since the history was read, or has just ended.
        _ if left.peek().is_none() => SubmissionState::Running,
        _ if left.clone().all(|state| *state == TriggerState::Error) => SubmissionState::Parked,
        _ if left.all(is_paused) => SubmissionState::Paused,
        Some(_) => SubmissionState::Retrying,
        None => SubmissionState::Pending,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TriggerState::*;

    #[test]
    fn a_state_is_told_by_what_is_left() {
        let failed = Some(FireOutcome::Failed);
        for (triggers, newest, expected) in [
            (Some(&[Waiting][..]), None, SubmissionState::Pending),
            (Some(&[Blocked]), None, SubmissionState::Pending),
            (Some(&[Paused, PausedBlocked]), None, SubmissionState::Paused),
            (Some(&[Complete]), Some(FireOutcome::Running), SubmissionState::Running),
            (Some(&[]), None, SubmissionState::Running),
            (Some(&[Waiting]), failed, SubmissionState::Retrying),
            (Some(&[Complete, Waiting]), failed, SubmissionState::Retrying),
            (Some(&[Error]), Some(FireOutcome::Lost), SubmissionState::Parked),
            (None, failed, SubmissionState::Ended(FireOutcome::Failed)),
            (None, None, SubmissionState::Gone),
        ] {
            assert_eq!(state(triggers, newest, true, false), expected, "{triggers:?} {newest:?}");
        }
        assert_eq!(state(Some(&[]), None, true, true), SubmissionState::Following);
        assert_eq!(state(Some(&[Waiting]), None, true, true), SubmissionState::Pending);
        // The run that came after the failure may have succeeded.
        assert_eq!(state(None, failed, false, false), SubmissionState::Gone);
    }
}
