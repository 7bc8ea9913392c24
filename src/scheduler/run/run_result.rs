//! The result of a run: which outcome it is, and whether its work goes on in another fire.

use super::context::JobContext;
use super::job_error::{JobError, Outcome};
use super::stop_reason::StopReason;
use crate::job::{FireOutcome, RetryHint, RetryPolicy};
use crate::listener::FireEnd;
use crate::store::{CompletionInstruction, Ending, FireBundle, RerunOrder, RerunReason};
use std::time::Duration;

/// The class of a run that took too long.
const TIMEOUT: &str = "timeout";

/// The class of a panic.
const PANIC: &str = "panic";

/// Why a run did not end well.
pub(crate) struct Failure {
    pub(crate) error: JobError,
    pub(crate) panicked: bool,
}

impl Failure {
    pub(crate) fn instruction(&self) -> CompletionInstruction {
        if self.error.wants_firing_trigger_unscheduled() {
            CompletionInstruction::SetTriggerComplete
        } else if self.error.wants_all_triggers_unscheduled() {
            CompletionInstruction::SetAllJobTriggersComplete
        } else {
            CompletionInstruction::NoInstruction
        }
    }

    fn hint(&self) -> RetryHint {
        let mut hint = self.error.retry_hint.clone();
        if self.panicked {
            hint.class.get_or_insert_with(|| PANIC.to_owned());
        }
        hint
    }
}

/// The outcome of a run that ended so, and was asked to stop for this reason, or not at all.
///
/// An error after that counts as the stop: it is how most code gets out. A run that wants to go on
/// later counts as stopped if somebody wanted it to stop. A run that stopped although the reason is
/// gone by now, such as a doubt about its fire, has been interrupted: its work is not done.
pub(crate) fn outcome(result: &Result<Outcome, Failure>, stop: Option<StopReason>, is_lost: bool) -> FireOutcome {
    let stopped = match result {
        Ok(Outcome::Again(_)) if stop.is_some_and(StopReason::ends_work) => true,
        Ok(Outcome::Succeeded | Outcome::Again(_)) => return FireOutcome::Succeeded,
        Ok(Outcome::Stopped) => true,
        Err(failure) => failure.error.is_stopped(),
    };
    match stop {
        _ if is_lost => FireOutcome::Lost,
        Some(reason) => outcome_of_stop(reason),
        None if stopped => FireOutcome::Interrupted,
        None => FireOutcome::Failed,
    }
}

/// The outcome of a run that was stopped for this reason.
pub(crate) fn outcome_of_stop(reason: StopReason) -> FireOutcome {
    match reason {
        StopReason::Cancelled | StopReason::Paused => FireOutcome::Cancelled,
        StopReason::TimedOut | StopReason::Stuck => FireOutcome::TimedOut,
        StopReason::Drained | StopReason::Shutdown | StopReason::OwnershipLost => FireOutcome::Interrupted,
    }
}

/// The text of the history about a run's end: the error of its job, and for one that was stopped by
/// whatever cause which it was.
pub(crate) fn error_of(
    result: &Result<Outcome, Failure>,
    outcome: FireOutcome,
    stop: Option<StopReason>,
) -> Option<String> {
    let own = result.as_ref().err().map(|failure| &failure.error);
    let stopped = matches!(outcome, FireOutcome::Cancelled | FireOutcome::TimedOut | FireOutcome::Interrupted);
    let text = match (stop.filter(|_| stopped), own) {
        (Some(reason), Some(error)) if !error.is_stopped() => format!("{reason}: {}", error.message()),
        (Some(reason), _) => format!("{reason}: it was asked to stop"),
        (None, own) => own?.message().to_owned(),
    };
    Some(crate::error::storable(&text, 2000))
}

/// The end of a run, at this time in ticks, as the store takes it.
pub(crate) fn ending(end: FireEnd, at: Duration) -> Ending {
    let FireEnd { outcome, error, run_time, result } = end;
    Ending { outcome, error, result, run_time: Some(run_time), at: Some(at) }
}

/// The order for another fire in which the work of a run goes on that did not end when it was asked
/// to; none if the work is over.
pub(crate) fn rerun_in_its_place(bundle: &FireBundle, outcome: FireOutcome) -> Option<RerunOrder> {
    let job = &bundle.job;
    match outcome {
        FireOutcome::TimedOut => {}
        FireOutcome::Interrupted if job.requests_recovery() || job.policy().retry_policy().is_some() => {
            return Some(bundle.rerun_order(RerunReason::Interrupted, Duration::ZERO));
        }
        _ => return None,
    }
    let attempt = bundle.rerun.as_ref().map_or(0, |rerun| rerun.attempt);
    let hint = RetryHint { class: Some(TIMEOUT.to_owned()), ..RetryHint::default() };
    let delay = bundle.job.policy().retry_policy()?.delay(attempt, &hint, &bundle.fire_id)?;
    Some(bundle.rerun_order(RerunReason::Failed, delay))
}

/// The order for another fire in which the work of a run goes on; none if the work is over.
///
/// Never if the job has unscheduled its triggers. A run that timed out is a failure like others;
/// one that somebody cancelled is over. If the job has recorded its end itself, or another node has
/// the fire, nothing of this is written.
pub(crate) fn rerun(ctx: &JobContext, result: &Result<Outcome, Failure>, outcome: FireOutcome) -> Option<RerunOrder> {
    let order = |reason, delay| Some(ctx.bundle.rerun_order(reason, delay));
    let policy = ctx.job().policy().retry_policy();
    if let Ok(Outcome::Again(after)) = result
        && outcome == FireOutcome::Succeeded
    {
        return order(RerunReason::Continued, *after);
    }
    let failure = result.as_ref().err();
    if failure.is_some_and(|failure| failure.instruction() != CompletionInstruction::NoInstruction) {
        return None;
    }
    match outcome {
        // A recovery takes the fired row with it. If a lost run finds its row, a recovery has
        // passed over the row, and nobody else has the work.
        FireOutcome::Interrupted | FireOutcome::Lost if ctx.job().requests_recovery() || policy.is_some() => {
            order(RerunReason::Interrupted, Duration::ZERO)
        }
        FireOutcome::Failed | FireOutcome::TimedOut => {
            let mut hint = failure.map(Failure::hint).unwrap_or_default();
            if outcome == FireOutcome::TimedOut {
                hint.class.get_or_insert_with(|| TIMEOUT.to_owned());
            }
            let default = RetryPolicy::default();
            let policy = policy.or_else(|| hint.after.is_some().then_some(&default))?;
            order(RerunReason::Failed, policy.delay(ctx.attempt(), &hint, ctx.fire_id())?)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_stop_is_the_outcome_unless_the_work_is_done() {
        let error = || Err(Failure { error: JobError::new("no"), panicked: false });
        let stopped = || Err(Failure { error: JobError::stopped(), panicked: false });
        for (stop, expected) in [
            (StopReason::Cancelled, FireOutcome::Cancelled),
            (StopReason::Paused, FireOutcome::Cancelled),
            (StopReason::TimedOut, FireOutcome::TimedOut),
            (StopReason::Stuck, FireOutcome::TimedOut),
            (StopReason::Drained, FireOutcome::Interrupted),
            (StopReason::Shutdown, FireOutcome::Interrupted),
            (StopReason::OwnershipLost, FireOutcome::Interrupted),
        ] {
            for result in [error(), stopped(), Ok(Outcome::Stopped)] {
                assert_eq!(outcome(&result, Some(stop), false), expected, "{stop}");
            }
            assert_eq!(outcome(&Ok(Outcome::Succeeded), Some(stop), false), FireOutcome::Succeeded, "{stop}");
            let again = if stop.ends_work() { FireOutcome::Cancelled } else { FireOutcome::Succeeded };
            assert_eq!(outcome(&Ok(Outcome::Again(Duration::ZERO)), Some(stop), false), again, "{stop}");
        }
        assert_eq!(outcome(&Ok(Outcome::Stopped), Some(StopReason::OwnershipLost), true), FireOutcome::Lost);
        assert_eq!(outcome(&error(), None, false), FireOutcome::Failed);
        assert_eq!(outcome(&stopped(), None, false), FireOutcome::Interrupted);
        assert_eq!(outcome(&Ok(Outcome::Again(Duration::ZERO)), None, false), FireOutcome::Succeeded);
    }
}
