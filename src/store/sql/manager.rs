//! `Manager`: makes the connections of our own pools, and judges those that come back.

use super::connect_attempts::ConnectAttempts;
use super::connection::Connection;
use super::failure::Failure;
use super::pooler::PoolerMode;
use super::server::{LONGEST_REST, SessionLimit};
use crate::clock::Clock;
use crate::error::FailureClass;
use crate::settings::{DataSourceUrl, Synchronous};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The longest pause between two tries to connect. A pool doubles it: after an outage of a minute a
/// node would be back half a minute after its database.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Makes connections for our own pool.
///
/// If one connection was lost (a server was restarted, a balancer or a firewall forgot its
/// connections), those that were opened before are most likely lost as well. Each would cost a call
/// one of its tries without a statement ever being sent: therefore all of them go.
#[derive(Clone)]
pub(super) struct Manager {
    pub(super) url: DataSourceUrl,
    pub(super) attempts: Arc<ConnectAttempts>,
    pub(super) pooler: Arc<PoolerMode>,
    pub(super) synchronous: Synchronous,
    /// A statement of the user's for each new connection.
    pub(super) init_sql: Option<String>,
    /// True if a connection is asked before each use.
    pub(super) validates: bool,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) taken_for: Option<&'static str>,
    /// The number of losses, each of a connection that was opened after the loss before.
    pub(super) losses: Arc<AtomicU64>,
}

/// A connection of our own pool.
pub(super) struct Opened {
    pub(super) connection: Connection<'static>,
    /// The number of losses before the connection was opened.
    after_losses: u64,
    /// The limit of the server for the session of the connection.
    pub(super) limit: Option<SessionLimit>,
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
        let is_by_transaction = self.pooler.find(&mut connection, url)?;
        if is_by_transaction {
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
        let limit = connection.set_limit(self.taken_for)?;
        if let Some(text) = &self.init_sql {
            let named = |why: Failure| Failure { message: format!("connectionInitSql: {}", why.message), ..why };
            let kept = if is_by_transaction { Err(Failure::of_session_left()) } else { connection.run(text) };
            kept.map_err(named)?;
        }
        Ok(Opened { connection, after_losses, limit, used: self.clock.ticks() })
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
        } else if opened.limit == Some(SessionLimit::Silent)
            && self.clock.ticks().saturating_sub(opened.used) > LONGEST_REST
        {
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
