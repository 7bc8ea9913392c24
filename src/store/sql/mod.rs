//! `SqlDatabase`: the rows of a scheduler in SQLite, PostgreSQL or MySQL.

mod adoption;
#[cfg(feature = "postgres")]
mod arrivals;
mod backend;
mod bulk;
mod by_place;
mod connect_attempts;
mod connection;
mod dialect;
mod dropped_tables;
#[cfg(any(test, feature = "test-util"))]
mod explain;
mod failure;
mod failure_class;
mod fast_path_breaker;
mod harness;
mod held_connection;
mod joined;
mod manager;
mod migration_lock;
mod migrations;
#[cfg(feature = "postgres")]
mod notification_source;
mod own_pool;
mod parts;
#[cfg(any(test, feature = "test-util"))]
mod plans;
mod pool;
mod pooler;
mod pooler_advice;
mod raw;
mod scheduler_rows;
mod server;
mod session;
mod session_context;
mod silence;
mod sql_options;
mod statement;
mod table;
#[cfg(any(test, feature = "test-util"))]
mod targets;
#[cfg(feature = "mysql")]
mod tls;
mod translations;

pub use backend::Backend;
#[cfg(any(test, feature = "test-util"))]
pub use plans::{Explained, Plans};
pub use pool::CallersPool;

use super::callers::{CallersConnection, Join};
#[cfg(feature = "postgres")]
use super::database::NotificationSource;
use super::database::{Database, Lock, MissingPart, Session, StatementCounts, TxMode};
use crate::clock::Clock;
use crate::error::{DatabaseError, Error, FailureClass, Result};
use crate::settings::{DataSourceSettings, Settings};
use connection::Connection;
use dialect::LockStrength;
use failure::Failure;
use fast_path_breaker::FastPathBreaker;
use pool::{Connections, PoolConnection};
use session::SqlSession;
use session_context::SessionContext;
use sql_options::SqlOptions;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The rows of one scheduler in an SQL database, behind a pool of connections.
pub struct SqlDatabase {
    connections: Connections,
    backend: Backend,
    context: SessionContext,
    statements: AtomicU64,
    commits: AtomicU64,
    /// True if new work is stored by one call.
    fast_path: FastPathBreaker,
}

impl SqlDatabase {
    /// Opens the database that the data source of the settings names. The database connects lazily:
    /// a server that is down is found at the first use.
    ///
    /// # Errors
    /// [`Error::Settings`] for settings without a data source, [`Error::Invalid`] for a table
    /// prefix that is no identifier or a scheduler name that cannot be stored.
    pub fn open(settings: &Settings, clock: Arc<dyn Clock>) -> Result<Self> {
        let options = SqlOptions::of(settings)?;
        Ok(Self::new(own(settings, &clock, None)?, clock, options))
    }

    /// As [`SqlDatabase::open`], where a MySQL or MariaDB server is taken for what the test says
    /// when it is asked what it is.
    #[cfg(any(test, feature = "test-util"))]
    pub fn open_taken_for(server: Option<&'static str>, settings: &Settings, clock: Arc<dyn Clock>) -> Result<Self> {
        let options = SqlOptions::of(settings)?;
        Ok(Self::new(own(settings, &clock, server)?, clock, options))
    }

    /// Opens the database that a pool of the caller's leads to. Of the settings, those of
    /// connections mean nothing here: the pool has its own.
    ///
    /// # Errors
    /// As [`SqlDatabase::open`].
    pub fn with_pool(pool: impl Into<CallersPool>, clock: Arc<dyn Clock>, settings: &Settings) -> Result<Self> {
        let synchronous = settings.data_source.as_ref().map(|source| source.synchronous).unwrap_or_default();
        Ok(Self::new(Connections::callers(pool.into(), synchronous), clock, SqlOptions::of(settings)?))
    }

    fn new((connections, backend): (Connections, Backend), clock: Arc<dyn Clock>, options: SqlOptions) -> Self {
        Self {
            connections,
            backend,
            context: SessionContext::new(options, clock, backend),
            statements: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            fast_path: FastPathBreaker::default(),
        }
    }

    /// The faults that tests plan for this database.
    #[cfg(any(test, feature = "test-util"))]
    pub fn faults(&self) -> &super::faults::FaultPlan {
        &self.context.faults
    }

    /// The plans by which the database runs the statements of this store, for tests that ask.
    #[cfg(any(test, feature = "test-util"))]
    pub fn plans(&self) -> &Plans {
        &self.context.plans
    }

    /// The answer of a session of this database's own to a `SELECT … AS n`, for tests.
    #[cfg(any(test, feature = "test-util"))]
    pub fn number(&self, text: &str) -> Result<i64> {
        self.ask("ask for a number", text)
    }

    fn ask(&self, purpose: &'static str, text: &str) -> Result<i64> {
        let mut pooled = self.connection(purpose)?;
        let answer = SqlSession::new(&self.context, &mut pooled, purpose).count(text, &[]);
        answer.inspect_err(|_| pooled.break_off())
    }

    fn connection(&self, purpose: &str) -> Result<PoolConnection> {
        self.connections.get(purpose).map_err(|failure| failure.of_operation(purpose))
    }

    /// Runs one statement that commits by itself.
    fn single_statement(
        &self,
        mut session: SqlSession<'_, '_>,
        work: &mut dyn FnMut(&mut dyn Session) -> Result<()>,
    ) -> Result<()> {
        let worked = work(&mut session);
        self.statements.fetch_add(session.statements, Ordering::Relaxed);
        let uses_fast_path = session.uses_fast_path;
        match worked {
            Ok(()) => {
                self.commits.fetch_add(1, Ordering::Relaxed);
                if uses_fast_path {
                    self.fast_path.succeeded();
                }
                Ok(())
            }
            Err(Error::Database(error))
                if uses_fast_path
                    && matches!(error.class, FailureClass::Permanent | FailureClass::InsufficientResources) =>
            {
                if self.fast_path.failed(self.context.clock.ticks()) {
                    log::warn!(
                        "new work is stored by several statements for a while: the one that would do has failed again and \
                         again, at last with error={}",
                        error.message
                    );
                }
                Err(error.into())
            }
            Err(Error::Database(error)) if error.class == FailureClass::ConnectionLost => {
                Err(DatabaseError { class: FailureClass::CommitUnknown, ..error }.into())
            }
            Err(error) => Err(error),
        }
    }

    /// Tells whether new work can be stored by one call.
    fn find_fast_path(&self, connection: &mut Connection<'_>) -> Result<()> {
        let is_there =
            self.backend != Backend::Postgres || migrations::has_function(connection, &self.context.options)?;
        self.fast_path.note_function(is_there);
        if !is_there {
            log::warn!(
                "the function {}CN_SCHEDULE is not there, or may not be executed: new work is stored by several statements \
                 instead of one, until it is there when this node starts; run `carnelian migrate`, or grant EXECUTE",
                self.context.options.table_prefix
            );
        }
        Ok(())
    }
}

impl Database for SqlDatabase {
    fn transact(
        &self,
        purpose: &'static str,
        mode: TxMode,
        work: &mut dyn FnMut(&mut dyn Session) -> Result<()>,
    ) -> Result<()> {
        let mut pooled = self.connection(purpose)?;
        let connection: &mut Connection<'_> = &mut pooled;
        // Reads do without a transaction where a transaction is not one moment either.
        let is_alone = self.backend != Backend::Sqlite && connection.keeps_session();
        if mode == TxMode::Autocommit || mode == TxMode::ReadOnly && is_alone {
            let mut session = SqlSession::new(&self.context, connection, purpose);
            let worked = work(&mut session);
            self.statements.fetch_add(session.statements, Ordering::Relaxed);
            return worked;
        }
        // The settings come with a transaction only, unless the session is kept.
        if mode == TxMode::SingleStatement && connection.keeps_session() {
            #[cfg(any(test, feature = "test-util"))]
            if let Some(told) = self.context.faults.at_commit(purpose, &mut |apply| match apply {
                true => work(&mut SqlSession::new(&self.context, connection, purpose)),
                false => Ok(()),
            }) {
                return told;
            }
            return self.single_statement(SqlSession::new(&self.context, connection, purpose), work);
        }
        if let Err(failure) = connection.begin(mode) {
            connection.break_off_after(failure.class);
            return Err(failure.of_operation(purpose));
        }
        let mut session = SqlSession::new(&self.context, connection, purpose);
        let worked = match mode {
            TxMode::ReadOnly | TxMode::Autocommit | TxMode::OwnRows | TxMode::SingleStatement => work(&mut session),
            TxMode::Exclusive(lock) => session.lock(lock).and_then(|()| work(&mut session)),
            TxMode::BesideClaims => {
                session.lock_as(Lock::TriggerAccess, LockStrength::BesideClaims).and_then(|()| work(&mut session))
            }
            TxMode::Claiming => {
                session.lock_as(Lock::TriggerAccess, LockStrength::Shared).and_then(|()| work(&mut session))
            }
        };
        let (statements, drawn, lost) = (session.statements, session.drawn, session.lost);
        self.statements.fetch_add(statements, Ordering::Relaxed);
        match worked {
            Ok(()) => {
                #[cfg(any(test, feature = "test-util"))]
                if mode.may_write()
                    && let Some(told) = self.context.faults.at_commit(purpose, &mut |apply| match apply {
                        true => connection.commit().map_err(|failure| failure.of_operation(purpose)),
                        false => connection.roll_back().map_err(|failure| failure.of_operation(purpose)),
                    })
                {
                    if told.is_ok() {
                        self.context.fences.note_lost(lost);
                        self.context.fences.note(drawn);
                    }
                    return told;
                }
                connection.commit().map_err(|failure| {
                    // A transaction that gave way at its commit has failed like any other.
                    let gave_way = matches!(failure.class, FailureClass::Deadlock | FailureClass::Serialization);
                    if !gave_way || connection.is_in_transaction() && connection.roll_back().is_err() {
                        connection.break_off_after(failure.class);
                    }
                    let class = match failure.class {
                        FailureClass::ConnectionLost => FailureClass::CommitUnknown,
                        other => other,
                    };
                    Failure { class, ..failure }.of_operation(purpose)
                })?;
                self.context.fences.note_lost(lost);
                self.context.fences.note(drawn);
                if mode.may_write() {
                    self.commits.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            }
            Err(error) => {
                if connection.roll_back().is_err() {
                    connection.break_off();
                }
                Err(error)
            }
        }
    }

    fn join(
        &self,
        purpose: &'static str,
        connection: CallersConnection<'_>,
        join: Join,
        work: &mut dyn FnMut(&mut dyn Session) -> Result<()>,
    ) -> Result<()> {
        let mut connection = Connection::of_caller(connection);
        if connection.backend() != self.backend {
            return Err(Error::Refused(format!(
                "{purpose}: the connection is to {}, but the jobs are in {}",
                connection.backend().name(),
                self.describe()
            )));
        }
        if !connection.is_in_transaction() {
            return Err(Error::Refused(format!(
                "{purpose}: no transaction is open on the connection: call it inside `connection.transaction(…)`"
            )));
        }
        let mut session = SqlSession::new(&self.context, &mut connection, purpose);
        let worked = session.join(join).and_then(|()| work(&mut session));
        self.statements.fetch_add(session.statements, Ordering::Relaxed);
        worked
    }

    fn migrate(&self) -> Result<Vec<String>> {
        let mut connection = self.connection("migrate")?;
        let done = migrations::migrate(&mut connection, &self.context.options)?;
        self.find_fast_path(&mut connection).map(|()| done)
    }

    fn check_schema(&self) -> Result<()> {
        let mut connection = self.connection("check the tables")?;
        migrations::check(&mut connection, &self.context.options).and_then(|()| self.find_fast_path(&mut connection))
    }

    fn check_versions(&self) -> Result<()> {
        migrations::look(&mut *self.connection("look at the tables")?, &self.context.options)
    }

    fn check_rights(&self) -> Result<()> {
        migrations::check_rights(&mut *self.connection("look at the rights")?, &self.context.options)
    }

    fn other_schedulers(&self) -> Result<Vec<String>> {
        scheduler_rows::other_schedulers(&mut *self.connection("look for jobs")?, &self.context.options)
    }

    fn examine_schema(&self) -> Result<Vec<MissingPart>> {
        parts::examine(&mut *self.connection("examine the tables")?, &self.context.options)
    }

    fn mend_schema(&self) -> Result<Vec<MissingPart>> {
        let mut connection = self.connection("mend the tables")?;
        let made = parts::mend(&mut connection, &self.context.options)?;
        self.find_fast_path(&mut connection).map(|()| made)
    }

    fn forget_scheduler(&self) -> Result<()> {
        let mut pooled = self.connection("forget the scheduler")?;
        self.context.fences.forget();
        SqlSession::new(&self.context, &mut pooled, "forget the scheduler").forget_scheduler()
    }

    fn fences(&self) -> Option<&super::Fences> {
        Some(&self.context.fences)
    }

    #[cfg(feature = "postgres")]
    fn notification_source(&self) -> Option<Box<dyn NotificationSource>> {
        let way = self.connections.way_of_notifications().filter(|_| self.backend == Backend::Postgres)?;
        Some(Box::new(notification_source::PostgresListener::new(way, &self.context.options)))
    }

    fn begins_apart(&self) -> bool {
        self.backend != Backend::Sqlite
    }

    fn completes_beside(&self) -> bool {
        self.backend != Backend::Sqlite && !self.has_several_writers()
    }

    fn has_several_writers(&self) -> bool {
        self.context.writes_locks() == Some(true)
    }

    fn has_fast_path(&self) -> bool {
        self.backend == Backend::Postgres
            && !self.has_several_writers()
            && self.fast_path.is_taken(self.context.clock.ticks())
    }

    fn prefers_single_statement(&self) -> bool {
        // SQLite's statement might read before it has the right to write, and fail then.
        self.backend != Backend::Sqlite
    }

    fn claims_rows(&self) -> Result<bool> {
        let passes_over =
            self.context.passes_over_locked.get().copied().or_else(|| dialect::passes_over_locked(self.backend));
        if let (Some(passes_over), Some(writes_locks)) = (passes_over, self.context.writes_locks()) {
            return Ok(passes_over && !writes_locks);
        }
        let mut pooled = self.connection("ask for the version")?;
        let mut session = SqlSession::new(&self.context, &mut pooled, "ask for the version");
        let answers = session.server().and_then(|server| Ok((server, session.writes_locks()?)));
        let (server, writes_locks) = answers.inspect_err(|_| pooled.break_off())?;
        let passes_over = *self.context.passes_over_locked.get_or_init(|| server.passes_over_locked());
        Ok(passes_over && !writes_locks)
    }

    fn session_limit(&self) -> Result<Option<String>> {
        let purpose = "ask what guards sessions";
        if self.backend == Backend::Sqlite {
            return Ok(None);
        }
        let mut pooled = self.connection(purpose)?;
        // Judges have to know whether the nodes check in by several clocks.
        SqlSession::new(&self.context, &mut pooled, purpose).writes_locks()?;
        let limit = pooled.limit_in_words().inspect(|_| pooled.warn_of_language());
        limit.map(Some).map_err(|failure| failure.of_operation(purpose))
    }

    fn counts(&self) -> StatementCounts {
        StatementCounts {
            statements: self.statements.load(Ordering::Relaxed),
            commits: self.commits.load(Ordering::Relaxed),
        }
    }

    fn log_position(&self) -> Result<Option<u64>> {
        if self.backend != Backend::Postgres {
            return Ok(None);
        }
        let bytes = self.ask("ask for the log", "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint AS n")?;
        Ok(u64::try_from(bytes).ok())
    }

    fn describe(&self) -> String {
        format!("{} (tables {}…)", self.backend.name(), self.context.options.table_prefix)
    }
}

/// A pool of our own of the data source that the settings name.
fn own(settings: &Settings, clock: &Arc<dyn Clock>, taken_for: Option<&'static str>) -> Result<(Connections, Backend)> {
    Connections::own(source(settings)?, clock, taken_for).map_err(|failure| failure.of_operation("open the database"))
}

/// The data source of the settings, of a database that this program was built with.
fn source(settings: &Settings) -> Result<&DataSourceSettings> {
    let source = settings.data_source.as_ref().ok_or_else(|| {
        Error::Settings(
            "a database store needs a data source: set jobStore.dataSource and dataSource.NAME.URL".to_owned(),
        )
    })?;
    Backend::of(&source.url).check_built_in().map_err(Error::Settings)?;
    Ok(source)
}
