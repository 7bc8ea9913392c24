//! The state of submitted work, by its request id.

use super::handle::Scheduler;
use crate::error::Result;
use crate::history::{HistoryQuery, HistoryRow};
use crate::job::{FireOutcome, SubmissionState};
use crate::key::{JobKey, SUBMITTED_GROUP};
use crate::rules::submission;

/// Submitted work, as the store has it; see [`Scheduler::submission`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SubmittedWork {
    /// The job that stands for the work.
    pub job: JobKey,
    /// The state of the work.
    pub state: SubmissionState,
    /// The run that goes on or was the last, as the history has it: node, times, error. None if no
    /// run has begun, or the history keeps none.
    pub last_run: Option<HistoryRow>,
}

impl Scheduler {
    /// The work that was [submitted](Scheduler::submit) with this request id, by whichever process;
    /// none if nothing was, or if the id is forgotten: seven days after it was taken, and not
    /// before the work is over.
    ///
    /// ```
    /// use carnelian::{Scheduler, Submission};
    ///
    /// let scheduler = Scheduler::builder().build()?;
    /// scheduler.submit(Submission::new("mail").request_id("order-17"))?;
    /// let work = scheduler.submission("order-17")?.expect("it was submitted");
    /// assert_eq!(work.state.name(), "pending");
    /// assert!(scheduler.submission("order-18")?.is_none());
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for an id that cannot be stored, and what can go
    /// wrong with the store.
    pub fn submission(&self, request_id: &str) -> Result<Option<SubmittedWork>> {
        let store = self.open_store()?;
        let Some(taken) = store.catalogue().taken(request_id)?.filter(|taken| taken.trigger.group() == SUBMITTED_GROUP)
        else {
            return Ok(None);
        };
        // The job is looked at first: once it is gone, the history says the last word.
        let triggers = store.catalogue().trigger_states_of(&taken.job)?;
        // A fire that was missed is no run.
        let outcomes = FireOutcome::ALL.into_iter().filter(|outcome| *outcome != FireOutcome::Misfired);
        let newest = outcomes.chain([FireOutcome::Running]).fold(HistoryQuery::new(), HistoryQuery::outcome);
        let last_run = store.history().find(&newest.job(taken.job.clone()).limit(1))?.into_iter().next();
        let keeps_successes = store.history().records(FireOutcome::Succeeded);
        let newest = last_run.as_ref().map(|run| run.outcome);
        let may_follow = newest.is_none() && triggers.as_deref() == Some(&[]);
        let follows = may_follow && !store.catalogue().parents_of(&taken.job)?.is_empty();
        let state = submission::state(triggers.as_deref(), newest, keeps_successes, follows);
        Ok(Some(SubmittedWork { job: taken.job, state, last_run }))
    }
}
