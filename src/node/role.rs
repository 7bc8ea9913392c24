//! `NodeRole` and `NodeActivity`: what a node is there for, and what it is doing.

use crate::words::words;

/// The role of a node in the cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeRole {
    /// The node runs jobs (`worker`).
    #[default]
    Worker,
    /// The node checks in and looks after the others, but runs no jobs (`observer`).
    Observer,
}

words! {
    /// The word that stands for it in settings and tables.
    NodeRole {
        Worker = "worker",
        Observer = "observer",
    }
}

/// The activity of a node at its last check-in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeActivity {
    /// The node has registered, and is about to begin (`starting`).
    #[default]
    Starting,
    /// The node takes work (`firing`).
    Firing,
    /// The node was told to stand by (`standby`).
    Standby,
    /// Another node fires, in active-passive mode (`passive`).
    Passive,
    /// The node is an observer (`observing`).
    Observing,
    /// The node is ending (`stopping`).
    Stopping,
}

words! {
    /// The word that stands for it in tables and JSON.
    NodeActivity {
        Starting = "starting",
        Firing = "firing",
        Standby = "standby",
        Passive = "passive",
        Observing = "observing",
        Stopping = "stopping",
    }
}

impl NodeActivity {
    /// True if the node takes work, or will as soon as it can. A passive node counts: it stands
    /// ready.
    pub fn takes_work(self) -> bool {
        matches!(self, Self::Starting | Self::Firing | Self::Passive)
    }

    /// True if the node fires, or will as soon as it can: it takes part in ticks.
    pub(crate) fn fires(self) -> bool {
        matches!(self, Self::Starting | Self::Firing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activities_are_known_by_their_words() {
        for activity in NodeActivity::ALL {
            assert_eq!(NodeActivity::from_name(activity.name()), Some(activity));
        }
        assert_eq!(NodeActivity::from_name("asleep"), None);
    }

    #[test]
    fn roles_are_known_by_their_words() {
        for role in [NodeRole::Worker, NodeRole::Observer] {
            assert_eq!(NodeRole::from_name(role.name()), Some(role));
        }
        assert_eq!(NodeRole::from_name("master"), None);
    }
}
