//! `Monitor`: looks at the cluster now and then, and raises and clears alarms.

use super::alarm_board::AlarmBoard;
use super::recovery_mode_watch::RecoveryModeWatch;
use super::service::{Next, Service};
use crate::error::Result;
use crate::listener::lifecycle_log;
#[cfg(feature = "metrics")]
use crate::scheduler::metrics::{Workers, families};
use crate::scheduler::node::Node;
use crate::scheduler::run::run_handle::FireTask;
use crate::scheduler::run::worker_pool::WorkerPool;
use std::sync::Arc;
use std::time::Duration;

/// Triggers are counted no more often than this.
const BETWEEN_COUNTS: Duration = Duration::from_secs(60);

/// Nor for a larger share of the time than one in so many, however many triggers there are.
const SHARE: u32 = 200;

/// Overdue triggers beyond so many are not counted.
const MOST_OVERDUE: usize = 10_000;

/// Without looks at the cluster: how often the alarms of this node are looked at.
const WITHOUT_LOOKS: Duration = Duration::from_secs(15);

/// The largest factor by which a node looks less often at the cluster, since other nodes look too.
const MOST_SHARED_LOOKS: u32 = 4;

/// The monitor service, which goes on in standby.
pub(crate) struct Monitor {
    node: Arc<Node>,
    board: AlarmBoard,
    recovery: RecoveryModeWatch,
    /// The time at which the next look at the cluster is due, in ticks.
    next_look: Duration,
    /// The time at which triggers are to be counted again.
    next_count: Duration,
    #[cfg(feature = "metrics")]
    pool: Arc<WorkerPool<FireTask>>,
}

impl Monitor {
    pub(crate) fn new(node: Arc<Node>, pool: Arc<WorkerPool<FireTask>>) -> Self {
        #[cfg(not(feature = "metrics"))]
        drop(pool);
        Self {
            node,
            board: AlarmBoard::default(),
            recovery: RecoveryModeWatch::default(),
            next_look: Duration::ZERO,
            next_count: Duration::ZERO,
            #[cfg(feature = "metrics")]
            pool,
        }
    }

    /// One look at the cluster: one statement, and now and then another.
    fn look(&mut self) -> Result<()> {
        let node = &*self.node;
        let settings = &node.settings.monitor;
        let alarms = &settings.alarms;
        let wanted = alarms.overdue_triggers.max(alarms.parked_work).max(node.store.settings().recovery.threshold);
        let wanted = usize::try_from(wanted).unwrap_or(0);
        let before_ms = node.clock.wall_time().timestamp_millis();
        let load = node.store.upkeep().read_load(settings.overdue_after, MOST_OVERDUE.max(wanted))?;
        let (now, now_ms) = (node.clock.ticks(), load.now_ms);
        let skew = skew(before_ms, now_ms, node.clock.wall_time().timestamp_millis());
        let living = load.instances.iter().filter(|instance| instance.alive).count();
        let recovered = self.recovery.look(node, &load);
        {
            let mut view = node.metrics.view.lock();
            view.skew = Some(skew);
            view.load = Some((now, load));
        }
        if now >= self.next_count {
            // However it ends, and whatever it costs: it is the whole of a table.
            self.next_count = now.saturating_add(BETWEEN_COUNTS);
            let states = node.store.upkeep().trigger_states();
            let took = node.clock.ticks().saturating_sub(now);
            // All nodes together count as often as one alone would.
            let nodes = u32::try_from(living.max(1)).unwrap_or(u32::MAX);
            let pause = BETWEEN_COUNTS.max(took.saturating_mul(SHARE)).saturating_mul(nodes);
            self.next_count = node.clock.ticks().saturating_add(pause);
            match states {
                Ok(states) => node.metrics.view.lock().states = Some(states),
                Err(error) => lifecycle_log::count_failed(&error.to_string()),
            }
        }
        recovered
    }

    #[cfg(feature = "metrics")]
    fn publish(&self) {
        let families = families(&self.node, Workers::of(&self.pool));
        self.node.metrics.publisher.lock().publish(&families);
    }
}

/// The time by which the node's clock is ahead of the store's, at least, in seconds: the store's
/// time was read between the two.
fn skew(before_ms: i64, store_ms: i64, after_ms: i64) -> f64 {
    let ms = if store_ms < before_ms { before_ms - store_ms } else { (after_ms - store_ms).min(0) };
    ms as f64 / 1000.0
}

impl Service for Monitor {
    fn run_once(&mut self) -> Result<Next> {
        let now = self.node.clock.ticks();
        let interval = self.node.settings.monitor.interval;
        let is_due = now >= self.next_look;
        // Alarms that the node knows by itself do not wait for the store.
        self.board.look(&self.node);
        let looked = if is_due && !interval.is_zero() { self.look() } else { Ok(()) };
        if is_due {
            self.board.look(&self.node);
        }
        #[cfg(feature = "metrics")]
        if is_due {
            self.publish();
        }
        looked?;
        if is_due {
            // The longest-serving node speaks for the cluster.
            let is_first = self.node.work_state.longest_serving.is_set();
            let lookers = if is_first { 1 } else { self.node.shared_among(MOST_SHARED_LOOKS) };
            let interval = interval.saturating_mul(lookers);
            self.next_look = now.saturating_add(if interval.is_zero() { WITHOUT_LOOKS } else { interval });
        }
        let again = self.board.next(self.node.clock.ticks());
        Ok(Next::At(again.map_or(self.next_look, |again| again.min(self.next_look))))
    }

    fn longest_retry(&self, settings: Duration) -> Duration {
        settings.max(self.node.settings.monitor.interval)
    }

    #[cfg(feature = "metrics")]
    fn stopped(&mut self) {
        self.publish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_answer_is_no_skew() {
        for (before, store, after, expected) in [
            (1000, 1500, 2000, 0.0),
            (1000, 1000, 1000, 0.0),
            (1000, 400, 2000, 0.6),
            (1000, 2500, 2000, -0.5),
            (1000, 0, 90_000, 1.0),
        ] {
            assert_eq!(skew(before, store, after), expected, "{before} {store} {after}");
        }
    }
}
