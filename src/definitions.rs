//! Definitions: what became of jobs that are defined in code or in files, or renamed.
//!
//! [`JobDefinition`](crate::JobDefinition) is a job that a program defines in code.

#[cfg(feature = "job-files")]
pub use crate::store::Imported;
pub use crate::store::{
    DefinitionReport, DeletedJobs, MAX_CHILDREN, MAX_PASSED_BYTES, Migrated, Orphan, OrphanedDefinitions, Orphans,
    Renamed, WhyLeft,
};
