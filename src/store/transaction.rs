//! Transactions of the store: retry, and what to do when the outcome is not known.
