//! One acquisition: from the request to the hand-over of what was acquired.

use super::combined::HALF_BATCH_WAIT;
use super::prefetch_window::prefetched;
use super::{Acquirer, Found};
use crate::epoch::millis;
use crate::error::Result;
use crate::rules::overdue::stagger_ms;
use crate::scheduler::run::capture_log::RunLines;
use crate::scheduler::run::interrupt_monitor;
use crate::scheduler::run::run_handle::FireTask;
use crate::store::row::PollResult;
use crate::store::{AcquireRequest, Acquisition, FireBundle, Owner, PrefetchRequest};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

impl Acquirer {
    /// Polls without the lock, unless something is known to be due, and acquires it only if there
    /// is something for this node.
    pub(super) fn acquire(&mut self, owner: &Owner, job_types: &[String]) -> Result<Found> {
        let node = Arc::clone(&self.node);
        let has_notice = self.polling.take_notice(&node);
        let has_polled = self.polling.is_first(&node, has_notice);
        if has_polled {
            let PollResult { now_ms, earliest_ms: earliest, .. } =
                self.polling.poll(&node, Some(owner), &mut self.reservations, job_types)?;
            self.polling.expects_more = false;
            let soon_ms = self.prefetch.soon_ms(&node);
            let wait_ms = earliest.map_or(i64::MAX, |earliest| earliest.saturating_sub(soon_ms.saturating_add(now_ms)));
            if wait_ms > 0 {
                self.prefetch.is_withheld = false;
                self.adapt_prefetch(now_ms, None);
                let wait_ms = wait_ms.saturating_add(stagger_ms(&node.instance, earliest, soon_ms));
                return Ok(Found::Nothing(self.polling.within(&node, wait_ms)));
            }
        }
        let (room, short) = (self.room_now(), Arc::clone(&self.prefetch.short));
        let mut max = room.size().min(self.batch_limit()).max(1);
        if let Some(until) = self.keep_pace(&mut max) {
            return Ok(Found::Nothing(until));
        }
        let quarantined = node.quarantine.keys(node.clock.ticks());
        let prefetch = PrefetchRequest { free: room.free, quick: room.quick, short: &short };
        let request = AcquireRequest {
            max,
            prefetch: (room.free < max).then_some(prefetch),
            look_ahead_ms: self.prefetch.reservation_lead_ms(&node),
            fire_ahead_ms: millis(node.settings.scheduler.batch_time_window),
            job_types,
            quarantined: &quarantined,
        };
        self.polling.expects_more = false;
        self.doubts.is_interrupted = true;
        let asked = node.clock.ticks();
        let mut acquisition = match self.combined.gather_ends(&node, owner) {
            true => self.combined.complete_and_acquire(&node, owner, &request)?,
            false => node.store.firing().acquire(owner, &request)?,
        };
        let now = node.clock.ticks();
        node.metrics.acquire.observe(now.saturating_sub(asked));
        let deferred = self.count_acquisition(&acquisition);
        node.quarantine.add(std::mem::take(&mut acquisition.unreadable), now);
        node.tell_parked(std::mem::take(&mut acquisition.parked));
        let count = acquisition.fired.len() + acquisition.reserved.len();
        self.pace.spend(count);
        self.polling.store_time.note(now, acquisition.now_ms);
        self.reservations.add(std::mem::take(&mut acquisition.reserved));
        self.prefetch.is_withheld = acquisition.withheld > 0;
        let expects_more = self.prefetch.is_withheld || count + acquisition.overtaken >= max;
        self.polling.expects_more = expects_more;
        node.let_acquirer_complete(expects_more && node.store.firing().combines_commits(&acquisition.fired));
        // That these begin at once on free workers says nothing of those that would wait.
        let longest = expects_more.then(|| node.prefetch.take_longest_wait()).flatten();
        self.hand_over_fires(owner, std::mem::take(&mut acquisition.fired), false);
        self.doubts.is_interrupted = acquisition.is_in_doubt;
        self.doubts.keep(&node, acquisition.doubt.take())?;
        self.adapt_prefetch(acquisition.now_ms, longest);
        if count + deferred + acquisition.fanned_out > 0 {
            self.polling.was_misled = false;
            return Ok(Found::Something);
        }
        Ok(Found::Nothing(self.next_after_nothing(&acquisition, has_polled, has_notice)))
    }

    /// The time at which to acquire again, in ticks, after an acquisition that has brought nothing.
    fn next_after_nothing(&mut self, acquisition: &Acquisition, has_polled: bool, has_notice: bool) -> Duration {
        let (node, now) = (&*self.node, self.node.clock.ticks());
        if self.prefetch.is_withheld {
            // The worker that is free next wakes the acquirer.
            return now.saturating_add(self.polling.interval(node));
        }
        if acquisition.overtaken > 0 {
            // Other nodes were faster: there may be more, and they are not to be asked without a
            // pause.
            return now.saturating_add(HALF_BATCH_WAIT);
        }
        if !has_polled {
            // A trigger that was stored here may be another node's, or not be free; only a poll can
            // say when the next is due.
            self.polling.was_misled = has_notice;
            return now;
        }
        let wait_ms = acquisition.unreserved_ms.map_or(i64::MAX, |at_ms| at_ms.saturating_sub(acquisition.now_ms));
        self.polling.within(node, wait_ms)
    }

    /// Fires what is due of the reservations, all together.
    pub(super) fn fire_due(&mut self, owner: &Owner) -> Result<()> {
        let node = Arc::clone(&self.node);
        let now = node.clock.ticks();
        if self.reservations.first_fired_at(&self.polling.store_time).is_none_or(|at| at > now) {
            return Ok(());
        }
        let due = self.reservations.due(&self.polling.store_time, now);
        self.doubts.is_interrupted = true;
        let mut acquisition = node.store.firing().fire(owner, &due)?;
        self.doubts.keep(&node, acquisition.doubt.take())?;
        self.polling.store_time.note(node.clock.ticks(), acquisition.now_ms);
        let fired: BTreeSet<&str> = due.iter().map(|held| held.fire_id.as_str()).collect();
        self.reservations.drop_fires(|fire_id| fired.contains(fire_id));
        self.count_acquisition(&acquisition);
        self.hand_over_fires(owner, acquisition.fired, true);
        self.doubts.is_interrupted = false;
        Ok(())
    }

    /// Takes over what open doubts turn out to have acquired.
    pub(super) fn settle_doubts(&mut self, owner: &Owner) -> Result<()> {
        while let Some((acquisition, leads)) = self.doubts.settle_next(&self.node, &self.combined.queue, owner)? {
            self.node.tell_deferred(&acquisition);
            self.reservations.add(acquisition.reserved);
            self.hand_over_fires(owner, acquisition.fired, leads);
        }
        Ok(())
    }

    /// A try at the end of the node: the completer goes on with what is not settled then.
    pub(super) fn settle_at_end(&mut self) {
        let Some(owner) = self.owner.clone() else { return };
        if let Err(error) = self.settle_doubts(&owner) {
            ::log::debug!("doubts are left to the completer instance={} error={error}", self.node.instance);
        }
    }

    /// Counts and tells what an acquisition has met; returns how many fires were deferred or left
    /// out.
    fn count_acquisition(&self, acquisition: &Acquisition) -> usize {
        self.node.counters.overtaken.add(acquisition.overtaken);
        self.node.tell_deferred(acquisition)
    }

    /// Hands fires to workers, or to the dispatcher if they were precommitted and their times are
    /// to come.
    fn hand_over_fires(&mut self, owner: &Owner, bundles: Vec<FireBundle>, is_precommitted: bool) {
        if bundles.is_empty() {
            return self.hand_over.pool.submit(&mut self.hand_over.tasks);
        }
        let node = &*self.node;
        let was_idle = node.running_fires.count() == 0;
        let monitor = node.settings.plugins.interrupt_monitor.as_ref();
        let owner = Arc::new(owner.clone());
        let now = node.clock.ticks();
        self.hand_over.handed = now;
        node.prefetch.unbegun().enter(prefetched(&bundles));
        for mut bundle in bundles {
            let late_ms = u64::try_from(bundle.fired_ms.saturating_sub(bundle.scheduled_ms)).unwrap_or(0);
            node.metrics.lateness.observe(Duration::from_millis(late_ms));
            interrupt_monitor::limit(&mut bundle, monitor);
            let lines = RunLines::of(&bundle, &node.settings.history, &node.clock);
            let store_time = &self.polling.store_time;
            let due = if is_precommitted { store_time.ticks_at(bundle.scheduled_ms) } else { Duration::ZERO };
            let task = FireTask::new(bundle, Arc::clone(&owner), lines, due.max(now));
            node.running_fires.enter(Arc::clone(&task.handle), &node.lease);
            match task.due > now {
                true => self.hand_over.precommitted.add(node, task),
                false => self.hand_over.tasks.push_back(task),
            }
        }
        if was_idle {
            // From now on there are heartbeats to give.
            node.services.heartbeat.wake();
        }
        self.hand_over.pool.submit(&mut self.hand_over.tasks);
    }
}
