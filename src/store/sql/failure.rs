//! `Failure`: what a database said, with its class.

use crate::error::{DatabaseError, Error, FailureClass};

/// The end of an error about tables that are not there.
pub(super) const MAKE_TABLES: &str = ": call `Scheduler::migrate`, or run `carnelian migrate`";

/// The end of an error about an index that is not there and that a statement names.
const MAKE_INDEX: &str =
    ": somebody has dropped the index, or put a backup of the tables back; `carnelian doctor --repair` makes it again";

/// A failure of a database.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct Failure {
    pub class: FailureClass,
    pub message: String,
}

impl Failure {
    #[cfg(feature = "postgres")]
    pub(super) fn of_lost(message: impl Into<String>) -> Self {
        Self { class: FailureClass::ConnectionLost, message: message.into() }
    }

    /// The refusal to set what others would find in their session.
    pub(super) fn of_session_left() -> Self {
        Self {
            class: FailureClass::Permanent,
            message:
                "a pooler lends sessions by the transaction (carnelian.dataSource.pooler): what a statement sets would \
                      be left to others; leave it out, and set it for the role, by ALTER ROLE … SET"
                    .to_owned(),
        }
    }

    /// True if the failure says that a table of the scheduler is not there.
    pub(super) fn is_missing_relation(&self) -> bool {
        let says = |words: &str| self.message.contains(words);
        says("no such table: ")
            || says("relation \"") && says("\" does not exist")
            || says("Table '") && says("' doesn't exist")
    }

    /// The error of the operation that has failed.
    pub(super) fn of_operation(self, operation: &str) -> Error {
        if self.is_missing_relation() {
            return Error::Schema(format!("{operation}: {self}: the scheduler's tables are not there{MAKE_TABLES}"));
        }
        let is_index = self.message.contains("no such index: ")
            || self.message.contains("Key '") && self.message.contains("' doesn't exist in table");
        let advice = if is_index { MAKE_INDEX } else { "" };
        DatabaseError { operation: operation.to_owned(), message: self.message + advice, class: self.class }.into()
    }
}
