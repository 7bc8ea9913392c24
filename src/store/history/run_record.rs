//! `RunRecord`: everything that is known of one run.

use super::{History, fill_in_addresses, running};
use crate::epoch::moment;
use crate::error::{Error, Result};
use crate::job::{LogLine, decode_lines};
use crate::key::TriggerKey;
use crate::store::row::{HistoryQuery, HistoryRow, LogRow, RecoveryRow, TriggerSelection};
use chrono::{DateTime, Utc};

/// The longest chain of runs that is shown.
const LONGEST_CHAIN: usize = 1_000;

/// Everything that is known of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunRecord {
    /// The run itself.
    pub run: HistoryRow,
    /// The note for people of its job, as it was when it ran.
    pub description: Option<String>,
    /// Every run of the same work, the first one first: earlier runs, this run, later runs.
    pub chain: Vec<HistoryRow>,
    /// The triggers that will run the work once more, each with its next fire time.
    pub waiting: Vec<(TriggerKey, Option<DateTime<Utc>>)>,
    /// The lines that the run has logged, as far as they were kept.
    pub log: Vec<LogLine>,
}

impl History<'_> {
    /// Everything that is known of one run, whether it has ended or not; none if nothing is.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries; [`Error::Unreadable`] if its lines
    /// cannot be read.
    pub fn run_record(&self, fire_id: &str) -> Result<Option<RunRecord>> {
        self.store.read("read a run", |s| {
            let this = HistoryQuery::new().fire(fire_id).limit(1);
            let mut found: Vec<HistoryRow> = s.history(&this)?;
            if found.is_empty() {
                found = running(self.store, s, &this)?;
            }
            let Some(mut run) = found.pop() else { return Ok(None) };
            let root = run.root_fire_id.clone().unwrap_or_else(|| run.fire_id.clone());
            // All runs of one work are of one job, by which rows are found.
            let query = HistoryQuery { job: run.job.clone(), ..HistoryQuery::new().chain(&root).limit(LONGEST_CHAIN) };
            let mut chain: Vec<HistoryRow> = s.history(&query)?;
            let mut now_running = running(self.store, s, &query)?;
            now_running.retain(|row| !chain.iter().any(|ended| ended.fire_id == row.fire_id));
            chain.append(&mut now_running);
            fill_in_addresses(s, &mut chain)?;
            chain.sort_by_key(|row| (row.fired_ms.unwrap_or(row.ended_ms), row.attempt));

            fill_in_addresses(s, std::slice::from_mut(&mut run))?;
            let mut waiting = Vec::new();
            let mut description = run.marks.description.clone();
            if let Some(job) = &run.job {
                if description.is_none() && run.is_running() {
                    description = s.job(job)?.and_then(|job| job.description);
                }
                let triggers = s.triggers(TriggerSelection::OfJob(job))?;
                let keys: Vec<TriggerKey> = triggers.iter().map(|trigger| trigger.key.clone()).collect();
                let its: Vec<TriggerKey> = s
                    .rows()
                    .any_of(&["trigger"], &keys)
                    .list()?
                    .into_iter()
                    .filter(|row: &RecoveryRow| row.root_fire_id == root)
                    .map(|row| row.trigger)
                    .collect();
                let next =
                    triggers.into_iter().filter(|trigger| trigger.next_ms.is_some() && its.contains(&trigger.key));
                waiting.extend(next.map(|trigger| (trigger.key, trigger.next_ms.map(moment))));
            }
            let log = match s.row::<LogRow>(fire_id)? {
                Some(row) => decode_lines(&row.lines)
                    .map_err(|reason| Error::unreadable("CN_HISTORY_LOG", row.fire_id, reason))?,
                None => Vec::new(),
            };
            Ok(Some(RunRecord { run, description, chain, waiting, log }))
        })
    }
}
