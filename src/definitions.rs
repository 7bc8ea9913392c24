//! Definitions: what became of jobs that programs define in code, in job files, or under other names.
//!
//! [`JobDefinition`](crate::JobDefinition) is a job that a program defines in code.

#[cfg(feature = "job-files")]
pub use crate::store::Imported;
pub use crate::store::{DefinitionReport, Migrated, Orphan, OrphanedDefinitions, Orphans, Renamed, WhyLeft};
