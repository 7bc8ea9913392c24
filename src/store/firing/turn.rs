//! Turn: with a backlog, what has ended and what comes next are one transaction, so that both pay for one lock and one commit.

use super::overlap::is_written;
use super::{AcquireRequest, Acquisition, Completion, FireBundle, Recorded};
use crate::error::Result;
use crate::settings::PollingStrategy;
use crate::store::{Begin, JobStore, Owner};

impl JobStore {
    /// Whether a turn is worth anything for the ends of these fires: where claims are made side by side, what has ended is
    /// recorded beside them, and on a server so is what touches no trigger and no job.
    pub fn takes_turns(&self, fired: &[FireBundle]) -> bool {
        let is_beside = || self.database.records_beside() && fired.iter().all(ends_plainly);
        self.polling_strategy().is_ok_and(|strategy| strategy == PollingStrategy::Lock) && !is_beside()
    }

    /// As [`JobStore::record`] and then [`JobStore::acquire`], in one transaction under `TRIGGER_ACCESS`.
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
        self.retrying(
            "record and acquire",
            Begin::BesideClaims,
            |s| {
                let recorded = self.complete_in(s, ended)?;
                Ok((recorded, self.acquire_in(s, owner, request, None)?))
            },
            // What was taken tells of both, and else what has ended does.
            &mut |s, (_, acquisition)| match acquisition.first_id() {
                Some(id) => Ok(!s.existing_fired(std::slice::from_ref(id))?.is_empty()),
                None => match is_written(s, acquisition)? {
                    Some(is_written) => Ok(is_written),
                    None => self.is_recorded(s, owner, ended),
                },
            },
        )
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
