//! The last run of each job on each node, of jobs that several nodes run.

use super::History;
use crate::error::Result;
use crate::hash::HashMap;
use crate::key::JobKey;
use crate::store::Session;
use crate::store::row::{FiredRow, JobRow, LastRunRow};
use crate::store::stop_orders::StopOrders;
use std::collections::BTreeMap;

impl History<'_> {
    /// The last run of a job on each node that has run it, in order of the nodes; none of a job of
    /// which one node runs each tick. The rows are kept as long as the job is, whatever the history
    /// forgets; those of a node that is not there as long as the history.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn last_runs(&self, job: &JobKey) -> Result<Vec<LastRunRow>> {
        self.store.read("read last runs", |s| s.rows().with("job", job).by(&["instance"]).list())
    }

    /// Keeps these runs as the last ones of their jobs and nodes; of several the last.
    pub(in crate::store) fn put_last_runs(
        &self,
        s: &mut dyn Session,
        runs: impl Iterator<Item = LastRunRow>,
    ) -> Result<()> {
        let last: BTreeMap<_, _> = runs.map(|run| ((run.job.clone(), run.instance.clone()), run)).collect();
        if last.is_empty() {
            return Ok(());
        }
        s.put_all(&last.into_values().collect::<Vec<_>>())
    }

    /// Keeps the runs that were lost as the last ones of their nodes.
    pub(super) fn put_lost_last_runs(
        &self,
        s: &mut dyn Session,
        fires: &[FiredRow],
        jobs: &HashMap<JobKey, JobRow>,
        orders: &StopOrders,
        now_ms: i64,
    ) -> Result<()> {
        let row = |fire: &FiredRow| {
            let job = fire.job.as_ref().filter(|job| jobs.get(job).is_some_and(JobRow::is_spread))?;
            Some(LastRunRow {
                job: job.clone(),
                instance: fire.instance.clone(),
                fire_id: fire.fire_id.clone(),
                ended_ms: now_ms,
                run_ms: None,
                outcome: orders.outcome_of_lost(&fire.fire_id),
                error: orders.told(&fire.fire_id),
            })
        };
        self.put_last_runs(s, fires.iter().filter_map(row))
    }
}
