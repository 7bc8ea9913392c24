//! The state of work that was taken under a request id.

use crate::error::Result;
use crate::job::{FireOutcome, SubmissionState};
use crate::key::{JobKey, SUBMITTED_GROUP, TriggerKey};
use crate::rules::submission;
use crate::store::row::HistoryRow;
use crate::store::{Diagnosis, HistoryQuery, Taken};
use crate::trigger::TriggerState;

/// Submitted work, as the store has it; see
/// [`Scheduler::submission`](crate::Scheduler::submission).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SubmittedWork {
    /// The job that stands for the work.
    pub job: JobKey,
    /// The trigger that was stored for the work; it goes when the work is over.
    pub trigger: TriggerKey,
    /// The state of the work.
    pub state: SubmissionState,
    /// The run that goes on or was the last, as the history has it: node, times, error. None if no
    /// run has begun, or the history keeps none.
    pub last_run: Option<HistoryRow>,
}

impl Diagnosis<'_> {
    /// The work that was taken under a request id; none if nothing was, or if the id is forgotten.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for an id that cannot be stored; the error of the
    /// database that is left after the bounded retries.
    pub fn submission(&self, request_id: &str) -> Result<Option<SubmittedWork>> {
        let Some(taken) = self.store.catalogue().taken(request_id)? else { return Ok(None) };
        let (state, last_run) = match taken.trigger.group() == SUBMITTED_GROUP {
            true => self.state_of_job(&taken)?,
            false => self.state_of_trigger(&taken)?,
        };
        Ok(Some(SubmittedWork { job: taken.job, trigger: taken.trigger, state, last_run }))
    }

    /// The state of work whose job stands for it alone.
    fn state_of_job(&self, taken: &Taken) -> Result<(SubmissionState, Option<HistoryRow>)> {
        // The job is looked at first: once it is gone, the history says the last word.
        let triggers = self.store.catalogue().trigger_states_of(&taken.job)?;
        let last_run = self.store.history().find(&runs().job(taken.job.clone()).limit(1))?.into_iter().next();
        let keeps_successes = self.store.history().records(FireOutcome::Succeeded);
        let newest = last_run.as_ref().map(|run| run.outcome);
        let may_follow = newest.is_none() && triggers.as_deref() == Some(&[]);
        let follows = may_follow && !self.store.catalogue().parents_of(&taken.job)?.is_empty();
        let state = submission::state(triggers.as_deref(), newest, keeps_successes, follows);
        Ok((state, last_run))
    }

    /// The state of a trigger that was scheduled by a request, beside others of its job perhaps.
    fn state_of_trigger(&self, taken: &Taken) -> Result<(SubmissionState, Option<HistoryRow>)> {
        let stored = self.store.catalogue().trigger_summary(&taken.trigger)?;
        let of_trigger = runs().job(taken.job.clone()).trigger(taken.trigger.clone()).limit(1);
        let newest = self.store.history().find(&of_trigger)?.into_iter().next();
        let record = newest.as_ref().map(|run| self.store.history().run_record(&run.fire_id)).transpose()?.flatten();
        let (last_run, retries) = match record {
            Some(record) => (record.chain.last().cloned().or(newest), !record.waiting.is_empty()),
            None => (newest, false),
        };
        let stored = stored.and_then(|trigger| TriggerState::from_name(&trigger.state));
        let ended = last_run.as_ref().map(|run| run.outcome);
        Ok((submission::state_of_trigger(stored, ended, retries), last_run))
    }
}

/// Runs that go on or have ended; a fire that was missed is no run.
fn runs() -> HistoryQuery {
    let outcomes = FireOutcome::ALL.into_iter().filter(|outcome| *outcome != FireOutcome::Misfired);
    outcomes.chain([FireOutcome::Running]).fold(HistoryQuery::new(), HistoryQuery::outcome)
}
