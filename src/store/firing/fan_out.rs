//! Fan-out: a tick of a job that runs on all nodes becomes a one-shot trigger for each of them, its
//! part.
//!
//! The tick's trigger moves on in the same transaction that makes the parts, as a fire would move
//! it: a tick is spread once, however many nodes find it due. A part is named by its node, its
//! trigger and its time, and only its node takes it: the admission filter leaves the others to
//! theirs. The strategy that the job has chosen says which nodes take part; a strategy is a rule of
//! the user's or a built-in one. A tick for which its strategy has no answer stays as it is.

use super::Acquisition;
use super::ended_part::EndedPart;
use super::firable::Firable;
use super::fire_batch::FireBatch;
use super::following::delete_idle;
use super::rerun::RerunReason;
use crate::epoch::moment;
use crate::error::Result;
use crate::hash::HashMap;
use crate::job::{EligibleNode, FireOutcome, JobPolicy, Tick};
use crate::key::{JobKey, TriggerKey, distinct};
use crate::node::NodeInfo;
use crate::rules::continuation;
use crate::rules::new_trigger::PauseState;
use crate::rules::one_shot::one_shot;
use crate::rules::placement::ClusterView;
use crate::rules::strategy::{
    self, Part, ask, eligible, for_any, is_part_of, is_rerun, part_id, part_key, part_keys, prefix,
};
use crate::store::history::LostReason;
use crate::store::row::{
    ContinuationSelection, FiredRow, FiredSelection, FiredState, NodeRow, Notification, Parked, RecoveryRow, Selection,
    TickPartRow, TriggerRow, TriggerSelection,
};
use crate::store::stop_orders::StopOrders;
use crate::store::{Firing, Lock, Session, TxMode};
use crate::trigger::{Overlap, Transition, Trigger, TriggerState};
use std::collections::BTreeSet;
use std::time::Duration;

/// An answer of a strategy that takes longer is named: the cluster waits for it.
const SLOW: Duration = Duration::from_millis(100);

/// The parts of a batch of ticks.
#[derive(Default)]
pub(super) struct FanOut {
    triggers: Vec<TriggerRow>,
    /// The parts of ticks that are followed as a whole.
    followed: Vec<TickPartRow>,
    /// Jobs that may have nothing left to do.
    idle: Vec<JobKey>,
    /// Ticks that are set aside.
    parked: Vec<Parked>,
    ticks: usize,
}

/// The cluster as it is when ticks are fanned out.
struct Nodes {
    view: ClusterView,
    types: HashMap<String, BTreeSet<String>>,
    /// The reports of the nodes, if a strategy may ask for it.
    infos: HashMap<String, NodeInfo>,
}

impl Firing<'_> {
    /// Decides the parts of these ticks, whose triggers move on with what `firing` writes. Ticks
    /// for which their strategy has no answer stay as they are, and are named.
    pub(super) fn decide_parts(
        &self,
        s: &mut dyn Session,
        batch: &mut FireBatch<'_>,
        ticks: Vec<Firable>,
        now_ms: i64,
        unanswered: &mut Vec<(TriggerKey, String)>,
    ) -> Result<FanOut> {
        let mut fan_out = FanOut::default();
        if ticks.is_empty() {
            return Ok(fan_out);
        }
        self.node.note_parts();
        let asks_more = ticks.iter().any(|tick| tick.job.policy().execution_strategy().is_named());
        let nodes = self.find_nodes(s, now_ms, asks_more)?;
        let pauses = PauseState::read(s, ticks.iter().map(|tick| &tick.job.key))?;
        let mut triggers: Vec<TriggerRow> = Vec::new();
        let followed: Vec<JobKey> =
            distinct(ticks.iter().filter(|tick| tick.candidate.job_is_followed).map(|tick| &tick.job.key));
        for firable in ticks {
            let mut takers = eligible(&batch.owner.instance, &firable.job, &nodes.view, &nodes.types, now_ms);
            leave_busy(s, &firable, self.store.settings.cluster.skip_busy_nodes, &mut takers)?;
            let parts = match self.ask_for_parts(&firable, &takers, &nodes.infos, now_ms) {
                Ok(parts) => parts,
                Err(why) => {
                    unanswered.push((firable.trigger.key.clone(), why));
                    continue;
                }
            };
            let scheduled_ms = firable.trigger.next_ms.unwrap_or(now_ms);
            let of_part = |part| {
                let trigger = part_trigger(&firable.trigger, scheduled_ms, part);
                let state = pauses.state_of_new(&trigger.key, &trigger.job_key);
                self.store.trigger_row(&trigger, state)
            };
            let mut rows = match parts.iter().map(of_part).collect::<Result<Vec<TriggerRow>>>() {
                Ok(rows) => rows,
                // A tick that cannot be built holds up itself only.
                Err(why) => {
                    fan_out.parked.push(Parked {
                        key: firable.trigger.key,
                        job: firable.job.key,
                        fire_id: None,
                        reason: format!("its parts cannot be built: {why}"),
                        takeovers: 0,
                        since: moment(now_ms),
                    });
                    continue;
                }
            };
            let tick = batch.fan_out(firable);
            fan_out.ticks += 1;
            if parts.is_empty() {
                log::info!("no node takes part trigger={} scheduled_ms={}", tick.trigger.key, tick.scheduled_ms);
                fan_out.idle.extend(tick.is_last.then(|| tick.job.key.clone()));
            }
            triggers.append(&mut rows);
        }
        // A part of the same trigger, node and time is there already if the trigger was stored
        // anew.
        let keys: Vec<TriggerKey> = triggers.iter().map(|trigger| trigger.key.clone()).collect();
        let mut known: BTreeSet<TriggerKey> = match keys.is_empty() {
            true => BTreeSet::new(),
            false => s.trigger_keys(TriggerSelection::Keys(&keys))?.into_iter().collect(),
        };
        triggers.retain(|trigger| known.insert(trigger.key.clone()));
        fan_out.followed = parts_to_wait_for(s, &followed, &triggers)?;
        fan_out.triggers = triggers;
        Ok(fan_out)
    }

    /// The parts by the job's strategy; nothing if nobody may take part. The reason if it has no
    /// answer.
    fn ask_for_parts(
        &self,
        tick: &Firable,
        takers: &[String],
        infos: &HashMap<String, NodeInfo>,
        now_ms: i64,
    ) -> std::result::Result<Vec<Part>, String> {
        let chosen = tick.job.policy().execution_strategy();
        let Some(rule) = self.node.strategies.get(chosen) else {
            // The admission filter has left those alone.
            return Err(format!("strategy `{chosen}` is not registered on this node"));
        };
        if takers.is_empty() {
            return Ok(Vec::new());
        }
        let info = |name: &String| infos.get(name).cloned().unwrap_or_default();
        let nodes: Vec<EligibleNode> = takers.iter().map(|name| EligibleNode::new(name, info(name))).collect();
        let scheduled = moment(tick.trigger.next_ms.unwrap_or(now_ms));
        let begun = self.store.clock.ticks();
        let parts = ask(rule, &Tick::new(&tick.trigger.key, scheduled, &tick.job), &nodes);
        let took = self.store.clock.ticks().saturating_sub(begun);
        if took >= SLOW {
            log::warn!(
                "a strategy is slow, and the cluster waits for it strategy={chosen} took_ms={}",
                took.as_millis()
            );
        }
        parts.map_err(|why| format!("strategy `{chosen}` {why}"))
    }

    fn find_nodes(&self, s: &mut dyn Session, now_ms: i64, with_infos: bool) -> Result<Nodes> {
        let view = self.store.placement().read_cluster(s, now_ms)?;
        let mut types: HashMap<String, BTreeSet<String>> = HashMap::default();
        for row in s.job_types()? {
            types.entry(row.instance).or_default().insert(row.job_type);
        }
        let infos = match with_infos {
            true => s.rows::<NodeRow>().list()?.into_iter().map(|row| (row.instance, row.info)).collect(),
            false => HashMap::default(),
        };
        Ok(Nodes { view, types, infos })
    }

    /// Has a living node that takes no work any longer give up its parts.
    ///
    /// No retries: the next check-in tries again, and comes when this is over.
    pub(in crate::store) fn abandon_parts_of_living(&self, instance: &str) -> Result<()> {
        let prefix = prefix(instance);
        if self.store.glance("look for parts", |s| s.trigger_keys(TriggerSelection::Parts(&prefix)))?.is_empty() {
            return Ok(());
        }
        self.store.once("give up parts", TxMode::Exclusive(Lock::TriggerAccess), |s| {
            self.abandon_parts(s, instance, LostReason::Withdrawn)?;
            s.notify(Notification::Change)
        })
    }

    /// Gives up what a node that takes no work any longer has not begun of its parts: shares of
    /// jobs that request recovery are for any node from now on, the others are dropped. Children
    /// follow a share that is lost so, and a part that failed and will not be tried again; a part
    /// that nobody began does not count. Returns how many there were.
    pub(in crate::store) fn abandon_parts(
        &self,
        s: &mut dyn Session,
        instance: &str,
        why: LostReason,
    ) -> Result<usize> {
        let keys = s.trigger_keys(TriggerSelection::Parts(&prefix(instance)))?;
        if keys.is_empty() {
            return Ok(0);
        }
        s.delete_reservations(&keys)?;
        s.change_states(Selection::Triggers(&keys), Transition::Release.moves(), false)?;
        let mut rows = s.triggers(TriggerSelection::Keys(&keys))?;
        // Complete parts have begun, and wait for their runs.
        rows.retain(|row| row.state != TriggerState::Complete.name());
        let mut jobs = HashMap::default();
        for key in distinct(rows.iter().map(|row| &row.job)) {
            let job = s.job(&key)?;
            let has_shares = job.as_ref().map(|job| match job.policy.as_deref().map(JobPolicy::decode) {
                Some(Ok(policy)) => policy.execution_strategy().has_shares(),
                _ => false,
            });
            jobs.insert(key, (has_shares, job.is_some_and(|job| job.requests_recovery)));
        }
        let now_ms = s.now_ms()?;
        let again: Vec<TriggerKey> = rows.iter().map(|row| &row.key).filter(|key| is_rerun(key)).cloned().collect();
        let before = s.rows::<RecoveryRow>().any_of(&["trigger"], &again).list()?.into_iter();
        let before: HashMap<TriggerKey, String> = before.map(|row| (row.trigger, row.origin_fire_id)).collect();
        let (mut given, mut lost, mut given_up, mut dropped) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for row in &rows {
            match (jobs.get(&row.job), before.get(&row.key)) {
                (Some((Some(true), true)), _) => given.push(TriggerRow { key: for_any(&row.key), ..row.clone() }),
                (Some((Some(true), false)), _) => lost.push(never_begun(row, instance, now_ms)),
                (_, Some(fire_id)) => {
                    let fire = FiredRow { fire_id: fire_id.clone(), ..never_begun(row, instance, now_ms) };
                    given_up.push((fire, RerunReason::of_trigger(&row.key).outcome()));
                }
                _ => dropped.extend(part_id(&row.key, None).map(|part| EndedPart { part, end: None })),
            }
        }
        self.end_parts(s, dropped)?;
        let fires: Vec<FiredRow> = lost.iter().chain(given_up.iter().map(|(fire, _)| fire)).cloned().collect();
        let traces = self.store.traces_of(s, &fires, &[])?;
        self.store.history().record_lost(s, &lost, why, &traces, &StopOrders::default(), now_ms)?;
        let ends = lost.iter().map(|fire| (fire, FireOutcome::Lost));
        self.follow_given_up(s, ends.chain(given_up.iter().map(|(fire, end)| (fire, *end))).collect(), &traces)?;
        s.delete_triggers(&rows.iter().map(|row| row.key.clone()).collect::<Vec<_>>(), None)?;
        if !given.is_empty() {
            s.insert_triggers(&given)?;
        }
        delete_idle(s, &distinct(rows.iter().map(|row| &row.job)))?;
        s.notify(Notification::Change)?;
        Ok(rows.len())
    }
}

impl FanOut {
    /// Writes the parts, after the ticks' triggers have moved on, and tells how many ticks there
    /// were and which are set aside.
    pub(super) fn write(self, s: &mut dyn Session, acquisition: &mut Acquisition) -> Result<()> {
        if !self.triggers.is_empty() {
            s.insert_triggers(&self.triggers)?;
            s.notify(Notification::Change)?;
        }
        if !self.followed.is_empty() {
            s.put_all(&self.followed)?;
        }
        if !self.idle.is_empty() {
            delete_idle(s, &distinct(self.idle.iter()))?;
        }
        if !self.parked.is_empty() {
            let keys: Vec<TriggerKey> = self.parked.iter().map(|parked| parked.key.clone()).collect();
            s.change_states(Selection::Triggers(&keys), Transition::Fail.moves(), false)?;
            s.put_parked(&self.parked)?;
        }
        acquisition.fanned_out = self.ticks;
        acquisition.parked = self.parked;
        Ok(())
    }
}

/// The rows of those of these parts whose jobs, of the `followed`, have a child that waits for the
/// whole tick.
fn parts_to_wait_for(s: &mut dyn Session, followed: &[JobKey], parts: &[TriggerRow]) -> Result<Vec<TickPartRow>> {
    if followed.is_empty() || parts.is_empty() {
        return Ok(Vec::new());
    }
    let children = s.continuations(ContinuationSelection::ChildrenOf(followed))?;
    let of_ticks: BTreeSet<&JobKey> = children
        .iter()
        .filter(|row| continuation::read(&row.on).is_ok_and(|(_, per_tick)| per_tick))
        .map(|row| &row.parent)
        .collect();
    let row = |trigger: &TriggerRow| {
        let id = part_id(&trigger.key, None)?;
        let job = trigger.job.clone();
        let (tick, part) = (id.tick, id.part);
        Some(TickPartRow { tick, part, job, outcome: None, fire_id: None, result: None, traceparent: None })
    };
    Ok(parts.iter().filter(|trigger| of_ticks.contains(&trigger.job)).filter_map(row).collect())
}

/// Leaves out the nodes that are still at an earlier tick of a trigger whose fires may not overlap,
/// or of any trigger with `skips`.
fn leave_busy(s: &mut dyn Session, tick: &Firable, skips: bool, takers: &mut Vec<String>) -> Result<()> {
    if !skips && tick.trigger.policies.overlap == Overlap::AllowAll {
        return Ok(());
    }
    let mut held: Vec<TriggerKey> =
        s.triggers(TriggerSelection::OfJob(&tick.job.key))?.into_iter().map(|row| row.key).collect();
    held.extend(s.fired(FiredSelection::ExecutingOfJob(&tick.job.key))?.into_iter().map(|fire| fire.trigger));
    takers.retain(|node| !held.iter().any(|key| is_part_of(key, node, &tick.trigger.key)));
    Ok(())
}

fn part_trigger(tick: &Trigger, scheduled_ms: i64, part: &Part) -> Trigger {
    let mut data = tick.data.clone();
    strategy::tell(&mut data, part, &tick.key);
    let key = part_key(&part.node, &tick.key, scheduled_ms);
    data.put(part_keys::NAME, key.name());
    one_shot(key, tick.job_key.clone(), data, tick.priority, scheduled_ms)
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
