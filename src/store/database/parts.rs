//! `PartRows`: the triggers of parts of spread ticks.

use crate::error::Result;
use crate::key::TriggerKey;

/// Triggers of the group of parts.
pub trait PartRows {
    /// The triggers of the group of parts whose names begin so, in order.
    fn parts(&mut self, prefix: &str) -> Result<Vec<TriggerKey>>;
}
