//! Tokens of transactions that were committed.

use super::table::table;

table! {
    /// A row of `CN_COMMITS`: the transaction of a token was committed.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CommitRow in "CN_COMMITS" by [token] {
        /// The token.
        pub token: String,
        /// The time at which the transaction wrote it, epoch milliseconds by the store's clock.
        pub made_ms: i64,
    }
}
