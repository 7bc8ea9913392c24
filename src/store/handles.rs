//! Handles: the operations of a store in groups, each under a handle of its own.
//!
//! A handle gives its operations the rows (`store`) and the knowledge of the node that asks
//! (`node`).

use super::{JobStore, NodeView};

/// The operations on stored jobs, triggers, calendars and pauses; see [`JobStore::catalogue`].
#[derive(Clone, Copy)]
pub struct Catalogue<'a> {
    pub(super) store: &'a JobStore,
    pub(super) node: &'a NodeView,
}

/// The operations on the history; see [`JobStore::history`].
#[derive(Clone, Copy)]
pub struct History<'a> {
    pub(super) store: &'a JobStore,
}

/// The operations on job types; see [`JobStore::job_types`].
#[derive(Clone, Copy)]
pub struct JobTypes<'a> {
    pub(super) store: &'a JobStore,
    pub(super) node: &'a NodeView,
}

/// The operations on locks of applications; see [`JobStore::locks`].
#[derive(Clone, Copy)]
pub struct Locks<'a> {
    pub(super) store: &'a JobStore,
}

/// The operations on outages and on the recovery mode; see [`JobStore::outages`].
#[derive(Clone, Copy)]
pub struct Outages<'a> {
    pub(super) store: &'a JobStore,
    pub(super) node: &'a NodeView,
}

/// The operations on fires; see [`JobStore::firing`].
#[derive(Clone, Copy)]
pub struct Firing<'a> {
    pub(super) store: &'a JobStore,
    pub(super) node: &'a NodeView,
}

/// The operations on the cluster and its order; see [`JobStore::upkeep`].
#[derive(Clone, Copy)]
pub struct Upkeep<'a> {
    pub(super) store: &'a JobStore,
    pub(super) node: &'a NodeView,
}

/// The operations that tell what is wrong, and mend it; see [`JobStore::diagnosis`].
#[derive(Clone, Copy)]
pub struct Diagnosis<'a> {
    pub(super) store: &'a JobStore,
}

/// The operations on where work may run; see [`JobStore::placement`].
#[derive(Clone, Copy)]
pub struct ClusterPlacement<'a> {
    pub(super) store: &'a JobStore,
}

impl JobStore {
    /// The stored jobs, triggers, calendars and pauses.
    pub fn catalogue(&self) -> Catalogue<'_> {
        Catalogue { store: self, node: &self.view }
    }

    /// The history: the fires that have ended, and the fires that run.
    pub fn history(&self) -> History<'_> {
        History { store: self }
    }

    /// The job types that nodes can run, and the jobs that no node can run.
    pub fn job_types(&self) -> JobTypes<'_> {
        JobTypes { store: self, node: &self.view }
    }

    /// The locks of applications.
    pub fn locks(&self) -> Locks<'_> {
        Locks { store: self }
    }

    /// The total outages, and the recovery mode.
    pub fn outages(&self) -> Outages<'_> {
        Outages { store: self, node: &self.view }
    }

    /// Fires: how they are acquired, fired, completed and given back.
    pub fn firing(&self) -> Firing<'_> {
        Firing { store: self, node: &self.view }
    }

    /// The cluster: check-ins, recoveries, misfires, audits, and the state of nodes and fires.
    pub fn upkeep(&self) -> Upkeep<'_> {
        Upkeep { store: self, node: &self.view }
    }

    /// The diagnosis: what is not as it should be, and its repair; why a trigger does not run.
    pub fn diagnosis(&self) -> Diagnosis<'_> {
        Diagnosis { store: self }
    }

    /// The placement of work: the orders of operators, and who may run what.
    pub fn placement(&self) -> ClusterPlacement<'_> {
        ClusterPlacement { store: self }
    }
}
