//! A row of `CN_NODES`.

use crate::node::NodeInfo;

/// A row of `CN_NODES`: what a node of ours said of itself with its last check-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRow {
    /// The instance's name.
    pub instance: String,
    /// When it was started, epoch milliseconds by the store's clock.
    pub started_ms: i64,
    /// When it said this, epoch milliseconds by the store's clock.
    pub seen_ms: i64,
    /// What it said.
    pub info: NodeInfo,
}
