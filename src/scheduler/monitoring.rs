//! How this node is doing, for whoever watches it: health, and metrics as text.

use super::Scheduler;
use super::health::{Executor, Health, SchedulerStatus};
use super::metrics::{View, Workers, families, render};
use super::node::Node;
use std::sync::atomic::Ordering;

impl Scheduler {
    /// How this node is doing; asks nothing of the store.
    pub fn health(&self) -> Health {
        let node = &*self.inner.node;
        let (workers, free_workers, stray_threads) = self.workers();
        let is_registered = node.standing.owner().is_some();
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
            is_firing: self.is_started() && node.is_firing(),
            stopping: node.stopping(),
            is_registered,
            is_suspicious: is_registered && node.standing.owner_for_new_work().is_none(),
            takes_no_work: node.barred.lock().as_ref().map(ToString::to_string),
            is_active: node.active.load(Ordering::SeqCst),
            since_checkin: node.standing.since_checkin(),
            workers,
            free_workers,
            running: node.standing.running(),
            stuck_fires: node.standing.fires().iter().filter(|fire| fire.is_stuck()).count(),
            max_stuck_fires: node.settings.monitor.max_stuck_fires,
            stray_threads,
            reserved: node.reserved.load(Ordering::Relaxed),
            unrecorded: node.unrecorded.count(),
            quarantined: node.quarantine.list(),
            orphans: node.orphans.load(Ordering::Relaxed),
            untold_events: node.listeners.queue.untold(),
            ticks: now,
            services: node.services().map(|post| post.record.health(now)).collect(),
            counters,
        }
    }

    /// The metrics of this node in Prometheus's text format, for an endpoint of the application's; asks nothing of the
    /// store. Serve it as `text/plain; version=0.0.4`. `docs/monitoring.md` says what each means.
    ///
    /// ```
    /// let scheduler = carnelian::Scheduler::builder().build()?;
    /// assert!(scheduler.metrics_text().contains("\ncarnelian_fires_total{outcome=\"succeeded\"} 0\n"));
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    pub fn metrics_text(&self) -> String {
        render(&families(&self.inner.node, self.worker_counts()))
    }

    /// Hands the present values to the recorder of the crate `metrics`. The scheduler does so by itself after each look at
    /// the cluster (`carnelian.monitor.interval`) and when it ends; who wants fresher values calls this before a scrape.
    #[cfg(feature = "metrics")]
    pub fn publish_metrics(&self) {
        let families = families(&self.inner.node, self.worker_counts());
        self.inner.node.publisher.lock().publish(&families);
    }

    fn worker_counts(&self) -> Workers {
        let (all, free, strays) = self.workers();
        Workers { all, free, strays }
    }
}

/// The nodes that live: this one as it is, the others as they were seen.
fn executors(node: &Node, view: &View, is_registered: bool) -> Vec<Executor> {
    let seen = view.load.iter().flat_map(|(_, load)| &load.instances);
    let others = seen.clone().filter(|other| other.alive && *other.instance != *node.instance);
    let other = |other: &crate::store::InstanceStatus| Executor {
        instance: other.instance.clone(),
        running: other.running,
        last_seen_ms: Some(other.last_checkin_ms),
    };
    let mut executors: Vec<Executor> = others.map(other).collect();
    if is_registered {
        executors.push(Executor {
            instance: node.instance.to_string(),
            running: node.standing.running(),
            last_seen_ms: seen.filter(|own| *own.instance == *node.instance).map(|own| own.last_checkin_ms).next(),
        });
    }
    executors.sort_by(|a, b| a.instance.cmp(&b.instance));
    executors
}
