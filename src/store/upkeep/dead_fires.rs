//! The fate of the work of a dead fire: its job's policy decides, or a handler of the user's.

use super::dead_fire_handler::DeadFire;
use crate::epoch::moment;
use crate::error::Result;
use crate::job::{JobPolicy, OnDead};
use crate::key::JobKey;
use crate::rules::recovery::DeadFireDecision;
use crate::store::row::{FiredRow, JobRow, JobSelection, TriggerRow, TypePolicyRow};
use crate::store::{Session, Upkeep};
use std::collections::BTreeMap;

impl Upkeep<'_> {
    /// The jobs of these fires that still exist, with their policies.
    pub(super) fn policies_of(&self, s: &mut dyn Session, fires: &[FiredRow]) -> Result<BTreeMap<JobKey, JobRow>> {
        let jobs: Vec<JobKey> = crate::key::distinct(fires.iter().filter_map(|fire| fire.job.as_ref()));
        Ok(s.jobs(JobSelection::Keys(&jobs))?.into_iter().map(|row| (row.key.clone(), row)).collect())
    }

    /// Reads the data of those of these jobs about whose dead fires a handler is asked.
    pub(super) fn add_data(
        &self,
        s: &mut dyn Session,
        jobs: &mut BTreeMap<JobKey, JobRow>,
        of_types: &BTreeMap<String, String>,
    ) -> Result<()> {
        let asks =
            |job: &JobRow| policy_of(job, of_types).and_then(|policy| policy.on_dead_policy()) == Some(OnDead::Ask);
        let asked: Vec<JobKey> = jobs.values().filter(|job| asks(job)).map(|job| job.key.clone()).collect();
        if asked.is_empty() {
            return Ok(());
        }
        for row in s.jobs(JobSelection::Whole(&asked))? {
            jobs.entry(row.key.clone()).and_modify(|job| job.data = row.data);
        }
        Ok(())
    }

    /// The policies of the types of these jobs, by the types.
    pub(super) fn type_policies_of<'j>(
        &self,
        s: &mut dyn Session,
        jobs: impl Iterator<Item = &'j JobRow>,
    ) -> Result<BTreeMap<String, String>> {
        let types: Vec<String> = crate::key::distinct(jobs.map(|job| &job.job_type));
        if types.is_empty() {
            return Ok(BTreeMap::new());
        }
        let rows = s.rows::<TypePolicyRow>().any_of(&["job_type"], &types).list()?;
        Ok(rows.into_iter().map(|row| (row.job_type, row.policy)).collect())
    }

    /// The decision on a fire whose job exists, `unrequested` if that requests no recovery and its
    /// policy says nothing.
    pub(super) fn decide_by_policy(
        &self,
        work: DeadWorkRows<'_>,
        policy: Option<&JobPolicy>,
        unrequested: DeadFireDecision,
        now_ms: i64,
    ) -> DeadFireDecision {
        match policy.and_then(JobPolicy::on_dead_policy) {
            Some(OnDead::NextFire) => DeadFireDecision::NextFire,
            _ if !work.fire.requests_recovery => unrequested,
            Some(OnDead::Revive) => DeadFireDecision::Revive,
            Some(OnDead::Ask) => self.ask(work, now_ms),
            Some(OnDead::RecoveryTrigger) | None => DeadFireDecision::Recover,
        }
    }

    fn ask(&self, work: DeadWorkRows<'_>, now_ms: i64) -> DeadFireDecision {
        let DeadWorkRows { fire, job, trigger, attempt } = work;
        let Some(handler) = &self.store.dead_fires else { return DeadFireDecision::Recover };
        let data = |bytes: Option<&[u8]>| self.store.decode_data(bytes).unwrap_or_default();
        let of_trigger = trigger.map(|row| data(row.data.as_deref())).unwrap_or_default();
        let dead = DeadFire {
            fire_id: fire.fire_id.clone(),
            instance: fire.instance.clone(),
            job: job.key.clone(),
            job_type: job.job_type.clone(),
            trigger: fire.trigger.clone(),
            scheduled_fire_time: moment(fire.scheduled_ms),
            fire_time: moment(fire.fired_ms),
            attempt,
            data: data(job.data.as_deref()).merged_with(&of_trigger),
            now: moment(now_ms),
        };
        handler.decide(&dead).unwrap_or(DeadFireDecision::Recover)
    }
}

/// The rows of the work of a dead fire.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeadWorkRows<'a> {
    pub(super) fire: &'a FiredRow,
    /// The job, with its data if a handler is asked.
    pub(super) job: &'a JobRow,
    pub(super) trigger: Option<&'a TriggerRow>,
    /// The number of runs of the work before this one.
    pub(super) attempt: i64,
}

/// The policy of a job, with what it leaves open as its type has it; one that cannot be read does
/// not keep the job from being recovered (H12).
pub(super) fn policy_of(job: &JobRow, of_types: &BTreeMap<String, String>) -> Option<JobPolicy> {
    let warn = |why: &String| log::warn!("recovering without a policy job={} error={why}", job.key);
    let read = |text: &str| JobPolicy::decode(text).inspect_err(warn).ok();
    let of_type = of_types.get(&job.job_type).and_then(|text| read(text));
    match (job.policy.as_deref().and_then(read), of_type) {
        (Some(own), Some(of_type)) => Some(own.or(&of_type)),
        (own, of_type) => own.or(of_type),
    }
}
