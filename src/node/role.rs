//! `NodeRole` and `NodeActivity`: what a node is there for, and what it is doing.

use std::fmt;

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

impl NodeRole {
    /// The word that stands for it in settings and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Observer => "observer",
        }
    }

    /// The role of this word.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Worker, Self::Observer].into_iter().find(|role| role.name() == name)
    }
}

impl fmt::Display for NodeRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
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

impl NodeActivity {
    const ALL: [Self; 6] =
        [Self::Starting, Self::Firing, Self::Standby, Self::Passive, Self::Observing, Self::Stopping];

    /// The word that stands for it in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Firing => "firing",
            Self::Standby => "standby",
            Self::Passive => "passive",
            Self::Observing => "observing",
            Self::Stopping => "stopping",
        }
    }

    /// True if the node takes work, or will as soon as it can. A passive node counts: it stands
    /// ready.
    pub fn takes_work(self) -> bool {
        matches!(self, Self::Starting | Self::Firing | Self::Passive)
    }

    /// The activity of this word.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|activity| activity.name() == name)
    }
}

impl fmt::Display for NodeActivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
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
