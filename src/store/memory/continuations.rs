//! Continuations in a map.

use super::MemorySession;
use crate::error::Result;
use crate::key::JobKey;
use crate::store::database::ContinuationRows;
use crate::store::row::ContinuationRow;

impl MemorySession<'_> {
    fn chosen(&self, takes: impl Fn(&ContinuationRow) -> bool) -> Vec<ContinuationRow> {
        let filled = |row: ContinuationRow| ContinuationRow {
            child_is_blocked: self.tables.fired.index().is_executing_alone(&row.child),
            ..row
        };
        self.tables.rows().filter(|row| takes(row)).map(filled).collect()
    }
}

impl ContinuationRows for MemorySession<'_> {
    fn children_of(&mut self, parents: &[JobKey]) -> Result<Vec<ContinuationRow>> {
        self.reads()?;
        Ok(self.chosen(|row| parents.contains(&row.parent)))
    }

    fn parents_of(&mut self, children: &[JobKey]) -> Result<Vec<ContinuationRow>> {
        self.reads()?;
        Ok(self.chosen(|row| children.contains(&row.child)))
    }

    fn all_continuations(&mut self) -> Result<Vec<ContinuationRow>> {
        self.reads()?;
        Ok(self.chosen(|_| true))
    }
}
