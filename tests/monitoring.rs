//! Metrics, health and alarms of real nodes, on every store; and the monitoring page's rules in Prometheus's own checker.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

#[path = "monitoring/alarms.rs"]
mod alarms;
#[path = "monitoring/counters.rs"]
mod counters;
#[cfg(feature = "metrics")]
#[path = "monitoring/facade.rs"]
mod facade;
#[allow(dead_code, reason = "not all of it is used here")]
#[path = "scheduler/fixture.rs"]
mod fixture;
#[path = "monitoring/names.rs"]
mod names;
#[path = "monitoring/rules.rs"]
mod rules;
mod support;

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
