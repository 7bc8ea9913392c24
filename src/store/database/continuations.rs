//! `ContinuationRows`: what a store needs of the place where continuations are kept.

use crate::error::Result;
use crate::key::JobKey;
use crate::store::row::ContinuationRow;

/// Rows of our side table of continuations.
pub trait ContinuationRows {
    /// The continuations that these jobs are parents of, in no order.
    fn children_of(&mut self, parents: &[JobKey]) -> Result<Vec<ContinuationRow>>;
    /// The continuations that these jobs are children of, in no order.
    fn parents_of(&mut self, children: &[JobKey]) -> Result<Vec<ContinuationRow>>;
    /// Every continuation, in no order.
    fn all_continuations(&mut self) -> Result<Vec<ContinuationRow>>;
}
