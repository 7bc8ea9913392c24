//! `Backend`: which of the three databases it is.

use super::DataSourceUrl;

/// The databases that a data source may name.
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
    /// The database that a URL leads to.
    pub(crate) fn of(url: &DataSourceUrl) -> Self {
        match url {
            DataSourceUrl::Sqlite { .. } => Self::Sqlite,
            DataSourceUrl::Postgres { .. } => Self::Postgres,
            DataSourceUrl::MySql { .. } => Self::Mysql,
        }
    }

    /// The databases for which a URL of this one may stand, for people.
    pub(crate) fn family(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
            Self::Mysql => "MySQL or MariaDB",
        }
    }
}
