//! `PostgresListener`: receives by LISTEN what other nodes send by NOTIFY.

use super::arrivals::{Arrivals, sockets};
use super::connection::Connection;
use super::failure::Failure;
use super::pool::WayOfNotifications;
use super::pooler::lends_by_transaction;
use super::silence::NOTICE_SILENCE;
use super::sql_options::SqlOptions;
use super::statement::Count;
use crate::clock::{Clock, Signal, Woken};
use crate::error::{Error, FailureClass, Result};
use crate::settings::{DataSourceUrl, Synchronous};
use crate::store::database::NotificationSource;
use crate::store::row::Notifications;
use std::time::Duration;

/// The port of this end of the connection, as the server sees it; 0 if it is no port.
const PORT: &str = "SELECT CAST(COALESCE(inet_client_port(), 0) AS bigint) AS n";

/// One connection that listens, outside of every pool.
pub(super) struct PostgresListener {
    url: DataSourceUrl,
    /// True if the URL is not that of the pool, and nobody has looked what it leads to.
    is_apart: bool,
    channel: String,
    connection: Option<Connection<'static>>,
    arrivals: Arrivals,
}

impl PostgresListener {
    pub(super) fn new(way: WayOfNotifications<'_>, options: &SqlOptions) -> Self {
        let (url, is_apart) = match way {
            WayOfNotifications::AsThePool(url) => (url, false),
            WayOfNotifications::Apart(url) => (url, true),
        };
        let url = url.with_parameters(&[("connect_timeout", "5")]).with_parameters(&NOTICE_SILENCE);
        Self { url, is_apart, channel: options.channel(), connection: None, arrivals: Arrivals::default() }
    }
}

impl NotificationSource for PostgresListener {
    fn connect(&mut self) -> Result<()> {
        self.connection = None;
        let before = sockets();
        let mut connection = Connection::open(&self.url).map_err(failed)?;
        if self.is_apart && lends_by_transaction(&mut connection, &self.url).map_err(failed)? {
            let message = "carnelian.dataSource.listenUrl leads to a pooler that lends sessions by the transaction, where no \
                 notification is heard: name the server itself";
            return Err(failed(Failure { class: FailureClass::Permanent, message: message.to_owned() }));
        }
        connection.set_up(Synchronous::default()).map_err(failed)?;
        // A server may end sessions that do nothing; this one is meant to do nothing. Older servers
        // do not know it.
        drop(connection.run("SET idle_session_timeout = 0"));
        let port: Vec<Count> = connection.ask(PORT).map_err(failed)?;
        self.arrivals.watch_new(&before, port.first().map_or(0, |row| row.n));
        connection.run(&format!("LISTEN {}", self.channel)).map_err(failed)?;
        self.connection = Some(connection);
        Ok(())
    }

    fn received(&mut self) -> Result<Notifications> {
        let Some(connection) = &mut self.connection else {
            return Err(failed(Failure::of_lost("not connected")));
        };
        let mut received = Notifications::default();
        match connection.notifications() {
            Ok(payloads) => {
                for payload in payloads {
                    received.change |= payload != "cancels";
                    received.cancel |= payload != "changes";
                }
                Ok(received)
            }
            Err(failure) => {
                self.connection = None;
                Err(failed(failure))
            }
        }
    }

    fn hears_at_once(&self) -> bool {
        self.arrivals.is_watching()
    }

    fn wait(&mut self, clock: &dyn Clock, signal: &Signal, until: Option<Duration>) -> Woken {
        match self.hears_at_once() {
            true => self.arrivals.wait(clock, signal, until),
            false => clock.wait(signal, until),
        }
    }
}

fn failed(failure: Failure) -> Error {
    failure.of_operation("listen")
}
