//! `Error`: what can go wrong, one reason each, worded for the person who has to act on it.

use crate::cron::CronParseError;
use crate::words::words;

/// A `Result` whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation was refused or did not happen.
///
/// Nothing is half done when an operation returns an error: it is one transaction, and it was
/// rolled back. There are two exceptions. After [`FailureClass::CommitUnknown`] nobody knows: look
/// whether it was done before you try again. Methods of several steps, such as
/// [`Scheduler::pause_job_and_stop`](crate::Scheduler::pause_job_and_stop), say so, and keep the
/// steps that were done.
///
/// `Debug` writes the same text as `Display`, since `Debug` is what a program shows whose `main`
/// returns an error: all mistakes of a settings file, a line each.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The value breaks a rule that can be checked without the store: a name that is too long, an
    /// interval of zero.
    #[error("{what} `{value}`: {expected}")]
    Invalid {
        /// The field, such as `trigger group`.
        what: &'static str,
        /// The value that was given, shortened if it is long.
        value: String,
        /// The form that is accepted.
        expected: String,
    },
    /// The cron expression does not parse.
    #[error(transparent)]
    Cron(#[from] CronParseError),
    /// The trigger has no fire time left, so that storing it would be a mistake.
    #[error("trigger `{trigger}` will never fire: {reason}")]
    NeverFires {
        /// `group.name` of the trigger.
        trigger: String,
        /// Why there is no fire time.
        reason: String,
    },
    /// A job, trigger or calendar of this key is stored already and `replace` was not asked for.
    #[error("{what} `{key}` exists already: replace it (`IfExists::Replace`, `--replace`), or choose another name")]
    AlreadyExists {
        /// `job`, `trigger` or `calendar`.
        what: &'static str,
        /// `group.name`.
        key: String,
    },
    /// A job, trigger or calendar that the operation needs is not stored.
    #[error("{what} `{key}` does not exist{hint}")]
    NotFound {
        /// `job`, `trigger`, `calendar` or `running fire`.
        what: &'static str,
        /// `group.name`.
        key: String,
        /// Advice, beginning with `: `, or nothing.
        hint: &'static str,
    },
    /// The operation makes no sense in the present state of its subject.
    #[error("{0}")]
    Refused(String),
    /// A lock of the application was not free in the time that its caller would wait.
    #[error("lock `{name}` was not free within {waited:?}: instance `{holder}` holds it")]
    Locked {
        /// The lock.
        name: String,
        /// The instance that held it last.
        holder: String,
        /// The time for which the caller waited.
        waited: std::time::Duration,
    },
    /// A stored row cannot be read; the rest of the store is not affected.
    #[error("{table} row `{key}` cannot be read: {reason}")]
    Unreadable {
        /// The table, without prefix.
        table: &'static str,
        /// The key of the row.
        key: String,
        /// The column, its value, and what was expected.
        reason: String,
    },
    /// A guarded write found its row gone: the fire or the node now belongs to another.
    #[error("{subject} no longer belongs to this node: {reason}")]
    Fenced {
        /// The fire or the instance.
        subject: String,
        /// The state that was found.
        reason: String,
    },
    /// A node was to start under the instance id of one that lives.
    #[error(
        "instance `{instance}` runs already, {location}: stop that one, or give this one an id of its own \
         (`scheduler.instanceId`)"
    )]
    AlreadyRunning {
        /// The instance id of both.
        instance: String,
        /// The place of the other: its host and pid.
        location: String,
    },
    /// The tables are missing, older or newer than this program needs.
    #[error("{0}")]
    Schema(String),
    /// The database refused or lost the statement.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The scheduler is shut down.
    #[error("scheduler `{0}` is shut down and cannot be used again: build a new one")]
    ShutDown(String),
    /// A setting is wrong.
    #[error("{0}")]
    Settings(String),
    /// A job file is wrong: all its problems, one a line, each with file, line and element.
    #[error("{0}")]
    JobFile(String),
}

impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// A failure that came from the database or from the way to it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{operation}: {message}{}", class.advice())]
pub struct DatabaseError {
    /// The operation that failed, such as `acquire triggers`.
    pub operation: String,
    /// The database's own words, without secrets.
    pub message: String,
    /// The kind of failure, which decides whether trying again makes sense.
    pub class: FailureClass,
}

/// Kinds of database failure, told apart in one place per database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureClass {
    /// Two transactions waited for each other and this one was chosen to give way.
    Deadlock,
    /// The database could not serialise the transaction.
    Serialization,
    /// A lock was not granted within the session's limit.
    LockWait,
    /// SQLite: another connection holds the file.
    Busy,
    /// The connection was lost before the transaction was sent to commit: nothing has happened.
    ConnectionLost,
    /// The connection was lost while the commit was on its way: it may have happened or not.
    CommitUnknown,
    /// The database cannot be reached, refuses the user, or takes no writes, since it is a standby
    /// now.
    Unavailable,
    /// The database has no room for this now: its disk is full, or its memory, locks or prepared
    /// statements are used up. With more room the same transaction succeeds.
    InsufficientResources,
    /// A unique key exists already.
    UniqueViolation,
    /// The database refuses a value: it is too long, against a check, or not to be had in the
    /// database's encoding.
    InvalidData,
    /// Anything else: trying again will not help.
    Permanent,
}

words! {
    /// The word used in logs and as the metric label.
    FailureClass {
        Deadlock = "deadlock",
        Serialization = "serialization",
        LockWait = "lock_wait",
        Busy = "busy",
        ConnectionLost = "connection_lost",
        CommitUnknown = "commit_unknown",
        Unavailable = "unavailable",
        InsufficientResources = "insufficient_resources",
        UniqueViolation = "unique_violation",
        InvalidData = "invalid_data",
        Permanent = "permanent",
    }
}

impl FailureClass {
    /// True if the same transaction may well succeed when tried again. After
    /// [`FailureClass::CommitUnknown`] it may have been done already.
    pub fn is_transient(self) -> bool {
        use FailureClass::*;
        matches!(
            self,
            Deadlock
                | Serialization
                | LockWait
                | Busy
                | ConnectionLost
                | CommitUnknown
                | Unavailable
                | InsufficientResources
        )
    }

    fn advice(self) -> &'static str {
        match self {
            FailureClass::LockWait => " (another session holds the lock; see `carnelian doctor`)",
            FailureClass::Unavailable => " (is the database running, and are URL, user and password right?)",
            FailureClass::InsufficientResources => {
                " (make room on the database: its disk, memory, locks or prepared statements are used up)"
            }
            FailureClass::CommitUnknown => " (the commit's answer was lost; the outcome must be looked up)",
            _ => "",
        }
    }
}

impl Error {
    /// A value that breaks a rule; long values are cut.
    pub(crate) fn invalid(what: &'static str, value: impl std::fmt::Display, expected: impl Into<String>) -> Self {
        Error::Invalid { what, value: shorten(&value.to_string(), 80), expected: expected.into() }
    }

    /// Something that is not stored.
    pub(crate) fn not_found(what: &'static str, key: impl std::fmt::Display) -> Self {
        Error::NotFound { what, key: key.to_string(), hint: "" }
    }

    /// A row that cannot be read, by its key, and why.
    pub(crate) fn unreadable(table: &'static str, key: impl std::fmt::Display, reason: impl Into<String>) -> Self {
        Error::Unreadable { table, key: key.to_string(), reason: reason.into() }
    }

    /// A write found fewer rows than were read: somebody without the lock was faster. Trying again
    /// is right.
    pub(crate) fn overtaken(operation: &str) -> Self {
        let message = "a row changed between reading and writing it".to_owned();
        DatabaseError { operation: operation.to_owned(), message, class: FailureClass::Serialization }.into()
    }

    /// True if the operation may well succeed when tried again. After
    /// [`FailureClass::CommitUnknown`] it may have been done already.
    pub fn is_transient(&self) -> bool {
        matches!(self, Error::Database(e) if e.class.is_transient())
    }

    /// True if the subject of the operation does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Error::NotFound { .. })
    }

    /// True if the subject of the operation exists already.
    pub fn is_already_exists(&self) -> bool {
        matches!(self, Error::AlreadyExists { .. })
    }

    /// True if a guarded write found that its row belongs to another.
    pub fn is_fenced(&self) -> bool {
        matches!(self, Error::Fenced { .. })
    }

    /// True if the failure may be part of an outage. A database that answers, and chose this
    /// transaction to give way, has no outage.
    pub(crate) fn is_outage(&self) -> bool {
        !matches!(self.failure_class(), Some(FailureClass::Deadlock | FailureClass::Serialization))
    }

    /// True if the database could not be used at all.
    pub fn is_database(&self) -> bool {
        matches!(self, Error::Database(_) | Error::Schema(_))
    }

    /// The kind of database failure, if it was one.
    pub fn failure_class(&self) -> Option<FailureClass> {
        match self {
            Error::Database(e) => Some(e.class),
            _ => None,
        }
    }
}

/// `text` as a column of `limit` characters takes it: cut, with a mark, if it is longer, and
/// without the NUL that PostgreSQL does not store.
pub(crate) fn storable(text: &str, limit: usize) -> String {
    let text = text.replace('\0', "\u{fffd}");
    match text.char_indices().nth(limit) {
        Some(_) => text.chars().take(limit.saturating_sub(1)).chain(['…']).collect(),
        None => text,
    }
}

/// At most so many bytes of `text`, cut between two characters, with a mark.
pub(crate) fn bounded(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let mut end = max_bytes.saturating_sub('…'.len_utf8());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", text.get(..end).unwrap_or(""))
}

/// At most `limit` bytes of `text`, in whole characters, for a column that counts bytes: without
/// NUL, which PostgreSQL has not, and marked at the end when something was cut.
fn storable_bytes(text: &str, limit: usize) -> String {
    bounded(&text.replace('\0', "\u{fffd}"), limit)
}

/// A result of a job as it is stored: as much as fits into a `TEXT` of MySQL.
pub(crate) fn storable_result(text: &str) -> String {
    storable_bytes(text, 64 * 1024 - 1)
}

/// At most `limit` characters of `text`, marked when something was cut.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}… ({} characters)", text.get(..at).unwrap_or(""), text.chars().count()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storable_text_fits_its_column_and_has_no_nul() {
        assert_eq!(storable("abc", 3), "abc");
        assert_eq!(storable("abcd", 3), "ab…");
        assert_eq!(storable("a\0b", 3), "a\u{fffd}b");
        assert_eq!(storable("üüüü", 3).chars().count(), 3);
        assert_eq!(storable_bytes("abc", 3), "abc");
        assert_eq!(storable_bytes("abcd", 3), "…");
        assert_eq!(storable_bytes("üüüü", 7), "üü…");
        assert_eq!(storable_bytes("üüüü", 8), "üüüü");
        assert_eq!(storable_bytes("a\0b", 5), "a\u{fffd}b");
    }
}
