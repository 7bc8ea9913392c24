//! `Backend`: which of the three databases it is.

use crate::settings::DataSourceUrl;

/// The databases this build can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// SQLite, built in.
    Sqlite,
    /// PostgreSQL.
    Postgres,
    /// MySQL or MariaDB.
    Mysql,
}

impl Backend {
    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Sqlite => "SQLite",
            Backend::Postgres => "PostgreSQL",
            Backend::Mysql => "MySQL",
        }
    }
}

/// The database that a data source names.
pub(super) fn backend_of(url: &DataSourceUrl) -> Backend {
    match url {
        DataSourceUrl::Sqlite { .. } => Backend::Sqlite,
        DataSourceUrl::Postgres { .. } => Backend::Postgres,
        DataSourceUrl::MySql { .. } => Backend::Mysql,
    }
}
