//! `cluster`: the nodes with their last check-in, and everything that one of them says of itself.

use crate::failure::{Failure, Outcome};
use crate::output::{Output, ago, complain, fields, or_dash, span, time, yes_or_no};
use crate::page::Paging;
use crate::value::{epoch_ms, millis};
use crate::watch::Watch;
use carnelian::monitoring::InstanceStatus;
use carnelian::report::{self, alarms_in_words, memory_in_use, memory_in_words, node_state, percent};
use carnelian::store::JobStore;
use carnelian::store::row::NodeRow;
use clap::Args;

// The nodes that are shown; as a doc comment it would be the help of the command.
#[derive(Args)]
pub struct Cluster {
    /// Only this node, with everything that it says of itself
    #[arg(value_name = "NODE", conflicts_with_all = ["after", "limit", "all"])]
    pub node: Option<String>,
    #[command(flatten)]
    pub paging: Paging,
    #[command(flatten)]
    pub watch: Watch,
}

/// The nodes, or one of them.
pub fn cluster(store: &JobStore, output: Output, which: &Cluster) -> Outcome {
    let now_ms = store.now_ms()?;
    let Some(name) = &which.node else { return all(store, output, &which.paging, now_ms) };
    let Some(node) = store.upkeep().instance(name)? else {
        complain(&format!("there is no node `{name}`: `carnelian cluster` lists them"));
        return Err(Failure::No);
    };
    output.answer(report::node(&node), || everything(&node, now_ms))?;
    yes_or_no(node.alive)
}

fn all(store: &JobStore, output: Output, paging: &Paging, now_ms: i64) -> Outcome {
    let part = paging.cut(store.upkeep().instances()?, |node| [node.instance.clone()])?;
    #[rustfmt::skip] // One line, like the row.
    let heading = ["INSTANCE", "STATE", "LAST CHECK-IN", "INTERVAL", "RUNNING", "BUSY", "CPU", "MEMORY", "LABELS", "NODE", "KIND"];
    output.part("no node has checked in", heading, &part, report::node, |node| {
        let info = node.node.as_ref().map(|row| &row.info);
        [
            node.instance.clone(),
            node_state(node),
            ago(epoch_ms(node.last_checkin), now_ms),
            span(millis(node.checkin_interval)),
            node.running.to_string(),
            or_dash(info.map(|info| format!("{} of {}", info.busy_workers(), info.pool_size))),
            or_dash(info.and_then(|info| percent(info.load.host_cpu_permille))),
            or_dash(info.and_then(memory_in_use)),
            or_dash(info.map(|info| info.labels.to_string()).filter(|labels| !labels.is_empty())),
            or_dash(info.map(|info| &info.node_name)),
            if node.foreign { "Quartz" } else { "Carnelian" }.to_owned(),
        ]
    })
}

fn everything(node: &InstanceStatus, now_ms: i64) -> String {
    let mut shown = vec![
        ("instance", Some(node.instance.clone())),
        ("state", Some(node_state(node))),
        ("last check-in", Some(ago(epoch_ms(node.last_checkin), now_ms))),
        ("check-in interval", Some(span(millis(node.checkin_interval)))),
        ("running", Some(node.running.to_string())),
        ("kind", Some(if node.foreign { "Quartz" } else { "Carnelian" }.to_owned())),
    ];
    let Some(NodeRow { started_ms, info, .. }) = &node.node else { return fields(&shown) };
    let load = &info.load;
    shown.extend([
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
        ("alarms", alarms_in_words(info)),
        ("cores", load.cores.map(|cores| cores.to_string())),
        ("CPU of the machine", percent(load.host_cpu_permille)),
        ("CPU of the process", percent(load.process_cpu_permille)),
        ("memory of the machine", memory_in_use(info)),
        ("memory of the process", load.process_memory.map(memory_in_words)),
        ("its limit", load.memory_limit.map(memory_in_words)),
        ("threads", load.threads.map(|threads| threads.to_string())),
    ]);
    fields(&shown)
}
