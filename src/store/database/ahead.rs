//! What a session reads and writes of fires that were taken ahead, and of which of them have begun.

use super::Owner;
use crate::error::Result;
use crate::rules::begun::BeginMark;
use crate::store::row::AheadFire;

/// Rows of our side tables of fires taken ahead and of begin marks.
pub trait AheadRows {
    /// Leaves these fires, which an instance takes ahead, for whoever finds it dead.
    fn insert_ahead(&mut self, instance: &str, fires: &[AheadFire]) -> Result<()>;
    /// The fires that an instance has taken ahead; those that have ended may be among them.
    fn ahead(&mut self, instance: &str) -> Result<Vec<AheadFire>>;
    /// Forgets what an instance has taken ahead in batches that end before this fence.
    fn delete_ahead(&mut self, instance: &str, before: i64) -> Result<()>;
    /// A first mark, for an instance that registers: nothing has begun.
    fn reset_begun(&mut self, owner: &Owner) -> Result<()>;
    /// Notes what has begun, by one statement. False if the owner was declared dead, or a later
    /// mark is there.
    fn note_begun(&mut self, owner: &Owner, mark: &BeginMark) -> Result<bool>;
    /// The mark of an instance. With `closes` it is the last: the instance can begin nothing more
    /// that it has taken ahead.
    fn begun(&mut self, instance: &str, closes: bool) -> Result<Option<BeginMark>>;
    /// Forgets an instance's mark and all that it has taken ahead.
    fn forget_ahead(&mut self, instance: &str) -> Result<()>;
}
