//! The status of this node, for whoever watches it: health, and metrics as text.

use super::handle::Scheduler;
use crate::scheduler::health::{Executor, Health, SchedulerStatus};
use crate::scheduler::metrics::{View, families, render};
use crate::scheduler::node::Node;
use std::sync::atomic::Ordering;

impl Scheduler {
    /// The health of this node; asks nothing of the store.
    pub fn health(&self) -> Health {
        let node = &*self.inner.node;
        let workers = self.inner.engine.workers();
        let is_registered = node.lease.owner().is_some();
        let view = node.metrics.view.lock().clone();
        let counters = node.counters.values();
        let now = node.clock.ticks();
        Health {
            status: match (self.is_shut_down(), self.is_started() && !self.is_in_standby()) {
                (true, _) => SchedulerStatus::Stopped,
                (false, true) => SchedulerStatus::Running,
                (false, false) => SchedulerStatus::Standby,
            },
            scheduler: node.name.to_string(),
            completed: counters.succeeded,
            failed: counters.failed.saturating_add(counters.timed_out),
            executors: executors(node, &view, is_registered),
            since_monitored: view.load.as_ref().map(|(seen, _)| now.saturating_sub(*seen)),
            alarms: view.raised.iter().copied().collect(),
            instance: node.instance.to_string(),
            is_firing: self.is_started() && node.takes_work(),
            stopping: node.work_state.stop_step(),
            is_registered,
            is_suspicious: is_registered && node.lease.owner_for_new_work().is_none(),
            takes_no_work: node.work_state.why_not(),
            is_active: node.work_state.is_active(),
            since_checkin: node.lease.since_checkin(),
            workers: workers.all,
            free_workers: workers.free,
            running: node.running_fires.count(),
            stuck_fires: node.running_fires.all().iter().filter(|fire| fire.is_stuck()).count(),
            max_stuck_fires: node.settings.monitor.max_stuck_fires,
            stray_threads: workers.strays,
            reserved: node.metrics.reserved.load(Ordering::Relaxed),
            unrecorded: node.unrecorded.count(),
            quarantined: node.quarantine.list(),
            orphans: node.metrics.orphans.load(Ordering::Relaxed),
            untold_events: node.listeners.queue.untold(),
            ticks: now,
            services: node.services.present().map(|post| post.record.health(now)).collect(),
            counters,
        }
    }

    /// The metrics of this node in Prometheus's text format, for an endpoint of the application's;
    /// asks nothing of the store. Serve it as `text/plain; version=0.0.4`. `docs/monitoring.md`
    /// says what each means.
    ///
    /// ```
    /// let scheduler = carnelian::Scheduler::builder().build()?;
    /// assert!(scheduler.metrics_text().contains("\ncarnelian_fires_total{outcome=\"succeeded\"} 0\n"));
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    pub fn metrics_text(&self) -> String {
        render(&families(&self.inner.node, self.inner.engine.workers()))
    }

    /// Hands the present values to the recorder of the crate `metrics`. The scheduler does so by
    /// itself after each look at the cluster (`carnelian.monitor.interval`) and when it ends; who
    /// wants fresher values calls this before a scrape.
    #[cfg(feature = "metrics")]
    pub fn publish_metrics(&self) {
        let families = families(&self.inner.node, self.inner.engine.workers());
        self.inner.node.metrics.publisher.lock().publish(&families);
    }
}

/// The nodes that live: this one as it is, the others as they were seen.
fn executors(node: &Node, view: &View, is_registered: bool) -> Vec<Executor> {
    let seen = view.load.iter().flat_map(|(_, load)| &load.instances);
    let others = seen.clone().filter(|other| other.alive && *other.instance != *node.instance);
    let other = |other: &crate::store::InstanceStatus| Executor {
        instance: other.instance.clone(),
        running: other.running,
        last_seen: Some(other.last_checkin),
    };
    let mut executors: Vec<Executor> = others.map(other).collect();
    if is_registered {
        executors.push(Executor {
            instance: node.instance.to_string(),
            running: node.running_fires.count(),
            last_seen: seen.filter(|own| *own.instance == *node.instance).map(|own| own.last_checkin).next(),
        });
    }
    executors.sort_by(|a, b| a.instance.cmp(&b.instance));
    executors
}
