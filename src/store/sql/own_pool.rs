//! `OwnPool`: the pool that the store has made, and a few connections beside it on which the life
//! of a node hangs.

use super::backend::Backend;
use super::failure::Failure;
use super::manager::{LONGEST_PAUSE, Manager};
use super::silence::longest_wait;
use crate::error::FailureClass;
use crate::guarded::guarded;
use crate::settings::{DataSourceSettings, DataSourceUrl};
use r2d2::PooledConnection;
use std::sync::OnceLock;
use std::time::Duration;

/// The time between two looks for the first connection.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// The purposes of the two threads without whose check-ins and beats others take the node or its
/// runs for dead. Threads that wait for a lock may hold all connections for longer than that takes.
const SIGNS_OF_LIFE: [&str; 13] = [
    "check in",
    "look at the cluster",
    // Between a check-in and the moment from which the check-in counts.
    "look for parts",
    "note the last work",
    "recover a failed instance",
    "give up parts",
    "publish job types",
    "beat",
    "look for missed beats",
    // Before the next beat.
    "look for orders to stop",
    "look for fires that are gone",
    "recover silent fires",
    "give up fires",
];

/// Most connections that are kept for them: check-in and beats are two threads.
const SPARE: u32 = 2;

/// A pool that the store has made.
pub(super) struct OwnPool {
    pub(super) pool: r2d2::Pool<Manager>,
    /// Made when a sign of life finds all connections in use. None where it would not help: one
    /// file has one writer.
    spare: Option<OnceLock<r2d2::Pool<Manager>>>,
    pub(super) manager: Manager,
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only PostgreSQL is listened to"))]
    pub(super) url: DataSourceUrl,
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only PostgreSQL is listened to"))]
    pub(super) listen_url: Option<DataSourceUrl>,
    /// The longest wait for a connection.
    longest: Duration,
}

impl OwnPool {
    pub(super) fn new(source: &DataSourceSettings, manager: Manager) -> Result<Self, Failure> {
        let (url, listen_url) = (source.url.clone(), source.listen_url.clone());
        // Every connection to `:memory:` is a database of its own.
        let is_kept = url.is_in_memory();
        let size = if is_kept { 1 } else { source.max_connections.max(1) };
        let times = (source.idle_timeout.filter(|_| !is_kept), source.max_age.filter(|_| !is_kept));
        let pool = pool(size, times, manager.clone())?;
        let spare = (Backend::of(&url) != Backend::Sqlite).then(OnceLock::new);
        Ok(Self { pool, spare, manager, longest: longest_wait(&url, source.connection_timeout), url, listen_url })
    }

    pub(super) fn get(&self, purpose: &str) -> Result<PooledConnection<Manager>, Failure> {
        let attempts = &self.manager.attempts;
        let opened = match &self.spare {
            _ if !attempts.has_succeeded() => self.first()?,
            Some(spare) if SIGNS_OF_LIFE.contains(&purpose) => self.soon(spare)?,
            _ => self.pool.get_timeout(self.longest).ok(),
        };
        opened.ok_or_else(|| match self.pool.state().connections {
            0 => attempts.timed_out(self.longest),
            n => Failure {
                class: FailureClass::Unavailable,
                message: format!("all {n} connections are in use: raise maxConnections of the data source"),
            },
        })
    }

    /// A connection for a sign of life: one of those beside the pool, if all of the pool are in
    /// use.
    fn soon(&self, spare: &OnceLock<r2d2::Pool<Manager>>) -> Result<Option<PooledConnection<Manager>>, Failure> {
        if let Ok(opened) = self.pool.get_timeout(self.longest.min(BETWEEN_LOOKS)) {
            return Ok(Some(opened));
        }
        if self.pool.state().connections < self.pool.max_size() {
            return Ok(self.pool.get_timeout(self.longest).ok());
        }
        let beside = match spare.get() {
            Some(beside) => beside,
            None => {
                let times = (self.pool.idle_timeout(), self.pool.max_lifetime());
                let made = pool(SPARE, times, self.manager.clone())?;
                spare.get_or_init(|| made)
            }
        };
        // The server may have no room for one more: then the first that comes back has to do.
        let looks = self.longest.as_millis().div_ceil(2 * BETWEEN_LOOKS.as_millis());
        let opened = (0..looks).find_map(|_| {
            let pools = [beside, &self.pool];
            pools.into_iter().find_map(|pool| pool.get_timeout(BETWEEN_LOOKS).ok())
        });
        Ok(opened)
    }

    /// The first connection. The pool would try again until the time is over, and say nothing
    /// before, also where the database refuses this user for good.
    fn first(&self) -> Result<Option<PooledConnection<Manager>>, Failure> {
        let attempts = &self.manager.attempts;
        // Asks the pool for a try; the looks below ask for no further ones.
        let mut opened = self.pool.get_timeout(self.longest.min(BETWEEN_LOOKS)).ok();
        let mut looks = self.longest.as_millis() / BETWEEN_LOOKS.as_millis();
        while opened.is_none() && looks > 0 {
            if let Some(refusal) = attempts.refusal() {
                return Err(refusal);
            }
            attempts.wait_for_try(BETWEEN_LOOKS);
            opened = self.pool.try_get();
            looks -= 1;
        }
        Ok(opened)
    }
}

/// A pool of so many connections, which are closed after these times: unused, and in any case.
fn pool(
    size: u32,
    (idle, most): (Option<Duration>, Option<Duration>),
    manager: Manager,
) -> Result<r2d2::Pool<Manager>, Failure> {
    let builder = r2d2::Pool::builder()
        .max_size(size)
        .min_idle(Some(0))
        // A comparison of two numbers: see `Manager::is_valid`.
        .test_on_check_out(true)
        // The pool pauses between two tries to connect for half of this at most. Each call says how
        // long it waits for a connection.
        .connection_timeout(2 * LONGEST_PAUSE)
        .idle_timeout(idle)
        .max_lifetime(most)
        .error_handler(Box::new(QuietErrors));
    // A pool starts threads, and panics if none can be had.
    guarded(|| builder.build_unchecked(manager)).map_err(|why| Failure {
        class: FailureClass::InsufficientResources,
        message: format!("a pool of connections cannot be made, since it needs threads: {why}"),
    })
}

/// Connection errors come back to the caller, and
/// [`ConnectAttempts`](super::connect_attempts::ConnectAttempts) tells the log of the first in a
/// row; the pool need not log each of them as well (H19).
#[derive(Debug)]
struct QuietErrors;

impl r2d2::HandleError<Failure> for QuietErrors {
    fn handle_error(&self, error: Failure) {
        log::debug!("no connection error={}", error.message);
    }
}
