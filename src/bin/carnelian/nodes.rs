//! `cluster`: the nodes with their last check-in, and everything that one of them says of itself.

use crate::failure::{Failure, Outcome};
use crate::output::{Output, ago, complain, fields, or_dash, span, time, yes_or_no};
use crate::value::{epoch_ms, millis};
use crate::watch::Watch;
use carnelian::monitoring::InstanceStatus;
use carnelian::node::NodeInfo;
use carnelian::store::JobStore;
use carnelian::store::row::NodeRow;
use clap::Args;
use serde_json::{Map, Value, json};

// The nodes that are shown; as a doc comment it would be the help of the command.
#[derive(Args)]
pub struct Cluster {
    /// Only this node, with everything that it says of itself
    #[arg(value_name = "NODE")]
    pub node: Option<String>,
    #[command(flatten)]
    pub watch: Watch,
}

/// The nodes, or one of them.
pub fn cluster(store: &JobStore, output: Output, which: &Cluster) -> Outcome {
    let now_ms = store.now_ms()?;
    let Some(name) = &which.node else { return all(store, output, now_ms) };
    let Some(node) = store.upkeep().instance(name)? else {
        complain(&format!("there is no node `{name}`: `carnelian cluster` lists them"));
        return Err(Failure::No);
    };
    output.answer(document(&node), || everything(&node, now_ms))?;
    yes_or_no(node.alive)
}

fn all(store: &JobStore, output: Output, now_ms: i64) -> Outcome {
    let mut nodes = store.upkeep().instances()?;
    nodes.sort_by(|a, b| a.instance.cmp(&b.instance));
    #[rustfmt::skip] // One line, like the row.
    let heading = ["INSTANCE", "STATE", "LAST CHECK-IN", "INTERVAL", "RUNNING", "BUSY", "CPU", "MEMORY", "LABELS", "NODE", "KIND"];
    output.list("no node has checked in", heading, &nodes, document, |node| {
        let info = node.node.as_ref().map(|row| &row.info);
        [
            node.instance.clone(),
            state(node),
            ago(epoch_ms(node.last_checkin), now_ms),
            span(millis(node.checkin_interval)),
            node.running.to_string(),
            or_dash(info.map(|info| format!("{} of {}", info.busy_workers(), info.pool_size))),
            or_dash(info.and_then(|info| percent(info.load.host_cpu_permille))),
            or_dash(info.and_then(memory)),
            or_dash(info.map(|info| info.labels.to_string()).filter(|labels| !labels.is_empty())),
            or_dash(info.map(|info| &info.node_name)),
            if node.foreign { "Quartz" } else { "Carnelian" }.to_owned(),
        ]
    })
}

/// The form of a node for scripts; an unknown value is null.
fn document(node: &InstanceStatus) -> Value {
    let mut document = json!({
        "instance": node.instance,
        "last_checkin_ms": epoch_ms(node.last_checkin),
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
    })
}

fn everything(node: &InstanceStatus, now_ms: i64) -> String {
    let mut text = fields(&[
        ("instance", Some(node.instance.clone())),
        ("state", Some(state(node))),
        ("last check-in", Some(ago(epoch_ms(node.last_checkin), now_ms))),
        ("check-in interval", Some(span(millis(node.checkin_interval)))),
        ("running", Some(node.running.to_string())),
        ("kind", Some(if node.foreign { "Quartz" } else { "Carnelian" }.to_owned())),
    ]);
    let Some(NodeRow { started_ms, info, .. }) = &node.node else { return text };
    let load = &info.load;
    text.push_str(&fields(&[
        ("node", Some(info.node_name.clone())),
        ("display name", Some(info.display_name.clone())),
        ("application", Some(info.application.clone())),
        ("version", info.application_version.clone()),
        ("library", Some(format!("carnelian {}", info.library_version))),
        ("labels", Some(info.labels.to_string()).filter(|labels| !labels.is_empty())),
        ("role", Some(info.role.to_string())),
        ("host", info.host.clone()),
        ("address", info.ip.clone()),
        ("process", Some(info.pid.to_string())),
        ("started", Some(time(Some(*started_ms)))),
        ("workers", Some(format!("{}, {} of them free", info.pool_size, info.free_workers))),
        ("fires at check-in", Some(info.running.to_string())),
        ("cores", load.cores.map(|cores| cores.to_string())),
        ("CPU of the machine", percent(load.host_cpu_permille)),
        ("CPU of the process", percent(load.process_cpu_permille)),
        ("memory of the machine", memory(info)),
        ("memory of the process", load.process_memory.map(bytes)),
        ("its limit", load.memory_limit.map(bytes)),
        ("threads", load.threads.map(|threads| threads.to_string())),
    ]));
    text
}

/// `firing`, or `silent`: what a node said before it fell silent means nothing.
fn state(node: &InstanceStatus) -> String {
    let said = node.node.as_ref().map_or("alive", |row| row.info.activity.name());
    if node.alive { said } else { "silent" }.to_owned()
}

fn percent(permille: Option<u32>) -> Option<String> {
    permille.map(|permille| format!("{}.{} %", permille / 10, permille % 10))
}

/// `12.3 of 64.0 GiB`.
fn memory(info: &NodeInfo) -> Option<String> {
    let (used, total) = (info.load.memory_used?, info.load.memory_total?);
    Some(format!("{} of {}", bytes(used), bytes(total)))
}

fn bytes(bytes: u64) -> String {
    let (unit, name) = if bytes >= 1 << 30 { (1_u64 << 30, "GiB") } else { (1 << 20, "MiB") };
    format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit)
}
