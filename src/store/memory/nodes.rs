//! What nodes say of themselves, in a map.

use super::MemorySession;
use crate::error::Result;
use crate::store::database::NodeRows;
use crate::store::row::NodeRow;

impl NodeRows for MemorySession<'_> {
    fn put_node(&mut self, row: &NodeRow) -> Result<()> {
        self.reads()?;
        let before = self.tables.nodes.get(&row.instance).map(|before| before.started_ms);
        let row = NodeRow { started_ms: before.unwrap_or(row.started_ms), ..row.clone() };
        self.tables.nodes.put(row.instance.clone(), row);
        Ok(())
    }

    fn nodes(&mut self) -> Result<Vec<NodeRow>> {
        self.reads()?;
        Ok(self.tables.nodes.values().cloned().collect())
    }
}
