//! The families: every metric with its name, its meaning and its present values.

use super::cluster::cluster;
use super::meters::{GroupMeters, View};
use super::process::process;
use super::sample::{Family, Labels, Value, label};
use crate::alarm::AlarmKind;
use crate::job::FireOutcome;
use crate::meter::HistogramValues;
use crate::scheduler::counters::CounterValues;
use crate::scheduler::node::Node;
use crate::scheduler::run::run_handle::FireTask;
use crate::scheduler::run::worker_pool::WorkerPool;
use crate::store::Lock;
use crate::trigger::TriggerState;
use std::sync::atomic::Ordering;

/// The most intervals of the monitor between two looks of a node, and one more.
const INTERVALS: u32 = 5;

/// The threads of the worker pool.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Workers {
    pub(crate) all: usize,
    pub(crate) free: usize,
    pub(crate) strays: usize,
}

impl Workers {
    pub(crate) fn of(pool: &WorkerPool<FireTask>) -> Self {
        Self { all: pool.size(), free: pool.free(), strays: pool.strays() }
    }
}

/// All metrics of a node at this moment; asks nothing of the store.
pub(crate) fn families(node: &Node, workers: Workers) -> Vec<Family> {
    let counters = node.counters.values();
    let view = node.metrics.view.lock().clone();
    let mut all = List { families: Vec::new(), base: Labels::new() };
    if node.settings.monitor.node_labels {
        all.base = vec![("scheduler", node.name.to_string()), ("node", node.instance.to_string())];
    }
    all.fires(node, &counters);
    all.node(node, workers, &counters);
    all.cluster(&view, node);
    all.alarms(&view, node);
    all.families
}

struct List {
    families: Vec<Family>,
    /// Labels that every sample has.
    base: Labels,
}

impl List {
    fn add(&mut self, name: &'static str, help: &'static str, samples: impl IntoIterator<Item = (Labels, Value)>) {
        let with_base = |(labels, value)| ([self.base.clone(), labels].concat(), value);
        let samples = samples.into_iter().map(with_base).collect();
        self.families.push(Family { name, help, samples });
    }

    fn counter(&mut self, name: &'static str, help: &'static str, value: u64) {
        self.add(name, help, [(Labels::new(), Value::Counter(value))]);
    }

    fn gauge(&mut self, name: &'static str, help: &'static str, value: f64) {
        self.add(name, help, [(Labels::new(), Value::Gauge(value))]);
    }

    fn histogram(&mut self, name: &'static str, help: &'static str, values: HistogramValues) {
        self.add(name, help, [(Labels::new(), Value::Histogram(Box::new(values)))]);
    }

    /// The outcomes of fires.
    fn fires(&mut self, node: &Node, counters: &CounterValues) {
        let metrics = &node.metrics;
        let (name, help) = ("carnelian_fires_total", "Fires of this node that have ended, by their outcome.");
        let (duration, long) = ("carnelian_fire_duration_seconds", "How long jobs ran.");
        match metrics.groups() {
            None => {
                let outcomes = FireOutcome::ALL.into_iter().map(|outcome| (outcome, counters.of(outcome)));
                let sample = |(outcome, n): (FireOutcome, u64)| (label("outcome", outcome.name()), Value::Counter(n));
                self.add(name, help, outcomes.map(sample));
                self.histogram(duration, long, metrics.fire_duration.values());
            }
            Some((told_by, groups)) => {
                let mut samples = Vec::new();
                for (group, meters) in &groups {
                    for (outcome, counter) in FireOutcome::ALL.iter().zip(&meters.outcomes) {
                        let labels = vec![(told_by, group.clone()), ("outcome", outcome.name().to_owned())];
                        samples.push((labels, Value::Counter(counter.value())));
                    }
                }
                self.add(name, help, samples);
                let sample = |(group, meters): &(String, std::sync::Arc<GroupMeters>)| {
                    (label(told_by, group), Value::Histogram(Box::new(meters.duration.values())))
                };
                self.add(duration, long, groups.iter().map(sample));
            }
        }
        self.histogram(
            "carnelian_trigger_lateness_seconds",
            "How much later than their time triggers fired.",
            metrics.lateness.values(),
        );
        self.histogram(
            "carnelian_worker_wait_seconds",
            "How long fires waited for a worker of their node.",
            metrics.worker_wait.values(),
        );
        self.counter("carnelian_misfires_total", "Misfire instructions that were applied.", counters.misfires);
        self.counter("carnelian_skipped_total", "Times that policies of triggers left out.", counters.skipped);
        self.counter(
            "carnelian_fenced_writes_total",
            "Completions refused since the fire belonged to another node.",
            counters.fenced_writes,
        );
        let fires = node.running_fires.all();
        let stuck = fires.iter().filter(|fire| fire.is_stuck()).count();
        self.gauge("carnelian_running", "Fires handed to workers and not ended.", fires.len() as f64);
        self.gauge("carnelian_stuck_fires", "Running fires that make no progress.", stuck as f64);
        let now = node.clock.ticks();
        let longest = fires.iter().filter_map(|fire| fire.running_for(now)).max().unwrap_or_default();
        self.gauge("carnelian_longest_running_seconds", "For how long the longest run goes on.", longest.as_secs_f64());
    }

    /// This node: workers, services, store, process.
    fn node(&mut self, node: &Node, workers: Workers, counters: &CounterValues) {
        let metrics = &node.metrics;
        let busy = workers.all.saturating_sub(workers.free);
        let states = [("busy", busy), ("free", workers.free), ("stray", workers.strays)];
        let samples = states.map(|(state, n)| (label("state", state), Value::Gauge(n as f64)));
        self.add("carnelian_workers", "Worker threads: busy, free, and given up but not ended.", samples);
        let unrecorded = node.unrecorded.count() as f64;
        self.gauge("carnelian_unrecorded_fires", "Ended fires that are not recorded yet.", unrecorded);
        self.gauge(
            "carnelian_quarantined_rows",
            "Triggers that cannot be read, or whose strategy has no answer.",
            node.quarantine.count() as f64,
        );
        self.histogram("carnelian_acquire_seconds", "Acquisitions of due triggers.", metrics.acquire.values());
        let meters = &node.store.meters;
        let locks = [Lock::StateAccess, Lock::TriggerAccess];
        let waits =
            locks.map(|lock| (label("lock", lock.name()), Value::Histogram(Box::new(meters.lock_wait(lock).values()))));
        self.add("carnelian_lock_wait_seconds", "Waits for a connection and the first lock.", waits);
        let retries = meters.retries().map(|(class, n)| (label("class", class.name()), Value::Counter(n)));
        self.add("carnelian_db_retries_total", "Transactions tried again, by the class of the failure.", retries);
        self.histogram(
            "carnelian_checkin_seconds",
            "Check-ins that succeeded and recovered nothing.",
            metrics.checkin.values(),
        );
        let recovery = metrics.recovery.values();
        self.histogram("carnelian_recovery_seconds", "Check-ins that recovered the work of other nodes.", recovery);
        self.counter("carnelian_checkin_failures_total", "Check-ins that failed.", counters.checkin_failures);
        let kinds = [
            ("freed", counters.recoveries_freed),
            ("recovered", counters.recoveries_recovered),
            ("revived", counters.recoveries_revived),
            ("lost", counters.recoveries_lost),
            ("parked", counters.recoveries_parked),
            ("job_gone", counters.recoveries_gone),
        ];
        let samples = kinds.map(|(kind, n)| (label("kind", kind), Value::Counter(n)));
        self.add("carnelian_recoveries_total", "What became of the work of failed nodes and dead fires.", samples);
        self.counter("carnelian_convictions_total", "Nodes that this one declared dead.", counters.convictions);
        self.counter(
            "carnelian_failed_out_total",
            "Running fires lost since this node, or they themselves, were declared dead.",
            counters.failed_out,
        );
        self.counter(
            "carnelian_dead_executions_total",
            "Runs that died with their nodes or fell silent, cleared away by this node.",
            counters.dead_executions,
        );
        self.counter("carnelian_orphans_total", "Alarms for jobs that no living node can run.", counters.orphaned_jobs);
        let orphans = node.metrics.orphans.load(Ordering::Relaxed) as f64;
        self.gauge(
            "carnelian_orphaned_jobs",
            "Jobs that no living node can run, seen by the node that looks.",
            orphans,
        );
        self.counter("carnelian_mended_total", "Triggers and jobs that an audit set right.", counters.mended);
        let services: Vec<_> = node.services.present().map(|post| post.record.health(node.clock.ticks())).collect();
        let each = |of: fn(&crate::scheduler::ServiceHealth) -> u64| {
            let sample = move |s: &crate::scheduler::ServiceHealth| (label("service", s.name), Value::Counter(of(s)));
            services.iter().map(sample).collect::<Vec<_>>()
        };
        self.add("carnelian_service_passes_total", "Passes of the services.", each(|s| s.runs));
        self.add("carnelian_service_errors_total", "Passes that failed or panicked.", each(|s| s.errors + s.panics));
        if let Some(process) = process() {
            let (name, help) = ("carnelian_process_memory_bytes", "Resident memory of the process.");
            self.gauge(name, help, process.memory_bytes as f64);
            self.gauge("carnelian_process_threads", "Threads of the process.", process.threads as f64);
        }
    }

    /// The cluster, as the monitor saw it last. A node that cannot look any more says nothing of
    /// it: whoever takes the maximum over all nodes would not see that the others have gone.
    fn cluster(&mut self, view: &View, node: &Node) {
        let now = node.clock.ticks();
        let load = view.fresh_load(now, node.settings.monitor.interval, INTERVALS);
        for Family { name, help, samples } in load.into_iter().flat_map(cluster) {
            self.add(name, help, samples);
        }
        if let Some((seen, _)) = &view.load {
            let age = now.saturating_sub(*seen).as_secs_f64();
            self.gauge("carnelian_monitor_age_seconds", "How old the last look at the cluster is.", age);
        }
        if let Some(skew) = view.skew {
            self.gauge("carnelian_clock_skew_seconds", "How far this node's clock is ahead of the database's.", skew);
        }
        if let Some(states) = view.states.as_ref().filter(|_| load.is_some()) {
            let known = TriggerState::ALL.into_iter().map(|state| (state.name(), 0));
            let mut all: std::collections::BTreeMap<&str, usize> = known.collect();
            all.extend(states.iter().map(|(state, n)| (state.as_str(), *n)));
            let samples = all.into_iter().map(|(state, n)| (label("state", state), Value::Gauge(n as f64)));
            self.add("carnelian_triggers", "Stored triggers by their state.", samples);
        }
    }

    fn alarms(&mut self, view: &View, node: &Node) {
        let of = |kind: AlarmKind| label("alarm", kind.name());
        let raised = |kind| Value::Gauge(f64::from(u8::from(view.raised.contains(&kind))));
        self.add("carnelian_alarm", "1 while an alarm is raised.", AlarmKind::ALL.map(|kind| (of(kind), raised(kind))));
        let counts = AlarmKind::ALL.into_iter().zip(&node.metrics.alarms);
        let samples = counts.map(|(kind, counter)| (of(kind), Value::Counter(counter.value())));
        self.add("carnelian_alarms_total", "Alarms raised.", samples);
    }
}
