//! The rows of continuations.

use crate::key::JobKey;

/// A row of `CN_CONTINUATIONS`, of jobs that are both there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContinuationRow {
    /// The job that is followed.
    pub parent: JobKey,
    /// The type of that job when this was written: another program may have replaced it since.
    pub parent_type: String,
    /// The job that follows.
    pub child: JobKey,
    /// Stands for the child where its key is too long.
    pub child_hash: String,
    /// After which ends; kept as text since it may be of a later version.
    pub on: String,
    /// Only runs of a larger fence are followed.
    pub since_fence: i64,
    /// Data for the child, in whichever form `useProperties` says.
    pub data: Option<Vec<u8>>,
    /// Whether the child disallows concurrent execution. Read only.
    pub child_nonconcurrent: bool,
    /// Whether a fire of the child is executing beside which the child may not run. Read only.
    pub child_is_blocked: bool,
}
