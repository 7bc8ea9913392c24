//! Combined commits: with a backlog, ends and the next fires share a transaction, so that both pay
//! for one lock and one commit.

use super::claim::Among;
use super::{AcquireRequest, Acquisition, Completion, CompletionReport, Doubt, FireBundle};
use crate::error::Result;
use crate::settings::PollingStrategy;
use crate::store::transaction::TxOutcome;
use crate::store::{Firing, Owner, TxMode};

impl Firing<'_> {
    /// True if a combined commit is worth anything for the ends of these fires. Nodes that claim
    /// side by side record ends beside their claims, and on a server ends that touch no trigger and
    /// no job are recorded beside acquisitions.
    pub fn combines_commits(&self, fired: &[FireBundle]) -> bool {
        let is_beside = || self.store.database.completes_beside() && fired.iter().all(FireBundle::may_end_isolated);
        self.store.polling_strategy().is_ok_and(|strategy| strategy == PollingStrategy::Lock) && !is_beside()
    }

    /// As [`Firing::complete`] and then [`Firing::acquire`], in one transaction under
    /// `TRIGGER_ACCESS`.
    ///
    /// If it cannot be found out what became of it, both are the acquisition's
    /// [`doubt`](Acquisition::doubt).
    ///
    /// # Errors
    /// As both; nothing is recorded and nothing taken then. [`Error::Fenced`](crate::Error::Fenced)
    /// if `owner` is not registered under this incarnation.
    pub fn complete_and_acquire(
        &self,
        owner: &Owner,
        ended: &[Completion],
        request: &AcquireRequest<'_>,
    ) -> Result<(CompletionReport, Acquisition)> {
        let backlog = self.backlog(request)?;
        let outcome = self.store.retrying_or_doubt(
            "record and acquire",
            TxMode::BesideClaims,
            &mut |s| {
                let recorded = self.complete_in_session(s, ended)?;
                Ok((recorded, self.acquire_in_session(s, owner, request, Among::of(backlog.as_ref()))?))
            },
            &mut |s, (recorded, acquisition)| self.is_committed(s, owner, ended, recorded, acquisition),
        )?;
        match outcome {
            TxOutcome::Done((recorded, acquisition)) => {
                self.note_ends(ended);
                self.note_acquired(backlog, request.max, &acquisition);
                Ok((recorded, acquisition))
            }
            TxOutcome::InDoubt((recorded, acquisition), error) => {
                let doubt = Doubt { acquisition, ended: ended.to_vec(), recorded, precommits: false, error };
                Ok((CompletionReport::default(), doubt.into_acquisition()))
            }
        }
    }
}
