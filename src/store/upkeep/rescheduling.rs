//! Rescheduling: the work of dead fires goes on in recovery triggers, or in the triggers
//! themselves.

use super::Recovered;
use super::dead_fires::{DeadWorkRows, policy_of};
use crate::data_map::JobDataMap;
use crate::error::Result;
use crate::job::JobPolicy;
use crate::key::{JobKey, TriggerKey, distinct};
use crate::rules::new_trigger::PauseState;
use crate::rules::recovery::{
    DeadWork, WorkFate, can_be_revived, fate, recovery_names, recovery_row, recovery_trigger, unrequested,
};
use crate::store::row::{FiredRow, JobRow, Parked, RecoveryRow, Selection, TriggerRow, TriggerSelection};
use crate::store::{Session, Upkeep};
use crate::trigger::{Transition, Trigger, TriggerState};
use std::collections::{BTreeMap, BTreeSet};

/// The rows of dead fires, before anything is decided.
struct Dead {
    jobs: BTreeMap<JobKey, JobRow>,
    type_policies: BTreeMap<String, String>,
    recovered_before: BTreeSet<String>,
    triggers: BTreeMap<TriggerKey, TriggerRow>,
    /// The triggers whose rows are gone with a prefetched fire.
    gone: BTreeSet<TriggerKey>,
    chains: BTreeMap<TriggerKey, RecoveryRow>,
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
    revived: Vec<(TriggerKey, TriggerState, Option<i64>)>,
}

impl Dead {
    fn state_of(&self, key: &TriggerKey, job: &JobKey) -> TriggerState {
        self.pauses.state_of_new(key, job)
    }

    fn takeovers(&self, fire: &FiredRow) -> i64 {
        self.chains.get(&fire.trigger).map_or(0, |row| row.takeovers)
    }

    fn recovery_row(&self, trigger: TriggerKey, fire: &FiredRow, takeovers: i64) -> RecoveryRow {
        recovery_row(trigger, fire, self.chains.get(&fire.trigger), takeovers)
    }
}

impl Upkeep<'_> {
    /// A recovery trigger for each interrupted fire whose job asks for it and still exists. Returns
    /// the triggers that have options and go on.
    pub(super) fn schedule_recoveries(
        &self,
        s: &mut dyn Session,
        name: &str,
        executing: &[FiredRow],
        gone: Vec<TriggerRow>,
        done: &mut Recovered,
    ) -> Result<Vec<TriggerKey>> {
        let dead = self.read_dead(s, executing, gone)?;
        let mut writes = Writes::default();
        let again = self.decide_fates(&dead, executing, &mut writes, done);
        let names = free_names(s, name, done.now.timestamp_millis(), again.len())?;
        for (key, again) in names.into_iter().zip(again) {
            self.add_recovery_trigger(&dead, key, again, &mut writes, done)?;
        }
        writes.write(s, &done.parked)?;
        // A trigger that was made due again is due for the fire that died, and not by its schedule.
        let on_schedule = dead.triggers.into_values().filter(|row| row.options.is_some() && row.next_ms.is_some());
        Ok(on_schedule.map(|row| row.key).collect())
    }

    fn read_dead(&self, s: &mut dyn Session, fires: &[FiredRow], gone: Vec<TriggerRow>) -> Result<Dead> {
        let ids: Vec<_> = fires.iter().map(|fire| fire.fire_id.clone()).collect();
        let keys: Vec<TriggerKey> = distinct(fires.iter().map(|fire| &fire.trigger));
        let mut jobs = self.policies_of(s, fires)?;
        let type_policies = self.type_policies_of(s, jobs.values())?;
        self.add_data(s, &mut jobs, &type_policies)?;
        Ok(Dead {
            gone: gone.iter().map(|row| row.key.clone()).collect(),
            type_policies,
            jobs,
            recovered_before: s
                .rows()
                .any_of(&["origin_fire_id"], &ids)
                .list()?
                .into_iter()
                .map(|row: RecoveryRow| row.origin_fire_id)
                .collect(),
            triggers: gone
                .into_iter()
                .chain(s.triggers(TriggerSelection::Keys(&keys))?)
                .map(|row| (row.key.clone(), row))
                .collect(),
            chains: s
                .rows()
                .any_of(&["trigger"], &keys)
                .list()?
                .into_iter()
                .map(|row: RecoveryRow| (row.trigger.clone(), row))
                .collect(),
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
        writes: &mut Writes,
        done: &mut Recovered,
    ) -> Vec<RecoveredWork<'a>> {
        let mut again = Vec::new();
        for fire in fires {
            let Some(job) = fire.job.as_ref().and_then(|job| dead.jobs.get(job)) else {
                done.other += 1;
                continue;
            };
            let policy = policy_of(job, &dead.type_policies);
            let attempt = dead.chains.get(&fire.trigger).map_or(0, |row| row.attempt);
            let revives = self.store.settings.recovery.revive_one_shots;
            let row = dead.triggers.get(&fire.trigger);
            let unrequested = unrequested(revives, row, dead.gone.contains(&fire.trigger));
            let now_ms = done.now.timestamp_millis();
            let rows = DeadWorkRows { fire, job, trigger: row, attempt };
            let decision = self.decide_by_policy(rows, policy.as_ref(), unrequested, now_ms);
            let limit = policy.as_ref().and_then(JobPolicy::takeover_limit);
            // A trigger that waits for more than this fire keeps its schedule. Two fires of one
            // trigger cannot both be revived.
            let is_free = !writes.revived.iter().any(|(key, ..)| *key == fire.trigger);
            let work = DeadWork {
                was_recovered: dead.recovered_before.contains(&fire.fire_id),
                takeovers: dead.takeovers(fire),
                max_takeovers: limit.unwrap_or(self.store.settings.recovery.max_takeovers),
                can_be_revived: is_free && row.is_some_and(can_be_revived),
            };
            match fate(decision, work) {
                WorkFate::Lost => done.lost.push(fire.fire_id.clone()),
                WorkFate::Failed => {
                    done.lost.push(fire.fire_id.clone());
                    writes.failed.push(fire.trigger.clone());
                }
                WorkFate::Recovered => {}
                WorkFate::Revived => {
                    let state = dead.state_of(&fire.trigger, &job.key);
                    writes.revived.push((fire.trigger.clone(), state, Some(done.now.timestamp_millis())));
                    writes.rows.push(dead.recovery_row(fire.trigger.clone(), fire, work.takeovers + 1));
                    done.revived.push((fire.fire_id.clone(), fire.trigger.clone()));
                }
                WorkFate::Again { delay_ms, parked } => {
                    again.push(RecoveredWork { fire, job: &job.key, delay_ms, parked })
                }
            }
        }
        again
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
        let (row, reason) = match self.store.trigger_row(&trigger, dead.state_of(&key, job)) {
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
        let takeovers = dead.takeovers(fire);
        let Some(reason) = reason else {
            writes.triggers.push(row);
            writes.rows.push(dead.recovery_row(key.clone(), fire, takeovers + 1));
            done.recovery_triggers.push((fire.fire_id.clone(), key));
            return Ok(());
        };
        writes.triggers.push(TriggerRow { state: TriggerState::Error.name().to_owned(), ..row });
        // The person who lets it run again begins to count anew.
        writes.rows.push(dead.recovery_row(key.clone(), fire, 0));
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

    /// The data of a trigger; data that cannot be read do not keep the job from being run again
    /// (H12).
    fn data_of(&self, trigger: Option<&TriggerRow>) -> JobDataMap {
        let Some(row) = trigger else { return JobDataMap::new() };
        self.store.trigger_value(row).map(|trigger| trigger.data).unwrap_or_else(|error| {
            log::warn!("recovering without the trigger's data trigger={} error={error}", row.key);
            JobDataMap::new()
        })
    }
}

impl Writes {
    fn write(self, s: &mut dyn Session, parked: &[Parked]) -> Result<()> {
        let Self { triggers, rows, failed, revived } = self;
        if !failed.is_empty() {
            s.delete_reservations(&failed)?;
            s.change_states(Selection::Triggers(&failed), Transition::Fail.moves(), false)?;
        }
        if !parked.is_empty() {
            s.put_parked(parked)?;
        }
        if !revived.is_empty() {
            s.reset_triggers(&revived)?;
            // The rows of triggers that were revived before.
            let keys: Vec<TriggerKey> = revived.into_iter().map(|(key, ..)| key).collect();
            s.rows::<RecoveryRow>().any_of(&["trigger"], &keys).delete()?;
        }
        if !triggers.is_empty() {
            s.insert_triggers(&triggers)?;
        }
        if rows.is_empty() { Ok(()) } else { s.insert_all(&rows) }
    }
}

/// Names that no trigger has.
fn free_names(s: &mut dyn Session, instance: &str, now_ms: i64, count: usize) -> Result<Vec<TriggerKey>> {
    let mut names = recovery_names(instance, now_ms);
    let mut free = Vec::with_capacity(count);
    while free.len() < count {
        let mut some: Vec<TriggerKey> = names.by_ref().take(count - free.len()).collect();
        let taken: BTreeSet<TriggerKey> = s.trigger_keys(TriggerSelection::Keys(&some))?.into_iter().collect();
        some.retain(|key| !taken.contains(key));
        free.append(&mut some);
    }
    Ok(free)
}
