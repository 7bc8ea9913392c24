//! `DefinitionReport`: the changes that the definitions of a program have caused.

use crate::key::JobKey;
use crate::rules::declared::{Decision, WhyLeft};

/// The treatment of jobs that a program has declared once and declares no longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OrphanedDefinitions {
    /// The report names the jobs; the jobs stay.
    #[default]
    Report,
    /// The jobs are deleted with their triggers; runs in progress end as usual. Not for programs of
    /// several versions that share a source: each would delete the jobs of the other.
    Delete,
}

/// The changes that the definitions of a program have caused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DefinitionReport {
    /// Jobs that were missing and are stored now.
    pub inserted: Vec<JobKey>,
    /// Jobs that were stored again, or whose triggers were.
    pub updated: Vec<JobKey>,
    /// Jobs that were left alone, and why.
    pub left: Vec<(JobKey, WhyLeft)>,
    /// Jobs that this source has defined once and does not any more.
    pub orphaned: Vec<JobKey>,
    /// Orphaned jobs that were deleted.
    pub deleted: Vec<JobKey>,
    /// Deviations from the definitions: triggers that have no fire time left.
    pub remarks: Vec<String>,
}

impl DefinitionReport {
    /// True if everything was stored as declared, or was to be left alone.
    pub fn changed_nothing(&self) -> bool {
        self.inserted.is_empty() && self.updated.is_empty() && self.deleted.is_empty()
    }

    pub(super) fn add(&mut self, job: &JobKey, decision: Decision) {
        match decision {
            Decision::Insert => self.inserted.push(job.clone()),
            Decision::Update => self.updated.push(job.clone()),
            Decision::Leave(why) => self.left.push((job.clone(), why)),
        }
    }
}
