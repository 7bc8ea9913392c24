//! The families that tell how the cluster does, from one look at it.

use super::sample::{Family, Labels, Value, label};
use crate::store::ClusterLoad;

/// The metrics of the cluster.
pub(super) fn cluster(load: &ClusterLoad) -> Vec<Family> {
    let (mut alive, mut foreign, mut silent) = (0, 0, 0);
    for instance in &load.instances {
        match (instance.alive, instance.foreign) {
            (false, _) => silent += 1,
            (true, true) => foreign += 1,
            (true, false) => alive += 1,
        }
    }
    let states = [("alive", alive), ("foreign", foreign), ("silent", silent)];
    let instances = states.map(|(state, n)| (label("state", state), Value::Gauge(f64::from(n))));
    let working = load.instances.iter().filter(|instance| instance.is_working()).count();
    let backlog = load.recovery_since_ms.map_or(0, |_| load.overdue);
    let age_ms = load.oldest_overdue_ms.map_or(0, |oldest_ms| load.now_ms.saturating_sub(oldest_ms));
    vec![
        Family {
            name: "carnelian_instances",
            help: "Nodes: alive, alive and of Quartz, silent.",
            samples: instances.to_vec(),
        },
        gauge("carnelian_working_nodes", "Nodes that are alive and take work.", working as f64),
        gauge("carnelian_overdue_triggers", "Triggers that should have fired.", load.overdue as f64),
        gauge(
            "carnelian_recovery_backlog",
            "Overdue triggers while they are drained in recovery mode.",
            backlog as f64,
        ),
        gauge("carnelian_parked_work", "Work that waits until somebody has looked at it.", load.parked as f64),
        gauge("carnelian_oldest_overdue_seconds", "How late the latest of them is.", age_ms as f64 / 1000.0),
    ]
}

/// The metrics of the cluster in Prometheus's text format, for a process without a node.
#[cfg(feature = "dashboard")]
pub(crate) fn cluster_metrics_text(load: &ClusterLoad) -> String {
    super::text::render(&cluster(load))
}

fn gauge(name: &'static str, help: &'static str, value: f64) -> Family {
    Family { name, help, samples: vec![(Labels::new(), Value::Gauge(value))] }
}
