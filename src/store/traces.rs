//! The traces of fires whose jobs cannot tell them any longer, or not yet.

use super::row::{FiredRow, JobSelection, TriggerRow, TriggerSelection};
use super::{JobStore, Session};
use crate::error::Result;
use crate::hash::HashMap;
use crate::job::traceparent_of;
use crate::key::{JobKey, TriggerKey, distinct};

impl JobStore {
    /// The trace contexts of those of these fires that have one, by their ids: from the data of
    /// their triggers, else of their jobs. Triggers that went with prefetched fires are `gone`.
    pub(super) fn traces_of(
        &self,
        s: &mut dyn Session,
        fires: &[FiredRow],
        gone: &[TriggerRow],
    ) -> Result<HashMap<String, String>> {
        if fires.is_empty() {
            return Ok(HashMap::default());
        }
        let trace = |data: Option<&[u8]>| traceparent_of(&self.decode_data(data).ok()?).map(str::to_owned);
        let keys: Vec<TriggerKey> = distinct(fires.iter().map(|fire| &fire.trigger));
        let triggers = s.triggers(TriggerSelection::Keys(&keys))?;
        let triggers = triggers.iter().chain(gone);
        let of_triggers: HashMap<&TriggerKey, String> =
            triggers.filter_map(|row| Some((&row.key, trace(row.data.as_deref())?))).collect();
        let keys: Vec<JobKey> = distinct(fires.iter().filter_map(|fire| fire.job.as_ref()));
        let jobs = s.jobs(JobSelection::Whole(&keys))?;
        let of_jobs: HashMap<&JobKey, String> =
            jobs.iter().filter_map(|row| Some((&row.key, trace(row.data.as_deref())?))).collect();
        let of_fire = |fire: &FiredRow| {
            let found = of_triggers.get(&fire.trigger).or_else(|| of_jobs.get(fire.job.as_ref()?));
            Some((fire.fire_id.clone(), found?.clone()))
        };
        Ok(fires.iter().filter_map(of_fire).collect())
    }
}
