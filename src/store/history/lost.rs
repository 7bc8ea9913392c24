//! The history of fires that ended without their jobs: lost with their node, or never begun in
//! time.

use crate::error::Result;
use crate::job::FireOutcome;
use crate::key::{JobKey, TriggerKey, distinct};
use crate::store::row::{FiredRow, HistoryRow, JobSelection, RecoveryRow};
use crate::store::transaction::random_hex;
use crate::store::{History, Session};
use crate::trigger::Trigger;
use std::collections::BTreeMap;

impl History<'_> {
    /// Writes down that these executing fires were lost with their node, whether they are run again
    /// or not. To be done before their triggers go.
    pub(in crate::store) fn record_lost(&self, s: &mut dyn Session, fires: &[FiredRow], now_ms: i64) -> Result<()> {
        if fires.is_empty() || !self.store.settings.history.records(FireOutcome::Lost) {
            return Ok(());
        }
        let keys: Vec<TriggerKey> = distinct(fires.iter().map(|fire| &fire.trigger));
        let chain: BTreeMap<TriggerKey, RecoveryRow> = s
            .rows()
            .any_of(&["trigger"], &keys)
            .list()?
            .into_iter()
            .map(|row: RecoveryRow| (row.trigger.clone(), row))
            .collect();
        let jobs: Vec<JobKey> = distinct(fires.iter().filter_map(|fire| fire.job.as_ref()));
        let types: BTreeMap<JobKey, String> =
            s.jobs(JobSelection::Keys(&jobs))?.into_iter().map(|row| (row.key, row.job_type)).collect();
        let row = |fire: &FiredRow| {
            let before = chain.get(&fire.trigger);
            HistoryRow {
                fire_id: fire.fire_id.clone(),
                trigger: fire.trigger.clone(),
                job: fire.job.clone(),
                job_type: fire.job.as_ref().and_then(|job| types.get(job)).cloned(),
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
        };
        s.put_all(&triggers.iter().enumerate().map(row).collect::<Vec<_>>())
    }
}
