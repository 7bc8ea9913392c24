//! Turn: with a backlog, what has ended and what comes next are one transaction, so that both pay for one lock and one commit.

use super::doubt::is_there;
use super::{AcquireRequest, Acquisition, Completion, Doubt, FireBundle, Recorded};
use crate::error::Result;
use crate::settings::PollingStrategy;
use crate::store::transaction::Told;
use crate::store::{JobStore, Owner, TxMode};

impl JobStore {
    /// Whether a turn is worth anything for the ends of these fires: where claims are made side by side, what has ended is
    /// recorded beside them, and on a server so is what touches no trigger and no job.
    pub fn takes_turns(&self, fired: &[FireBundle]) -> bool {
        let is_beside = || self.database.records_beside() && fired.iter().all(ends_plainly);
        self.polling_strategy().is_ok_and(|strategy| strategy == PollingStrategy::Lock) && !is_beside()
    }

    /// As [`JobStore::record`] and then [`JobStore::acquire`], in one transaction under `TRIGGER_ACCESS`.
    ///
    /// If it cannot be found out what became of it, both are the acquisition's
    /// [`doubt`](Acquisition::doubt).
    ///
    /// # Errors
    /// As both; nothing is recorded and nothing taken then. [`Error::Fenced`](crate::Error::Fenced) if `owner` is not
    /// registered under this incarnation.
    pub fn turn(
        &self,
        owner: &Owner,
        ended: &[Completion],
        request: &AcquireRequest<'_>,
    ) -> Result<(Recorded, Acquisition)> {
        let told = self.retrying_or_doubt(
            "record and acquire",
            TxMode::BesideClaims,
            |s| {
                let recorded = self.complete_in(s, ended)?;
                Ok((recorded, self.acquire_in(s, owner, request, None)?))
            },
            // What was taken tells of both, and else what has ended does.
            &mut |s, (_, brought)| match is_there(s, brought)? {
                Some(is_there) => Ok(is_there),
                None => self.is_recorded(s, owner, ended),
            },
        )?;
        match told {
            Told::Done(answer) => Ok(answer),
            Told::InDoubt((recorded, brought), error) => {
                let doubt = Doubt { brought, ended: ended.to_vec(), recorded, leads: false, error };
                Ok((Recorded::default(), doubt.into_acquisition()))
            }
        }
    }
}

/// Whether the end of the fire is probably nobody's business but its own.
fn ends_plainly(fire: &FireBundle) -> bool {
    let job = &fire.job;
    fire.removed
        && job.durable
        && !fire.followed
        && !job.disallow_concurrent_execution
        && !job.persist_job_data_after_execution
}
