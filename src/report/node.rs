//! A node as surfaces show it: its JSON form, its state and its load in words.

use crate::epoch::millis;
use crate::monitoring::{InstanceStatus, NodeRow};
use crate::node::{NodeInfo, NodeRole};
use serde_json::{Map, Value, json};

/// The form of a node for scripts; an unknown value is null.
pub fn node(node: &InstanceStatus) -> Value {
    let mut document = json!({
        "instance": node.instance,
        "last_checkin_ms": node.last_checkin.timestamp_millis(),
        "checkin_interval_ms": millis(node.checkin_interval),
        "alive": node.alive,
        "running": node.running,
        "foreign": node.foreign,
        "node": null,
    });
    if let (Some(document), Some(row)) = (document.as_object_mut(), &node.node) {
        document.insert("node".to_owned(), said(row));
    }
    document
}

fn said(NodeRow { started_ms, seen_ms, info, .. }: &NodeRow) -> Value {
    let load = &info.load;
    let labels: Map<String, Value> = info.labels.iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
    json!({
        "node_name": info.node_name,
        "display_name": info.display_name,
        "application": info.application,
        "application_version": info.application_version,
        "library_version": info.library_version,
        "labels": labels,
        "role": info.role.name(),
        "activity": info.activity.name(),
        "host": info.host,
        "ip": info.ip,
        "pid": info.pid,
        "started_ms": started_ms,
        "seen_ms": seen_ms,
        "workers": info.pool_size,
        "busy_workers": info.busy_workers(),
        "free_workers": info.free_workers,
        "running_fires": info.running,
        "cores": load.cores,
        "host_cpu_permille": load.host_cpu_permille,
        "process_cpu_permille": load.process_cpu_permille,
        "memory_bytes": load.memory_total,
        "memory_used_bytes": load.memory_used,
        "process_memory_bytes": load.process_memory,
        "memory_limit_bytes": load.memory_limit,
        "threads": load.threads,
        "alarms": info.alarms.iter().map(|alarm| alarm.name()).collect::<Vec<_>>(),
    })
}

/// The state of a node, such as `firing`; `silent` if it is, whatever it said before, and `drained`
/// if it would fire and is drained or on the blacklist.
pub fn node_state(node: &InstanceStatus) -> String {
    let said = |row: &NodeRow| match row.info.activity.takes_work() && row.info.role != NodeRole::Observer {
        true if !node.takes_work => "drained",
        _ => row.info.activity.name(),
    };
    if node.alive { node.node.as_ref().map_or("alive", said) } else { "silent" }.to_owned()
}

/// The alarms that a node has raised, in words; none without one.
pub fn alarms_in_words(info: &NodeInfo) -> Option<String> {
    let words: Vec<String> = info.alarms.iter().map(|alarm| alarm.name().replace('_', " ")).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// A share of the machine, `12.5 %`.
pub fn percent(permille: Option<u32>) -> Option<String> {
    permille.map(|permille| format!("{}.{} %", permille / 10, permille % 10))
}

/// The memory of a machine that is in use, `12.3 GiB of 64.0 GiB`.
pub fn memory_in_use(info: &NodeInfo) -> Option<String> {
    let (used, total) = (info.load.memory_used?, info.load.memory_total?);
    Some(format!("{} of {}", memory_in_words(used), memory_in_words(total)))
}

/// An amount of memory, `64.0 GiB`.
pub fn memory_in_words(bytes: u64) -> String {
    let (unit, name) = if bytes >= 1 << 30 { (1_u64 << 30, "GiB") } else { (1 << 20, "MiB") };
    format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit)
}
