//! Recovery: the work of a failed instance goes back to the living, in one transaction.

use super::dead_fires::policy_of;
use super::{DeadFireDecision, Recovered};
use crate::data_map::JobDataMap;
use crate::error::Result;
use crate::key::{BROADCAST_GROUP, JobKey, MAX_NAME_CHARS, RECOVERY_GROUP, TriggerKey, distinct};
use crate::rules::failover::millis;
use crate::store::firing::{Ended, fenced, gone_rows};
use crate::store::row::{FiredRow, FiredState, Notification, Parked, RecoveryRow, Selection, TriggerRow};
use crate::store::{ALL_GROUPS_PAUSED, JobStore, Lock, Owner, Session, TxMode};
use crate::trigger::{MisfireInstruction, Policies, Schedule, SimpleSchedule, Transition, Trigger, TriggerState};
use foldhash::HashSet;
use std::collections::{BTreeMap, BTreeSet};

/// The data keys by which a recovery trigger names the fire it stands for; Java nodes write and read the same.
pub(in crate::store) mod recovery_keys {
    pub const NAME: &str = "QRTZ_FAILED_JOB_ORIG_TRIGGER_NAME";
    pub const GROUP: &str = "QRTZ_FAILED_JOB_ORIG_TRIGGER_GROUP";
    pub const FIRED_MS: &str = "QRTZ_FAILED_JOB_ORIG_TRIGGER_FIRETIME_IN_MILLISECONDS_AS_STRING";
    pub const SCHEDULED_MS: &str = "QRTZ_FAILED_JOB_ORIG_TRIGGER_SCHEDULED_FIRETIME_IN_MILLISECONDS_AS_STRING";
}

/// Who has the fires that are recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// A dead node: what it has taken ahead it can begin no more.
    Dead,
    /// This node, which has forgotten them.
    Own,
    /// A node that lives, and has begun them.
    Running,
}

impl JobStore {
    /// Recovers those fires of a living node that it does not know: it asked for them and the answer was lost.
    ///
    /// # Errors
    /// [`Error::Fenced`](crate::Error::Fenced) if `owner` is not registered; what the database reports after the
    /// bounded retries.
    pub fn recover_forgotten(&self, owner: &Owner, known: &BTreeSet<String>) -> Result<Recovered> {
        self.recover_own(owner, |fire| !known.contains(&fire.fire_id))
    }

    /// The fired rows of a living node that it does not know, by their ids.
    ///
    /// # Errors
    /// What the database reports after the bounded retries.
    pub fn unknown_fires(&self, owner: &Owner, known: &BTreeSet<String>) -> Result<BTreeSet<String>> {
        let fires = self.glance("compare fires with memory", |s| s.fired_of_instance(&owner.instance))?;
        Ok(fires.into_iter().map(|fire| fire.fire_id).filter(|id| !known.contains(id)).collect())
    }

    /// Recovers these fires of a living node that does not run them: its store has lost their ends.
    ///
    /// # Errors
    /// As [`JobStore::recover_forgotten`].
    pub fn recover_unknown(&self, owner: &Owner, unknown: &BTreeSet<String>) -> Result<Recovered> {
        self.recover_own(owner, |fire| unknown.contains(&fire.fire_id))
    }

    fn recover_own(&self, owner: &Owner, is_meant: impl Fn(&FiredRow) -> bool) -> Result<Recovered> {
        self.retrying(
            "recover forgotten fires",
            TxMode::Exclusive(Lock::TriggerAccess),
            |s| {
                s.draw_fences(Some(owner), 0)?.ok_or_else(|| fenced(owner))?;
                let mut fires = s.fired_of_instance(&owner.instance)?;
                fires.retain(&is_meant);
                self.recover_fires(s, &owner.instance, fires, Held::Own)
            },
            &mut |_, _| Ok(false), // what was recovered is not found again
        )
    }

    /// Gives each of these fires of the instance its due, but for those whose rows somebody holds:
    /// they stay as they are, for the next look.
    pub(super) fn recover_fires(
        &self,
        s: &mut dyn Session,
        name: &str,
        fires: Vec<FiredRow>,
        held: Held,
    ) -> Result<Recovered> {
        let ids: Vec<_> = fires.iter().map(|f| f.fire_id.clone()).collect();
        let free: HashSet<String> = s.free_fired(&ids)?.into_iter().collect();
        let fires = fires.into_iter().filter(|fire| free.contains(&fire.fire_id)).collect();
        self.recover_free(s, name, fires, held)
    }

    /// Gives each of these fires of the instance its due (QZ-60…77). This transaction holds their
    /// rows.
    pub(super) fn recover_free(
        &self,
        s: &mut dyn Session,
        name: &str,
        fires: Vec<FiredRow>,
        held: Held,
    ) -> Result<Recovered> {
        let now_ms = s.now_ms()?;
        let ids: Vec<_> = fires.iter().map(|f| f.fire_id.clone()).collect();
        let (acquired, executing): (Vec<_>, Vec<_>) = fires.into_iter().partition(|f| f.state == FiredState::Acquired);
        let mut done = Recovered { instance: name.to_owned(), now_ms, freed: acquired.len(), ..Recovered::default() };
        if ids.is_empty() {
            return Ok(done);
        }

        // The rows first: from here on the failed node's writes find nothing (S7).
        s.delete_fired(&ids)?;
        s.delete_beats(&ids)?;
        let acquired: Vec<_> = acquired.into_iter().map(|f| f.trigger).collect();
        if !acquired.is_empty() {
            s.change_states(Selection::Triggers(&acquired), Transition::Release.moves(), false)?;
        }

        let taken = executing.len();
        let left = self.left_ahead_by(s, name, &executing)?;
        let (mut executing, going_on) = match held {
            Held::Running => (executing, Vec::new()),
            Held::Dead | Held::Own => self.take_back_dead(s, name, executing, &left, held == Held::Dead)?,
        };
        self.record_lost(s, &executing, now_ms)?;
        executing.extend(going_on);
        done.freed += taken - executing.len();
        let have_options = self.schedule_again(s, name, &executing, gone_rows(&executing, &left), &mut done)?;
        self.follow_lost(s, &executing, &done.lost)?;

        let blocked: Vec<JobKey> =
            distinct(executing.iter().filter(|f| f.nonconcurrent).filter_map(|f| f.job.as_ref()));
        if !blocked.is_empty() {
            s.change_states(Selection::Jobs(&blocked), Transition::Unblock.moves(), true)?;
        }
        if !have_options.is_empty() {
            let rows = s.triggers(&have_options)?;
            let ended = Ended { one_at_a_time: &blocked, failed: &BTreeSet::new() };
            done.skipped = self.end_runs(s, &rows, &ended)?.skipped;
        }
        let triggers: Vec<TriggerKey> = distinct(executing.iter().map(|f| &f.trigger));
        s.delete_finished_triggers(&triggers)?;
        let jobs: Vec<JobKey> = distinct(executing.iter().filter_map(|f| f.job.as_ref()));
        s.delete_idle_jobs(&jobs)?;
        s.notify(Notification::Change)?;
        Ok(done)
    }

    /// One recovery trigger for each interrupted fire whose job asks for it and still exists. Returns the triggers that have
    /// options and go on.
    fn schedule_again(
        &self,
        s: &mut dyn Session,
        name: &str,
        executing: &[FiredRow],
        gone: Vec<TriggerRow>,
        done: &mut Recovered,
    ) -> Result<Vec<TriggerKey>> {
        let jobs = self.policies_of(s, executing)?;
        let ids: Vec<_> = executing.iter().map(|f| f.fire_id.clone()).collect();
        let recovered_before: BTreeSet<String> = s.recovered_origins(&ids)?.into_iter().collect();
        let keys: Vec<TriggerKey> = distinct(executing.iter().map(|f| &f.trigger));
        let originals: BTreeMap<TriggerKey, TriggerRow> =
            gone.into_iter().chain(s.triggers(&keys)?).map(|t| (t.key.clone(), t)).collect();
        let chain: BTreeMap<TriggerKey, RecoveryRow> =
            s.recoveries(&keys)?.into_iter().map(|r| (r.trigger.clone(), r)).collect();
        let paused_groups = s.paused_groups()?;
        let alone: Vec<JobKey> = distinct(executing.iter().filter(|f| f.nonconcurrent).filter_map(|f| f.job.as_ref()));
        // QZ-74: like any other trigger it waits while the job executes elsewhere, and while it is
        // paused.
        let busy: BTreeSet<JobKey> = match alone.is_empty() {
            true => BTreeSet::new(),
            false => s.executing_jobs(&alone)?.into_iter().map(|(job, _)| job).collect(),
        };
        let state_of = |key: &TriggerKey, job: &JobKey| {
            let paused = paused_groups.iter().any(|group| group == key.group() || group == ALL_GROUPS_PAUSED);
            match (paused, busy.contains(job)) {
                (true, true) => TriggerState::PausedBlocked,
                (true, false) => TriggerState::Paused,
                (false, true) => TriggerState::Blocked,
                (false, false) => TriggerState::Waiting,
            }
        };

        let mut again = Vec::new();
        let mut revived: Vec<(TriggerKey, TriggerState, Option<i64>)> = Vec::new();
        let mut rows = Vec::new();
        for fire in executing {
            let Some(job) = fire.job.as_ref().and_then(|job| jobs.get(job)) else {
                done.other += 1;
                continue;
            };
            let before = chain.get(&fire.trigger);
            let takeovers = before.map_or(0, |r| r.takeovers);
            let policy = policy_of(job);
            let delay = match self.decide(fire, job, policy.as_ref(), before.map_or(0, |r| r.attempt), done.now_ms) {
                DeadFireDecision::NextFire => {
                    done.lost.push(fire.fire_id.clone());
                    continue;
                }
                DeadFireDecision::Error => {
                    done.lost.push(fire.fire_id.clone());
                    let trigger = std::slice::from_ref(&fire.trigger);
                    s.delete_reservations(trigger)?;
                    s.change_states(Selection::Triggers(trigger), Transition::Fail.moves(), false)?;
                    continue;
                }
                _ if recovered_before.contains(&fire.fire_id) => continue,
                // Only a trigger that waits for nothing but this fire is made due again; others
                // keep their schedule. Two fires of one cannot both be.
                DeadFireDecision::Revive
                    if originals.get(&fire.trigger).is_some_and(can_be_revived)
                        && self.too_many(policy.as_ref(), takeovers).is_none()
                        && !revived.iter().any(|(key, _, _)| *key == fire.trigger) =>
                {
                    revived.push((fire.trigger.clone(), state_of(&fire.trigger, &job.job), Some(done.now_ms)));
                    done.revived.push((fire.fire_id.clone(), fire.trigger.clone()));
                    rows.push(recovery_row(fire.trigger.clone(), fire, before, takeovers + 1));
                    continue;
                }
                DeadFireDecision::RecoverAfter(delay) => millis(delay),
                DeadFireDecision::Recover | DeadFireDecision::Revive => 0,
            };
            again.push((fire, &job.job, delay, takeovers, self.too_many(policy.as_ref(), takeovers)));
        }

        let mut triggers = Vec::new();
        let keys = Names::new(name, done.now_ms).free(s, again.len())?;
        for (key, (fire, job, delay, takeovers, too_many)) in keys.into_iter().zip(again) {
            let original = originals.get(&fire.trigger);
            let mut trigger = self.recovery_trigger(key.clone(), job, fire, original);
            if delay > 0 {
                trigger.next_ms = Some(done.now_ms.saturating_add(delay));
            }
            let (row, reason) = match (self.trigger_row(&trigger, state_of(&key, job)), too_many) {
                (Ok(row), None) => (row, None),
                (Ok(row), Some(reason)) => (row, Some(reason)),
                // One that cannot be built holds up itself only. What the trigger had is kept as it
                // is.
                (Err(why), _) => {
                    let bare =
                        self.trigger_row(&Trigger { data: JobDataMap::new(), ..trigger }, TriggerState::Error)?;
                    let data = original.and_then(|row| row.data.clone());
                    (TriggerRow { data, ..bare }, Some(format!("its recovery cannot be built: {why}")))
                }
            };
            let before = chain.get(&fire.trigger);
            match reason {
                None => {
                    triggers.push(row);
                    done.recovery_triggers.push((fire.fire_id.clone(), key.clone()));
                    rows.push(recovery_row(key, fire, before, takeovers + 1));
                }
                Some(reason) => {
                    triggers.push(TriggerRow { state: TriggerState::Error.name().to_owned(), ..row });
                    done.parked.push(Parked {
                        key: key.clone(),
                        job: job.clone(),
                        fire_id: Some(fire.fire_id.clone()),
                        reason,
                        takeovers,
                        since_ms: done.now_ms,
                    });
                    // Whoever lets it run again begins to count anew.
                    rows.push(recovery_row(key, fire, before, 0));
                }
            }
        }
        if !done.parked.is_empty() {
            s.put_parked(&done.parked)?;
        }
        if !revived.is_empty() {
            s.reset_triggers(&revived)?;
            // Of one that was revived before.
            s.delete_recoveries(&revived.into_iter().map(|(key, _, _)| key).collect::<Vec<_>>())?;
        }
        if !triggers.is_empty() {
            s.insert_triggers(&triggers)?;
        }
        if !rows.is_empty() {
            s.insert_recoveries(&rows)?;
        }
        // One that was made due again is due for the fire that died, and not by its schedule.
        let on_schedule = originals.into_values().filter(|row| row.options.is_some() && row.next_ms.is_some());
        Ok(on_schedule.map(|row| row.key).collect())
    }

    /// A one-shot at the scheduled time of the lost fire, however old, with the trigger's data and the four keys.
    ///
    /// A fire of a recovery trigger keeps the first trigger's four values (H15). Data that cannot be read does not keep
    /// the job from being run again (H12): the four keys are there in any case.
    fn recovery_trigger(
        &self,
        key: TriggerKey,
        job: &JobKey,
        fire: &FiredRow,
        original: Option<&TriggerRow>,
    ) -> Trigger {
        let mut data = match original.map(|row| self.trigger_value(row)) {
            Some(Ok(trigger)) => trigger.data,
            Some(Err(error)) => {
                log::warn!("recovering without the trigger's data trigger={} error={error}", fire.trigger);
                JobDataMap::new()
            }
            None => JobDataMap::new(),
        };
        let is_recovery_of_recovery =
            fire.trigger.group() == RECOVERY_GROUP && data.text(recovery_keys::NAME).is_some();
        if !is_recovery_of_recovery {
            data.put(recovery_keys::NAME, fire.trigger.name());
            data.put(recovery_keys::GROUP, fire.trigger.group());
            data.put(recovery_keys::FIRED_MS, fire.fired_ms.to_string());
            data.put(recovery_keys::SCHEDULED_MS, fire.scheduled_ms.to_string());
        }
        Trigger {
            key,
            job_key: job.clone(),
            description: None,
            calendar_name: None,
            data,
            priority: fire.priority,
            misfire: MisfireInstruction::Ignore,
            start_ms: fire.scheduled_ms,
            end_ms: None,
            next_ms: Some(fire.scheduled_ms),
            previous_ms: None,
            schedule: Schedule::Simple(SimpleSchedule::once()),
            policies: Policies::default(),
        }
    }
}

/// Whether a trigger has fired for the last time, is there only for the sake of that fire, and would not be left out if it
/// came late once more: a recovery trigger never is.
fn can_be_revived(trigger: &TriggerRow) -> bool {
    let leaves_out: &[i32] = match trigger.kind.as_str() {
        "SIMPLE" => &[4, 5], // those that wait for the next time
        _ => &[2],           // do nothing
    };
    let is_over = trigger.next_ms.is_none() && trigger.state == TriggerState::Complete.name();
    let has_window = trigger.options.as_ref().is_some_and(|options| options.names.contains("catch-up"));
    // The node that a part is for is gone.
    let is_part = trigger.key.group() == BROADCAST_GROUP;
    is_over && !is_part && !has_window && !leaves_out.contains(&trigger.misfire)
}

/// Names for recovery triggers: `recover_<instance>_<n>`, n from the present millisecond, as people search for them.
///
/// The name is for people; what makes a recovery unique is its origin. A name that is taken is passed over (H14).
struct Names {
    stem: String,
    counter: i64,
}

impl Names {
    fn new(instance: &str, now_ms: i64) -> Self {
        let room = MAX_NAME_CHARS - "recover__".len() - 20;
        Self { stem: instance.chars().take(room).collect(), counter: now_ms }
    }

    /// So many names that no trigger has.
    fn free(&mut self, s: &mut dyn Session, count: usize) -> Result<Vec<TriggerKey>> {
        let mut free = Vec::with_capacity(count);
        while free.len() < count {
            let mut some: Vec<TriggerKey> = (free.len()..count).map(|_| self.next()).collect();
            let taken: BTreeSet<TriggerKey> = s.existing_triggers(&some)?.into_iter().collect();
            some.retain(|key| !taken.contains(key));
            free.append(&mut some);
        }
        Ok(free)
    }

    fn next(&mut self) -> TriggerKey {
        let key = TriggerKey::new(RECOVERY_GROUP, format!("recover_{}_{}", self.stem, self.counter));
        self.counter += 1;
        key
    }
}

fn recovery_row(trigger: TriggerKey, fire: &FiredRow, before: Option<&RecoveryRow>, takeovers: i64) -> RecoveryRow {
    RecoveryRow {
        trigger,
        origin_fire_id: fire.fire_id.clone(),
        root_fire_id: before.map_or_else(|| fire.fire_id.clone(), |r| r.root_fire_id.clone()),
        original_scheduled_ms: before.map_or(fire.scheduled_ms, |r| r.original_scheduled_ms),
        attempt: before.map_or(1, |r| r.attempt + 1),
        takeovers,
    }
}
