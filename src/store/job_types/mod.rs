//! `JobTypes`: the job types that nodes can run, and the jobs that no node can run.

mod migrate;
mod orphans;
mod publishing;

pub use migrate::{Migrated, Upgrade};
pub use orphans::{Orphan, Orphans};

use crate::store::JobStore;

/// The operations on job types; see [`JobStore::job_types`].
#[derive(Clone, Copy)]
pub struct JobTypes<'a> {
    store: &'a JobStore,
}

impl JobStore {
    /// The job types that nodes can run, and the jobs that no node can run.
    pub fn job_types(&self) -> JobTypes<'_> {
        JobTypes { store: self }
    }
}
