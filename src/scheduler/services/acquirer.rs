//! `Acquirer`: acquires due triggers, hands their fires to workers, and reserves what is due soon.

mod acquisition;
mod combined;
mod doubts;
mod hand_over;
mod leftovers;
mod overdue;
mod polling;
mod prefetch_window;
mod reservations;
mod room;

use self::combined::CombinedCompletions;
use self::doubts::Doubts;
use self::hand_over::HandOver;
pub(crate) use self::leftovers::Leftovers;
use self::polling::Polling;
use self::prefetch_window::PrefetchWindow;
use self::reservations::Reservations;
use super::dispatcher::Precommitted;
use super::service::{Next, Service};
use crate::error::{Error, Result};
use crate::listener::lifecycle_log;
use crate::rules::outages::Pace;
use crate::scheduler::node::Node;
use crate::scheduler::run::completion_queue::CompletionQueue;
use crate::scheduler::run::registry::Registry;
use crate::scheduler::run::run_handle::FireTask;
use crate::scheduler::run::worker_pool::WorkerPool;
use crate::scheduler::stop_step::StopStep;
use crate::store::Owner;
use crate::store::row::PollResult;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// A reservation gives way only to a trigger that is due this much earlier.
const WORTH_A_RELEASE_MS: i64 = 100;

/// The acquisition service.
pub(crate) struct Acquirer {
    node: Arc<Node>,
    registry: Arc<Registry>,
    /// The incarnation under which everything here was acquired.
    owner: Option<Owner>,
    reservations: Reservations,
    hand_over: HandOver,
    prefetch: PrefetchWindow,
    polling: Polling,
    doubts: Doubts,
    combined: CombinedCompletions,
    leftovers: Arc<Leftovers>,
    /// The pace that the recovery mode allows.
    pace: Pace,
}

/// The result of an acquisition.
enum Found {
    /// As much as was asked for, or some.
    Something,
    /// Nothing; when to look again, in ticks.
    Nothing(Duration),
}

impl Acquirer {
    pub(crate) fn new(
        node: Arc<Node>,
        registry: Arc<Registry>,
        pool: Arc<WorkerPool<FireTask>>,
        precommitted: Arc<Precommitted>,
        queue: Arc<CompletionQueue>,
        leftovers: Arc<Leftovers>,
    ) -> Self {
        Self {
            reservations: Reservations::new(Arc::clone(&node)),
            node,
            registry,
            owner: None,
            hand_over: HandOver::new(pool, precommitted),
            prefetch: PrefetchWindow::default(),
            polling: Polling::default(),
            doubts: Doubts::default(),
            combined: CombinedCompletions::new(queue),
            leftovers,
            pace: Pace::default(),
        }
    }

    /// After a conviction everything that was acquired belongs to others.
    fn forget_if_revoked(&mut self) {
        let revoked = self.owner.take_if(|owner| !self.node.lease.is_of(owner));
        if let Some(owner) = revoked {
            self.doubts.forget(&self.node, &self.combined.queue, &owner);
            self.reservations.forget();
            self.polling.expects_more = false;
        }
    }

    /// Brings memory and the rows of this node together, where they may differ.
    fn settle_rows(&mut self, owner: &Owner) -> Result<()> {
        self.settle_doubts(owner)?;
        let (node, reservations) = (&self.node, &self.reservations);
        let known = || -> BTreeSet<String> { node.known_fires().into_iter().chain(reservations.fire_ids()).collect() };
        self.doubts.recover_forgotten(node, owner, known)?;
        self.doubts.reconcile(node, owner, known)
    }

    /// With every worker spoken for, only a trigger due before the reserved ones is worth anything.
    fn wait_for_room(&mut self, owner: &Owner, job_types: &[String]) -> Result<Next> {
        if self.reservations.is_empty() {
            return self.poll_for_runs();
        }
        let PollResult { now_ms, earliest_ms: earliest, .. } =
            self.polling.poll(&self.node, Some(owner), &mut self.reservations, job_types)?;
        let next_poll = self.polling.within(&self.node, i64::MAX);
        // Reservations that others have taken back are gone by now.
        let Some(last_ms) = self.reservations.last_ms() else { return Ok(Next::Now) };
        let bound = last_ms.saturating_sub(WORTH_A_RELEASE_MS);
        let Some(earliest) = earliest.filter(|earliest| *earliest < bound) else {
            return Ok(self.next_at(Some(next_poll)));
        };
        // A trigger that is seen and cannot be taken, such as one of a group that is full, is no
        // reason to release again and again what would be reserved anew: once before its time, and
        // once at it.
        let reason = (earliest, earliest <= now_ms);
        if self.polling.futile == Some(reason) {
            return Ok(self.next_at(Some(next_poll)));
        }
        let running = self.node.running_fires.count();
        self.reservations.give_up_after(earliest);
        self.reservations.release_unwanted()?;
        if self.room() == 0 {
            return Ok(self.next_at(Some(next_poll)));
        }
        let found = self.acquire(owner, job_types)?;
        let is_futile = !self.reservations.has_until(earliest) && self.node.running_fires.count() <= running;
        self.polling.futile = is_futile.then_some(reason);
        match found {
            Found::Something => Ok(self.next_at(Some(next_poll))),
            Found::Nothing(again) => Ok(self.next_at(Some(again))),
        }
    }

    /// Without room for new work, there may be news for what runs.
    fn poll_for_runs(&mut self) -> Result<Next> {
        if self.polling.is_due(&self.node) {
            self.polling.poll(&self.node, self.owner.as_ref(), &mut self.reservations, &[])?;
        }
        Ok(self.next_at(Some(self.polling.next(&self.node))))
    }

    /// The earliest of `other`, of the first reservation's time, and of the next look at fires that
    /// wait or at unknown rows.
    fn next_at(&self, other: Option<Duration>) -> Next {
        let fired_at = self.reservations.first_fired_at(&self.polling.store_time);
        let others = [self.hand_over.next_check(&self.node), self.doubts.next_comparison(), other];
        fired_at.into_iter().chain(others.into_iter().flatten()).min().map_or(Next::WhenSignalled, Next::At)
    }

    fn end_combined(&mut self) {
        self.combined.end(&self.node, self.owner.as_ref());
    }

    /// After an error nothing is known for sure: reservations are released, which the store does
    /// only for our own.
    fn after(&mut self, error: &Error) {
        self.polling.expects_more = false;
        self.end_combined();
        if error.is_fenced() {
            self.reservations.forget();
            if let Some(owner) = &self.owner {
                self.node.lease.doubt(owner);
            }
            self.node.services.cluster.wake();
        } else {
            self.reservations.give_up();
        }
    }
}

impl Service for Acquirer {
    fn run_once(&mut self) -> Result<Next> {
        if self.doubts.is_interrupted {
            self.end_combined();
        }
        self.prefetch.measure(&self.node);
        self.await_room(1);
        self.forget_if_revoked();
        self.hand_over.pool.submit(&mut self.hand_over.tasks);
        self.return_waiting();
        let Some(owner) = self.node.lease.owner_for_new_work() else {
            // The cluster manager wakes this service after the next good check-in; what is reserved
            // waits for it.
            return Ok(Next::WhenSignalled);
        };
        self.owner = Some(owner.clone());
        if !self.node.takes_work() {
            self.reservations.give_up();
        }
        self.release_excess();
        self.reservations.release_unwanted()?;
        self.settle_rows(&owner)?;
        if !self.node.takes_work() {
            // A doubt that was settled just now may have been a reservation.
            self.reservations.give_up();
            self.reservations.release_unwanted()?;
            if self.node.running_fires.count() == 0 {
                return Ok(self.next_at(None));
            }
            return self.poll_for_runs();
        }
        self.fire_due(&owner)?;
        // The fires were reservations when the room was awaited before.
        self.await_room(1);
        let job_types = self.registry.names();
        if job_types.is_empty() {
            return Ok(self.next_at(None));
        }
        let room = self.room();
        if let Some(until) = self.batching_deadline(room) {
            return Ok(self.next_at(Some(until)));
        }
        if room == 0 {
            return self.wait_for_room(&owner, &job_types);
        }
        match self.acquire(&owner, &job_types)? {
            Found::Something => Ok(Next::Now),
            Found::Nothing(again) => Ok(self.next_at(Some(again))),
        }
    }

    fn passed(&mut self, outcome: &Result<Next>) {
        if let Err(error) = outcome {
            self.after(error);
        }
        // Completions wait for an acquisition only where one comes at once.
        let is_waiting = self.combined.is_waiting() && self.node.takes_work() && matches!(outcome, Ok(Next::At(_)));
        if !is_waiting && !matches!(outcome, Ok(Next::Now)) {
            self.node.let_acquirer_complete(false);
        }
    }

    fn stopped(&mut self) {
        self.end_combined();
        if self.node.work_state.stop_step().is_some() {
            self.node.enter_stop_step(Some(StopStep::Release));
        }
        self.settle_at_end();
        self.leave_nothing_waiting();
        self.forget_if_revoked();
        self.reservations.give_up();
        if let Err(error) = self.reservations.release_unwanted() {
            lifecycle_log::leave_failed(&self.node.instance, &error.to_string());
        }
        if let Some(owner) = self.owner.take() {
            let tasks = std::mem::take(&mut self.hand_over.tasks);
            self.leftovers.leave(owner, std::mem::take(&mut self.doubts), tasks);
            self.node.services.completer.wake();
        }
    }
}
