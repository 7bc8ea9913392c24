//! `Database` and `Session`: what a store needs of the place where rows are kept.
//!
//! The stories of the store (acquire, fire, complete, recover …) are told once, over these traits;
//! a database implements them with SQL, the memory store with maps. A session is one transaction:
//! it sees one `now`, and every change it makes is gone if the work returns an error.

mod cluster;
mod definitions;
mod executions;
mod fences;
mod fires;
mod history;
mod jobs;
mod listing;
mod locking;
mod logs;
mod notification_source;
mod outages;
mod parked;
mod paused;
mod prefetched;
mod rows;
mod selected;
mod session;
mod table;
mod triggers;
mod types;

pub use cluster::{ClusterRows, PlacementRows, PollRows, Strays};
pub use executions::{ExecutionRows, IfThere};
pub use fences::{Fences, LostCommits};
pub use fires::{EndingTrigger, EndingTriggers, FiredRows, Owner};
pub use history::HistoryRows;
pub use jobs::JobRows;
pub use listing::ListingRows;
pub use locking::{Lock, TxMode};
pub use notification_source::NotificationSource;
pub use rows::Rows;
pub use session::{Session, SnapshotRows};
pub use table::{Compare, TableRows, Which};
pub use triggers::TriggerRows;

use crate::error::Result;

/// Statements and commits since the store was opened, for the census.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatementCounts {
    /// Statements sent, without `BEGIN` and `COMMIT`.
    pub statements: u64,
    /// Transactions committed that may have written.
    pub commits: u64,
}

/// A part of the tables that migrations make and that is gone, such as an index or a row that every
/// scheduler needs, or a table that nodes cannot work with as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingPart {
    /// The kind of the finding, such as `missing_index`.
    pub kind: &'static str,
    /// The name of the part.
    pub name: String,
    /// The consequence, for people.
    pub detail: String,
}

impl MissingPart {
    /// True if [`Database::mend_schema`] makes it again. The rows of a table only a backup has.
    pub fn is_made_again(&self) -> bool {
        ["missing_index", "missing_lock", "missing_row", "missing_function", "missing_view"].contains(&self.kind)
    }
}

/// A place where the rows of one scheduler are kept.
pub trait Database: Send + Sync {
    /// Runs `work` in one transaction and commits it; an error rolls everything back.
    ///
    /// No retries here. Does not run `work` more than once.
    ///
    /// # Errors
    /// The error of `work`, or [`Error::Database`](crate::Error::Database) with the class of the
    /// failure; `CommitUnknown` if the connection was lost during the commit.
    fn transact(
        &self,
        purpose: &'static str,
        mode: TxMode,
        work: &mut dyn FnMut(&mut dyn Session) -> Result<()>,
    ) -> Result<()>;

    /// Runs `work` in the transaction that the caller has open on a connection of its own. The
    /// transaction is the caller's to end; after an error it must be rolled back.
    ///
    /// No lock of the cluster is taken: nobody can say how long the caller's transaction will last.
    /// The transaction holds the rows that it has written; where the database can do that for one
    /// transaction, a time is set after which the server ends a session that stops in it.
    ///
    /// # Errors
    /// The error of `work`; [`Error::Refused`](crate::Error::Refused) for a connection to another
    /// kind of database, or one without a transaction, or with one that is not READ COMMITTED.
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    fn join(
        &self,
        purpose: &'static str,
        connection: super::callers::CallersConnection<'_>,
        join: super::callers::Join,
        work: &mut dyn FnMut(&mut dyn Session) -> Result<()>,
    ) -> Result<()> {
        let _ = (connection, join, work);
        Err(crate::Error::Refused(format!(
            "{purpose}: the jobs are not in a database of the caller's: {}",
            self.describe()
        )))
    }

    /// True if the rows are there when this process has ended, so that another may take over.
    fn outlives_process(&self) -> bool {
        true
    }

    /// The fences that this process knows of; none where they cannot be lost.
    fn fences(&self) -> Option<&Fences> {
        None
    }

    /// Creates or upgrades the tables; safe to repeat and to race. Returns what was done, a line
    /// each.
    fn migrate(&self) -> Result<Vec<String>>;

    /// Checks that the tables are there and of this version.
    fn check_schema(&self) -> Result<()>;

    /// Checks that the tables are of versions that this program can work with, and makes nothing.
    ///
    /// # Errors
    /// [`Error::Schema`](crate::Error::Schema) where they are not; errors of the database.
    fn check_versions(&self) -> Result<()> {
        Ok(())
    }

    /// Checks that the tables may be read and written, as a node has to: some rights are needed
    /// later only, such as when another node has died.
    ///
    /// # Errors
    /// [`Error::Schema`](crate::Error::Schema) with the statement that grants what is missing;
    /// errors of the database.
    fn check_rights(&self) -> Result<()> {
        Ok(())
    }

    /// The names of other schedulers that have jobs in these tables, a few at most; none if this
    /// one has some.
    ///
    /// # Errors
    /// Errors of the database.
    fn other_schedulers(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Checks the tables as [`Database::check_schema`] does, makes nothing, and names the parts of
    /// them that are missing.
    ///
    /// # Errors
    /// [`Error::Schema`](crate::Error::Schema) where tables are missing or of another version;
    /// errors of the database.
    fn examine_schema(&self) -> Result<Vec<MissingPart>> {
        self.check_schema().map(|()| Vec::new())
    }

    /// Makes the parts of the tables that are missing; returns them.
    ///
    /// # Errors
    /// As [`Database::examine_schema`].
    fn mend_schema(&self) -> Result<Vec<MissingPart>> {
        self.examine_schema()
    }

    /// Deletes every row of the scheduler, its locks too. Only for a scheduler that no node runs
    /// and nobody will use again, such as that of a benchmark.
    fn forget_scheduler(&self) -> Result<()>;

    /// A listener for the notifications of other nodes; none where nodes have to poll for changes.
    fn notification_source(&self) -> Option<Box<dyn NotificationSource>> {
        None
    }

    /// Tells whether sessions can claim rows side by side: lock rows of their choice, and pass over
    /// locked rows.
    ///
    /// # Errors
    /// Errors of the database.
    fn claims_rows(&self) -> Result<bool> {
        Ok(false)
    }

    /// Tells whether a transaction that may write, and has written nothing yet, holds up no other.
    fn begins_apart(&self) -> bool {
        false
    }

    /// Tells whether [`TxMode::Claiming`] goes on beside [`TxMode::BesideClaims`], and not only
    /// beside others like it.
    fn completes_beside(&self) -> bool {
        false
    }

    /// Tells whether transactions on other members of a cluster of databases meet those of this
    /// process at their commit only: of two that hold the same lock, one has to be tried again
    /// then. False as long as nobody has asked the server.
    fn has_several_writers(&self) -> bool {
        false
    }

    /// Tells whether the database has a fast path: one statement that stores new work, see
    /// [`TriggerRows::store_fast_path`].
    fn has_fast_path(&self) -> bool {
        false
    }

    /// Tells whether one statement of [`TxMode::SingleStatement`] is cheaper than a transaction
    /// around it.
    fn prefers_single_statement(&self) -> bool {
        false
    }

    /// Statements and commits so far.
    fn counts(&self) -> StatementCounts;

    /// The number of bytes that the database has written into its log so far (PostgreSQL's WAL,
    /// whoever wrote them); none where it cannot be asked.
    ///
    /// # Errors
    /// Errors of the database.
    fn log_position(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// The server, and what ends a session that stops while it holds a lock, in words; none
    /// where there is no server.
    ///
    /// # Errors
    /// Errors of the database.
    fn session_limit(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// The database in words, without secrets.
    fn describe(&self) -> String;
}
