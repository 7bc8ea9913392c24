//! `Failure`: what a database said, with its class.

use super::backend::Backend;
use crate::error::{DatabaseError, Error, FailureClass};
use std::fmt;

/// A failure of a database.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub class: FailureClass,
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl Failure {
    #[cfg(feature = "postgres")]
    pub(super) fn of_lost(message: impl Into<String>) -> Self {
        Self { class: FailureClass::ConnectionLost, message: message.into() }
    }

    pub(super) fn not_built_in(backend: Backend) -> Self {
        let feature = match backend {
            Backend::Sqlite => "sqlite",
            Backend::Postgres => "postgres",
            Backend::Mysql => "mysql",
        };
        Self {
            class: FailureClass::Permanent,
            message: format!(
                "this program was built without {}: build it with the feature `{feature}`",
                backend.name()
            ),
        }
    }

    /// The error of the operation that has failed.
    pub(super) fn of_operation(self, operation: &str) -> Error {
        DatabaseError { operation: operation.to_owned(), message: self.message, class: self.class }.into()
    }
}
