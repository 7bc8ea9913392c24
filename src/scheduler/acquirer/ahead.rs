//! How the acquirer takes more short jobs than it has free workers, and gives back what does not
//! begin.

use super::Acquirer;
use crate::clock::{Clock, SystemClock};
use crate::error::Result;
use crate::listener::log;
use crate::rules::prefetch::{Room, given_back_at, patience};
use crate::scheduler::node::millis;
use crate::scheduler::not_begun::unfire;
use crate::scheduler::running::FireTask;
use crate::signal::Signal;
use crate::store::{FireBundle, Reservation};
use crate::trigger::Policies;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// So many triggers that they fill every batch, and are due within this time, are taken ahead of their times by more than
/// there are workers.
const DENSE_MS: i64 = 250;

/// At its end a node looks so many times whether workers have begun what it has fired.
const LAST_GLANCES: usize = 100;

/// How long it waits in between.
const BETWEEN_GLANCES: Duration = Duration::from_millis(1);

/// What the acquirer knows of how long the jobs are that its node has and may take.
#[derive(Default)]
pub(super) struct Measured {
    /// The types whose recent runs were short; none while nothing is taken ahead.
    pub(super) short: BTreeSet<String>,
    /// How many fires of the others the node has, begun or not.
    long: usize,
}

/// The fences of those that were taken ahead.
pub(super) fn ahead_of(bundles: &[FireBundle]) -> impl Iterator<Item = i64> {
    bundles.iter().filter(|bundle| bundle.prefetched).map(|bundle| bundle.fence)
}

impl Acquirer {
    /// Looks which job types are short by now, and how many fires the node has of others.
    pub(super) fn measure(&mut self) {
        if self.window.size() == 0 {
            self.measured = Arc::default();
            return;
        }
        let allowed = self.node.settings.scheduler.take_ahead;
        let (now, fires) = (self.node.clock.ticks(), self.node.standing.fires());
        let mut short = self.node.run_times.lock().short(allowed);
        for fire in fires.iter().filter(|fire| fire.running_for(now).is_some_and(|time| time > allowed)) {
            short.remove(fire.job_type());
        }
        let long = fires.iter().filter(|fire| !short.contains(fire.job_type())).count();
        self.measured = Arc::new(Measured { short, long });
    }

    fn room_beside(&self, fires: usize, long: usize) -> Room {
        Room::beside(self.pool.size(), self.window.size(), fires, self.measured.long + long)
    }

    /// What this node can take, beside all that it has.
    pub(super) fn room_now(&self) -> Room {
        let is_long = |held: &&Reservation| !self.measured.short.contains(&held.job_type);
        let long = self.reserved.iter().filter(is_long).count();
        self.room_beside(self.pool.busy() + self.spoken_for(), long)
    }

    /// Fires that can be taken: as many as there are free workers, and as may wait for one, without
    /// what is reserved. What was left for free workers waits for these.
    pub(super) fn room(&self) -> usize {
        let room = self.room_now();
        if self.is_withheld { room.free } else { room.size() }
    }

    /// How many fires the node is to have at most.
    pub(super) fn capacity(&self) -> usize {
        if self.is_withheld {
            return self.pool.size();
        }
        let long = self.reserved.iter().filter(|held| !self.measured.short.contains(&held.job_type)).count();
        self.room_beside(0, long).size()
    }

    /// Fires that workers will have, and have not yet.
    fn spoken_for(&self) -> usize {
        self.reserved.len() + self.early.len() + self.handover.len()
    }

    /// Jobs take longer than they did: what is reserved and will find no worker is for other nodes.
    pub(super) fn let_go_of_excess(&mut self) {
        let mut room = self.room_beside(self.pool.busy() + self.early.len() + self.handover.len(), 0);
        if self.reserved.len() <= room.free {
            return;
        }
        let short = &self.measured.short;
        let is_kept = |held: &Reservation| room.take(short.contains(&held.job_type)).is_some();
        let (kept, excess): (Vec<_>, Vec<_>) = std::mem::take(&mut self.reserved).into_iter().partition(is_kept);
        self.reserved = kept;
        if !excess.is_empty() {
            self.unwanted.extend(excess);
            self.count_reserved();
        }
    }

    /// From now on the acquirer is told when there is room for so many more.
    pub(super) fn await_room(&self, count: usize) {
        // Those that wait for their time become the pool's while the acquirer sleeps.
        let taken = count + self.reserved.len() + self.handover.len();
        self.pool.await_busy(self.capacity().saturating_sub(taken));
    }

    /// How far ahead of their times triggers are taken: with many of them not far, since they are more than this node has
    /// workers, and if it dies they wait until that is known.
    pub(super) fn look_ahead_ms(&self) -> i64 {
        let usual = millis(self.node.look_ahead());
        if self.window.size() > 0 { usual.min(DENSE_MS) } else { usual }
    }

    /// How soon something must be due for an acquisition: with many triggers each is to bring many.
    pub(super) fn soon_ms(&self) -> i64 {
        let ahead = self.look_ahead_ms();
        if self.window.size() > 0 { ahead / 2 } else { ahead }
    }

    /// Learns from an acquisition that brought as much as there was room for, or all there was, and
    /// from how long fires waited.
    pub(super) fn adapt_window(&mut self, now_ms: i64, longest: Option<Duration>) {
        let allowed = self.node.settings.scheduler.take_ahead;
        let is_dense = self.reserved.last().is_none_or(|last| last.scheduled_ms <= now_ms.saturating_add(DENSE_MS));
        let workers = self.pool.size();
        // In recovery the order counts: what waits for a worker is overtaken by nothing that matters more. And nodes of Quartz,
        // which are slower, would be left next to nothing.
        let store = &self.node.store;
        let is_barred = store.is_in_recovery() || store.is_beside_quartz();
        let is_wanted = !allowed.is_zero() && !is_barred && !self.window.is_cooling(self.node.clock.ticks());
        match (is_wanted, self.is_more && is_dense) {
            (false, _) => self.window.close(),
            (true, true) => self.window.adapt(longest, allowed, workers, self.batch_limit()),
            (true, false) => {
                let fires = self.pool.busy() + self.spoken_for();
                self.window.fit(fires.saturating_sub(workers));
                if fires == 0 {
                    // How long those of this backlog waited says nothing of the next one.
                    self.node.longest_wait();
                }
            }
        }
    }

    /// When to look at fires that wait; none if none waits. Workers that begin long jobs do not say
    /// so.
    pub(super) fn sees_waiting_at(&self) -> Option<Duration> {
        let next = self.node.clock.ticks().saturating_add(patience(self.node.settings.scheduler.take_ahead));
        self.patience_ends().map(|at| at.min(next))
    }

    /// When fires that still wait are given back, or it is to be asked again; none if none waits.
    fn patience_ends(&self) -> Option<Duration> {
        let waiting = self.pool.waiting();
        if waiting == 0 {
            return None;
        }
        let (allowed, now) = (self.node.settings.scheduler.take_ahead, self.node.clock.ticks());
        let soonest = self.handed.saturating_add(patience(allowed));
        if now < soonest {
            return Some(soonest);
        }
        let is_full = self.pool.busy().saturating_sub(waiting) >= self.pool.size();
        let fires = if is_full { self.node.standing.fires() } else { Vec::new() };
        let begun = fires.iter().filter_map(|fire| fire.worker()).map(|(_, begun)| begun).max();
        Some(given_back_at(allowed, self.handed, begun))
    }

    pub(super) fn give_up_reserved(&mut self) {
        self.unwanted.append(&mut self.reserved);
        self.count_reserved();
    }

    pub(super) fn release_unwanted(&mut self) -> Result<()> {
        if !self.unwanted.is_empty() {
            self.node.store.release(&self.unwanted)?;
            self.unwanted.clear();
        }
        Ok(())
    }

    /// Gives back what has waited for too long, and everything that waits while the node does not fire.
    pub(super) fn look_after_waiting(&mut self) {
        let now = self.node.clock.ticks();
        if self.patience_ends().is_some_and(|at| now >= at) {
            // A trigger that says whether its runs may meet says it of this run too: that one waits for its worker.
            let is_free = |task: &FireTask| task.bundle.trigger.policies == Policies::default();
            let waiting = self.pool.withdraw(is_free);
            self.handed = now;
            if !waiting.is_empty() {
                self.give_back(waiting, "no worker was free for it");
                self.window.cool_down(now);
            }
        }
        if !self.node.is_firing() {
            let mut waiting = self.pool.withdraw(|_| true);
            waiting.append(&mut self.early.withdraw());
            self.give_back(waiting, "the node fires no more");
        }
    }

    /// At the end of the node what was fired begins, if workers get to it soon, and else is given back.
    pub(super) fn leave_nothing_waiting(&mut self) {
        self.hand_over();
        // By no clock but the machine's: nobody may be there any more to move another.
        let (clock, nobody) = (SystemClock::default(), Signal::default());
        for _ in 0..LAST_GLANCES {
            if self.pool.waiting() + self.early.len() == 0 {
                break;
            }
            clock.wait(&nobody, Some(clock.ticks().saturating_add(BETWEEN_GLANCES)));
        }
        let mut waiting = self.pool.withdraw(|_| true);
        waiting.append(&mut self.early.withdraw());
        waiting.append(&mut self.handover);
        self.give_back(waiting, "the node ends");
        // Their rows say that they have not begun: whoever finds this node gone gives them back.
        for task in std::mem::take(&mut self.handover) {
            log::not_started(task.handle.fire_id(), "the node ends, and the store cannot take it back");
            self.node.standing.remove(task.handle.fire_id());
        }
    }

    /// Gives fires back that have not begun, to whoever has a free worker.
    fn give_back(&mut self, tasks: impl IntoIterator<Item = FireTask>, why: &str) {
        let (ended, kept) = unfire(&self.node, tasks, why);
        self.handover.extend(kept);
        if !ended.is_empty() {
            self.ends.hand_back(&self.node, ended);
        }
    }
}
