//! `Server`: which MySQL or MariaDB answers, and what ends a session that stops while it holds a
//! lock (H18).

use super::backend::Backend;
use super::connection::Connection;
use super::failure::Failure;
use super::session::SqlSession;
use super::statement::{Count, Name, Variable};
use crate::error::Result as Outcome;
use std::time::Duration;

/// Older than this a connection is not used again where the server ends those that are silent for
/// 30 s.
pub(super) const LONGEST_REST: Duration = Duration::from_secs(20);

/// MariaDB's; not the `_write_` variant, since SELECT … FOR UPDATE is no write.
const IN_TRANSACTION: &str = "SET SESSION idle_transaction_timeout = 5";
/// Older than MariaDB, and known to all of them.
const SILENT: &str = "SET SESSION wait_timeout = 30";

/// The limit that ends a session that stops while it holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionLimit {
    /// The server, after 5 s without a statement in a transaction.
    InTransaction,
    /// The server, after 30 s without a statement, also outside of transactions.
    Silent,
}

/// Asks a server what it is: its version, and what it says of itself in words.
fn question(backend: Backend) -> Option<&'static str> {
    match backend {
        Backend::Sqlite => None,
        Backend::Postgres => Some("SELECT current_setting('server_version') AS name"),
        Backend::Mysql => Some("SELECT CAST(CONCAT(VERSION(), ' ', @@version_comment) AS CHAR) AS name"),
    }
}

/// The kind and version of a MySQL or MariaDB, by its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Server {
    is_mariadb: bool,
    /// Major and minor; zeros if it does not tell.
    version: (u32, u32),
}

impl Server {
    pub(super) fn of(answer: &str) -> Self {
        // Old replication clients made MariaDB put a `5.5.5-` before its version.
        let number = answer.strip_prefix("5.5.5-").unwrap_or(answer);
        let mut parts = number.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
        let version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        Self { is_mariadb: answer.to_lowercase().contains("mariadb"), version }
    }

    /// Tells whether there is `SKIP LOCKED`: MySQL has had it since 8.0, MariaDB since 10.6.
    pub(super) fn passes_over_locked(self) -> bool {
        self.version >= if self.is_mariadb { (10, 6) } else { (8, 0) }
    }

    /// Oracle's MySQL knows no limit for transactions only.
    fn limit(self) -> SessionLimit {
        if self.is_mariadb && self.version >= (10, 3) { SessionLimit::InTransaction } else { SessionLimit::Silent }
    }
}

/// A member of a Galera cluster has this variable, and so has a MariaDB that could be one.
const IS_OF_GALERA: &str = "SHOW SESSION VARIABLES WHERE Variable_name = 'wsrep_on'";

fn is_on(variables: &[Variable]) -> bool {
    variables.iter().any(|variable| variable.value == "ON")
}

impl SqlSession<'_, '_> {
    /// The MySQL or MariaDB that answers.
    pub(super) fn server(&mut self) -> Outcome<Server> {
        let text = question(self.backend()).unwrap_or_default();
        let answer = self.load::<Name>(text, &[])?.pop();
        Ok(Server::of(answer.as_ref().map_or("", |answer| &answer.name)))
    }

    /// Tells whether the server is a member of a Galera cluster.
    pub(super) fn is_of_galera(&mut self) -> Outcome<bool> {
        Ok(self.backend() == Backend::Mysql && is_on(&self.load(IS_OF_GALERA, &[])?))
    }
}

impl Connection<'_> {
    /// Has the server end this session, one of our own, if it stops while it holds a lock. Returns
    /// the session's limit; none on SQLite. `taken_for` is what a test says that the server is.
    pub(super) fn set_limit(&mut self, taken_for: Option<&str>) -> Result<Option<SessionLimit>, Failure> {
        match self.backend() {
            Backend::Sqlite => Ok(None),
            // The set-up of the session has set this limit.
            Backend::Postgres => Ok(Some(SessionLimit::InTransaction)),
            Backend::Mysql => {
                let server = match taken_for {
                    Some(answer) => Server::of(answer),
                    None => Server::of(&self.what_server()?),
                };
                // A server may not know what its name promises.
                if server.limit() == SessionLimit::InTransaction && self.run(IN_TRANSACTION).is_ok() {
                    return Ok(Some(SessionLimit::InTransaction));
                }
                self.run(SILENT).map(|()| Some(SessionLimit::Silent))
            }
        }
    }

    /// As [`Connection::set_limit`], for a session of the caller's pool: nothing is set there that
    /// would end it while its owner rests.
    pub(super) fn limit_in_callers_pool(&mut self) {
        if self.backend() == Backend::Mysql {
            // Oracle's MySQL does not know this limit.
            drop(self.run(IN_TRANSACTION));
        }
    }

    /// Warns of a server whose words for failures are of another language, and so not all known.
    pub(super) fn warn_of_language(&mut self) {
        if self.backend() != Backend::Postgres {
            return;
        }
        let text = "SELECT current_setting('lc_messages') AS name";
        let Ok(rows) = self.ask::<Name>(text) else { return };
        if let Some(language) = rows.into_iter().map(|row| row.name).find(|language| !is_english(language)) {
            log::warn!(
                "the server's messages are not in English (lc_messages = {language}), and by them it is told which failures \
                 pass: not all are known in this language; have a superuser run `ALTER ROLE … SET lc_messages = 'C'` for \
                 the user of the nodes, or `GRANT SET ON PARAMETER lc_messages TO …` from PostgreSQL 15 on"
            );
        }
    }

    /// Names the server, and what ends this session if it stops while it holds a lock; `limit` is
    /// that of a session of our own.
    pub(super) fn limit_in_words(&mut self, limit: Option<SessionLimit>) -> Result<String, Failure> {
        let server = self.what_server()?;
        let (name, limit) = match self.backend() {
            Backend::Mysql if self.is_of_callers_pool() => {
                ("", Some(Server::of(&server).limit()).filter(|limit| *limit == SessionLimit::InTransaction))
            }
            Backend::Mysql => ("", limit),
            _ => ("PostgreSQL ", Some(SessionLimit::InTransaction)),
        };
        let what = match limit {
            Some(SessionLimit::InTransaction) => {
                "it ends a session that stops while it holds a lock after 5 s".to_owned()
            }
            Some(SessionLimit::Silent) => format!(
                "it knows no limit for transactions only, and ends a session that is silent for 30 s (wait_timeout); \
                 connections that rest for {} s are opened anew",
                LONGEST_REST.as_secs()
            ),
            None => {
                let text = "SELECT CAST(@@SESSION.wait_timeout AS SIGNED) AS n";
                let rows: Vec<Count> = self.ask(text)?;
                format!(
                    "nothing ends a session that stops while it holds a lock before its wait_timeout of {} s is over: the \
                     pool is the caller's, set a shorter one there",
                    rows.first().map_or(0, |row| row.n)
                )
            }
        };
        let cluster = if self.is_of_galera()? {
            "; it is a member of a Galera cluster, in which locks are written (carnelian.jobStore.lockForm)"
        } else {
            ""
        };
        let pooler = match self.backend() {
            Backend::Postgres if !self.keeps_session() && !self.is_of_callers_pool() => {
                "; a pooler lends its sessions by the transaction: nothing is left in them, statements are not prepared, and \
                 nodes poll unless carnelian.dataSource.listenUrl leads to the server itself"
            }
            _ => "",
        };
        Ok(format!("{name}{server}: {what}{cluster}{pooler}"))
    }

    fn is_of_galera(&mut self) -> Result<bool, Failure> {
        Ok(self.backend() == Backend::Mysql && is_on(&self.ask(IS_OF_GALERA)?))
    }

    /// The server's name and version in its own words; nothing on SQLite.
    fn what_server(&mut self) -> Result<String, Failure> {
        let Some(text) = question(self.backend()) else { return Ok(String::new()) };
        let rows: Vec<Name> = self.ask(text)?;
        Ok(rows.into_iter().next().map(|row| row.name).unwrap_or_default())
    }
}

/// Tells whether a locale is English, or of no language. An empty one is that of the server's
/// process, which does not tell it.
fn is_english(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    let is_none = ["", "c", "posix"].contains(&locale.as_str()) || locale.starts_with("c.");
    is_none || locale.starts_with("en")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_is_english_or_has_other_words() {
        for english in ["", "C", "POSIX", "C.UTF-8", "en_US.UTF-8", "en_GB", "English_United States.1252"] {
            assert!(is_english(english), "{english}");
        }
        for other in ["de_DE.UTF-8", "ca_ES", "cs_CZ.utf8", "French_France.1252", "zh_CN.UTF-8"] {
            assert!(!is_english(other), "{other}");
        }
    }

    #[test]
    fn what_a_server_can_do_is_known_by_its_answer() {
        use SessionLimit::{InTransaction, Silent};
        for (answer, skips, limit) in [
            ("10.11.14-MariaDB-0+deb12u2 Debian 12", true, InTransaction),
            ("5.5.5-10.6.0-MariaDB mariadb.org binary distribution", true, InTransaction),
            ("10.5.23-MariaDB", false, InTransaction),
            ("10.3.39-MariaDB-log Source distribution", false, InTransaction),
            ("10.2.44-MariaDB", false, Silent),
            ("11.4.2-MariaDB-ubu2404", true, InTransaction),
            ("10.11.9 MariaDB Server", true, InTransaction),
            ("8.0.36 MySQL Community Server - GPL", true, Silent),
            ("8.4.0-commercial MySQL Enterprise Server - Commercial", true, Silent),
            ("9.1.0 MySQL Community Server - GPL", true, Silent),
            ("8.0.mysql_aurora.3.04.0 Source distribution", true, Silent),
            ("8.0.35-27 Percona Server (GPL), Release 27, Revision 2f8eeab2", true, Silent),
            ("5.7.44-log MySQL Community Server (GPL)", false, Silent),
            ("", false, Silent),
        ] {
            let server = Server::of(answer);
            assert_eq!((server.passes_over_locked(), server.limit()), (skips, limit), "{answer}");
        }
    }
}
