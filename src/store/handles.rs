//! Handles: the operations of a store in groups, each under a handle of its own.
//!
//! A handle gives its operations the rows (`store`) and, where they need it, the knowledge of the
//! node that asks (`node`).

use super::{JobStore, NodeView};

/// Makes a handle, and the method of the store that gives it.
macro_rules! handles {
    ($($(#[$doc:meta])+ $name:ident by $method:ident $(with $node:ident)?;)+) => {
        $($(#[$doc])+
        #[derive(Clone, Copy)]
        pub struct $name<'a> {
            pub(super) store: &'a JobStore,
            $(pub(super) $node: &'a NodeView,)?
        })+

        impl JobStore {
            $($(#[$doc])+
            pub fn $method(&self) -> $name<'_> {
                $name { store: self, $($node: &self.view)? }
            })+
        }
    };
}

handles! {
    /// The operations on stored jobs, triggers, calendars and pauses.
    Catalogue by catalogue with node;
    /// The operations on the history: the fires that have ended, and the fires that run.
    History by history;
    /// The operations on the job types that nodes can run, and on the jobs that no node can run.
    JobTypes by job_types with node;
    /// The operations on locks of applications.
    Locks by locks;
    /// The operations on total outages and on the recovery mode.
    Outages by outages with node;
    /// The operations on fires: how they are acquired, fired, completed and given back.
    Firing by firing with node;
    /// The operations on the cluster: check-ins, recoveries, misfires, audits, and the state of
    /// nodes and fires.
    Upkeep by upkeep with node;
    /// The operations that tell what is wrong, and mend it; and why a trigger does not run.
    Diagnosis by diagnosis;
    /// The operations on where work may run: the orders of operators, and who may run what.
    ClusterPlacement by placement;
}
