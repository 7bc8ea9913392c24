//! A lock of the application as a row.

use super::table::table;

table! {
    /// A row of `CN_LOCKS`: a lock of the application that is held, or was until its time was over.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct LockRow in "CN_LOCKS" by [name] {
        /// The name.
        pub name: String = [lock_name],
        /// Drawn at random by each taking: who may renew and release it.
        pub holder: String,
        /// The instance that has taken it, for people.
        pub instance: String = [instance_name],
        /// Larger than that of every earlier taking of any lock, and of every earlier fire, of the
        /// scheduler.
        pub fence: i64,
        /// The time at which it was taken, epoch milliseconds by the store's clock.
        pub taken_ms: i64,
        /// For how long each renewal holds, in milliseconds.
        pub ttl_ms: i64,
        /// The time at which it may be taken over, epoch milliseconds by the store's clock.
        pub expires_ms: i64,
    }
}
