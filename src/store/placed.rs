//! `Placed`: the placement of work, as one node knows it.

use crate::hash::HashMap;
use crate::job::Placement;
use crate::rules::placement::{ClusterView, NodeIdentity};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The placement of work, as one node knows it.
#[derive(Debug, Default)]
pub(in crate::store) struct Placed {
    /// The node of this store, once it has tried to check in.
    pub(super) me: Option<Arc<NodeIdentity>>,
    /// The cluster at the last check-in.
    pub(super) view: Arc<ClusterView>,
    /// Policies with placements that were refused here, as they are stored.
    pub(super) refused: HashMap<String, Arc<Placement>>,
    /// Policies that name strategies that this node does not have, as they are stored.
    pub(super) foreign: BTreeSet<String>,
    /// Parts of fanned-out ticks were seen: from then on those of other nodes are left out.
    pub(super) sees_parts: bool,
}
