//! `Connections`: where connections come from, a pool of our own or the caller's.

use super::backend::Backend;
use super::connect_attempts::ConnectAttempts;
use super::connection::{Connection, Inner};
use super::failure::Failure;
use super::held_connection::HeldConnection;
use super::manager::Manager;
use super::own_pool::OwnPool;
use super::pooler::PoolerMode;
use super::silence::answering_within;
use crate::clock::Clock;
use crate::error::FailureClass;
#[cfg(feature = "postgres")]
use crate::settings::DataSourceUrl;
use crate::settings::{DataSourceSettings, Synchronous};
use crate::store::CallersConnection;
use diesel::r2d2::ConnectionManager;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

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
/// and then. Keep it at ten more than the number of threads, of your program and of jobs, that use
/// the pool at the same time: a check-in that waits for a connection is late. Keep
/// `connection_timeout` at a few seconds: r2d2 pauses for up to half of it between two tries to
/// connect, and after an outage a node is back as much later than its database. Peers convict a
/// node that is not back after `jobStore.clusterCheckinMisfireThreshold`.
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
    fn get(&self, synchronous: Synchronous) -> Result<Connection<'static>, Failure> {
        let unavailable = |error: r2d2::Error| Failure {
            class: FailureClass::Unavailable,
            message: format!("the caller's pool gave no connection: {error}"),
        };
        let mut connection = match self {
            #[cfg(feature = "sqlite")]
            CallersPool::Sqlite(pool) => {
                Connection::Sqlite(Inner::new(HeldConnection::OfCallersPool(pool.get().map_err(unavailable)?)))
            }
            #[cfg(feature = "postgres")]
            CallersPool::Postgres(pool) => {
                Connection::Postgres(Inner::new(HeldConnection::OfCallersPool(pool.get().map_err(unavailable)?)))
            }
            #[cfg(feature = "mysql")]
            CallersPool::Mysql(pool) => {
                Connection::Mysql(Inner::new(HeldConnection::OfCallersPool(pool.get().map_err(unavailable)?)))
            }
        };
        if connection.backend() != Backend::Postgres {
            connection.set_up(synchronous)?;
            connection.limit_in_callers_pool();
        }
        Ok(connection)
    }
}

/// The source of connections.
pub(super) enum Connections {
    Own(Box<OwnPool>),
    /// With what a commit waits for on SQLite.
    Callers(CallersPool, Synchronous),
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
    ) -> Result<(Self, Backend), Failure> {
        let manager = Manager {
            url: answering_within(&source.url, source.connection_timeout),
            attempts: Arc::new(ConnectAttempts::new(&source.url)),
            pooler: Arc::new(PoolerMode::new(source.pooler)),
            synchronous: source.synchronous,
            init_sql: source.init_sql.clone(),
            validates: source.validate_on_checkout,
            clock: Arc::clone(clock),
            taken_for,
            losses: Arc::default(),
        };
        Ok((Connections::Own(Box::new(OwnPool::new(source, manager)?)), Backend::of(&source.url)))
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
            Connections::Own(own) => match &own.listen_url {
                Some(url) => Some(WayOfNotifications::Apart(url)),
                None if own.manager.pooler.is_by_transaction() => None,
                None => Some(WayOfNotifications::AsThePool(&own.url)),
            },
            Connections::Callers(..) => None,
        }
    }

    pub(super) fn get(&self, purpose: &str) -> Result<PoolConnection, Failure> {
        match self {
            Connections::Own(own) => own.get(purpose).map(PoolConnection::Own),
            Connections::Callers(pool, synchronous) => pool.get(*synchronous).map(PoolConnection::Callers),
        }
    }
}

impl PoolConnection {
    /// Names the server, and what ends the session if it stops while it holds a lock.
    pub(super) fn limit_in_words(&mut self) -> Result<String, Failure> {
        match self {
            PoolConnection::Own(opened) => {
                let limit = opened.limit;
                opened.connection.limit_in_words(limit)
            }
            PoolConnection::Callers(connection) => connection.limit_in_words(None),
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

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

    use super::super::statement::Count;
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
            match Connections::own(&source, &clock(), None).unwrap().0 {
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
            let mut pooled = Connections::own(&source, &clock(), None).unwrap().0.get("test").unwrap();
            let text = "SELECT synchronous AS n FROM pragma_synchronous";
            let rows: Vec<Count> = pooled.ask(text).unwrap();
            assert_eq!(rows.first().map(|row| row.n), Some(level), "{synchronous:?}");
        }
    }
}
