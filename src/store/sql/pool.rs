//! `Connections`: where connections come from, a pool of our own or the caller's.

use super::backend::{Backend, backend_of};
use super::connect_attempts::ConnectAttempts;
use super::connection::{Connection, Inner};
use super::failure::Failure;
use super::held_connection::HeldConnection;
use super::pooler::SessionLoan;
use super::server::{Guard, LONGEST_REST};
use super::silence::{answering_within, longest_wait};
use crate::clock::Clock;
use crate::error::FailureClass;
use crate::settings::{DataSourceSettings, DataSourceUrl, Synchronous};
use crate::store::CallersConnection;
use diesel::r2d2::ConnectionManager;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The longest pause between two tries to connect. A pool doubles it: after an outage of a minute a
/// node would be back half a minute after its database.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The time between two looks for the first connection.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// A pool of connections of the caller's, from which a store takes one for each transaction.
///
/// On PostgreSQL the store sets what it needs (READ COMMITTED, time-outs for locks and for idle
/// transactions) for its own transactions only. If your pool leads to a pooler that lends sessions
/// by the transaction, and knows no prepared statements, its connections must prepare none: a
/// customizer of the pool calls `set_prepared_statement_cache_size(CacheSize::Disabled)`.
///
/// On MySQL, MariaDB and SQLite the store sets it each time it takes a connection, a few
/// statements, and the settings stay with the session: give it a pool of its own if other users of
/// the pool would mind, or name a data source in the settings. A connection that fails is given
/// back so that the pool throws it away.
///
/// MySQL, other than MariaDB, ends a session that stops while it holds a lock after the session's
/// `wait_timeout` only, which is left as it is: hours, if you set no other.
///
/// Keep `max_size` at least at 3: acquisition, completion and check-in each hold a connection now
/// and then. Keep `connection_timeout` at a few seconds: r2d2 pauses for up to half of it between
/// two tries to connect, and after an outage a node is back as much later than its database. Peers
/// convict a node that is not back after `jobStore.clusterCheckinMisfireThreshold`.
#[derive(Clone)]
#[non_exhaustive]
pub enum CallersPool {
    /// A pool of SQLite connections.
    #[cfg(feature = "sqlite")]
    Sqlite(diesel::r2d2::Pool<ConnectionManager<diesel::SqliteConnection>>),
    /// A pool of PostgreSQL connections.
    #[cfg(feature = "postgres")]
    Postgres(diesel::r2d2::Pool<ConnectionManager<diesel::PgConnection>>),
    /// A pool of MySQL or MariaDB connections.
    #[cfg(feature = "mysql")]
    Mysql(diesel::r2d2::Pool<ConnectionManager<diesel::MysqlConnection>>),
}

macro_rules! from_pool {
    ($feature:literal, $variant:ident, $connection:ty) => {
        #[cfg(feature = $feature)]
        impl From<diesel::r2d2::Pool<ConnectionManager<$connection>>> for CallersPool {
            fn from(pool: diesel::r2d2::Pool<ConnectionManager<$connection>>) -> Self {
                CallersPool::$variant(pool)
            }
        }

        #[cfg(feature = $feature)]
        impl<'c> From<&'c mut diesel::r2d2::PooledConnection<ConnectionManager<$connection>>>
            for CallersConnection<'c>
        {
            fn from(lent: &'c mut diesel::r2d2::PooledConnection<ConnectionManager<$connection>>) -> Self {
                CallersConnection::$variant(&mut *lent)
            }
        }
    };
}
from_pool!("sqlite", Sqlite, diesel::SqliteConnection);
from_pool!("postgres", Postgres, diesel::PgConnection);
from_pool!("mysql", Mysql, diesel::MysqlConnection);

impl CallersPool {
    fn lend(&self, synchronous: Synchronous) -> Result<Connection<'static>, Failure> {
        let unavailable = |error: r2d2::Error| Failure {
            class: FailureClass::Unavailable,
            message: format!("the caller's pool gave no connection: {error}"),
        };
        let mut connection = match self {
            #[cfg(feature = "sqlite")]
            CallersPool::Sqlite(pool) => {
                Connection::Sqlite(Inner::new(HeldConnection::Lent(pool.get().map_err(unavailable)?)))
            }
            #[cfg(feature = "postgres")]
            CallersPool::Postgres(pool) => {
                Connection::Postgres(Inner::new(HeldConnection::Lent(pool.get().map_err(unavailable)?)))
            }
            #[cfg(feature = "mysql")]
            CallersPool::Mysql(pool) => {
                Connection::Mysql(Inner::new(HeldConnection::Lent(pool.get().map_err(unavailable)?)))
            }
        };
        if connection.backend() != Backend::Postgres {
            connection.set_up(synchronous)?;
            connection.guard_lent();
        }
        Ok(connection)
    }
}

/// The source of connections.
pub(super) enum Connections {
    Own(OwnPool),
    /// With what a commit waits for on SQLite.
    Callers(CallersPool, Synchronous),
}

/// A pool that the store has made.
pub(super) struct OwnPool {
    pool: r2d2::Pool<Manager>,
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only PostgreSQL is listened to"))]
    url: DataSourceUrl,
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only PostgreSQL is listened to"))]
    listen_url: Option<DataSourceUrl>,
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only PostgreSQL is listened to"))]
    loan: Arc<SessionLoan>,
    /// The longest wait for a connection.
    longest: Duration,
    attempts: Arc<ConnectAttempts>,
}

impl OwnPool {
    fn get(&self) -> Result<PoolConnection, Failure> {
        let opened =
            if self.attempts.has_succeeded() { self.pool.get_timeout(self.longest).ok() } else { self.first()? };
        opened.map(PoolConnection::Own).ok_or_else(|| match self.pool.state().connections {
            0 => self.attempts.timed_out(self.longest),
            n => Failure {
                class: FailureClass::Unavailable,
                message: format!("all {n} connections are in use: raise maxConnections of the data source"),
            },
        })
    }

    /// The first connection. The pool would try again until the time is over, and say nothing
    /// before, also where the database refuses this user for good.
    fn first(&self) -> Result<Option<r2d2::PooledConnection<Manager>>, Failure> {
        // Asks the pool for a try; the looks below ask for no further ones.
        let mut opened = self.pool.get_timeout(self.longest.min(BETWEEN_LOOKS)).ok();
        let mut looks = self.longest.as_millis() / BETWEEN_LOOKS.as_millis();
        while opened.is_none() && looks > 0 {
            if let Some(refusal) = self.attempts.refusal() {
                return Err(refusal);
            }
            self.attempts.wait_for_try(BETWEEN_LOOKS);
            opened = self.pool.try_get();
            looks -= 1;
        }
        Ok(opened)
    }
}

/// The URL by which a session is opened that hears notifications.
#[cfg(feature = "postgres")]
pub(super) enum WayOfNotifications<'a> {
    /// That of the pool.
    AsThePool(&'a DataSourceUrl),
    /// A URL that is to lead to the server itself.
    Apart(&'a DataSourceUrl),
}

/// A connection for the time of one transaction.
pub(super) enum PoolConnection {
    Own(r2d2::PooledConnection<Manager>),
    Callers(Connection<'static>),
}

impl Connections {
    /// A pool of our own. The pool connects lazily: a database that is down is found at the first
    /// use. `taken_for` is what a test says that the server is.
    pub(super) fn own(
        source: &DataSourceSettings,
        clock: &Arc<dyn Clock>,
        taken_for: Option<&'static str>,
    ) -> (Self, Backend) {
        let url = &source.url;
        // Every connection to `:memory:` is a database of its own.
        let size = if url.is_in_memory() { 1 } else { source.max_connections.max(1) };
        let attempts = Arc::new(ConnectAttempts::new(url));
        let loan = Arc::new(SessionLoan::new(source.pooler));
        let pool = r2d2::Pool::builder()
            .max_size(size)
            .min_idle(Some(0))
            // A comparison of two numbers: see `is_valid`.
            .test_on_check_out(true)
            // The pool pauses between two tries to connect for half of this at most. Each call says
            // how long it waits for a connection.
            .connection_timeout(2 * LONGEST_PAUSE)
            .idle_timeout(source.idle_timeout.filter(|_| !url.is_in_memory()))
            .max_lifetime(source.max_age.filter(|_| !url.is_in_memory()))
            .error_handler(Box::new(QuietErrors))
            .build_unchecked(Manager {
                url: answering_within(url, source.connection_timeout),
                attempts: Arc::clone(&attempts),
                loan: Arc::clone(&loan),
                synchronous: source.synchronous,
                init_sql: source.init_sql.clone(),
                validates: source.validate_on_checkout,
                clock: Arc::clone(clock),
                taken_for,
                losses: AtomicU64::new(0),
            });
        let (url, listen_url) = (url.clone(), source.listen_url.clone());
        let longest = longest_wait(&source.url, source.connection_timeout);
        let own = OwnPool { pool, url, listen_url, loan, longest, attempts };
        (Connections::Own(own), backend_of(&source.url))
    }

    /// The caller's pool.
    pub(super) fn callers(pool: CallersPool, synchronous: Synchronous) -> (Self, Backend) {
        let backend = match &pool {
            #[cfg(feature = "sqlite")]
            CallersPool::Sqlite(_) => Backend::Sqlite,
            #[cfg(feature = "postgres")]
            CallersPool::Postgres(_) => Backend::Postgres,
            #[cfg(feature = "mysql")]
            CallersPool::Mysql(_) => Backend::Mysql,
        };
        (Connections::Callers(pool, synchronous), backend)
    }

    /// The way to a session that hears notifications.
    #[cfg(feature = "postgres")]
    pub(super) fn way_of_notifications(&self) -> Option<WayOfNotifications<'_>> {
        match self {
            Connections::Own(OwnPool { listen_url: Some(url), .. }) => Some(WayOfNotifications::Apart(url)),
            Connections::Own(own) if own.loan.is_known() => None,
            Connections::Own(own) => Some(WayOfNotifications::AsThePool(&own.url)),
            Connections::Callers(..) => None,
        }
    }

    pub(super) fn get(&self) -> Result<PoolConnection, Failure> {
        match self {
            Connections::Own(own) => own.get(),
            Connections::Callers(pool, synchronous) => pool.lend(*synchronous).map(PoolConnection::Callers),
        }
    }
}

impl PoolConnection {
    /// Names the server, and what ends the session if it stops while it holds a lock.
    pub(super) fn guard_in_words(&mut self) -> Result<String, Failure> {
        match self {
            PoolConnection::Own(opened) => {
                let guard = opened.guard;
                opened.connection.guard_in_words(guard)
            }
            PoolConnection::Callers(connection) => connection.guard_in_words(None),
        }
    }
}

impl Deref for PoolConnection {
    type Target = Connection<'static>;

    fn deref(&self) -> &Connection<'static> {
        match self {
            PoolConnection::Own(opened) => &opened.connection,
            PoolConnection::Callers(connection) => connection,
        }
    }
}

impl DerefMut for PoolConnection {
    fn deref_mut(&mut self) -> &mut Connection<'static> {
        match self {
            PoolConnection::Own(opened) => &mut opened.connection,
            PoolConnection::Callers(connection) => connection,
        }
    }
}

/// Makes connections for our own pool.
///
/// If one connection was lost (a server was restarted, a balancer or a firewall forgot its
/// connections), those that were opened before are most likely lost as well. Each would cost a call
/// one of its tries without a statement ever being sent: therefore all of them go.
pub(super) struct Manager {
    url: DataSourceUrl,
    attempts: Arc<ConnectAttempts>,
    loan: Arc<SessionLoan>,
    synchronous: Synchronous,
    /// A statement of the user's for each new connection.
    init_sql: Option<String>,
    /// True if a connection is asked before each use.
    validates: bool,
    clock: Arc<dyn Clock>,
    taken_for: Option<&'static str>,
    /// The number of losses, each of a connection that was opened after the loss before.
    losses: AtomicU64,
}

/// A connection of our own pool.
pub(super) struct Opened {
    connection: Connection<'static>,
    /// The number of losses before the connection was opened.
    after_losses: u64,
    /// The guard that ends the connection's session if it stops.
    guard: Option<Guard>,
    /// The clock's ticks when the connection came back last.
    used: Duration,
}

impl Manager {
    /// Opens a connection to the first server that can be used.
    fn open(&self, after_losses: u64) -> Result<Opened, Failure> {
        let urls = self.url.of_each_server();
        let mut tries = urls.iter().map(|url| self.open_at(url, after_losses));
        let first = tries.next().unwrap_or_else(|| self.open_at(&self.url, after_losses));
        first.or_else(|failure| tries.find_map(Result::ok).ok_or(failure))
    }

    fn open_at(&self, url: &DataSourceUrl, after_losses: u64) -> Result<Opened, Failure> {
        let mut connection = Connection::open(url)?;
        let is_lent_by_transaction = self.loan.look(&mut connection, url)?;
        if is_lent_by_transaction {
            connection.keep_no_session();
        } else {
            connection.set_up(self.synchronous)?;
        }
        if *url != self.url {
            // A member that has lost the others greets, and then refuses all transactions; a
            // replica refuses those that write.
            connection.run("START TRANSACTION READ WRITE")?;
            connection.run("ROLLBACK")?;
        }
        let guard = connection.guard(self.taken_for)?;
        if let Some(text) = &self.init_sql {
            let named = |why: Failure| Failure { message: format!("connectionInitSql: {}", why.message), ..why };
            let kept = if is_lent_by_transaction { Err(Failure::of_session_left()) } else { connection.run(text) };
            kept.map_err(named)?;
        }
        Ok(Opened { connection, after_losses, guard, used: self.clock.ticks() })
    }
}

impl r2d2::ManageConnection for Manager {
    type Connection = Opened;
    type Error = Failure;

    fn connect(&self) -> Result<Opened, Failure> {
        // Before it is opened: of one that is opened during a loss nobody knows.
        let after_losses = self.losses.load(Ordering::SeqCst);
        let opened = self.open(after_losses);
        self.attempts.note(&opened, LONGEST_PAUSE);
        opened
    }

    /// Asks the server only where the settings want it.
    fn is_valid(&self, opened: &mut Opened) -> Result<(), Failure> {
        let message = if opened.after_losses != self.losses.load(Ordering::SeqCst) {
            "another connection was lost after this one was opened".to_owned()
        } else if opened.guard == Some(Guard::Silent) && self.clock.ticks().saturating_sub(opened.used) > LONGEST_REST {
            format!("it was not used for {} s, the server may have ended it", LONGEST_REST.as_secs())
        } else {
            return if self.validates { opened.connection.run("SELECT 1") } else { Ok(()) };
        };
        Err(Failure { class: FailureClass::ConnectionLost, message })
    }

    fn has_broken(&self, opened: &mut Opened) -> bool {
        opened.used = self.clock.ticks();
        if opened.connection.is_lost() {
            let (before, after) = (opened.after_losses, opened.after_losses.saturating_add(1));
            // A lost connection that is retired already says nothing of those that took its place.
            let _ = self.losses.compare_exchange(before, after, Ordering::SeqCst, Ordering::SeqCst);
        }
        opened.connection.is_broken()
    }
}

/// Connection errors come back to the caller, and [`ConnectAttempts`] tells the log of the first in
/// a row; the pool need not log each of them as well (H19).
#[derive(Debug)]
struct QuietErrors;

impl r2d2::HandleError<Failure> for QuietErrors {
    fn handle_error(&self, error: Failure) {
        log::debug!("no connection error={}", error.message);
    }
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

    use super::super::statement::{Count, Statement};
    use super::*;

    fn clock() -> Arc<dyn Clock> {
        Arc::new(crate::clock::SystemClock::default())
    }

    /// LT-105: what the file says of the pool is what the pool does.
    #[test]
    fn the_pool_is_as_the_settings_say() {
        let folder = tempfile::tempdir().unwrap();
        let pool = |more: &str| {
            let file = folder.path().join("jobs.db");
            let text = format!("jobStore.dataSource = d\ndataSource.d.URL = sqlite:{}\n{more}", file.display());
            let settings = crate::settings::Settings::from_text("x", &text, |_| None).unwrap();
            let source = settings.data_source.unwrap();
            match Connections::own(&source, &clock(), None).0 {
                Connections::Own(own) => own.pool,
                Connections::Callers(..) => panic!("it is our own"),
            }
        };
        let seconds = |seconds| Some(std::time::Duration::from_secs(seconds));
        let usual = pool("");
        assert_eq!((usual.idle_timeout(), usual.max_size()), (seconds(600), 10));
        assert_eq!(pool("dataSource.d.maxIdleTime = 7").idle_timeout(), seconds(7));
        assert_eq!(pool("dataSource.d.maxIdleTime = 0").idle_timeout(), None);
        let both = "dataSource.d.maxIdleTime = 7\ndataSource.d.discardIdleConnectionsSeconds = 9";
        assert_eq!(pool(both).idle_timeout(), seconds(9));
        assert_eq!(pool("dataSource.d.discardIdleConnectionsSeconds = 0").idle_timeout(), None);
        assert_eq!(pool("dataSource.d.maxConnections = 3").max_size(), 3);
        assert_eq!(usual.max_lifetime(), None);
        assert_eq!(pool("dataSource.d.maxConnectionAge = 8").max_lifetime(), seconds(8));
        let both = "dataSource.d.maxConnectionAge = 8\ndataSource.d.maxLifetime = 9000";
        assert_eq!(pool(both).max_lifetime(), seconds(9));
    }

    #[test]
    fn commits_wait_for_what_the_settings_say() {
        for (synchronous, level) in [(Synchronous::Full, 2), (Synchronous::Normal, 1)] {
            let folder = tempfile::tempdir().unwrap();
            let url = format!("sqlite:{}", folder.path().join("jobs.db").display()).parse().unwrap();
            let source = DataSourceSettings { synchronous, ..DataSourceSettings::new("d", url) };
            let mut lease = Connections::own(&source, &clock(), None).0.get().unwrap();
            let text = "SELECT synchronous AS n FROM pragma_synchronous";
            let rows: Vec<Count> = lease.load(Statement { text, prefix: "", values: &[] }).unwrap();
            assert_eq!(rows.first().map(|row| row.n), Some(level), "{synchronous:?}");
        }
    }
}
