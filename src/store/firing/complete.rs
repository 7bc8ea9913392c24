//! Complete: whatever has ended since the last commit is recorded in one transaction.

use super::{Completion, CompletionOutcome};
use crate::error::Result;
use crate::store::{JobStore, Owner};

impl JobStore {
    /// Records the ends of fires, all in one transaction; the answer is in the order of `completions`.
    pub fn complete(&self, owner: &Owner, completions: &[Completion]) -> Result<Vec<CompletionOutcome>> {
        let _ = (owner, completions);
        todo!()
    }
}
