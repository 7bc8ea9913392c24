//! `Reporter`: what this node says of itself with each check-in.

use crate::machine::{Machine, MachineReading};
use crate::node::{NodeActivity, NodeInfo, NodeReport, NodeRole};
use crate::scheduler::node::Node;
use std::sync::Arc;
use std::time::Duration;

/// Makes the reports of one node; kept by its cluster manager between check-ins.
pub(crate) struct Reporter {
    /// The part that never changes.
    fixed: NodeInfo,
    machine: Arc<dyn Machine>,
    before: MachineReading,
    /// The time at which the node was started, in ticks.
    started: Duration,
}

impl Reporter {
    pub(crate) fn new(node: &Node) -> Self {
        let settings = &node.settings.node;
        let (host, ip) = (node.machine.host(), node.machine.address().map(|ip| ip.to_string()));
        let parts: Vec<&str> = [&ip, &host].into_iter().flatten().map(String::as_str).collect();
        let fixed = NodeInfo {
            node_name: settings.name.clone().unwrap_or_else(|| match parts.is_empty() {
                true => node.instance.to_string(),
                false => parts.join("_"),
            }),
            display_name: settings.display_name.clone().unwrap_or_else(|| node.instance.to_string()),
            application: settings.application.clone().unwrap_or_else(|| node.name.to_string()),
            application_version: settings.application_version.clone(),
            library_version: env!("CARGO_PKG_VERSION").to_owned(),
            labels: settings.labels.clone(),
            role: settings.role,
            host,
            ip,
            pid: std::process::id(),
            pool_size: node.settings.thread_pool.thread_count,
            ..NodeInfo::default()
        };
        let machine = Arc::clone(&node.machine);
        Self { fixed, before: machine.read(), machine, started: node.clock.ticks() }
    }

    /// The node as it is now; the loads are those since the last report.
    pub(crate) fn report(&mut self, node: &Node) -> NodeReport {
        let now = self.machine.read();
        let load = now.load_since(&self.before);
        self.before = now;
        let small = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let pool = node.pool();
        let (pool_size, free_workers) = match &pool {
            Some(pool) => (small(pool.size()), small(pool.free())),
            // The pool is about to be made.
            None => (self.fixed.pool_size, self.fixed.pool_size),
        };
        let activity = if node.running_fires.stopping.is_set() || node.work_state.stop_step().is_some() {
            NodeActivity::Stopping
        } else if pool.is_none() {
            NodeActivity::Starting
        } else if self.fixed.role == NodeRole::Observer {
            NodeActivity::Observing
        } else if node.work_state.standby.is_set() {
            NodeActivity::Standby
        } else if !node.work_state.is_active() {
            NodeActivity::Passive
        } else {
            NodeActivity::Firing
        };
        let running = small(node.running_fires.count());
        let alarms = node.metrics.view.lock().raised.iter().copied().collect();
        let info = NodeInfo { activity, pool_size, free_workers, running, load, alarms, ..self.fixed.clone() };
        NodeReport { info, uptime: node.clock.ticks().saturating_sub(self.started) }
    }
}
