//! Audit: what no living node is responsible for is set right, and said.

use super::AuditPass;
use crate::error::Result;
use crate::store::JobStore;

impl JobStore {
    /// Looks for triggers acquired or blocked by nobody, and complete ones nobody removed, and mends them.
    pub fn audit(&self) -> Result<AuditPass> {
        todo!()
    }
}
