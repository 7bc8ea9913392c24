//! `Shard`: which part of a tick a run has, and its share of the work.

use super::context::JobContext;
use crate::rules::strategy::{part_keys, told};

/// The part of its tick that a run has.
///
/// ```
/// use carnelian::Shard;
///
/// let shard = Shard { index: 1, count: 3 };
/// assert_eq!(shard.share(["a", "b", "c", "d", "e"]), ["b", "e"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    /// The number of this part, from 0: its place in the answer of the strategy; with the built-in
    /// ones that of its node among those that take part, in order of their instance ids.
    pub index: usize,
    /// The number of parts; fixed when the tick is spread.
    pub count: usize,
}

impl Shard {
    /// This part's share of the items: each item whose place, modulo the count, is its index. The
    /// shares of all parts are all the items, each once, if all parts see the same items in the
    /// same order.
    pub fn share<T>(&self, items: impl IntoIterator<Item = T>) -> Vec<T> {
        items.into_iter().skip(self.index).step_by(self.count.max(1)).collect()
    }
}

impl JobContext {
    /// The part of its tick that this run has, by the job's
    /// [`Strategy`](crate::placement::Strategy): the whole, 0 of 1, if that is preempt. A share
    /// that another node runs again is the same share.
    pub fn shard(&self) -> Shard {
        let (index, count) = told(&self.trigger().data);
        Shard { index, count }
    }

    /// The instance ids of the nodes that were members of the cluster at this node's last check-in,
    /// this one included, in order: a node that has died counts until it is declared dead. Asks the
    /// database nothing.
    ///
    /// For work that is split without a [`Strategy`](crate::placement::Strategy); all nodes see the
    /// same members only while none comes or goes.
    pub fn live_nodes(&self) -> Vec<String> {
        self.node.store.members().to_vec()
    }

    /// The parameter that the strategy has given this part
    /// ([`NodePart::with`](crate::placement::NodePart::with)); none if it gave nothing. Property of
    /// the trigger's data: `CN_PART_PARAMETER`. The parameter goes with the share to whichever node
    /// runs it.
    pub fn part_parameter(&self) -> Option<&str> {
        self.trigger().data.text(part_keys::PARAMETER)
    }

    /// This run's share of the items, see [`Shard::share`].
    pub fn my_share<T>(&self, items: impl IntoIterator<Item = T>) -> Vec<T> {
        self.shard().share(items)
    }
}
