//! Metrics, health and alarms of real nodes, on every store; and the monitoring page's rules in
//! Prometheus's own checker.

mod alarms;
mod counters;
#[cfg(feature = "metrics")]
mod facade;
mod names;
mod rules;

use carnelian::store::row::{ParkedRow, Selection};
use carnelian::store::{JobStore, Lock, TxMode};
use carnelian::{TriggerKey, TriggerState};
use std::collections::BTreeMap;

/// Parks the work of waiting triggers, each a millisecond after the one before.
pub fn park(store: &JobStore, keys: &[TriggerKey]) {
    let row = |(trigger, since_ms): (&TriggerKey, i64)| ParkedRow {
        trigger: trigger.clone(),
        fire_id: None,
        reason: "for a test".to_owned(),
        takeovers: 0,
        since_ms,
    };
    let rows: Vec<ParkedRow> = keys.iter().zip(1..).map(row).collect();
    let park = &mut |s: &mut dyn carnelian::store::Session| {
        s.change_states(Selection::Triggers(keys), &[(TriggerState::Waiting, TriggerState::Error)], false)?;
        s.insert_all(&rows)
    };
    store.database().transact("park", TxMode::Exclusive(Lock::TriggerAccess), park).unwrap();
}

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
