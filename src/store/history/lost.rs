//! The history of fires that ended without their jobs: lost with their node, or never begun in
//! time.

use crate::error::Result;
use crate::hash::HashMap;
use crate::job::{FireOutcome, RunMarks};
use crate::key::{JobKey, TriggerKey, distinct};
use crate::store::row::{FiredRow, HistoryRow, JobRow, JobSelection, RecoveryRow};
use crate::store::transaction::random_hex;
use crate::store::{History, Session};
use crate::trigger::Trigger;

impl History<'_> {
    /// Writes down that these executing fires were lost with their node, whether they are run again
    /// or not, with their traces by their ids. To be done before their triggers go.
    pub(in crate::store) fn record_lost(
        &self,
        s: &mut dyn Session,
        fires: &[FiredRow],
        traces: &HashMap<String, String>,
        now_ms: i64,
    ) -> Result<()> {
        if fires.is_empty() {
            return Ok(());
        }
        let jobs: Vec<JobKey> = distinct(fires.iter().filter_map(|fire| fire.job.as_ref()));
        let jobs: HashMap<JobKey, JobRow> =
            s.jobs(JobSelection::Keys(&jobs))?.into_iter().map(|row| (row.key.clone(), row)).collect();
        self.put_lost_last_runs(s, fires, &jobs, now_ms)?;
        if !self.store.settings.history.records(FireOutcome::Lost) {
            return Ok(());
        }
        let keys: Vec<TriggerKey> = distinct(fires.iter().map(|fire| &fire.trigger));
        let chain: HashMap<TriggerKey, RecoveryRow> = s
            .rows()
            .any_of(&["trigger"], &keys)
            .list()?
            .into_iter()
            .map(|row: RecoveryRow| (row.trigger.clone(), row))
            .collect();
        let row = |fire: &FiredRow| {
            let trace = traces.get(&fire.fire_id).map(String::as_str);
            let (before, job) = (chain.get(&fire.trigger), fire.job.as_ref().and_then(|job| jobs.get(job)));
            HistoryRow {
                fire_id: fire.fire_id.clone(),
                trigger: fire.trigger.clone(),
                job: fire.job.clone(),
                job_type: job.map(|job| job.job_type.to_string()),
                instance: Some(fire.instance.clone()),
                scheduled_ms: fire.scheduled_ms,
                fired_ms: Some(fire.fired_ms),
                ended_ms: now_ms,
                run_ms: None,
                outcome: FireOutcome::Lost,
                attempt: before.map_or(0, |before| before.attempt),
                root_fire_id: before.map(|before| before.root_fire_id.clone()),
                error: Some(format!("instance `{}` no longer held it", fire.instance)),
                result: None,
                marks: job.map(|job| job.run_marks(trace)).unwrap_or_default(),
                address: None,
            }
        };
        s.put_all(&fires.iter().map(row).collect::<Vec<_>>())
    }

    /// Writes down that these triggers, as they were before, could not fire in time.
    pub(in crate::store) fn record_misfired(
        &self,
        s: &mut dyn Session,
        triggers: &[Trigger],
        now_ms: i64,
    ) -> Result<()> {
        if triggers.is_empty() || !self.store.settings.history.records(FireOutcome::Misfired) {
            return Ok(());
        }
        let pass = random_hex()?;
        let row = |(i, trigger): (usize, &Trigger)| HistoryRow {
            fire_id: format!("misfire-{pass}-{i}"),
            trigger: trigger.key.clone(),
            job: Some(trigger.job_key.clone()),
            job_type: None,
            instance: None,
            scheduled_ms: trigger.next_ms.unwrap_or(now_ms),
            fired_ms: None,
            ended_ms: now_ms,
            run_ms: None,
            outcome: FireOutcome::Misfired,
            attempt: 0,
            root_fire_id: None,
            error: None,
            result: None,
            marks: RunMarks::default(),
            address: None,
        };
        s.put_all(&triggers.iter().enumerate().map(row).collect::<Vec<_>>())
    }
}
