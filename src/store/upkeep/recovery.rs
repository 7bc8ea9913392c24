//! Recovery: the work of a failed instance goes back to the living, in one transaction.
