//! `HeartbeatKeeper`: says for the running fires of this node that they are alive, watches over
//! them, and has those of the cluster recovered that have fallen silent.

use super::service::{Next, Service};
use crate::error::Result;
use crate::hash::HashMap;
use crate::job::FireOutcome;
use crate::job::StuckAction;
use crate::listener::{FireEnd, FireEvent, SchedulerListener, lifecycle_log};
use crate::rules::watch::{self, Due, Limits};
use crate::scheduler::node::Node;
use crate::scheduler::run::completion_queue::OwnedCompletion;
use crate::scheduler::run::heartbeat_entry::{heartbeat_entry, longest_silence};
use crate::scheduler::run::run_handle::{FireTask, RunHandle};
use crate::scheduler::run::run_result::{ending, outcome_of_stop, rerun_in_its_place};
use crate::scheduler::run::stop_reason::StopReason;
use crate::scheduler::run::worker_pool::WorkerPool;
use crate::store::{CompletionInstruction, FireHeartbeat, Heartbeats};
use crossbeam_channel::Sender;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// The largest factor by which a node without runs looks less often after the heartbeats of others,
/// since other nodes look too.
const MOST_SHARED_LOOKS: u32 = 6;

/// The shortest pause after a beat that failed.
const SHORTEST_RETRY: Duration = Duration::from_millis(100);

/// The heartbeat service, which goes on in standby, and while jobs end during a shutdown.
pub(crate) struct HeartbeatKeeper {
    node: Arc<Node>,
    pool: Arc<WorkerPool<FireTask>>,
    completions: Sender<OwnedCompletion>,
    seen: Heartbeats,
    /// The time of the last heartbeat, in ticks.
    last: Option<Duration>,
    /// The time at which a run is looked after next, in ticks.
    next_watch: Option<Duration>,
}

impl HeartbeatKeeper {
    pub(crate) fn new(node: Arc<Node>, pool: Arc<WorkerPool<FireTask>>, completions: Sender<OwnedCompletion>) -> Self {
        Self { node, pool, completions, seen: Heartbeats::default(), last: None, next_watch: None }
    }

    /// Looks after every run; returns when to look again at the latest.
    fn watch(&self) -> Option<Duration> {
        let now = self.node.clock.ticks();
        self.node.running_fires.all().iter().filter_map(|fire| self.watch_one(fire, now)).min()
    }

    fn watch_one(&self, fire: &Arc<RunHandle>, now: Duration) -> Option<Duration> {
        if fire.is_lost() {
            fire.begin_grace(now);
        }
        let (run, reports_progress) = fire.run()?;
        let limits = self.limits(fire, reports_progress);
        match watch::look(&run, &limits, now) {
            Due::Nothing(until) => return until,
            Due::TimedOut => {
                fire.stop(StopReason::TimedOut, now);
                lifecycle_log::timed_out(&fire.job, fire.fire_id(), now.saturating_sub(run.begun));
            }
            Due::AskAgain => {
                fire.ask_again();
                lifecycle_log::asked_again(&fire.job, fire.fire_id());
            }
            Due::Stuck(action) => {
                fire.note_stuck();
                let silence = now.saturating_sub(run.progress);
                lifecycle_log::stuck(&fire.job, fire.fire_id(), silence, action);
                self.node.counters.stuck.add(1);
                self.node.services.monitor.wake();
                if action != StuckAction::Log {
                    self.tell_of(fire, "fire_stuck", move |listener, fire| listener.fire_stuck(fire, silence));
                }
                self.act_on(fire, action, now);
            }
            Due::Silent => {
                fire.note_silent();
                let silence = now.saturating_sub(run.progress);
                lifecycle_log::silent(&fire.job, fire.fire_id(), silence, limits.silence.unwrap_or_default());
                self.tell_of(fire, "fire_silent", move |listener, fire| listener.fire_silent(fire, silence));
            }
            Due::GiveUp => {
                match fire.is_lost() {
                    true => self.let_go(fire, now),
                    false => self.end_in_its_place(fire, now),
                }
                // If the completer is behind, or the worker is just coming back.
                return Some(now.saturating_add(self.node.settings.executions.heartbeat_interval));
            }
        }
        Some(now)
    }

    /// Has the scheduler listeners told of a run whose job has a policy.
    fn tell_of(
        &self,
        fire: &Arc<RunHandle>,
        event: &'static str,
        tell: impl Fn(&dyn SchedulerListener, &FireEvent<'_>) + Send + 'static,
    ) {
        let (fire, instance) = (Arc::clone(fire), Arc::clone(&self.node.instance));
        self.node.listeners.announce(event, move |listener| {
            if let Some(bundle) = fire.watched() {
                tell(listener, &FireEvent::new(bundle, &instance, 0, &fire.values));
            }
        });
    }

    fn limits(&self, fire: &RunHandle, reports_progress: bool) -> Limits {
        let settings = &self.node.settings.executions;
        let (attempts, grace) = self.patience(fire);
        let policy = fire.watched().map(|bundle| bundle.job.policy());
        let stuck = policy.and_then(|policy| policy.stuck_limit());
        let default = reports_progress.then_some((settings.stuck_after, StuckAction::Log));
        Limits {
            timeout: policy.and_then(|policy| policy.timeout_limit()),
            stuck: stuck.or(default),
            silence: policy.and_then(|policy| policy.max_silence()),
            grace,
            attempts,
        }
    }

    /// The number of times that a run is asked to stop, and the time that it has in all (LT-90).
    fn patience(&self, fire: &RunHandle) -> (u32, Duration) {
        let (executions, shutdown) = (&self.node.settings.executions, &self.node.settings.shutdown);
        match fire.stop_reason() {
            Some(StopReason::Shutdown) => (shutdown.stop_attempts, shutdown.grace()),
            _ => (executions.stop_attempts, executions.grace()),
        }
    }

    fn act_on(&self, fire: &Arc<RunHandle>, action: StuckAction, now: Duration) {
        match action {
            StuckAction::Cancel => {
                fire.stop(StopReason::Stuck, now);
            }
            StuckAction::FailOver => {
                if self.abandon(fire) {
                    lifecycle_log::given_up(&fire.job, fire.fire_id(), "it makes no progress");
                    self.give_away(&[Arc::clone(fire)]);
                }
            }
            StuckAction::Log | StuckAction::Tell => {}
        }
    }

    /// Gives up a run with its worker, if it has one; false if the run has ended.
    fn abandon(&self, fire: &RunHandle) -> bool {
        let claim = || fire.abandon();
        fire.worker().map_or_else(claim, |(worker, _)| self.pool.abandon(worker, claim))
    }

    /// A worker whose thread is gone will never end its fire (DS-115).
    fn reap_dead_workers(&self) {
        let dead = self.pool.dead();
        if dead.is_empty() {
            return;
        }
        let mut fires = self.node.running_fires.all();
        fires.retain(|fire| fire.worker().is_some_and(|(worker, _)| dead.contains(&worker)));
        let mut reaped = Vec::new();
        for fire in fires {
            let Some((worker, _)) = fire.worker() else { continue };
            if self.pool.abandon(worker, || fire.reap()) {
                lifecycle_log::given_up(&fire.job, fire.fire_id(), "the thread of its worker is gone");
                reaped.push(fire);
            }
        }
        self.give_away(&reaped);
    }

    /// Fires that will not end here: what their jobs' policies say is done, at once.
    fn give_away(&self, fires: &[Arc<RunHandle>]) {
        if fires.is_empty() {
            return;
        }
        let node = &*self.node;
        let mut by_incarnation: HashMap<&str, Vec<String>> = HashMap::default();
        for fire in fires {
            fire.revoke();
            by_incarnation.entry(&fire.owner.incarnation).or_default().push(fire.fire_id().to_owned());
            node.count_fire(&fire.job, FireOutcome::Lost, fire.running_for(node.clock.ticks()));
        }
        fires.iter().for_each(|fire| node.running_fires.remove(fire.fire_id()));
        for ids in by_incarnation.into_values() {
            let owner = fires.iter().find(|fire| ids.iter().any(|id| id == fire.fire_id())).map(|fire| &fire.owner);
            let Some(owner) = owner else { continue };
            match node.store.upkeep().abandon(owner, &ids) {
                Ok(recovered) => node.note_recovered(&recovered),
                // The rows of the fire are another's now: nothing is left to give away.
                Err(error) if error.is_fenced() => {}
                Err(error) => {
                    // The acquirer finds rows that nothing here stands for, as soon as the store
                    // can be reached.
                    lifecycle_log::give_up_failed(&ids, &error.to_string());
                    node.uncertain.set(true);
                }
            }
        }
        node.services.acquirer.wake();
    }

    /// Gives up the worker of a run that is another node's, or was declared failed, and does not
    /// end: nothing is recorded for it here.
    fn let_go(&self, fire: &Arc<RunHandle>, now: Duration) {
        if self.abandon(fire) {
            lifecycle_log::given_up(&fire.job, fire.fire_id(), "it lost its fire and did not end");
            self.node.count_fire(&fire.job, FireOutcome::Lost, fire.running_for(now));
            self.node.running_fires.remove(fire.fire_id());
        }
    }

    /// Ends the fire of a job that does not: the run is recorded by the reason of the
    /// stop, and its worker is given up.
    fn end_in_its_place(&self, fire: &Arc<RunHandle>, now: Duration) {
        let Some(bundle) = fire.bundle().filter(|_| !self.completions.is_full()) else { return };
        if !self.abandon(fire) {
            return;
        }
        // The thread goes on without the fire.
        fire.revoke();
        let node = &*self.node;
        let run_time = fire.running_for(now).unwrap_or_default();
        let reason = fire.stop_reason().unwrap_or(StopReason::TimedOut);
        let outcome = outcome_of_stop(reason);
        let rerun = rerun_in_its_place(bundle, outcome);
        let why = format!("{reason}: it did not end within {:?} after it was asked to", self.patience(fire).1);
        lifecycle_log::given_up(&fire.job, fire.fire_id(), &why);
        let event = FireEvent::new(bundle, &node.instance, 0, &fire.values);
        let end = FireEnd { outcome, error: Some(why), run_time, result: None };
        lifecycle_log::ended(&event, &end);
        let (abandoned, instance, told) = (Arc::clone(fire), Arc::clone(&node.instance), end.clone());
        node.listeners.later(move |listeners| {
            let Some(bundle) = abandoned.bundle() else { return };
            let event = FireEvent::new(bundle, &instance, 0, &abandoned.values);
            listeners.job_was_executed(&event, &told);
            listeners.trigger_complete(&event, CompletionInstruction::NoInstruction);
        });
        node.count_fire(&fire.job, end.outcome, Some(run_time));

        let mut completion = bundle.completion(CompletionInstruction::NoInstruction, None);
        (completion.has_heartbeat, completion.has_stop_order) = (fire.has_heartbeats(), fire.has_stop_order());
        // The thread may be in a transaction of its own that depends on the fire.
        completion.guarded = true;
        completion.by_job = fire.ended_by_job.is_set();
        completion.failed = outcome == FireOutcome::TimedOut && rerun.is_none();
        completion.rerun = rerun;
        completion.log = fire.lines().map(|lines| lines.lines()).unwrap_or_default();
        completion.ending = ending(end, now);
        node.completions.add(fire);
        node.running_fires.remove(fire.fire_id());
        if self.completions.send(OwnedCompletion { owner: Arc::clone(&fire.owner), completion }).is_err() {
            lifecycle_log::completion_abandoned(fire.fire_id());
        }
        node.services.completer.wake();
    }

    /// The time at which the next beat is due, in ticks. A node without runs has none to give. As
    /// long as it misses none of others, it looks after those half as often, and less where many
    /// nodes do.
    fn next_heartbeat(&self) -> Option<Duration> {
        let interval = self.node.settings.executions.heartbeat_interval;
        let lookers =
            if self.is_idle() && !self.seen.sees_silence { 2 * self.node.shared_among(MOST_SHARED_LOOKS) } else { 1 };
        self.last.map(|last| last.saturating_add(interval.saturating_mul(lookers)))
    }

    fn is_idle(&self) -> bool {
        self.node.running_fires.count() == 0 && self.node.completions.with_heartbeats().is_empty()
    }

    /// Asks those runs to stop that somebody wants to.
    fn obey_cancels(&self) -> Result<()> {
        let fires = self.node.running_fires.all();
        if !fires.is_empty() {
            let cancelled = self.node.store.upkeep().cancels(&self.node.instance)?;
            cancel(&fires, &cancelled, self.node.clock.ticks());
        }
        Ok(())
    }

    /// One pass over the store: own beats, what they bring, and whom they are missed from.
    fn send_heartbeats(&mut self, now: Duration) -> Result<()> {
        let node = Arc::clone(&self.node);
        let Some(owner) = node.lease.owner() else { return Ok(()) };
        let fires = node.running_fires.all();
        let mut heartbeats: Vec<FireHeartbeat> = Vec::new();
        let mut beating: Vec<(&Arc<RunHandle>, Duration)> = Vec::new();
        for fire in fires.iter().filter(|fire| *fire.owner == owner && self.is_heartbeat_due(fire, now)) {
            let entry = heartbeat_entry(&node, fire);
            let held_until = node.lease.holds_until(entry.limit);
            fire.note_heartbeat(held_until);
            beating.push((fire, held_until));
            heartbeats.push(entry);
        }
        let limit = longest_silence(&node, None);
        let ended = node.completions.with_heartbeats().into_iter();
        heartbeats.extend(ended.map(|fire_id| FireHeartbeat {
            fire_id,
            limit,
            progress: None,
            silence: None,
            silence_limit: None,
        }));
        // In the order in which others write and delete them; one that is just ending may be in
        // both lists.
        heartbeats.sort_by(|a, b| a.fire_id.cmp(&b.fire_id));
        heartbeats.dedup_by(|a, b| a.fire_id == b.fire_id);

        let pass = match fires.is_empty() && heartbeats.is_empty() {
            true => node.store.upkeep().watch_heartbeats(&owner, &mut self.seen)?,
            false => node.store.upkeep().heartbeat(&owner, &heartbeats, &mut self.seen)?,
        };
        beating.iter().for_each(|(fire, held_until)| fire.confirm_heartbeat(*held_until));
        // Fires without a heartbeat do not learn from it that they are gone.
        let silent = |fire: &&Arc<RunHandle>| fire.has_heartbeats() && !fire.is_lost() && !self.goes_on(fire, now);
        let silent: Vec<String> = fires.iter().filter(silent).map(|fire| fire.fire_id().to_owned()).collect();
        let gone = if silent.is_empty() { silent } else { node.store.upkeep().fires_gone(&owner, &silent)? };
        // A fire that has ended since has left the table; a fire without its row that is still in
        // the table is another's.
        let lost: BTreeSet<&str> = pass.lost.iter().chain(&gone).map(String::as_str).collect();
        for fire in node.running_fires.all().iter().filter(|fire| lost.contains(fire.fire_id())) {
            if fire.revoke() {
                lifecycle_log::fire_lost(&fire.job, fire.fire_id());
                node.counters.failed_out.add(1);
            }
        }
        cancel(&fires, &pass.cancelled, now);
        for recovered in &pass.recovered {
            lifecycle_log::fell_silent(&node.instance, &recovered.instance);
            node.note_recovered(recovered);
            node.services.acquirer.wake();
        }
        Ok(())
    }

    /// Obeys cancels, and sends the beats if it is time.
    fn ask_and_beat(&mut self, now: Duration) -> Result<()> {
        if self.node.notifications.cancel.swap(false) {
            self.obey_cancels().inspect_err(|_| self.node.notifications.cancel.set(true))?;
        }
        if self.next_heartbeat().is_none_or(|at| now >= at) {
            self.send_heartbeats(now)?;
            self.last = Some(now);
            self.reap_dead_workers();
        }
        Ok(())
    }

    /// True if a run has gone on for long enough to be worth a beat, and is not so silent that it
    /// must go without.
    fn is_heartbeat_due(&self, fire: &RunHandle, now: Duration) -> bool {
        let young = self.node.settings.executions.heartbeat_interval / 2;
        let Some((_, begun)) = fire.worker() else { return false };
        // The first comes in any case: nobody misses one that has never beaten.
        let is_due = match fire.has_heartbeats() {
            true => self.goes_on(fire, now),
            false => now >= begun.saturating_add(young),
        };
        is_due && !fire.is_lost()
    }

    /// True if the heartbeat of a run goes on.
    fn goes_on(&self, fire: &RunHandle, now: Duration) -> bool {
        let max_silence = fire.watched().and_then(|bundle| bundle.job.policy().max_silence());
        watch::beats(fire.progressed().unwrap_or(now), max_silence, now)
    }
}

fn cancel(fires: &[Arc<RunHandle>], cancelled: &[(String, String)], now: Duration) {
    for (fire_id, who) in cancelled {
        for fire in fires.iter().filter(|fire| fire.fire_id() == fire_id) {
            if fire.stop(StopReason::of_order(who), now) {
                lifecycle_log::cancelled(&fire.job, fire_id, who);
            }
        }
    }
}

impl Service for HeartbeatKeeper {
    fn run_once(&mut self) -> Result<Next> {
        let now = self.node.clock.ticks();
        // The beat first: listeners that are told of a run may take their time. A beat that has
        // failed keeps nobody from watching over runs.
        self.next_watch = None;
        let told = self.ask_and_beat(now);
        self.next_watch = self.watch();
        told?;
        let next_heartbeat = self.next_heartbeat().unwrap_or(now);
        Ok(Next::At(self.next_watch.map_or(next_heartbeat, |again| again.min(next_heartbeat))))
    }

    /// A failed beat is tried again well before the fires of this node are missed, and a run is
    /// looked after at its time.
    fn longest_retry(&self, settings: Duration) -> Duration {
        let until_watch = self.next_watch.map(|at| at.saturating_sub(self.node.clock.ticks()));
        let longest = settings.min(self.node.settings.executions.heartbeat_interval / 2);
        until_watch.map_or(longest, |until| longest.min(until.max(SHORTEST_RETRY)))
    }
}
