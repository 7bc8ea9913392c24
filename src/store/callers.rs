//! `CallersConnection`: a connection of the caller's with a transaction of the caller's open on it,
//! and what is done in it.

/// A diesel connection of the caller's, on which the caller has a transaction open.
///
/// Work through this connection belongs to that transaction: both are committed, or neither is. The
/// connection must lead to the scheduler's own database, and see its tables under the same names.
///
/// The work should be the last step before the commit: until the end of the transaction the written
/// rows are held, and others that want the same fire, job or trigger wait. On SQLite every write
/// waits. Isolation levels other than READ COMMITTED are refused.
#[non_exhaustive]
pub enum CallersConnection<'c> {
    /// A connection to SQLite; begin the transaction as `immediate`.
    #[cfg(feature = "sqlite")]
    Sqlite(&'c mut diesel::SqliteConnection),
    /// A connection to PostgreSQL.
    #[cfg(feature = "postgres")]
    Postgres(&'c mut diesel::PgConnection),
    /// A connection to MySQL or MariaDB.
    #[cfg(feature = "mysql")]
    Mysql(&'c mut diesel::MysqlConnection),
}

macro_rules! from_connection {
    ($feature:literal, $variant:ident, $connection:ty) => {
        #[cfg(feature = $feature)]
        impl<'c> From<&'c mut $connection> for CallersConnection<'c> {
            fn from(connection: &'c mut $connection) -> Self {
                CallersConnection::$variant(connection)
            }
        }
    };
}
from_connection!("sqlite", Sqlite, diesel::SqliteConnection);
from_connection!("postgres", Postgres, diesel::PgConnection);
from_connection!("mysql", Mysql, diesel::MysqlConnection);

/// The kind of work in a transaction of a caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// The transaction is made to depend on a fire, and goes on.
    Guard,
    /// Rows are changed. The transaction is to be committed soon.
    Change,
    /// Rows are changed by a store that no node checks in with: the members are asked whether one
    /// is a node of Quartz.
    ChangeOfStranger,
    /// Rows are changed beside nodes of Quartz, which rely on `TRIGGER_ACCESS` alone: the lock is
    /// taken.
    ChangeBesideQuartz,
}
