//! The rows of what nodes say of themselves, and which of the nodes take work.

use crate::error::{Result, storable};
use crate::node::{NodeInfo, NodeReport, NodeRole};
use crate::rules::failover::millis;
use crate::rules::placement::{NodeIdentity, takes_any};
use crate::store::Session;
use crate::store::row::{BlacklistRow, InstanceRow, NodeRow};
use std::collections::BTreeMap;

/// The row of a node that says this now. Texts are cut to their columns: a name that is too long is
/// no reason to miss a check-in.
pub(super) fn row(instance: &str, report: &NodeReport, now_ms: i64) -> NodeRow {
    let NodeInfo { node_name, display_name, application, application_version, library_version, host, ip, .. } =
        &report.info;
    let optional = |text: &Option<String>, limit| text.as_ref().map(|text| storable(text, limit));
    NodeRow {
        instance: instance.to_owned(),
        started_ms: now_ms.saturating_sub(millis(report.uptime)),
        seen_ms: now_ms,
        info: NodeInfo {
            node_name: storable(node_name, 200),
            display_name: storable(display_name, 200),
            application: storable(application, 120),
            application_version: optional(application_version, 120),
            library_version: storable(library_version, 60),
            host: optional(host, 255),
            ip: optional(ip, 60),
            ..report.info.clone()
        },
    }
}

/// The place of a node among those that serve, `next` for the newest. An observer comes after all
/// others, or it would be the one that fires in active-passive mode.
pub(super) fn place(report: Option<&NodeReport>, next: i64) -> i64 {
    let observes = report.is_some_and(|report| report.info.role == NodeRole::Observer);
    if observes { i64::MAX } else { next }
}

/// A node takes work, by what it has said of itself. What is left of a node of ours under
/// the name of one of Quartz says nothing of that.
pub(in crate::store) fn takes_work(
    row: &InstanceRow,
    info: Option<&NodeInfo>,
    blacklist: &[BlacklistRow],
    now_ms: i64,
) -> bool {
    let is_free = |node: &NodeIdentity| takes_any(node, blacklist, now_ms).is_ok();
    match info.filter(|_| row.incarnation.is_some()) {
        None => row.incarnation.is_none() || is_free(&NodeIdentity::of_instance(&row.name)),
        Some(info) => info.activity.takes_work() && is_free(&NodeIdentity::of_info(&row.name, info)),
    }
}

/// The reports of the nodes on themselves, and which of them are to take no work.
#[derive(Default)]
pub(in crate::store) struct Said {
    nodes: BTreeMap<String, NodeRow>,
    blacklist: Vec<BlacklistRow>,
}

impl Said {
    pub(in crate::store) fn read(s: &mut dyn Session) -> Result<Self> {
        let nodes = s.rows::<NodeRow>().list()?.into_iter().map(|node| (node.instance.clone(), node)).collect();
        Ok(Self { nodes, blacklist: s.rows().by(&["node", "kind"]).list()? })
    }

    /// A node takes work.
    pub(in crate::store) fn takes_work(&self, row: &InstanceRow, now_ms: i64) -> bool {
        takes_work(row, self.nodes.get(&row.name).map(|node| &node.info), &self.blacklist, now_ms)
    }

    /// The report of a node; none of one of Quartz.
    pub(in crate::store) fn take(&mut self, row: &InstanceRow) -> Option<NodeRow> {
        self.nodes.remove(&row.name).filter(|_| row.incarnation.is_some())
    }

    /// Neither its role nor an order keeps a node from work.
    pub(in crate::store) fn is_free(&self, node: &NodeIdentity, now_ms: i64) -> bool {
        takes_any(node, &self.blacklist, now_ms).is_ok()
    }
}
