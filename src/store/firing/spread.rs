//! Spread: a tick of a job that runs on all nodes becomes a one-shot trigger for each of them, its part.
//!
//! The tick's trigger moves on in the same transaction that makes the parts, as a fire would move it: so a tick is spread
//! once, however many nodes find it due. A part is named by its node, its trigger and its time, and only its node takes it:
//! the gate leaves the others to theirs. Which nodes take part is said by the strategy that the job has chosen, a rule of
//! the user's or a built-in one; a tick for which it has no answer stays as it is.

use super::Acquisition;
use super::fire::{Firable, Firing};
use crate::error::Result;
use crate::job::{EligibleNode, JobDetail, JobPolicy, Tick as AskedTick};
use crate::key::{BROADCAST_GROUP, JobKey, TriggerKey, distinct};
use crate::node::NodeInfo;
use crate::rules::placement::ClusterView;
use crate::rules::strategy::{self, Part, ask, eligible, for_any, is_part_of, part_key, prefix};
use crate::store::row::{FiredRow, FiredState, NodeRow, Notification, Parked, Selection, TriggerRow};
use crate::store::{ALL_GROUPS_PAUSED, JobStore, Session};
use crate::trigger::{
    MisfireInstruction, Overlap, Policies, Schedule, SimpleSchedule, Transition, Trigger, TriggerState,
};
use chrono::DateTime;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// An answer of a strategy that takes longer is named: the cluster waits for it.
const SLOW: Duration = Duration::from_millis(100);

/// A tick that is to be spread.
pub(super) struct Tick {
    pub(super) trigger: Trigger,
    pub(super) job: JobDetail,
    pub(super) scheduled_ms: i64,
    /// Whether the trigger's row goes.
    pub(super) is_last: bool,
}

/// What was decided of a batch of ticks.
#[derive(Default)]
pub(super) struct Spread {
    triggers: Vec<TriggerRow>,
    /// Jobs that may have nothing left to do.
    idle: Vec<JobKey>,
    /// Ticks that are set aside.
    parked: Vec<Parked>,
    ticks: usize,
}

/// The cluster as it is when ticks are spread.
struct Nodes {
    view: ClusterView,
    types: BTreeMap<String, BTreeSet<String>>,
    /// What they say of themselves, if a strategy may ask for it.
    infos: BTreeMap<String, NodeInfo>,
}

impl JobStore {
    /// Decides the parts of these ticks, whose triggers move on with what `firing` writes. Those for which their strategy
    /// has no answer stay as they are, and are named.
    pub(super) fn decide_parts(
        &self,
        s: &mut dyn Session,
        firing: &mut Firing<'_>,
        ticks: Vec<Firable>,
        now_ms: i64,
        unanswered: &mut Vec<(TriggerKey, String)>,
    ) -> Result<Spread> {
        let mut spread = Spread::default();
        if ticks.is_empty() {
            return Ok(spread);
        }
        self.note_parts();
        let asks_more = ticks.iter().any(|tick| tick.job.policy().execution_strategy().is_named());
        let nodes = self.look_for_parts(s, now_ms, asks_more)?;
        let paused_groups = s.paused_groups()?;
        let paused = paused_groups.iter().any(|group| group == BROADCAST_GROUP || group == ALL_GROUPS_PAUSED);
        let state = if paused { TriggerState::Paused } else { TriggerState::Waiting };
        let mut triggers: Vec<TriggerRow> = Vec::new();
        for firable in ticks {
            let mut takers = eligible(&firable.job, &nodes.view, &nodes.types, now_ms);
            leave_busy(s, &firable, &mut takers)?;
            let parts = match self.ask_for_parts(&firable, &takers, &nodes.infos, now_ms) {
                Ok(parts) => parts,
                Err(why) => {
                    unanswered.push((firable.trigger.key.clone(), why));
                    continue;
                }
            };
            let scheduled_ms = firable.trigger.next_ms.unwrap_or(now_ms);
            let of_part = |part| self.trigger_row(&part_trigger(&firable.trigger, scheduled_ms, part), state);
            let mut rows = match parts.iter().map(of_part).collect::<Result<Vec<TriggerRow>>>() {
                Ok(rows) => rows,
                // One that cannot be built holds up itself only.
                Err(why) => {
                    spread.parked.push(Parked {
                        key: firable.trigger.key,
                        job: firable.job.key,
                        fire_id: None,
                        reason: format!("its parts cannot be built: {why}"),
                        takeovers: 0,
                        since_ms: now_ms,
                    });
                    continue;
                }
            };
            let tick = firing.spread(firable);
            spread.ticks += 1;
            if parts.is_empty() {
                log::info!("no node takes part trigger={} scheduled_ms={}", tick.trigger.key, tick.scheduled_ms);
                spread.idle.extend(tick.is_last.then(|| tick.job.key.clone()));
            }
            triggers.append(&mut rows);
        }
        // One of the same trigger, node and time is there already if the trigger was stored anew.
        let keys: Vec<TriggerKey> = triggers.iter().map(|trigger| trigger.key.clone()).collect();
        let mut known: BTreeSet<TriggerKey> = match keys.is_empty() {
            true => BTreeSet::new(),
            false => s.existing_triggers(&keys)?.into_iter().collect(),
        };
        triggers.retain(|trigger| known.insert(trigger.key.clone()));
        spread.triggers = triggers;
        Ok(spread)
    }

    /// What the job's strategy says; nothing if nobody may take part. The reason if it has no answer.
    fn ask_for_parts(
        &self,
        tick: &Firable,
        takers: &[String],
        infos: &BTreeMap<String, NodeInfo>,
        now_ms: i64,
    ) -> std::result::Result<Vec<Part>, String> {
        let chosen = tick.job.policy().execution_strategy();
        let Some(rule) = self.strategies.get(chosen) else {
            // The gate has left those alone.
            return Err(format!("strategy `{chosen}` is not registered on this node"));
        };
        if takers.is_empty() {
            return Ok(Vec::new());
        }
        let info = |name: &String| infos.get(name).cloned().unwrap_or_default();
        let nodes: Vec<EligibleNode> = takers.iter().map(|name| EligibleNode::new(name, info(name))).collect();
        let scheduled = DateTime::from_timestamp_millis(tick.trigger.next_ms.unwrap_or(now_ms)).unwrap_or_default();
        let begun = self.clock.ticks();
        let parts = ask(rule, &AskedTick::new(&tick.trigger.key, scheduled, &tick.job), &nodes);
        let took = self.clock.ticks().saturating_sub(begun);
        if took >= SLOW {
            log::warn!(
                "a strategy is slow, and the cluster waits for it strategy={chosen} took_ms={}",
                took.as_millis()
            );
        }
        parts.map_err(|why| format!("strategy `{chosen}` {why}"))
    }

    fn look_for_parts(&self, s: &mut dyn Session, now_ms: i64, with_infos: bool) -> Result<Nodes> {
        let view = self.look_at_cluster(s, now_ms)?;
        let mut types: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for row in s.job_types()? {
            types.entry(row.instance).or_default().insert(row.job_type);
        }
        let infos = match with_infos {
            true => s.rows::<NodeRow>().list()?.into_iter().map(|row| (row.instance, row.info)).collect(),
            false => BTreeMap::new(),
        };
        Ok(Nodes { view, types, infos })
    }

    /// Has a living node that takes no work any longer give up its parts.
    pub(in crate::store) fn leave_parts(&self, instance: &str) -> Result<()> {
        let prefix = prefix(instance);
        if self.glance("look for parts", |s| s.parts(&prefix))?.is_empty() {
            return Ok(());
        }
        self.write("give up parts", |s| self.give_up_parts(s, instance)).map(drop)
    }

    /// Gives up what a node that takes no work any longer has not begun of its parts: shares of jobs that request recovery
    /// are for any node from now on, the others are dropped. Returns how many there were.
    pub(in crate::store) fn give_up_parts(&self, s: &mut dyn Session, instance: &str) -> Result<usize> {
        let keys = s.parts(&prefix(instance))?;
        if keys.is_empty() {
            return Ok(0);
        }
        let mut rows = s.triggers(&keys)?;
        // Those have begun, and wait for their runs.
        rows.retain(|row| row.state != TriggerState::Complete.name());
        let mut jobs = BTreeMap::new();
        for key in distinct(rows.iter().map(|row| &row.job)) {
            let job = s.job(&key)?;
            let has_shares = job.as_ref().map(|job| match job.policy.as_deref().map(JobPolicy::decode) {
                Some(Ok(policy)) => policy.execution_strategy().has_shares(),
                _ => false,
            });
            jobs.insert(key, (has_shares, job.is_some_and(|job| job.requests_recovery)));
        }
        let now_ms = s.now_ms()?;
        let (mut given, mut lost) = (Vec::new(), Vec::new());
        for row in &rows {
            match jobs.get(&row.job) {
                Some((Some(true), true)) => {
                    given.push(TriggerRow { key: for_any(&row.key), ..row.clone() });
                }
                Some((Some(true), false)) => lost.push(never_begun(row, instance, now_ms)),
                _ => {}
            }
        }
        self.record_lost(s, &lost, now_ms)?;
        s.delete_triggers(&rows.iter().map(|row| row.key.clone()).collect::<Vec<_>>(), None)?;
        if !given.is_empty() {
            s.insert_triggers(&given)?;
        }
        s.delete_idle_jobs(&distinct(rows.iter().map(|row| &row.job)))?;
        s.notify(Notification::Change)?;
        Ok(rows.len())
    }
}

impl Spread {
    /// Writes the parts, after the ticks' triggers have moved on, and tells how many ticks there
    /// were and which are set aside.
    pub(super) fn write(self, s: &mut dyn Session, acquisition: &mut Acquisition) -> Result<()> {
        if !self.triggers.is_empty() {
            s.insert_triggers(&self.triggers)?;
            s.notify(Notification::Change)?;
        }
        if !self.idle.is_empty() {
            s.delete_idle_jobs(&distinct(self.idle.iter()))?;
        }
        if !self.parked.is_empty() {
            let keys: Vec<TriggerKey> = self.parked.iter().map(|parked| parked.key.clone()).collect();
            s.change_states(Selection::Triggers(&keys), Transition::Fail.moves(), false)?;
            s.put_parked(&self.parked)?;
        }
        acquisition.spread = self.ticks;
        acquisition.parked = self.parked;
        Ok(())
    }
}

/// Leaves out the nodes that are still at an earlier tick of a trigger whose fires may not overlap (LT-78).
fn leave_busy(s: &mut dyn Session, tick: &Firable, takers: &mut Vec<String>) -> Result<()> {
    if tick.trigger.policies.overlap == Overlap::AllowAll {
        return Ok(());
    }
    let mut held: Vec<TriggerKey> = s.triggers_of_job(&tick.job.key)?.into_iter().map(|row| row.key).collect();
    held.extend(s.executing_of_job(&tick.job.key)?.into_iter().map(|fire| fire.trigger));
    takers.retain(|node| !held.iter().any(|key| is_part_of(key, node, &tick.trigger.key)));
    Ok(())
}

fn part_trigger(tick: &Trigger, scheduled_ms: i64, part: &Part) -> Trigger {
    let mut data = tick.data.clone();
    strategy::tell(&mut data, part, &tick.key);
    Trigger {
        key: part_key(&part.node, &tick.key, scheduled_ms),
        job_key: tick.job_key.clone(),
        description: None,
        calendar_name: None,
        data,
        priority: tick.priority,
        misfire: MisfireInstruction::Ignore,
        start_ms: scheduled_ms,
        end_ms: None,
        next_ms: Some(scheduled_ms),
        previous_ms: None,
        schedule: Schedule::Simple(SimpleSchedule::once()),
        policies: Policies::default(),
    }
}

/// A share that its node has not begun, as the history is told of it.
fn never_begun(row: &TriggerRow, instance: &str, now_ms: i64) -> FiredRow {
    FiredRow {
        fire_id: format!("part-{}", row.key.name()),
        trigger: row.key.clone(),
        instance: instance.to_owned(),
        fired_ms: now_ms,
        scheduled_ms: row.next_ms.unwrap_or(now_ms),
        priority: row.priority,
        state: FiredState::Executing,
        job: Some(row.job.clone()),
        nonconcurrent: false,
        requests_recovery: false,
    }
}
