//! `NodeRows`: what nodes say of themselves.

use crate::error::Result;
use crate::store::row::NodeRow;

/// Rows of our side table of nodes. A row goes with that of its instance.
pub trait NodeRows {
    /// Writes what a node says of itself in the place of what it said before, in one statement. When it was started stays
    /// as it was first written.
    fn put_node(&mut self, row: &NodeRow) -> Result<()>;
    /// What the nodes say of themselves, in order of the names of their instances.
    fn nodes(&mut self) -> Result<Vec<NodeRow>>;
}
