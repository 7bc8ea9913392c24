//! `NodeIdentity`: a node as placement knows it.

use super::{Labels, NodeActivity, NodeInfo, NodeRole};

/// The node's account of itself, as far as placement needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeIdentity {
    /// The instance id of the node.
    pub instance: String,
    /// The name of its machine or place (`carnelian.scheduler.nodeName`), if it is known.
    pub node_name: Option<String>,
    /// The labels of the node; none if they are not known.
    pub labels: Option<Labels>,
    /// The role of the node: an observer runs no jobs.
    pub role: NodeRole,
    /// The activity of the node at its last check-in.
    pub activity: NodeActivity,
}

impl NodeIdentity {
    /// A node of which nothing but its instance id is known.
    pub fn of_instance(instance: impl Into<String>) -> Self {
        Self { instance: instance.into(), ..Self::default() }
    }

    /// A node that says this of itself.
    pub fn of_info(instance: impl Into<String>, info: &NodeInfo) -> Self {
        Self {
            instance: instance.into(),
            node_name: Some(info.node_name.clone()),
            labels: Some(info.labels.clone()),
            role: info.role,
            activity: info.activity,
        }
    }

    /// True if `name` is the node's instance id or its node name.
    pub fn is_named(&self, name: &str) -> bool {
        self.instance == name || self.node_name.as_deref() == Some(name)
    }
}
