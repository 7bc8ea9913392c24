//! How the acquirer takes more than its workers have room for, while their jobs are short, and gives back what does not
//! begin.

use super::Acquirer;
use crate::job::FireOutcome;
use crate::listener::log;
use crate::scheduler::ended::outcome_of_stop;
use crate::scheduler::ends::Ended;
use crate::scheduler::node::millis;
use crate::scheduler::running::FireTask;
use crate::signal::Signal;
use crate::store::{Completion, CompletionInstruction, Ending, RerunReason};
use std::sync::Arc;
use std::time::Duration;

/// So many triggers that they fill every batch, and are due within this time, are taken ahead of their times by more than
/// there are workers.
const DENSE_MS: i64 = 250;

/// At its end a node waits so long for workers to begin what it has fired.
const LAST_PATIENCE: Duration = Duration::from_millis(100);

/// How often it looks meanwhile.
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

    /// From now on the acquirer is told when there is room for so many more.
    pub(super) fn await_room(&self, count: usize) {
        let capacity = self.pool.size() + self.window.size();
        self.pool.await_busy(capacity.saturating_sub(count + self.spoken_for()));
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
        // There the order counts: what waits for a worker is overtaken by nothing that matters more.
        let is_wanted = !allowed.is_zero() && !self.node.store.is_in_recovery();
        match (is_wanted, self.is_more && is_dense) {
            (false, _) => self.window.close(),
            (true, true) => self.window.adapt(self.node.longest_turnaround(), allowed, workers, self.batch_limit()),
            (true, false) => self.window.fit((self.pool.busy() + self.spoken_for()).saturating_sub(workers)),
        }
    }

    /// When fires that still wait are given back; none if none waits.
    pub(super) fn patience_ends(&self) -> Option<Duration> {
        (self.pool.waiting() > 0).then(|| self.handed.saturating_add(PATIENCE))
    }

    /// Gives back what has waited for too long, and everything that waits while the node does not fire.
    pub(super) fn look_after_waiting(&mut self) {
        let is_over = self.patience_ends().is_some_and(|at| self.node.clock.ticks() >= at);
        if is_over || !self.node.is_firing() {
            let waiting = self.pool.withdraw();
            self.give_back(waiting, "no worker was free for it");
        }
        if !self.node.is_firing() {
            let early = self.early.withdraw();
            self.give_back(early, "the node fires no more");
        }
    }

    /// At the end of the node what was fired begins, if workers get to it soon, and else is given back.
    pub(super) fn leave_nothing_waiting(&mut self) {
        self.hand_over();
        let clock = Arc::clone(&self.node.clock);
        let (nobody, until) = (Signal::default(), clock.ticks().saturating_add(LAST_PATIENCE));
        while self.pool.waiting() + self.early.len() > 0 && clock.ticks() < until {
            clock.wait(&nobody, Some(clock.ticks().saturating_add(BETWEEN_GLANCES)));
        }
        let mut waiting = self.pool.withdraw();
        waiting.append(&mut self.early.withdraw());
        waiting.append(&mut self.handover);
        self.give_back(waiting, "the node ends");
    }

    /// Ends fires that have not begun: their work goes on in fires of their own, here or on another node.
    pub(super) fn give_back(&mut self, tasks: impl IntoIterator<Item = FireTask>, why: &str) {
        let node = &*self.node;
        let at = Some(node.clock.ticks());
        for FireTask { bundle, handle, .. } in tasks {
            self.window.close();
            // Somebody else has ended it already.
            if !handle.begin_end() {
                continue;
            }
            // One that was asked to stop is over before it began.
            let outcome = handle.stop_reason().map_or(FireOutcome::Interrupted, outcome_of_stop);
            let rerun = || bundle.rerun_order(RerunReason::Interrupted, Duration::ZERO);
            let error = Some(format!("it had not begun: {why}"));
            let completion = Completion {
                ending: Ending { outcome, error, at, ..Ending::default() },
                rerun: (outcome == FireOutcome::Interrupted).then(rerun),
                beaten: handle.is_beaten(),
                ..bundle.completion(CompletionInstruction::NoInstruction, None)
            };
            log::given_back(handle.fire_id(), why);
            node.count_fire(&handle.job, outcome, None);
            node.unrecorded.add(handle.fire_id(), handle.is_beaten());
            node.standing.remove(handle.fire_id());
            self.ends.hand_back(node, vec![Ended { owner: Arc::clone(&handle.owner), completion }]);
        }
    }
}
