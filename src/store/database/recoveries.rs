//! What a session reads and writes for recoveries: the fires that it may take away, and the work
//! that is set aside.

use crate::error::Result;
use crate::key::TriggerKey;
use crate::store::row::{FiredRow, Parked};

/// Fired rows as a recovery takes them, and rows of our side table of parked work.
///
/// A job may hold the row of its fire in a transaction of its own. Nobody waits for such a row
/// under a lock of the cluster: it is passed over, and looked at again. A database without `SKIP
/// LOCKED` waits for it.
pub trait RecoveryRows {
    /// Those of these fired rows that are there and that nobody else holds. They are held from then
    /// on.
    fn free_fired(&mut self, ids: &[String]) -> Result<Vec<String>>;
    /// The same of the fired rows of an instance, at most `most`, the earliest scheduled time
    /// first.
    fn free_fired_of_instance(&mut self, instance: &str, most: usize) -> Result<Vec<FiredRow>>;
    /// Notes that these triggers are parked, in the place of what was noted of them before.
    fn put_parked(&mut self, parked: &[Parked]) -> Result<()>;
    /// The parked work whose trigger is still there in `ERROR`, in the order in which it was
    /// parked.
    fn parked(&mut self) -> Result<Vec<Parked>>;
    /// Forgets that these triggers were parked.
    fn delete_parked(&mut self, triggers: &[TriggerKey]) -> Result<()>;
}
