//! Rows about where work may run: nodes that take none, limits of groups, and what due triggers are
//! left alone.

use super::table::{columns, table};
use crate::epoch::moment;
use crate::node::NodeIdentity;
use crate::words::words;
use chrono::{DateTime, Utc};

/// The nodes, those of them that take no work, and the limits: the rows that a check-in reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlacementView {
    /// The nodes, by what they say of themselves.
    pub nodes: Vec<NodeIdentity>,
    /// The nodes that take no work.
    pub blacklist: Vec<BlacklistRow>,
    /// The limits of groups.
    pub limits: Vec<LimitRow>,
}

table! {
    /// A row of `CN_BLACKLIST`: a node that takes no work.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct BlacklistRow in "CN_BLACKLIST" by [node, kind] {
        /// The instance id or node name.
        pub node: String = [node_name],
        /// The kind, which says what becomes of the node's runs.
        pub kind: BlacklistKind,
        /// Why.
        pub reason: Option<String>,
        /// The name of the person or program that put the node on the list.
        pub who: String,
        /// Until when, epoch milliseconds; for good if none.
        #[doc(hidden)]
        pub until_ms: Option<i64>,
        /// The time at which it was done, epoch milliseconds.
        #[doc(hidden)]
        pub made_ms: i64,
    }
}

impl BlacklistRow {
    /// Until when; for good if none, or if no calendar has that day.
    pub fn until(&self) -> Option<DateTime<Utc>> {
        self.until_ms.and_then(DateTime::from_timestamp_millis)
    }

    /// The time at which it was done.
    pub fn made_at(&self) -> DateTime<Utc> {
        moment(self.made_ms)
    }
}

/// Why a node takes no work, and what becomes of what it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlacklistKind {
    /// The node is on the blacklist; its runs go on.
    Blacklist,
    /// The node is drained; its runs go on.
    Drain,
    /// The node is drained, and its runs are asked to stop.
    DrainAndStop,
}

words! {
    /// The text in `KIND`.
    BlacklistKind { Blacklist = "blacklist", Drain = "drain", DrainAndStop = "drain-stop" }
}

impl BlacklistKind {
    /// The kinds that this one takes the place of.
    pub fn replaces(self) -> &'static [Self] {
        match self {
            BlacklistKind::Blacklist => &[BlacklistKind::Blacklist],
            BlacklistKind::Drain | BlacklistKind::DrainAndStop => &[BlacklistKind::Drain, BlacklistKind::DrainAndStop],
        }
    }
}

columns! {
    // A kind of a later version keeps a node from work too.
    BlacklistKind, Text: |kind| kind.name().to_owned(), |name| Some(BlacklistKind::from_name(&name).unwrap_or(BlacklistKind::Blacklist));
}

table! {
    /// A row of `CN_GROUP_LIMITS`: how many runs of a group of jobs there may be.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct LimitRow in "CN_GROUP_LIMITS" by [group] {
        /// The group.
        pub group: String = [job_group],
        /// On each node.
        pub per_node: Option<u32>,
        /// In the cluster.
        pub per_cluster: Option<u32>,
        /// The name of the person or program that set the limit.
        pub who: String,
        /// The time at which the limit was set, epoch milliseconds.
        #[doc(hidden)]
        pub made_ms: i64,
    }
}

impl LimitRow {
    /// The time at which the limit was set.
    pub fn made_at(&self) -> DateTime<Utc> {
        moment(self.made_ms)
    }
}

/// The number of runs of a group of jobs that an instance has, from `FIRED_TRIGGERS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRuns {
    /// The group.
    pub group: String,
    /// The instance.
    pub instance: String,
    /// The number of runs.
    pub running: u32,
}

/// The due triggers that a node leaves to others for now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exclusions {
    /// Triggers of jobs of these groups.
    pub groups: Vec<String>,
    /// Triggers of jobs with these policies that are due after a moment, epoch milliseconds.
    pub policies: Vec<(String, i64)>,
    /// The ticks of jobs with these policies, since a node has not the strategies that they name.
    pub ticks: Vec<String>,
    /// Parts of spread ticks whose names do not begin so, unless they are for any node; all are
    /// seen if none.
    pub parts_but: Option<String>,
}

impl Exclusions {
    /// Tells whether nothing is excluded.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.policies.is_empty() && self.ticks.is_empty() && self.parts_but.is_none()
    }

    /// Tells whether a trigger is excluded: by the group and the policy of its job, and the time it
    /// is due.
    pub fn excludes(&self, group: &str, policy: Option<&str>, next_ms: Option<i64>) -> bool {
        let by_policy = |(text, after_ms): &(String, i64)| {
            policy == Some(text) && next_ms.is_some_and(|next_ms| next_ms > *after_ms)
        };
        self.groups.iter().any(|one| one == group) || self.policies.iter().any(by_policy)
    }
}
