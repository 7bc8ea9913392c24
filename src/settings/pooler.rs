//! `Pooler`: whether connections to PostgreSQL have a session of the server to themselves.

use super::reader::Reader;
use super::url::DataSourceUrl;
use crate::words::words;

const KEY: &str = "carnelian.dataSource.pooler";

/// The pooler before PostgreSQL, such as PgBouncer: whether a connection has a session of the
/// server to itself, or gets another one for each transaction.
///
/// Behind a pooler that lends sessions by the transaction, the store leaves nothing in a session:
/// its settings come with each transaction and go with it, statements are not prepared, and
/// migrations exclude each other within a transaction. Notifications cannot be heard there: nodes
/// poll, unless the property `carnelian.dataSource.listenUrl` leads to
/// the server itself. A pool of the caller's leaves nothing in a session either way; whether its
/// connections prepare statements is the caller's to say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pooler {
    /// The store looks by itself (`auto`): with its first connection it opens another one, and
    /// compares their sessions.
    #[default]
    Auto,
    /// Each connection has a session to itself (`session`): there is no pooler, or it is in
    /// session mode.
    Session,
    /// A connection has a session for the time of a transaction (`transaction`).
    Transaction,
}

words! {
    /// The word of the property `carnelian.dataSource.pooler`.
    ///
    /// ```
    /// use carnelian::settings::Pooler;
    ///
    /// assert_eq!(Pooler::default().name(), "auto");
    /// ```
    Pooler {
        Auto = "auto",
        Session = "session",
        Transaction = "transaction",
    }
}

impl Pooler {
    pub(crate) fn read(reader: &Reader) -> Self {
        Self::ALL.into_iter().find(|one| reader.chose(KEY, one.name())).unwrap_or_default()
    }

    /// Warns if it is given for a database to which no such pooler leads.
    pub(crate) fn warn_of_no_effect(reader: &mut Reader, url: Option<&DataSourceUrl>) {
        let is_postgres = matches!(url, Some(DataSourceUrl::Postgres { .. }));
        if reader.given(KEY).is_some() && !is_postgres {
            reader.warn(KEY, "no effect: it is for PostgreSQL");
        }
    }
}
