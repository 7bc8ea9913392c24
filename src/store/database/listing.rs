//! `ListingRows`: pages of triggers and jobs, as lists show them.

use crate::error::Result;
use crate::store::row::{Grouped, JobQuery, JobRow, Listed, TriggerQuery, TriggerSummary};

/// Rows of `TRIGGERS` and `JOB_DETAILS` in pages. The groups of a query's filter come beside it,
/// resolved to their names; none for all groups.
pub trait ListingRows {
    /// The triggers that the query asks for, in its order, at most as many as it says.
    fn trigger_page(&mut self, query: &TriggerQuery, groups: Option<&[String]>) -> Result<Vec<TriggerSummary>>;
    /// The jobs that the query asks for, in order of name and group, without their data.
    fn job_page(&mut self, query: &JobQuery, groups: Option<&[String]>) -> Result<Vec<JobRow>>;
    /// The number of triggers or jobs that a query asks for, on all pages.
    fn count_listed(&mut self, query: Listed<'_>, groups: Option<&[String]>) -> Result<usize>;
    /// The groups that have triggers or jobs, in order.
    fn groups(&mut self, of: Grouped) -> Result<Vec<String>>;
}
