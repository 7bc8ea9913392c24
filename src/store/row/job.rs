//! The rows of jobs.

use crate::key::JobKey;

/// A row of `JOB_DETAILS`.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRow {
    /// The key.
    pub key: JobKey,
    /// A note for people.
    pub description: Option<String>,
    /// `JOB_CLASS_NAME`.
    pub job_type: String,
    /// `IS_DURABLE`.
    pub durable: bool,
    /// `IS_NONCONCURRENT`.
    pub nonconcurrent: bool,
    /// `IS_UPDATE_DATA`.
    pub update_data: bool,
    /// `REQUESTS_RECOVERY`.
    pub requests_recovery: bool,
    /// `JOB_DATA`, in whichever form `useProperties` says.
    pub data: Option<Vec<u8>>,
    /// The row in `CN_JOB_POLICIES`.
    pub policy: Option<String>,
    /// The row in `CN_JOB_MARKS`; a candidate is read without.
    pub marks: Option<String>,
}
