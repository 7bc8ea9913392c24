//! Data source URL: JDBC and native URLs of the three databases, as the drivers here want them.

mod backend;
mod error;
mod mysql;
mod parts;
mod postgres;

use std::fmt;
use std::str::FromStr;

pub use backend::Backend;
pub use error::DataSourceUrlError;

use super::redact::scrub;
use super::secret::Secret;
use parts::Parts;

/// Longest URL that is looked at, in bytes.
const LONGEST: usize = 8_192;

/// The kind of the database, and the URL that its driver takes, with user and password.
///
/// `Display` and `Debug` show the URL with `***` in place of passwords.
///
/// ```
/// use carnelian::settings::{DataSourceUrl, Secret};
///
/// let (url, warnings) =
///     DataSourceUrl::parse("jdbc:postgresql://db/jobs", Some("me"), Some(&Secret::new("p@ss")))?;
/// assert_eq!(url.to_string(), "postgres://me:***@db:5432/jobs");
/// assert_eq!(url.reveal(), "postgres://me:p%40ss@db:5432/jobs");
/// assert!(warnings.is_empty());
/// # Ok::<(), carnelian::settings::DataSourceUrlError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub enum DataSourceUrl {
    /// An embedded SQLite database.
    Sqlite {
        /// The file, relative to the working directory, or `:memory:`.
        path: String,
    },
    /// A PostgreSQL server.
    Postgres {
        /// `postgres://user:password@host:port/database?parameters`, for libpq.
        url: Secret,
    },
    /// A MySQL or MariaDB server.
    MySql {
        /// `mysql://user:password@host:port/database?parameters`, for diesel if there is one host.
        url: Secret,
    },
}

impl DataSourceUrl {
    /// Reads a JDBC or native URL, and merges `user` and `password` into it; these go before those
    /// in the URL.
    ///
    /// Each parameter that was left out because the driver does not know it gives one warning.
    ///
    /// # Errors
    /// [`DataSourceUrlError`] for an unknown database or a URL that does not parse.
    pub fn parse(
        text: &str,
        user: Option<&str>,
        password: Option<&Secret>,
    ) -> Result<(Self, Vec<String>), DataSourceUrlError> {
        let text = text.trim();
        if text.len() > LONGEST || text.chars().any(char::is_control) {
            return Err(DataSourceUrlError::TooLong);
        }
        let mut warnings = Vec::new();
        let (jdbc, bare) = match without_prefix(text, "jdbc:") {
            Some(bare) => (true, bare),
            None => (false, text),
        };
        let Some((scheme, rest)) = bare.split_once(':') else {
            return Err(DataSourceUrlError::UnknownScheme);
        };
        let scheme = scheme.to_ascii_lowercase();
        let url = match scheme.as_str() {
            "sqlite" => {
                if user.is_some() || password.is_some() {
                    warnings.push("SQLite has no users: user and password are not used".to_owned());
                }
                sqlite(rest, &mut warnings)?
            }
            "postgresql" | "postgres" => {
                let mut parts = Parts::split(rest, jdbc)?;
                parts.take_login(user, password, &mut warnings);
                Self::Postgres { url: Secret::new(postgres::url(parts, jdbc, &mut warnings)?) }
            }
            "mysql" | "mariadb" => {
                let rest = mysql::without_balancing(rest, &mut warnings);
                let mut parts = Parts::split(rest, jdbc)?;
                parts.take_login(user, password, &mut warnings);
                Self::MySql { url: Secret::new(mysql::url(parts, jdbc.then_some(&scheme), &mut warnings)?) }
            }
            _ => return Err(DataSourceUrlError::UnknownScheme),
        };
        Ok((url, warnings))
    }

    /// The text for the driver: a URL with its password, or the path of a file.
    pub fn reveal(&self) -> &str {
        match self {
            Self::Sqlite { path } => path,
            Self::Postgres { url } | Self::MySql { url } => url.reveal(),
        }
    }

    /// URL with these parameters added, except those that the URL has already. Only for PostgreSQL.
    #[cfg(feature = "postgres")]
    pub(crate) fn with_parameters(&self, parameters: &[(&str, &str)]) -> Self {
        let Self::Postgres { url } = self else { return self.clone() };
        let mut text = url.reveal().to_owned();
        for (name, value) in parameters {
            if !text.contains(&format!("?{name}=")) && !text.contains(&format!("&{name}=")) {
                let mark = if text.contains('?') { '&' } else { '?' };
                text.push_str(&format!("{mark}{name}={value}"));
            }
        }
        Self::Postgres { url: Secret::new(text) }
    }

    /// The URLs of the servers that are tried in turn, each with one server: those of MySQL and
    /// MariaDB, whose driver takes one. PostgreSQL's takes them all.
    ///
    /// ```
    /// use carnelian::settings::DataSourceUrl;
    ///
    /// let url: DataSourceUrl = "mysql://db1,db2:3307/jobs".parse()?;
    /// let servers: Vec<_> = url.of_each_server().iter().map(ToString::to_string).collect();
    /// assert_eq!(servers, ["mysql://db1/jobs", "mysql://db2:3307/jobs"]);
    /// # Ok::<(), carnelian::settings::DataSourceUrlError>(())
    /// ```
    pub fn of_each_server(&self) -> Vec<Self> {
        match self {
            Self::MySql { url } => {
                let urls = mysql::of_each_server(url.reveal()).into_iter();
                urls.map(|url| Self::MySql { url: Secret::new(url) }).collect()
            }
            other => vec![other.clone()],
        }
    }

    /// Says if this is a SQLite database that lives in memory only.
    pub fn is_in_memory(&self) -> bool {
        matches!(self, Self::Sqlite { path } if path == ":memory:")
    }
}

fn without_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, tail) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(tail)
}

fn sqlite(rest: &str, warnings: &mut Vec<String>) -> Result<DataSourceUrl, DataSourceUrlError> {
    let path = rest.strip_prefix("//").unwrap_or(rest);
    let path = match path.split_once('?') {
        Some((path, _)) => {
            warnings.push("parameters of a SQLite URL are not used".to_owned());
            path
        }
        None => path,
    };
    if path.is_empty() || without_prefix(path, "file:").is_some() {
        return Err(DataSourceUrlError::SqlitePath);
    }
    Ok(DataSourceUrl::Sqlite { path: path.to_owned() })
}

impl FromStr for DataSourceUrl {
    type Err = DataSourceUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text, None, None).map(|(url, _)| url)
    }
}

impl fmt::Display for DataSourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite { path } => write!(f, "sqlite:{path}"),
            Self::Postgres { url } | Self::MySql { url } => f.write_str(&scrub(url.reveal())),
        }
    }
}

impl fmt::Debug for DataSourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DataSourceUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revealed(text: &str) -> Result<String, DataSourceUrlError> {
        DataSourceUrl::parse(text, None, None).map(|(url, _)| url.reveal().to_owned())
    }

    #[test]
    fn sqlite_files_are_paths() {
        for (text, path) in [
            ("sqlite:jobs.db", "jobs.db"),
            ("jdbc:sqlite:jobs.db", "jobs.db"),
            ("JDBC:SQLite:/var/lib/jobs.db", "/var/lib/jobs.db"),
            ("sqlite:///var/lib/jobs.db", "/var/lib/jobs.db"),
            ("sqlite://jobs.db", "jobs.db"),
            ("sqlite::memory:", ":memory:"),
            ("jdbc:sqlite::memory:", ":memory:"),
            ("jdbc:sqlite:jobs.db?journal_mode=WAL", "jobs.db"),
        ] {
            assert_eq!(revealed(text).as_deref(), Ok(path), "{text}");
        }
        for text in ["sqlite:", "jdbc:sqlite:", "sqlite:file:x?mode=ro"] {
            assert_eq!(revealed(text), Err(DataSourceUrlError::SqlitePath), "{text}");
        }
    }

    #[test]
    fn other_databases_are_refused_by_naming_ours() {
        for text in ["", "jobs.db", "jdbc:oracle:thin:@h:1521:x", "jdbc:h2:mem:x", "http://x", "jdbc:", "é:"] {
            let error = revealed(text).unwrap_err();
            assert_eq!(error, DataSourceUrlError::UnknownScheme, "{text}");
            assert!(error.to_string().contains("jdbc:mariadb://"));
        }
    }

    #[test]
    fn the_keys_go_before_the_url_and_say_so() {
        let password = Secret::new("new:pw");
        let (url, warnings) = DataSourceUrl::parse("mysql://a:old@h/db", Some("b"), Some(&password)).unwrap();
        assert_eq!(url.reveal(), "mysql://b:new%3Apw@h/db");
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        let (_, warnings) = DataSourceUrl::parse("mysql://b@h/db", Some("b"), Some(&password)).unwrap();
        assert_eq!(warnings.len(), 0, "{warnings:?}");
    }

    #[test]
    fn no_password_is_shown() {
        for text in [
            "postgres://me:S3NT@h/db",
            "postgres://me:S3%3ANT%40@h/db?sslpassword=S3NT",
            "jdbc:postgresql://h/db?user=me&password=S3NT@S3NT",
            "jdbc:mysql://h/db?password=S3NT&user=me",
            "mysql://me:S3NT@h/db",
        ] {
            let url: DataSourceUrl = text.parse().unwrap();
            let shown = format!("{url} {url:?}");
            assert!(!shown.contains("NT"), "{text}: {shown}");
            assert!(url.reveal().contains("S3"), "{text}");
        }
    }
}
