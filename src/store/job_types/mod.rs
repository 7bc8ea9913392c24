//! `JobTypes`: the job types that nodes can run, and the jobs that no node can run.

mod deleting;
mod migrate;
mod orphans;
mod publishing;

pub use deleting::DeletedJobs;
pub use migrate::{Migrated, Upgrade};
pub use orphans::{Orphan, OrphanQuery, Orphans};

use crate::store::JobTypes;
