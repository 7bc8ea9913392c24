//! Why a text is no cron expression, and where.

use thiserror::Error;

/// A text that is no cron expression in Quartz's dialect.
///
/// ```
/// use carnelian::cron::CronExpression;
///
/// let error = CronExpression::parse("0 60 * * * ?").unwrap_err();
/// assert_eq!(error.column, 3);
/// assert_eq!(
///     error.to_string(),
///     "cron expression `0 60 * * * ?`, column 3: expected a minute from 0 to 59, found `60`"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cron expression `{expression}`, column {column}: {reason}")]
pub struct CronParseError {
    /// The expression as it was given.
    pub expression: String,
    /// The character at which the error is, counted from 1.
    pub column: usize,
    /// The expected text and the text that was found.
    pub reason: String,
}

/// A complaint about one place, before it is known to which expression it belongs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Complaint {
    pub(super) column: usize,
    pub(super) reason: String,
}

impl Complaint {
    pub(super) fn new(column: usize, reason: impl Into<String>) -> Self {
        Complaint { column, reason: reason.into() }
    }

    pub(super) fn about(self, expression: &str) -> CronParseError {
        CronParseError { expression: expression.to_owned(), column: self.column, reason: self.reason }
    }
}
