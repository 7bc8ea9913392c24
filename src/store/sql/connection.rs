//! `Connection`: one connection to one of the three databases, and how it is made.

use super::backend::Backend;
use super::dialect;
use super::failure::Failure;
use super::failure_class::{self, OUTDATED_PLAN};
use super::harness::{self, Scripts};
use super::held_connection::HeldConnection;
use super::statement::Statement;
#[cfg(feature = "mysql")]
use super::tls;
use crate::FailureClass;
use crate::settings::{DataSourceUrl, Synchronous};
use crate::store::{CallersConnection, TxMode};
use diesel::connection::{AnsiTransactionManager, SimpleConnection, TransactionManager};
use diesel::deserialize::QueryableByName;
use diesel::r2d2::R2D2Connection;
use diesel::result::QueryResult;

/// The password in a URL, so that it can be kept out of messages.
fn password(url: &DataSourceUrl) -> Option<&str> {
    let authority = url.reveal().split_once("://")?.1.split(['/', '?']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    user.split_once(':').map(|(_, password)| password).filter(|password| !password.is_empty())
}

/// One connection, to a database of any of the three kinds.
pub(super) enum Connection<'c> {
    #[cfg(feature = "sqlite")]
    Sqlite(Inner<'c, diesel::SqliteConnection>),
    #[cfg(feature = "postgres")]
    Postgres(Inner<'c, diesel::PgConnection>),
    #[cfg(feature = "mysql")]
    Mysql(Inner<'c, diesel::MysqlConnection>),
}

pub(super) struct Inner<'c, C: R2D2Connection + 'static> {
    pub connection: HeldConnection<'c, C>,
    broken: bool,
    /// True if the way to the server is gone, and so perhaps for all connections that are as old.
    lost: bool,
    /// True if the session is ours for more than a transaction.
    keeps_session: bool,
}

/// Does the same on whichever database it is.
macro_rules! each {
    ($self:expr, $inner:ident => $body:expr) => {
        match $self {
            #[cfg(feature = "sqlite")]
            Connection::Sqlite($inner) => $body,
            #[cfg(feature = "postgres")]
            Connection::Postgres($inner) => $body,
            #[cfg(feature = "mysql")]
            Connection::Mysql($inner) => $body,
        }
    };
}

macro_rules! readable {
    ($name:ident, $feature:literal, $backend:ty) => {
        #[cfg(feature = $feature)]
        pub(super) trait $name: QueryableByName<$backend> {}
        #[cfg(feature = $feature)]
        impl<T: QueryableByName<$backend>> $name for T {}
        #[cfg(not(feature = $feature))]
        pub(super) trait $name {}
        #[cfg(not(feature = $feature))]
        impl<T> $name for T {}
    };
}
readable!(OnSqlite, "sqlite", diesel::sqlite::Sqlite);
readable!(OnPostgres, "postgres", diesel::pg::Pg);
readable!(OnMysql, "mysql", diesel::mysql::Mysql);

/// A row that every database of this build can give.
pub(super) trait Readable: OnSqlite + OnPostgres + OnMysql + 'static {}
impl<T: OnSqlite + OnPostgres + OnMysql + 'static> Readable for T {}

impl Connection<'_> {
    pub(super) fn backend(&self) -> Backend {
        match self {
            #[cfg(feature = "sqlite")]
            Connection::Sqlite(_) => Backend::Sqlite,
            #[cfg(feature = "postgres")]
            Connection::Postgres(_) => Backend::Postgres,
            #[cfg(feature = "mysql")]
            Connection::Mysql(_) => Backend::Mysql,
        }
    }

    pub(super) fn true_literal(&self) -> &'static str {
        dialect::true_literal(self.backend())
    }

    /// Opens a connection, and leaves its session as it is.
    pub(super) fn open(url: &DataSourceUrl) -> Result<Self, Failure> {
        Ok(match url {
            #[cfg(feature = "sqlite")]
            DataSourceUrl::Sqlite { .. } => Connection::Sqlite(Inner::establish(url)?),
            #[cfg(feature = "postgres")]
            DataSourceUrl::Postgres { .. } => Connection::Postgres(Inner::establish(url)?),
            #[cfg(feature = "mysql")]
            DataSourceUrl::MySql { url: text } => {
                tls::check_library(text.reveal())?;
                let mut connection = Connection::Mysql(Inner::establish(url)?);
                tls::check_session(text.reveal(), |text| connection.ask(text))?;
                connection
            }
            #[allow(unreachable_patterns, reason = "reached when a database's feature is off")]
            other => {
                let message = Backend::of(other).check_built_in().err().unwrap_or_default();
                return Err(Failure { class: FailureClass::Permanent, message });
            }
        })
    }

    /// Sets up the session.
    pub(super) fn set_up(&mut self, synchronous: Synchronous) -> Result<(), Failure> {
        for statement in dialect::session_setup(self.backend(), synchronous) {
            match self.run(statement.text) {
                Err(failure) if !statement.optional => return Err(failure),
                _ => {}
            }
        }
        Ok(())
    }

    /// The caller's own, for the time of its transaction.
    pub(super) fn of_caller<'c>(callers: CallersConnection<'c>) -> Connection<'c> {
        match callers {
            #[cfg(feature = "sqlite")]
            CallersConnection::Sqlite(c) => Connection::Sqlite(Inner::new(HeldConnection::Callers(c))),
            #[cfg(feature = "postgres")]
            CallersConnection::Postgres(c) => Connection::Postgres(Inner::new(HeldConnection::Callers(c))),
            #[cfg(feature = "mysql")]
            CallersConnection::Mysql(c) => Connection::Mysql(Inner::new(HeldConnection::Callers(c))),
        }
    }

    /// Tells whether a transaction is open on it.
    pub(super) fn is_in_transaction(&mut self) -> bool {
        each!(self, c => matches!(
            AnsiTransactionManager::transaction_manager_status_mut(&mut *c.connection).transaction_depth(),
            Ok(Some(_))
        ))
    }

    pub(super) fn is_of_callers_pool(&self) -> bool {
        each!(self, c => c.connection.is_of_callers_pool())
    }

    /// True if the session is ours for more than a transaction: what is set in it stays, and is
    /// left to nobody else.
    pub(super) fn keeps_session(&self) -> bool {
        each!(self, c => c.keeps_session)
    }

    /// From now on the session is another one for each transaction.
    pub(super) fn keep_no_session(&mut self) {
        each!(self, c => c.keeps_session = false);
        self.prepare_statements(false);
    }

    /// Says whether statements are prepared and kept; they are from the beginning. Only PostgreSQL
    /// has poolers that mind.
    pub(super) fn prepare_statements(&mut self, prepares: bool) {
        match self {
            #[cfg(feature = "postgres")]
            Connection::Postgres(c) => {
                use diesel::connection::{CacheSize, Connection as _};
                let size = if prepares { CacheSize::Unbounded } else { CacheSize::Disabled };
                c.connection.set_prepared_statement_cache_size(size);
            }
            #[cfg(any(feature = "sqlite", feature = "mysql"))]
            _ => {
                let _ = prepares;
            }
        }
    }

    pub(super) fn begin(&mut self, mode: TxMode) -> Result<(), Failure> {
        let backend = self.backend();
        let keeps_session = self.keeps_session();
        let text = if keeps_session { dialect::begin(backend, mode) } else { dialect::begin_apart(backend, mode) };
        let begun = each!(self, c => AnsiTransactionManager::begin_transaction_sql(&mut *c.connection, text));
        begun.map_err(|error| failure_class::classify(self.backend(), &error))
    }

    pub(super) fn commit(&mut self) -> Result<(), Failure> {
        let done = each!(self, c => AnsiTransactionManager::commit_transaction(&mut *c.connection));
        done.map_err(|error| failure_class::classify(self.backend(), &error))
    }

    pub(super) fn roll_back(&mut self) -> Result<(), Failure> {
        let done = each!(self, c => AnsiTransactionManager::rollback_transaction(&mut *c.connection));
        done.map_err(|error| failure_class::classify(self.backend(), &error))
    }

    /// Marks the connection so that the pool throws it away, and with it those that are as old if
    /// the way to the server is gone.
    pub(super) fn break_off_after(&mut self, class: FailureClass) {
        if matches!(class, FailureClass::ConnectionLost | FailureClass::CommitUnknown | FailureClass::Unavailable) {
            each!(self, c => c.lost = true);
        }
        self.break_off();
    }

    /// Tells whether the way to the server is gone.
    pub(super) fn is_lost(&self) -> bool {
        each!(self, c => c.lost)
    }

    /// Marks the connection so that the pool throws it away.
    pub(super) fn break_off(&mut self) {
        each!(self, c => {
            c.broken = true;
            c.connection.spoil();
        });
    }

    pub(super) fn is_broken(&mut self) -> bool {
        each!(self, c => {
            let in_transaction = !matches!(
                AnsiTransactionManager::transaction_manager_status_mut(&mut *c.connection).transaction_depth(),
                Ok(None)
            );
            c.broken || in_transaction || std::thread::panicking()
        })
    }

    pub(super) fn execute(&mut self, statement: Statement<'_>) -> Result<usize, Failure> {
        let done: QueryResult<usize> = each!(self, c => diesel::RunQueryDsl::execute(statement, &mut *c.connection));
        done.map_err(|error| self.fail(&error))
    }

    pub(super) fn load<R: Readable>(&mut self, statement: Statement<'_>) -> Result<Vec<R>, Failure> {
        let rows: QueryResult<Vec<R>> = each!(self, c => diesel::RunQueryDsl::load(statement, &mut *c.connection));
        rows.map_err(|error| self.fail(&error))
    }

    /// The answer to a question without values that names no table of ours.
    pub(super) fn ask<R: Readable>(&mut self, text: &str) -> Result<Vec<R>, Failure> {
        self.load(Statement { text, prefix: "", values: &[] })
    }

    /// Runs statements that are not worth preparing.
    pub(super) fn run(&mut self, text: &str) -> Result<(), Failure> {
        let done = each!(self, c => c.connection.batch_execute(text));
        done.map_err(|error| self.fail(&error))
    }

    /// The notifications on channels that this connection listens to, since it was asked last.
    #[cfg(feature = "postgres")]
    pub(super) fn notifications(&mut self) -> Result<Vec<String>, Failure> {
        let payloads = match self {
            Connection::Postgres(c) => c
                .connection
                .notifications_iter()
                .map(|notification| notification.map(|notification| notification.payload))
                .collect::<QueryResult<Vec<String>>>(),
            #[cfg(any(feature = "sqlite", feature = "mysql"))]
            _ => Ok(Vec::new()),
        };
        payloads.map_err(|error| Failure::of_lost(error.to_string()))
    }

    /// Runs the migrations that were not applied yet; returns their versions.
    pub(super) fn run_pending(&mut self, scripts: &Scripts) -> Result<Vec<String>, Failure> {
        each!(self, c => harness::run_pending(&mut *c.connection, scripts))
    }

    fn fail(&mut self, error: &diesel::result::Error) -> Failure {
        let mut failure = failure_class::classify(self.backend(), error);
        // A caller's transaction that reads only is so of the caller's will.
        if failure.class == FailureClass::Unavailable && each!(self, c => c.connection.is_callers()) {
            failure.class = FailureClass::Permanent;
        }
        // Statements that a caller's connection has prepared go with the connection, which is the
        // caller's to close.
        if failure.message.contains(OUTDATED_PLAN) && each!(self, c => c.connection.is_callers()) {
            failure.class = FailureClass::Permanent;
            failure.message.push_str(": a column has another type now: open the connection anew");
        }
        // A server that became a standby goes on answering: only a new connection leads to the one
        // that took its place.
        if matches!(failure.class, FailureClass::ConnectionLost | FailureClass::Unavailable) {
            self.break_off_after(failure.class);
        }
        failure
    }
}

impl<'c, C: R2D2Connection + 'static> Inner<'c, C> {
    pub(super) fn new(connection: HeldConnection<'c, C>) -> Self {
        let keeps_session = !matches!(connection, HeldConnection::OfCallersPool(_));
        Self { connection, broken: false, lost: false, keeps_session }
    }

    fn establish(url: &DataSourceUrl) -> Result<Self, Failure> {
        match C::establish(url.reveal()) {
            Ok(connection) => Ok(Self::new(HeldConnection::Own(connection))),
            Err(error) => {
                let message = error.to_string();
                let message = password(url).map_or(message.clone(), |password| message.replace(password, "***"));
                Err(failure_class::classify_connect(url, &message))
            }
        }
    }
}
