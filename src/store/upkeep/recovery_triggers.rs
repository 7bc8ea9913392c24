//! Recovery triggers: what becomes of the work of dead fires, by the policies of their jobs or a
//! handler of the application's. The work goes on in recovery triggers, in the triggers themselves,
//! or not at all.

use super::Recovered;
use super::dead_fire_handler::DeadFire;
use crate::data_map::JobDataMap;
use crate::epoch::moment;
use crate::error::{Error, Result};
use crate::hash::HashMap;
use crate::job::{JobPolicy, OnDead};
use crate::key::{JobKey, TriggerKey, distinct};
use crate::rules::new_trigger::PauseState;
use crate::rules::recovery::{
    DeadFireDecision, DeadWork, WorkFate, can_be_revived, fate, recovery_names, recovery_row, recovery_trigger,
    unrequested,
};
use crate::store::row::{
    Advance, FiredRow, JobRow, JobSelection, Parked, RecoveryRow, Selection, TriggerRow, TriggerSelection,
    TypePolicyRow,
};
use crate::store::stop_orders::StopOrders;
use crate::store::{Session, Upkeep};
use crate::trigger::{Transition, Trigger, TriggerState};
use std::collections::{BTreeMap, BTreeSet};

/// The rows of dead fires, before anything is decided.
struct Dead {
    /// The jobs that still exist, with their data if a handler is asked about their fires.
    jobs: HashMap<JobKey, JobRow>,
    /// The policies of those jobs that have one.
    policies: HashMap<JobKey, JobPolicy>,
    recovered_before: BTreeSet<String>,
    triggers: BTreeMap<TriggerKey, TriggerRow>,
    /// The triggers whose rows are gone with a prefetched fire.
    gone: BTreeSet<TriggerKey>,
    /// The chains of reruns that the fires go on with, by their triggers.
    chains: HashMap<TriggerKey, RecoveryRow>,
    pauses: PauseState,
}

/// The work of a dead fire that goes on in a recovery trigger.
struct RecoveredWork<'a> {
    fire: &'a FiredRow,
    job: &'a JobKey,
    delay_ms: i64,
    parked: Option<String>,
}

/// The writes for dead fires, so that each table is written once.
#[derive(Default)]
struct Writes {
    triggers: Vec<TriggerRow>,
    rows: Vec<RecoveryRow>,
    failed: Vec<TriggerKey>,
    revived: Vec<Advance>,
}

impl Upkeep<'_> {
    /// A recovery trigger for each interrupted fire whose job asks for it and still exists, unless
    /// somebody wanted the fire to stop. Returns the triggers that have options and go on.
    pub(super) fn schedule_recoveries(
        &self,
        s: &mut dyn Session,
        name: &str,
        executing: &[FiredRow],
        gone: Vec<TriggerRow>,
        orders: &StopOrders,
        done: &mut Recovered,
    ) -> Result<Vec<TriggerKey>> {
        let dead = self.read_dead(s, executing, gone)?;
        let mut writes = Writes::default();
        let again = self.decide_fates(&dead, executing, orders, &mut writes, done);
        let mut names = recovery_names(name, done.now.timestamp_millis());
        let mut free: Vec<TriggerKey> = Vec::with_capacity(again.len());
        while free.len() < again.len() {
            let some: Vec<TriggerKey> = names.by_ref().take(again.len() - free.len()).collect();
            let taken: BTreeSet<TriggerKey> = s.trigger_keys(TriggerSelection::Keys(&some))?.into_iter().collect();
            free.extend(some.into_iter().filter(|key| !taken.contains(key)));
        }
        for (key, again) in free.into_iter().zip(again) {
            self.add_recovery_trigger(&dead, key, again, &mut writes, done)?;
        }
        let Writes { triggers, rows, failed, revived } = writes;
        if !failed.is_empty() {
            s.delete_reservations(&failed)?;
            s.change_states(Selection::Triggers(&failed), Transition::Fail.moves(), false)?;
        }
        s.put_parked(&done.parked)?;
        if !revived.is_empty() {
            if s.advance(&revived)? != revived.len() {
                return Err(Error::overtaken("recover a failed instance"));
            }
            // The rows of triggers that were revived before.
            let keys: Vec<TriggerKey> = revived.into_iter().map(|advance| advance.key).collect();
            s.rows::<RecoveryRow>().any_of(&["trigger"], &keys).delete()?;
        }
        s.insert_triggers(&triggers)?;
        if !rows.is_empty() {
            s.insert_all(&rows)?;
        }
        // A trigger that was made due again is due for the fire that died, and not by its schedule.
        let on_schedule = dead.triggers.into_values().filter(|row| row.options.is_some() && row.next_ms.is_some());
        Ok(on_schedule.map(|row| row.key).collect())
    }

    fn read_dead(&self, s: &mut dyn Session, fires: &[FiredRow], gone: Vec<TriggerRow>) -> Result<Dead> {
        let ids: Vec<_> = fires.iter().map(|fire| fire.fire_id.clone()).collect();
        let keys: Vec<TriggerKey> = distinct(fires.iter().map(|fire| &fire.trigger));
        let jobs: Vec<JobKey> = distinct(fires.iter().filter_map(|fire| fire.job.as_ref()));
        let mut jobs: HashMap<JobKey, JobRow> =
            s.jobs(JobSelection::Keys(&jobs))?.into_iter().map(|row| (row.key.clone(), row)).collect();
        let policies = read_policies(s, &jobs)?;
        let is_asked = |policy: &JobPolicy| policy.on_dead_policy() == Some(OnDead::Ask);
        let asked: Vec<JobKey> =
            policies.iter().filter(|(_, policy)| is_asked(policy)).map(|(job, _)| job.clone()).collect();
        if !asked.is_empty() {
            jobs.extend(s.jobs(JobSelection::Whole(&asked))?.into_iter().map(|row| (row.key.clone(), row)));
        }
        let rows = |rows: Vec<RecoveryRow>| rows.into_iter();
        Ok(Dead {
            jobs,
            policies,
            recovered_before: rows(s.rows().any_of(&["origin_fire_id"], &ids).list()?)
                .map(|row| row.origin_fire_id)
                .collect(),
            gone: gone.iter().map(|row| row.key.clone()).collect(),
            triggers: gone
                .into_iter()
                .chain(s.triggers(TriggerSelection::Keys(&keys))?)
                .map(|row| (row.key.clone(), row))
                .collect(),
            chains: rows(s.rows().any_of(&["trigger"], &keys).list()?).map(|row| (row.trigger.clone(), row)).collect(),
            // A recovery trigger waits, like any other, while the job executes elsewhere (QZ-74) or
            // the group is paused.
            pauses: PauseState::read(s, fires.iter().filter_map(|fire| fire.job.as_ref()))?,
        })
    }

    /// Says of each fire what becomes of its work; the answer is what goes on in recovery triggers.
    fn decide_fates<'a>(
        &self,
        dead: &'a Dead,
        fires: &'a [FiredRow],
        orders: &StopOrders,
        writes: &mut Writes,
        done: &mut Recovered,
    ) -> Vec<RecoveredWork<'a>> {
        let mut again = Vec::new();
        let now_ms = done.now.timestamp_millis();
        for fire in fires {
            let Some(job) = fire.job.as_ref().and_then(|job| dead.jobs.get(job)) else {
                done.other += 1;
                continue;
            };
            // The order has outlived the node: nobody is asked what is to become of the work.
            if orders.has(&fire.fire_id) {
                done.lost.push(fire.fire_id.clone());
                continue;
            }
            let limit = dead.policies.get(&job.key).and_then(JobPolicy::takeover_limit);
            // A trigger that waits for more than this fire keeps its schedule. Two fires of one
            // trigger cannot both be revived.
            let is_free = !writes.revived.iter().any(|advance| advance.key == fire.trigger);
            let over = dead.triggers.get(&fire.trigger).filter(|row| is_free && can_be_revived(row));
            let before = dead.chains.get(&fire.trigger);
            let work = DeadWork {
                was_recovered: dead.recovered_before.contains(&fire.fire_id),
                takeovers: before.map_or(0, |row| row.takeovers),
                max_takeovers: limit.unwrap_or(self.store.settings.recovery.max_takeovers),
                can_be_revived: over.is_some(),
            };
            match fate(self.decide(dead, fire, job, now_ms), work) {
                WorkFate::Lost => done.lost.push(fire.fire_id.clone()),
                WorkFate::Failed => {
                    done.lost.push(fire.fire_id.clone());
                    writes.failed.push(fire.trigger.clone());
                }
                WorkFate::Recovered => {}
                WorkFate::Revived => {
                    let state = dead.pauses.state_of_new(&fire.trigger, &job.key);
                    let revived = over.map(|row| Advance::of_row(row, TriggerState::Complete, state, Some(now_ms)));
                    writes.revived.extend(revived);
                    writes.rows.push(recovery_row(fire.trigger.clone(), fire, before, work.takeovers + 1));
                    done.revived.push((fire.fire_id.clone(), fire.trigger.clone()));
                }
                WorkFate::Again { delay_ms, parked } => {
                    again.push(RecoveredWork { fire, job: &job.key, delay_ms, parked })
                }
            }
        }
        again
    }

    /// The decision on a fire whose job exists: its policy's, or the application's if the policy
    /// leaves it to a handler.
    fn decide(&self, dead: &Dead, fire: &FiredRow, job: &JobRow, now_ms: i64) -> DeadFireDecision {
        let trigger = dead.triggers.get(&fire.trigger);
        match dead.policies.get(&job.key).and_then(JobPolicy::on_dead_policy) {
            Some(OnDead::NextFire) => return DeadFireDecision::NextFire,
            _ if !fire.requests_recovery => {
                let revives = self.store.settings.recovery.revive_one_shots;
                return unrequested(revives, trigger, dead.gone.contains(&fire.trigger));
            }
            Some(OnDead::Revive) => return DeadFireDecision::Revive,
            Some(OnDead::RecoveryTrigger) | None => return DeadFireDecision::Recover,
            Some(OnDead::Ask) => {}
        }
        let Some(handler) = &self.store.dead_fires else { return DeadFireDecision::Recover };
        let data = |bytes: Option<&[u8]>| self.store.decode_data(bytes).unwrap_or_default();
        let of_trigger = trigger.map(|row| data(row.data.as_deref())).unwrap_or_default();
        let dead_fire = DeadFire {
            fire_id: fire.fire_id.clone(),
            instance: fire.instance.clone(),
            job: job.key.clone(),
            job_type: job.job_type.to_string(),
            trigger: fire.trigger.clone(),
            scheduled_fire_time: moment(fire.scheduled_ms),
            fire_time: moment(fire.fired_ms),
            attempt: dead.chains.get(&fire.trigger).map_or(0, |row| row.attempt),
            data: data(job.data.as_deref()).merged_with(&of_trigger),
            now: moment(now_ms),
        };
        handler.decide(&dead_fire).unwrap_or(DeadFireDecision::Recover)
    }

    /// Adds the recovery trigger of this name, and reports it.
    fn add_recovery_trigger(
        &self,
        dead: &Dead,
        key: TriggerKey,
        again: RecoveredWork<'_>,
        writes: &mut Writes,
        done: &mut Recovered,
    ) -> Result<()> {
        let RecoveredWork { fire, job, delay_ms, parked } = again;
        let original = dead.triggers.get(&fire.trigger);
        let mut trigger = recovery_trigger(key.clone(), job, fire, self.data_of(original));
        if delay_ms > 0 {
            trigger.next_ms = Some(done.now.timestamp_millis().saturating_add(delay_ms));
        }
        let (row, reason) = match self.store.trigger_row(&trigger, dead.pauses.state_of_new(&key, job)) {
            Ok(row) => (row, parked),
            // A trigger that cannot be built holds up itself only. The data of the original are
            // kept as they are.
            Err(why) => {
                let bare =
                    self.store.trigger_row(&Trigger { data: JobDataMap::new(), ..trigger }, TriggerState::Error)?;
                let data = original.and_then(|row| row.data.clone());
                (TriggerRow { data, ..bare }, Some(format!("its recovery cannot be built: {why}")))
            }
        };
        let before = dead.chains.get(&fire.trigger);
        let takeovers = before.map_or(0, |row| row.takeovers);
        let Some(reason) = reason else {
            writes.triggers.push(row);
            writes.rows.push(recovery_row(key.clone(), fire, before, takeovers + 1));
            done.recovery_triggers.push((fire.fire_id.clone(), key));
            return Ok(());
        };
        writes.triggers.push(TriggerRow { state: TriggerState::Error.name().to_owned(), ..row });
        // The person who lets it run again begins to count anew.
        writes.rows.push(recovery_row(key.clone(), fire, before, 0));
        done.parked.push(Parked {
            key,
            job: job.clone(),
            fire_id: Some(fire.fire_id.clone()),
            reason,
            takeovers,
            since: done.now,
        });
        Ok(())
    }

    /// The data of a trigger, also of one whose schedule only Quartz knows; data that cannot be
    /// read do not keep the job from being run again (H12).
    fn data_of(&self, trigger: Option<&TriggerRow>) -> JobDataMap {
        let Some(row) = trigger else { return JobDataMap::new() };
        self.store.decode_data(row.data.as_deref()).unwrap_or_else(|error| {
            log::warn!("recovering without the trigger's data trigger={} error={error}", row.key);
            JobDataMap::new()
        })
    }
}

/// The policies of these jobs, with what each leaves open as its type has it. A policy that cannot
/// be read does not keep the job from being recovered (H12).
fn read_policies(s: &mut dyn Session, jobs: &HashMap<JobKey, JobRow>) -> Result<HashMap<JobKey, JobPolicy>> {
    let types = distinct(jobs.values().map(|job| &job.job_type));
    let types: Vec<String> = types.iter().map(|job_type| job_type.to_string()).collect();
    if types.is_empty() {
        return Ok(HashMap::default());
    }
    let rows: Vec<TypePolicyRow> = s.rows().any_of(&["job_type"], &types).list()?;
    let of_types: HashMap<&str, &str> = rows.iter().map(|row| (&*row.job_type, &*row.policy)).collect();
    let policy = |job: &JobRow| {
        let warn = |why: &String| log::warn!("recovering without a policy job={} error={why}", job.key);
        let read = |text: &str| JobPolicy::decode(text).inspect_err(warn).ok();
        let of_type = of_types.get(&*job.job_type).and_then(|text| read(text));
        match (job.policy.as_deref().and_then(read), of_type) {
            (Some(own), Some(of_type)) => Some(own.or(&of_type)),
            (own, of_type) => own.or(of_type),
        }
    };
    Ok(jobs.values().filter_map(|job| Some((job.key.clone(), policy(job)?))).collect())
}
