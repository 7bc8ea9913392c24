//! Settings of a word: how locks are taken, how due triggers are, and what databases are told.

use super::reader::Reader;
use super::url::DataSourceUrl;
use crate::words::words;

pub(super) const POLLING_STRATEGY: &str = "carnelian.jobStore.pollingStrategy";
pub(super) const SYNCHRONOUS: &str = "carnelian.dataSource.synchronous";
pub(super) const POOLER: &str = "carnelian.dataSource.pooler";

/// The way in which a node takes due triggers beside other nodes.
///
/// One node takes a trigger, and the invariants hold, in every way. The ways differ in how long
/// nodes wait for each other. SQLite and memory have one writer at a time, so that every strategy
/// means [`PollingStrategy::Lock`] there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PollingStrategy {
    /// The node looks for due triggers and takes them under the lock `TRIGGER_ACCESS` (`lock`), as
    /// Quartz does with `acquireTriggersWithinLock`. This way has the fewest statements.
    #[default]
    Lock,
    /// The node looks for due triggers without the lock, and takes them by the locks of their rows,
    /// passing over those that another node has locked (`lock-and-fetch`). Nodes take plain
    /// triggers side by side. The lock is still needed, and another look at just these triggers,
    /// for reruns, for triggers with options, and for triggers whose jobs run once at a time,
    /// persist their data or have versions.
    LockAndFetch,
}

words! {
    /// The word of the property `carnelian.jobStore.pollingStrategy`.
    ///
    /// ```
    /// use carnelian::settings::PollingStrategy;
    ///
    /// assert_eq!(PollingStrategy::LockAndFetch.name(), "lock-and-fetch");
    /// ```
    PollingStrategy {
        Lock = "lock",
        LockAndFetch = "lock-and-fetch",
    }
}

/// The form in which a transaction takes a lock of the cluster.
///
/// On one server a row that is held excludes all others. In a cluster of databases whose members
/// all take writes it excludes those on the same member only; there a lock has to be written: of
/// two transactions that have written it side by side, the cluster lets one be committed, and the
/// other is tried again. The form must be the same on all nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LockForm {
    /// Written if the server is a member of a Galera cluster (`wsrep_on`), held otherwise (`auto`).
    #[default]
    Auto,
    /// Held (`held`): one server takes the writes of all nodes.
    Held,
    /// Held and written (`written`), on any server. For clusters with several writers that are not
    /// recognised, such as MySQL's Group Replication, on which this was never tried.
    Written,
}

words! {
    /// The word of the property `carnelian.jobStore.lockForm`.
    ///
    /// ```
    /// use carnelian::settings::LockForm;
    ///
    /// assert_eq!(LockForm::default().name(), "auto");
    /// ```
    LockForm {
        Auto = "auto",
        Held = "held",
        Written = "written",
    }
}

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

/// The level to which SQLite has written a commit when it says that it is done (`PRAGMA
/// synchronous`, in WAL mode).
///
/// The file is sound after any crash on either level. Commits are whole or gone, and the death of a
/// *process* loses nothing. The levels differ in what the crash of the *machine* (its system or its
/// power) may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Synchronous {
    /// Every commit is on the disk (`full`): nothing that was committed is lost, whatever crashes.
    #[default]
    Full,
    /// A commit is with the operating system, and reaches the disk with the next checkpoint
    /// (`normal`), some 4 MB of changes later. The crash of the machine may take the last commits,
    /// in their order: stored triggers are gone, and recorded fires begin again. Fences may be
    /// drawn a second time, so that a resource that [compares them](crate::JobContext::fence) may
    /// refuse later runs.
    Normal,
}

words! {
    /// The word of the property `carnelian.dataSource.synchronous`.
    ///
    /// ```
    /// use carnelian::settings::Synchronous;
    ///
    /// assert_eq!(Synchronous::default().name(), "full");
    /// ```
    Synchronous {
        Full = "full",
        Normal = "normal",
    }
}

/// Warns of settings that are given for a store on which they have no effect.
pub(super) fn warn_of_no_effect(
    reader: &mut Reader,
    strategy: PollingStrategy,
    in_memory: bool,
    url: Option<&DataSourceUrl>,
) {
    let one_writer = match (in_memory, url) {
        (true, _) => Some("a store in memory"),
        (_, Some(DataSourceUrl::Sqlite { .. })) => Some("SQLite"),
        _ => None,
    };
    if let Some(one_writer) = one_writer
        && strategy != PollingStrategy::Lock
        && reader.given(POLLING_STRATEGY).is_some()
    {
        let message = format!("no effect: {one_writer} has one writer at a time and works as with `lock`");
        reader.warn(POLLING_STRATEGY, message);
    }
    if reader.given(SYNCHRONOUS).is_some() && !matches!(url, Some(DataSourceUrl::Sqlite { .. })) {
        let message = "no effect: it is for SQLite; a server has settings of its own for what a commit waits for";
        reader.warn(SYNCHRONOUS, message);
    }
    if reader.given(POOLER).is_some() && !matches!(url, Some(DataSourceUrl::Postgres { .. })) {
        reader.warn(POOLER, "no effect: it is for PostgreSQL");
    }
}
