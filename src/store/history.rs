//! `History`: the fires that have ended, and the fires that run.

mod actions;
mod last_runs;
mod lost;
mod pruning;
mod run_record;
mod summary;

pub use actions::ActionQuery;
pub(super) use lost::LostReason;
pub use pruning::{HistoryPruning, PruningPlan};
pub use run_record::RunRecord;
pub use summary::HistorySummary;

use super::row::{
    FiredRow, FiredSelection, FiredState, HistoryQuery, HistoryRow, IncarnationRow, JobRow, JobSelection, RecoveryRow,
};
use super::{History, JobStore, Session};
use crate::error::Result;
use crate::hash::HashMap;
use crate::job::FireOutcome;
use crate::key::{JobKey, TriggerKey, distinct};
use crate::settings::{HistoryRecord, HistorySettings};

/// The most rows that one query returns.
const MAX_LIMIT: usize = 10_000;

impl HistoryQuery {
    /// True if the query asks for running fires, which come before those that have ended.
    fn wants_running(&self) -> bool {
        let by_outcome = self.outcomes.contains(&FireOutcome::Running);
        (by_outcome || self.running && self.outcomes.is_empty()) && self.after.is_none()
    }

    fn wants_ended(&self) -> bool {
        self.outcomes.is_empty() || self.outcomes.iter().any(|outcome| *outcome != FireOutcome::Running)
    }
}

impl History<'_> {
    /// True if the history keeps fires of this outcome.
    pub(crate) fn records(&self, outcome: FireOutcome) -> bool {
        self.store.settings.history.records(outcome)
    }

    /// The fires of the history that the query asks for, the newest first.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn find(&self, query: &HistoryQuery) -> Result<Vec<HistoryRow>> {
        self.store.read("read the history", |s| {
            let limit = query.limit.unwrap_or(100).min(MAX_LIMIT);
            let mut query = query.clone().limit(limit);
            // Running fires are read first: a fire that ends in between is found in both places,
            // not in none.
            let mut running = if query.wants_running() { running(self.store, s, &query)? } else { Vec::new() };
            if !query.wants_ended() {
                fill_in_addresses(s, &mut running)?;
                return Ok(running);
            }
            // Fires are found by their jobs; the job of a trigger is known while the trigger is
            // there.
            if let (None, Some(trigger)) = (&query.job, &query.trigger) {
                query.job = s.trigger(trigger)?.map(|t| t.job);
            }
            let ended: Vec<HistoryRow> = s.history(&query)?;
            let is_new = |row: &HistoryRow| !ended.iter().any(|end| end.fire_id == row.fire_id);
            let mut rows: Vec<HistoryRow> = running.into_iter().filter(is_new).collect();
            rows.extend(ended);
            rows.truncate(limit);
            fill_in_addresses(s, &mut rows)?;
            Ok(rows)
        })
    }
}

/// Fills in where the nodes of these fires were: an incarnation, which a fire's id names, is at one
/// place.
fn fill_in_addresses(s: &mut dyn Session, rows: &mut [HistoryRow]) -> Result<()> {
    let incarnation = |row: &HistoryRow| row.fire_id.split('-').nth(1).map(str::to_owned);
    let mut incarnations: Vec<String> =
        rows.iter().filter(|row| row.instance.is_some()).filter_map(incarnation).collect();
    incarnations.sort();
    incarnations.dedup();
    if incarnations.is_empty() {
        return Ok(());
    }
    let found: Vec<IncarnationRow> = s.rows().any_of(&["incarnation"], &incarnations).list()?;
    let found: HashMap<String, Option<String>> = found.into_iter().map(|row| (row.incarnation, row.address)).collect();
    for row in rows {
        row.address = incarnation(row).and_then(|name| found.get(&name).cloned().flatten());
    }
    Ok(())
}

impl HistorySettings {
    /// True if the history keeps fires of this outcome.
    pub(in crate::store) fn records(&self, outcome: FireOutcome) -> bool {
        if outcome == FireOutcome::Misfired && !self.misfires {
            return false;
        }
        match self.record {
            HistoryRecord::All => true,
            HistoryRecord::Problems => outcome != FireOutcome::Succeeded,
            HistoryRecord::None => false,
        }
    }
}

/// The jobs of these fires.
fn jobs_of(s: &mut dyn Session, fires: &[FiredRow]) -> Result<HashMap<JobKey, JobRow>> {
    let keys: Vec<JobKey> = distinct(fires.iter().filter_map(|fire| fire.job.as_ref()));
    Ok(s.jobs(JobSelection::Keys(&keys))?.into_iter().map(|row| (row.key.clone(), row)).collect())
}

/// The work that these fires go on with, by their triggers.
fn recovered_by(s: &mut dyn Session, fires: &[FiredRow]) -> Result<HashMap<TriggerKey, RecoveryRow>> {
    let keys: Vec<TriggerKey> = distinct(fires.iter().map(|fire| &fire.trigger));
    let rows: Vec<RecoveryRow> = s.rows().any_of(&["trigger"], &keys).list()?;
    Ok(rows.into_iter().map(|row| (row.trigger.clone(), row)).collect())
}

/// The surroundings of fires without ends of their own: what the history says of them that is not
/// in their rows.
struct Surroundings<'a> {
    jobs: &'a HashMap<JobKey, JobRow>,
    chain: HashMap<TriggerKey, RecoveryRow>,
    traces: &'a HashMap<String, String>,
    now_ms: i64,
}

impl Surroundings<'_> {
    /// The row of one of the fires.
    fn row(&self, fire: FiredRow, outcome: FireOutcome) -> HistoryRow {
        let trace = self.traces.get(&fire.fire_id).map(String::as_str);
        let (before, job) = (self.chain.get(&fire.trigger), fire.job.as_ref().and_then(|job| self.jobs.get(job)));
        HistoryRow {
            job_type: job.map(|job| job.job_type.to_string()),
            marks: job.map(|job| job.run_marks(trace)).unwrap_or_default(),
            address: None,
            fire_id: fire.fire_id,
            trigger: fire.trigger,
            job: fire.job,
            instance: Some(fire.instance),
            scheduled_ms: fire.scheduled_ms,
            fired_ms: Some(fire.fired_ms),
            ended_ms: self.now_ms,
            run_ms: None,
            outcome,
            attempt: before.map_or(0, |before| before.attempt),
            root_fire_id: before.map(|before| before.root_fire_id.clone()),
            error: None,
            result: None,
        }
    }
}

/// The fired rows of fires that run, as rows of the history. The newest come first.
fn running(store: &JobStore, s: &mut dyn Session, query: &HistoryQuery) -> Result<Vec<HistoryRow>> {
    let mut fires = s.fired(match (&query.fire_id, &query.job) {
        (Some(id), _) => FiredSelection::Ids(std::slice::from_ref(id)),
        (None, Some(job)) => FiredSelection::ExecutingOfJob(job),
        (None, None) => FiredSelection::All,
    })?;
    fires.retain(|fire| fire.state == FiredState::Executing);
    if fires.is_empty() {
        return Ok(Vec::new());
    }
    let now_ms = s.now_ms()?;
    let jobs = jobs_of(s, &fires)?;
    let chain = recovered_by(s, &fires)?;
    let traces = store.traces_of(s, &fires, &[])?;
    let around = Surroundings { jobs: &jobs, chain, traces: &traces, now_ms };
    let row = |fire| around.row(fire, FireOutcome::Running);
    let mut rows: Vec<HistoryRow> = fires.into_iter().map(row).filter(|row| query.accepts(row)).collect();
    if let Some((fired_ms, fire_id)) = &query.after_running {
        rows.retain(|row| (row.fired_ms, &row.fire_id) < (*fired_ms, fire_id));
    }
    rows.sort_by(|a, b| (b.fired_ms, &b.fire_id).cmp(&(a.fired_ms, &a.fire_id)));
    rows.truncate(query.limit.unwrap_or(usize::MAX));
    Ok(rows)
}
