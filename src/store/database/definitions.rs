//! `DefinitionRows`: what was noted of definitions in code.

use crate::error::Result;
use crate::key::JobKey;
use crate::store::row::DefinitionRow;

/// Rows of our side tables of definitions in code.
pub trait DefinitionRows {
    /// Every definition that was noted, in order of the jobs.
    fn definitions(&mut self) -> Result<Vec<DefinitionRow>>;
    /// Notes definitions in the place of those that were noted for the same jobs.
    fn put_definitions(&mut self, rows: &[DefinitionRow]) -> Result<()>;
    /// Forgets the definitions of these jobs.
    fn delete_definitions(&mut self, jobs: &[JobKey]) -> Result<()>;
}
