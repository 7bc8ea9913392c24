//! Metrics, health and alarms of real nodes, on every store; and the monitoring page's rules in
//! Prometheus's own checker.

mod alarms;
mod counters;
#[cfg(feature = "metrics")]
mod facade;
mod names;
mod rules;

use std::collections::BTreeMap;

/// The samples of a text of metrics, each by its name and labels as they are written.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.rsplit_once(' ').map(|(name, n)| (name.to_owned(), n.parse().unwrap())).unwrap()).collect()
}

/// One sample of a node.
fn sample(node: &carnelian::Scheduler, name: &str) -> f64 {
    let all = samples(&node.metrics_text());
    *all.get(name)
        .unwrap_or_else(|| panic!("no sample {name} in\n{}", all.keys().cloned().collect::<Vec<_>>().join("\n")))
}
