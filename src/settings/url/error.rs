//! `DataSourceUrlError`: why a data source URL is refused.

/// Why a data source URL is refused; no part of the URL is repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DataSourceUrlError {
    /// Another database, or no URL at all.
    #[error(
        "expected jdbc:postgresql://…, jdbc:mysql://…, jdbc:mariadb://…, jdbc:sqlite:FILE, postgres://…, mysql://…, sqlite:FILE or sqlite::memory:"
    )]
    UnknownScheme,
    /// More than 8192 bytes, or a NUL.
    #[error("expected at most 8192 bytes and no control characters")]
    TooLong,
    /// The host is missing or not a host.
    #[error(
        "expected a host name or an address behind // and behind the @ of user and password, as in //user:password@host:5432/database"
    )]
    Host,
    /// The port is not a port.
    #[error(
        "expected a port from 1 to 65535 behind the host; a / or : in a user or password must be written %2F or %3A"
    )]
    Port,
    /// A character that belongs to a user or password stands where it cannot.
    #[error(
        "expected one database name behind the host; a / @ or ? in a user or password must be written %2F %40 or %3F"
    )]
    Path,
    /// A `%` without two hexadecimal digits, or one that makes no text.
    #[error("expected two hexadecimal digits behind each %; a % itself is written %25")]
    Escape,
    /// No database named, which MySQL needs.
    #[error("expected the name of a database behind the host, as in mysql://host:3306/jobs")]
    NoDatabase,
    /// A database name that the MySQL driver cannot be told.
    #[error("expected a database name of letters, digits, _, - and $")]
    DatabaseName,
    /// A form of Connector/J that has no single server.
    #[error("expected one server: mysql://host:port/database")]
    ManyServers,
    /// A parameter that is understood has another value.
    #[error("parameter {name}: expected {expected}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// The values that the parameter takes.
        expected: &'static str,
    },
    /// A SQLite file name is missing, or is a `file:` URI.
    #[error("expected the path of a file, or :memory:")]
    SqlitePath,
}
