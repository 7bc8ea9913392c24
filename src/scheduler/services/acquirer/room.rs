//! Room: how much the acquirer takes, and what it gives back that finds no worker.

use super::Acquirer;
use super::prefetch_window::DENSE_MS;
use crate::clock::{Clock, SystemClock};
use crate::epoch::whole_millis;
use crate::rules::prefetch::Room;
use crate::scheduler::run::run_handle::FireTask;
use crate::scheduler::run::unbegun::unfire;
use crate::signal::Signal;
use crate::trigger::Policies;
use std::time::Duration;

/// At its end a node looks so many times whether workers have begun what it has fired.
const LAST_CHECKS: usize = 100;

/// The number of batches that may wait for workers: one is begun while the next is fired.
const WAITING_BATCHES: usize = 2;

/// The time between two of these checks.
const BETWEEN_CHECKS: Duration = Duration::from_millis(1);

impl Acquirer {
    fn workers(&self) -> usize {
        self.hand_over.pool.size()
    }

    fn long_reservations(&self) -> usize {
        self.reservations.count_beside(&self.prefetch.short)
    }

    /// The room of this node, beside all that it has.
    pub(super) fn room_now(&self) -> Room {
        let fires = self.hand_over.committed() + self.reservations.len();
        self.prefetch.room_beside(self.workers(), fires, self.long_reservations())
    }

    /// Fires that can be taken: as many as there are free workers, and as may wait for one, without
    /// what is reserved. Triggers that were left for free workers wait for these.
    pub(super) fn room(&self) -> usize {
        let room = self.room_now();
        if self.prefetch.is_withheld { room.free } else { room.size() }
    }

    /// The largest number of fires that the node is to have.
    fn capacity(&self) -> usize {
        if self.prefetch.is_withheld {
            return self.workers();
        }
        self.prefetch.room_beside(self.workers(), 0, self.long_reservations()).size()
    }

    /// Until when to wait for more room; none if there is enough, if there is no backlog, or if the
    /// wait was long enough.
    pub(super) fn batching_deadline(&mut self, room: usize) -> Option<Duration> {
        let capacity = self.capacity();
        let wanted = self.batch_limit().min(capacity);
        // Workers begin the other half of a window meanwhile.
        let enough = if capacity > self.workers() { wanted.min(capacity.div_ceil(2)) } else { wanted };
        if !self.polling.expects_more || room >= enough || !self.reservations.is_empty() {
            self.combined.end_waiting();
            return None;
        }
        let now = self.node.clock.ticks();
        let (until, enough) = self.combined.batching_deadline(now, room, wanted)?;
        self.await_room(enough);
        Some(until)
    }

    /// Most triggers in one acquisition.
    pub(super) fn batch_limit(&self) -> usize {
        let mut most = self.node.settings.scheduler.batch_max_count;
        if self.node.store.is_in_recovery_mode() {
            most = most.max(self.node.settings.recovery.batch);
        }
        usize::try_from(most).unwrap_or(1).max(1)
    }

    /// Takes no more than the rate of the recovery mode allows; if that is nothing, until when to
    /// wait, in ticks.
    pub(super) fn keep_pace(&mut self, max: &mut usize) -> Option<Duration> {
        let rate = self.node.settings.recovery.rate;
        if rate == 0 || !self.node.store.is_in_recovery_mode() {
            return None;
        }
        let now = self.node.clock.ticks();
        let allowed = self.pace.allows(whole_millis(now), rate);
        *max = (*max).min(allowed);
        (*max == 0).then(|| now.saturating_add(Duration::from_millis(self.pace.wait_ms(rate))))
    }

    /// From now on the acquirer is woken when there is room for so many more.
    pub(super) fn await_room(&self, count: usize) {
        // Precommitted fires become the pool's while the acquirer sleeps.
        let taken = count + self.reservations.len() + self.hand_over.tasks.len();
        self.hand_over.pool.await_busy(self.capacity().saturating_sub(taken));
    }

    /// Releases what is reserved and will find no worker, since jobs take longer than they did.
    pub(super) fn release_excess(&mut self) {
        let mut room = self.prefetch.room_beside(self.workers(), self.hand_over.committed(), 0);
        if self.reservations.len() > room.free {
            let short = &self.prefetch.short;
            self.reservations.keep(|held| room.take(short.contains(&*held.job_type)).is_some());
        }
    }

    /// Learns from an acquisition that brought as much as there was room for, or all there was, and
    /// from how long fires waited.
    pub(super) fn adapt_prefetch(&mut self, now_ms: i64, longest: Option<Duration>) {
        let node = &*self.node;
        let is_dense = self.reservations.last_ms().is_none_or(|last_ms| last_ms <= now_ms.saturating_add(DENSE_MS));
        let is_wanted = self.prefetch.is_allowed(node, node.clock.ticks());
        let (workers, most) = (self.workers(), WAITING_BATCHES * self.batch_limit());
        match (is_wanted, self.polling.expects_more && is_dense) {
            (false, _) => self.prefetch.window.close(),
            (true, true) => {
                self.prefetch.window.adapt(longest, node.settings.scheduler.take_ahead, workers, most);
            }
            (true, false) => {
                let fires = self.hand_over.committed() + self.reservations.len();
                self.prefetch.window.fit(fires.saturating_sub(workers));
                if fires == 0 {
                    // The waits of this backlog say nothing of the next one.
                    node.prefetch.take_longest_wait();
                }
            }
        }
    }

    /// Gives back what has waited for too long, and everything that waits while the node does not
    /// fire.
    pub(super) fn return_waiting(&mut self) {
        let now = self.node.clock.ticks();
        if self.hand_over.patience_ends(&self.node).is_some_and(|at| now >= at) {
            // A fire of a trigger with an overlap policy waits for its worker: the policy has
            // decided about this fire already.
            let is_free = |task: &FireTask| task.bundle.trigger.policies == Policies::default();
            let waiting = self.hand_over.pool.withdraw(is_free);
            self.hand_over.handed = now;
            if !waiting.is_empty() {
                self.give_back(waiting, "no worker was free for it");
                self.prefetch.window.cool_down(now);
            }
        }
        if !self.node.takes_work() {
            let waiting = self.hand_over.withdraw_begun_by_none();
            self.give_back(waiting, "the node fires no more");
        }
    }

    /// At the end of the node what was fired begins, if workers get to it soon, and else is given
    /// back.
    pub(super) fn leave_nothing_waiting(&mut self) {
        self.hand_over.pool.submit(&mut self.hand_over.tasks);
        // By no clock but the machine's: nobody may be there any more to move another.
        let (clock, nobody) = (SystemClock::default(), Signal::default());
        for _ in 0..LAST_CHECKS {
            if self.hand_over.waiting() == 0 || !self.hand_over.pool.has_threads() {
                break;
            }
            clock.wait(&nobody, Some(clock.ticks().saturating_add(BETWEEN_CHECKS)));
        }
        let mut waiting = self.hand_over.withdraw_begun_by_none();
        waiting.append(&mut self.hand_over.tasks);
        self.give_back(waiting, "the node ends");
        // No worker will begin what the store cannot take back now.
        for task in &self.hand_over.tasks {
            self.node.running_fires.remove(task.handle.fire_id());
        }
    }

    /// Gives fires back that have not begun, to whichever node has a free worker.
    fn give_back(&mut self, tasks: impl IntoIterator<Item = FireTask>, why: &str) {
        let (ended, kept) = unfire(&self.node, tasks, why);
        self.hand_over.tasks.extend(kept);
        if !ended.is_empty() {
            self.combined.queue.hand_back(&self.node, ended);
        }
    }
}
