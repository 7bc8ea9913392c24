//! `CallersConnection`: a connection of the caller's with a transaction of the caller's open on it,
//! and what is done in it.

/// A diesel connection of the caller's, on which the caller has a transaction open.
///
/// What is done through it belongs to that transaction: it is committed with it, or gone with it. It must lead to the
/// scheduler's own database, and see its tables under the same names.
///
/// Take it as the last step before the commit: until the end of the transaction the rows that were
/// written are held, and who wants the same fire, job or trigger waits. Anything but READ COMMITTED
/// is refused.
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

/// What is done in a transaction of a caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// It is made to depend on a fire, and goes on.
    Guard,
    /// Rows are changed. It is to be committed soon.
    Change,
    /// The same by a store that no node checks in with: whether there are nodes of Quartz is asked.
    ChangeOfStranger,
    /// The same beside nodes of Quartz, which rely on `TRIGGER_ACCESS` alone: it is taken.
    ChangeBesideQuartz,
}
