//! `ClusterManager`: checks in, learns who died and whether this node was thought dead, and has the
//! store mended.

use super::auditor::Auditor;
use super::reporter::Reporter;
use super::service::{Next, Service};
use crate::clock::Moment;
use crate::error::{Error, FailureClass, Result};
use crate::hash::HashMap;
use crate::listener::lifecycle_log;
use crate::scheduler::lease::QUARTZ_TOLERANCE;
use crate::scheduler::node::Node;
use crate::settings::{ClusterMode, PollingStrategy};
use crate::signal::{Signal, Woken};
use crate::store::{Checkin, Membership};
use std::sync::Arc;
use std::time::Duration;

/// The shortest pause between two check-ins or attempts.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause between attempts once the node suspects itself, so that it is back soon after
/// the database.
const WHEN_SUSPICIOUS: Duration = Duration::from_secs(1);

/// The time between two looks of a starting node for its namesake's check-in.
const BETWEEN_LOOKS_FOR_NAMESAKE: Duration = Duration::from_millis(250);

/// The number of times that a starting node waits once more for the lock, 10 s each time: of a
/// thousand that start together the last waits until the others are registered.
const MOST_WAITS: u32 = 5;

/// The skew from which on the clock of a node of Quartz is named.
const NOTABLE_SKEW_MS: i64 = 1000;

/// The cluster service, which goes on in standby.
pub(crate) struct ClusterManager {
    node: Arc<Node>,
    membership: Membership,
    reporter: Reporter,
    /// The namesake was named already.
    namesake_named: bool,
    /// The nodes of Quartz that are named already, and whether as one with a clock that is off.
    foreign_named: HashMap<String, bool>,
    /// The strategy that was told last, where it was another than the settings ask for.
    strategy_told: Option<PollingStrategy>,
    /// The next step after the check-in before the first pass.
    pending: Option<Next>,
}

impl ClusterManager {
    pub(crate) fn new(node: Arc<Node>) -> Self {
        let membership = Membership::new(&*node.instance);
        let reporter = Reporter::new(&node);
        Self {
            node,
            membership,
            reporter,
            namesake_named: false,
            foreign_named: HashMap::default(),
            strategy_told: None,
            pending: None,
        }
    }

    /// The first check-in, before anything else is started. Without an error the node is
    /// registered. A start waits for the next check-in of a namesake that may live, for as long as
    /// its lease may last at most, or until `stopped`.
    pub(crate) fn begin(&mut self, stopped: &Signal) -> Result<()> {
        // A node that was declared dead learns it from one check-in and registers again with the
        // next.
        let (mut tries, mut waits) = (0, 0);
        loop {
            let next = match self.run_once() {
                Err(error) if error.failure_class() == Some(FailureClass::LockWait) && waits < MOST_WAITS => {
                    waits += 1;
                    continue;
                }
                next => next?,
            };
            match next {
                Next::At(at) if self.namesake_named => {
                    if self.node.clock.wait(stopped, Some(at)) == Woken::Stopped {
                        return Err(Error::ShutDown(self.node.name.to_string()));
                    }
                }
                Next::Now if tries == 0 => tries += 1,
                next => {
                    self.pending = Some(next);
                    return Ok(());
                }
            }
        }
    }

    /// Applies a committed check-in that was begun at `begun`.
    fn apply_checkin(&mut self, checkin: &Checkin, begun: Moment) -> Next {
        let node = Arc::clone(&self.node);
        if checkin.failed_out {
            if let Some(lost) = checkin.lost_commits {
                lifecycle_log::commits_lost(&node.instance, lost);
                checkin.recovered.iter().for_each(|recovered| lifecycle_log::recovered(&node.instance, recovered));
            }
            self.revoke();
            if !checkin.registered {
                self.membership.incarnation = None;
                return Next::Now;
            }
        }
        self.name_namesake(checkin.has_namesake);
        node.lease.set_beside_quartz(node.store.is_beside_quartz());
        self.name_foreign(&checkin.foreign_clocks);
        self.name_strategy();
        let before = node.lease.since_checkin();
        // A node that registers again after it was declared dead stands by before its lease lets it
        // acquire: its deputy is active by now.
        node.work_state.longest_serving.set(checkin.is_longest_serving);
        if node.settings.cluster.mode == ClusterMode::ActivePassive {
            self.become_active(checkin.is_active);
        }
        if let Some(owner) = self.membership.owner() {
            if checkin.registered {
                lifecycle_log::registered(&node.instance, &owner.incarnation);
            }
            if node.lease.confirm(owner, begun) {
                node.running_fires.wake();
                if let Some(gap) = before {
                    lifecycle_log::checked_in_late(&node.instance, gap);
                }
                node.services.acquirer.wake();
                node.services.misfire.wake();
            }
        }
        node.apply_refusal(checkin.refusal.as_ref());
        for recovered in &checkin.recovered {
            node.tell_recovered(recovered);
        }
        for (instance, why) in &checkin.unrecovered {
            node.listeners
                .error(&format!("the work of `{instance}` could not be taken over, it is tried again: {why}"));
        }
        if let Some(outage) = &checkin.outage {
            node.tell_outage(outage);
        }
        if !checkin.recovered.is_empty() {
            node.services.acquirer.wake();
        }
        self.next(checkin, begun.ticks)
    }

    fn next(&self, checkin: &Checkin, begun: Duration) -> Next {
        let now = self.node.clock.ticks();
        let mut regular = begun.saturating_add(self.node.store.settings().job_store.checkin_interval);
        if checkin.has_namesake && checkin.next_suspicion.is_some() {
            // A namesake that lives is seen soon.
            regular = now.saturating_add(BETWEEN_LOOKS_FOR_NAMESAKE);
        }
        let suspicion = checkin.next_suspicion.map(|wait| now.saturating_add(wait));
        let at = suspicion.map_or(regular, |suspicion| suspicion.min(regular));
        Next::At(at.max(now.saturating_add(SHORTEST_PAUSE)))
    }

    /// The own row may have been committed all the same, and only the work for failed peers not.
    fn confirm_after_failure(&self, before: Option<Duration>, begun: Moment) {
        if self.membership.last_checkin == before {
            return;
        }
        if let Some(owner) = self.membership.owner()
            && self.node.lease.confirm(owner, begun)
        {
            self.node.running_fires.wake();
            self.node.services.acquirer.wake();
        }
    }

    /// This node was declared dead while it lived.
    fn revoke(&self) {
        let node = &*self.node;
        node.lease.revoke();
        let lost = node.running_fires.revoke();
        node.counters.failed_out.add(lost);
        lifecycle_log::ownership_lost(&node.instance, lost);
        if node.aborts_on_loss() {
            lifecycle_log::aborting(&node.instance);
            ::log::logger().flush();
            std::process::abort();
        }
        node.listeners.announce("ownership_lost", move |listener| listener.ownership_lost(lost));
        node.services.acquirer.wake();
        node.services.run_watch.wake();
    }

    fn name_namesake(&mut self, has_namesake: bool) {
        if has_namesake && !self.namesake_named {
            lifecycle_log::namesake(&self.node.instance);
        }
        self.namesake_named = has_namesake;
    }

    fn name_foreign(&mut self, clocks: &[(String, i64)]) {
        let before = std::mem::take(&mut self.foreign_named);
        for (instance, skew_ms) in clocks {
            let known = before.get(instance).copied();
            if known.is_none() {
                let tolerance = self.node.store.settings().job_store.checkin_misfire_threshold;
                lifecycle_log::joined_by_quartz(instance, tolerance.saturating_sub(QUARTZ_TOLERANCE));
            }
            let off = skew_ms.abs() > NOTABLE_SKEW_MS;
            if off && known != Some(true) {
                lifecycle_log::foreign_clock(instance, *skew_ms);
            }
            self.foreign_named.insert(instance.clone(), off);
        }
    }

    /// Says once that due triggers are taken in another way than the settings ask for, and once
    /// that they are so again.
    fn name_strategy(&mut self) {
        let store = &self.node.store;
        // If the database does not answer, the next check-in asks again.
        let Ok(strategy) = store.polling_strategy() else { return };
        let wanted = store.settings().job_store.polling_strategy;
        let told = std::mem::replace(&mut self.strategy_told, Some(strategy).filter(|one| *one != wanted));
        if told != self.strategy_told {
            lifecycle_log::polling_strategy(wanted.name(), strategy.name(), store.is_beside_quartz());
        }
    }

    fn become_active(&self, is_active: bool) {
        if self.node.work_state.set_active(is_active) {
            lifecycle_log::active(&self.node.instance, is_active);
            self.node.services.acquirer.wake();
        }
    }
}

impl Service for ClusterManager {
    fn run_once(&mut self) -> Result<Next> {
        if let Some(next) = self.pending.take() {
            return Ok(next);
        }
        // The store may try several times; the first try is what counts, so that we never think
        // ourselves too fresh.
        let begun = Moment::now(&*self.node.clock);
        let before = self.membership.last_checkin;
        self.membership.node = Some(self.reporter.report(&self.node));
        let checkin = match self.node.store.upkeep().check_in(&mut self.membership) {
            Ok(checkin) => checkin,
            Err(error) => {
                self.node.counters.checkin_failures.add(1);
                self.node.services.monitor.wake();
                self.confirm_after_failure(before, begun);
                return Err(error);
            }
        };
        let metrics = &self.node.metrics;
        let times = if checkin.recovered.is_empty() { &metrics.checkin } else { &metrics.recovery };
        times.observe(self.node.clock.ticks().saturating_sub(begun.ticks));
        let next = self.apply_checkin(&checkin, begun);
        self.node.metrics.checkins.add(1);
        if !checkin.has_namesake && Auditor::follows(self.node.metrics.checkins.value()) {
            self.node.services.audit.wake();
        }
        Ok(next)
    }

    fn stopped(&mut self) {
        if let Some(attempted) = self.membership.attempted() {
            self.node.lease.set_attempt(attempted);
        }
    }

    /// A failed check-in is tried again inside what remains of the window, half of it each time.
    fn longest_retry(&self, settings: Duration) -> Duration {
        let now = self.node.clock.ticks();
        let remaining = self.node.lease.suspicion_at().map_or(Duration::ZERO, |at| at.saturating_sub(now));
        let longest = if remaining.is_zero() { WHEN_SUSPICIOUS } else { remaining / 2 };
        longest.min(settings).max(SHORTEST_PAUSE)
    }
}
