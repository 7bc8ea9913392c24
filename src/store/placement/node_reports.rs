//! `NodeReports`: what nodes have said of themselves, and which of the nodes take work.

use crate::error::Result;
use crate::hash::HashMap;
use crate::node::NodeInfo;
use crate::rules::placement::{NodeIdentity, takes_any};
use crate::store::Session;
use crate::store::row::{BlacklistRow, InstanceRow, NodeRow};

/// The reports of the nodes on themselves, and which of them are to take no work.
#[derive(Default)]
pub(in crate::store) struct NodeReports {
    nodes: HashMap<String, NodeRow>,
    blacklist: Vec<BlacklistRow>,
}

impl NodeReports {
    pub(in crate::store) fn read(s: &mut dyn Session) -> Result<Self> {
        Ok(Self::new(s.rows().list()?, s.rows().by(&["node", "kind"]).list()?))
    }

    /// The report of one node alone.
    pub(in crate::store) fn of(s: &mut dyn Session, instance: &str) -> Result<Self> {
        let report: Option<NodeRow> = s.row(instance)?;
        Ok(Self::new(report.into_iter().collect(), s.rows().by(&["node", "kind"]).list()?))
    }

    pub(in crate::store) fn new(nodes: Vec<NodeRow>, blacklist: Vec<BlacklistRow>) -> Self {
        Self { nodes: nodes.into_iter().map(|node| (node.instance.clone(), node)).collect(), blacklist }
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

/// A node takes work, by what it has said of itself. The rows that a node of ours has left under
/// the name of one of Quartz say nothing of that.
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
