//! The row of the last fence.

use super::table::table;

table! {
    /// The row of `CN_FENCES`: the last fence that was drawn.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct FenceRow in "CN_FENCES" by [] {
        /// The fence.
        pub fence: i64,
    }
}
