//! `HeartbeatKeeper`: says for the running fires of this node that they are alive, gives away those
//! that were given up, and has those of the cluster recovered that have fallen silent.

use super::run_watch::GivenUp;
use super::service::{Next, Service};
use crate::error::Result;
use crate::hash::HashMap;
use crate::job::FireOutcome;
use crate::listener::lifecycle_log;
use crate::rules::watch;
use crate::scheduler::node::Node;
use crate::scheduler::run::heartbeat_entry::{heartbeat_entry, longest_silence};
use crate::scheduler::run::run_handle::{FireTask, RunHandle};
use crate::scheduler::run::stop_reason::StopReason;
use crate::scheduler::run::worker_pool::WorkerPool;
use crate::store::{FireHeartbeat, Heartbeats};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// The largest factor by which a node without runs looks less often after the heartbeats of others,
/// since other nodes look too.
const MOST_SHARED_LOOKS: u32 = 6;

/// The heartbeat service, which goes on in standby, and while jobs end during a shutdown.
pub(crate) struct HeartbeatKeeper {
    node: Arc<Node>,
    pool: Arc<WorkerPool<FireTask>>,
    given_up: Arc<GivenUp>,
    seen: Heartbeats,
    /// The time of the last heartbeat, in ticks.
    last: Option<Duration>,
}

impl HeartbeatKeeper {
    pub(crate) fn new(node: Arc<Node>, pool: Arc<WorkerPool<FireTask>>, given_up: Arc<GivenUp>) -> Self {
        Self { node, pool, given_up, seen: Heartbeats::default(), last: None }
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
                Ok(recovered) => {
                    // The others have ended, or somebody holds their rows.
                    if recovered.fires() < ids.len() {
                        node.uncertain.set(true);
                    }
                    node.tell_recovered(&recovered);
                }
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
        self.node.running_fires.count() == 0 && self.node.unrecorded.with_heartbeats().is_empty()
    }

    /// Asks those runs to stop that somebody wants to.
    fn obey_cancels(&self) -> Result<()> {
        let fires = self.node.running_fires.all();
        if !fires.is_empty() {
            let cancelled = self.node.store.upkeep().cancels(&self.node.instance)?;
            self.cancel(&fires, &cancelled, self.node.clock.ticks());
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
            fire.begin_heartbeat(held_until);
            beating.push((fire, held_until));
            heartbeats.push(entry);
        }
        let limit = longest_silence(&node, None);
        let ended = node.unrecorded.with_heartbeats().into_iter();
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
                node.services.run_watch.wake();
            }
        }
        self.cancel(&fires, &pass.cancelled, now);
        for recovered in &pass.recovered {
            lifecycle_log::fell_silent(&node.instance, &recovered.instance);
            node.tell_recovered(recovered);
            node.services.acquirer.wake();
        }
        Ok(())
    }

    fn cancel(&self, fires: &[Arc<RunHandle>], cancelled: &[(String, String)], now: Duration) {
        for (fire_id, who) in cancelled {
            for fire in fires.iter().filter(|fire| fire.fire_id() == fire_id) {
                if fire.stop(StopReason::of_order(who), now) {
                    lifecycle_log::cancelled(&fire.job, fire_id, who);
                    // From now on the run has its time to end.
                    self.node.services.run_watch.wake();
                }
            }
        }
    }

    /// Sends the beats if it is time, and obeys cancels: a look for orders may wait for a
    /// connection, and a beat must not.
    fn ask_and_beat(&mut self, now: Duration) -> Result<()> {
        if self.next_heartbeat().is_none_or(|at| now >= at) {
            self.send_heartbeats(now)?;
            self.last = Some(now);
            self.reap_dead_workers();
        }
        if self.node.notifications.cancel.swap(false) {
            self.obey_cancels().inspect_err(|_| self.node.notifications.cancel.set(true))?;
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

impl Service for HeartbeatKeeper {
    fn run_once(&mut self) -> Result<Next> {
        let now = self.node.clock.ticks();
        self.ask_and_beat(now)?;
        // After beats that were sent, since this waits for a lock.
        self.give_away(&self.given_up.take());
        Ok(Next::At(self.next_heartbeat().unwrap_or(now)))
    }

    /// A failed beat is tried again well before the fires of this node are missed.
    fn longest_retry(&self, settings: Duration) -> Duration {
        settings.min(self.node.settings.executions.heartbeat_interval / 2)
    }

    /// Fires that the watch has given up since the last pass.
    fn stopped(&mut self) {
        self.give_away(&self.given_up.take());
    }
}
