//! Definitions in code, in a map.

use super::MemorySession;
use crate::error::Result;
use crate::key::JobKey;
use crate::store::database::DefinitionRows;
use crate::store::row::DefinitionRow;

impl DefinitionRows for MemorySession<'_> {
    fn definitions(&mut self) -> Result<Vec<DefinitionRow>> {
        self.reads()?;
        let mut rows: Vec<DefinitionRow> = self.tables.defined.values().cloned().collect();
        rows.sort_by(|a, b| (a.job.group(), a.job.name()).cmp(&(b.job.group(), b.job.name())));
        Ok(rows)
    }

    fn put_definitions(&mut self, rows: &[DefinitionRow]) -> Result<()> {
        self.changes()?;
        for row in rows {
            // A trigger may have been another definition's.
            let others: Vec<DefinitionRow> =
                self.tables.defined.values().filter(|other| other.job != row.job).cloned().collect();
            for mut other in others {
                let count = other.triggers.len();
                other.triggers.retain(|trigger| !row.triggers.contains(trigger));
                if other.triggers.len() < count {
                    self.tables.defined.put(other.job.clone(), other);
                }
            }
            self.tables.defined.put(row.job.clone(), row.clone());
        }
        Ok(())
    }

    fn delete_definitions(&mut self, jobs: &[JobKey]) -> Result<()> {
        self.changes()?;
        for job in jobs {
            self.tables.defined.remove(job);
        }
        Ok(())
    }
}
