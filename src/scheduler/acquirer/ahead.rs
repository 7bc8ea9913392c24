//! How the acquirer takes more than its workers have room for, while their jobs are short, and gives back what does not
//! begin.

use super::Acquirer;
use crate::clock::{Clock, SystemClock};
use crate::scheduler::node::millis;
use crate::scheduler::not_begun::not_begun;
use crate::scheduler::running::FireTask;
use crate::signal::Signal;
use crate::trigger::Policies;
use std::time::Duration;

/// So many triggers that they fill every batch, and are due within this time, are taken ahead of their times by more than
/// there are workers.
const DENSE_MS: i64 = 250;

/// At its end a node looks so many times whether workers have begun what it has fired.
const LAST_GLANCES: usize = 100;

/// How long it waits in between.
const BETWEEN_GLANCES: Duration = Duration::from_millis(1);

/// A fire that no worker has begun after so long is given back: those that run take longer than those before.
const PATIENCE: Duration = Duration::from_millis(500);

impl Acquirer {
    /// Fires that can be taken: as many as there are free workers, and as may wait for one, without what is reserved.
    pub(super) fn room(&self) -> usize {
        let capacity = self.pool.size().saturating_add(self.window.size());
        capacity.saturating_sub(self.pool.busy() + self.spoken_for())
    }

    /// Fires that workers will have, and have not yet.
    fn spoken_for(&self) -> usize {
        self.reserved.len() + self.early.len() + self.handover.len()
    }

    /// Jobs take longer than they did: what is reserved and will find no worker is for other nodes.
    pub(super) fn let_go_of_excess(&mut self) {
        let capacity = self.pool.size().saturating_add(self.window.size());
        let excess = (self.pool.busy() + self.spoken_for()).saturating_sub(capacity);
        let kept = self.reserved.len().saturating_sub(excess);
        if kept < self.reserved.len() {
            self.unwanted.extend(self.reserved.drain(kept..));
            self.count_reserved();
        }
    }

    /// From now on the acquirer is told when there is room for so many more.
    pub(super) fn await_room(&self, count: usize) {
        // Those that wait for their time become the pool's while the acquirer sleeps.
        let taken = count + self.reserved.len() + self.handover.len();
        self.pool.await_busy((self.pool.size() + self.window.size()).saturating_sub(taken));
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

    /// Learns from an acquisition that brought as much as there was room for, or all there was, and from how long fires took.
    pub(super) fn adapt_window(&mut self, now_ms: i64) {
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
            (true, true) => self.window.adapt(self.longest(allowed), allowed, workers, self.batch_limit()),
            (true, false) => self.window.fit((self.pool.busy() + self.spoken_for()).saturating_sub(workers)),
        }
    }

    /// How long the slowest fire took of those that have ended lately, or of those that run already longer than is allowed.
    fn longest(&self, allowed: Duration) -> Option<Duration> {
        let now = self.node.clock.ticks();
        let running = self.node.standing.fires().into_iter().filter_map(|fire| fire.running_for(now));
        self.node.longest_turnaround().into_iter().chain(running.filter(|time| *time > allowed)).max()
    }

    /// When fires that still wait are given back; none if none waits.
    pub(super) fn patience_ends(&self) -> Option<Duration> {
        (self.pool.waiting() > 0).then(|| self.handed.saturating_add(PATIENCE))
    }

    /// Gives back what has waited for too long, and everything that waits while the node does not fire.
    pub(super) fn look_after_waiting(&mut self) {
        let now = self.node.clock.ticks();
        if self.patience_ends().is_some_and(|at| now >= at) {
            // A trigger that says whether its runs may meet says it of this run too: that one waits for its worker.
            let is_free = |task: &FireTask| task.bundle.trigger.policies == Policies::default();
            let waiting = self.pool.withdraw(is_free);
            self.give_back(waiting, "no worker was free for it");
            self.handed = now;
            self.window.cool_down(now);
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
    }

    /// Ends fires that have not begun: their work goes on in fires of their own, here or on another node.
    fn give_back(&mut self, tasks: impl IntoIterator<Item = FireTask>, why: &str) {
        let node = &*self.node;
        for task in tasks {
            let fire_id = task.handle.fire_id().to_owned();
            let ended = not_begun(node, &task, why);
            // After its end is noted, so that it is known all the time.
            node.standing.remove(&fire_id);
            if let Some(ended) = ended {
                self.ends.hand_back(node, vec![ended]);
            }
        }
    }
}
