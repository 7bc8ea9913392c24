//! Ways in which a test gets a database of each kind.

use super::kit::Opened;
use carnelian::clock::Clock;
use carnelian::settings::PollingStrategy;
use carnelian::store::MemoryDatabase;
use std::sync::Arc;

/// A fresh one.
pub fn memory(_scheduler: &str, clock: Arc<dyn Clock>) -> Opened {
    Opened { database: Arc::new(MemoryDatabase::new(clock)), strategy: PollingStrategy::Lock, folder: None }
}

/// A file of its own.
#[cfg(feature = "sqlite")]
pub fn sqlite(scheduler: &str, clock: Arc<dyn Clock>) -> Opened {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    Opened { folder: Some(Arc::new(folder)), ..sql(&url, scheduler, clock) }
}

/// A scheduler of the test's own in the tables of a server.
#[cfg(feature = "postgres")]
pub fn postgres(scheduler: &str, clock: Arc<dyn Clock>) -> Opened {
    sql(&crate::support::postgres_url(), scheduler, clock)
}

/// A scheduler of the test's own in the tables of a server.
#[cfg(feature = "mysql")]
pub fn mysql(scheduler: &str, clock: Arc<dyn Clock>) -> Opened {
    sql(&crate::support::mysql_url(), scheduler, clock)
}

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
fn sql(url: &str, scheduler: &str, clock: Arc<dyn Clock>) -> Opened {
    use super::kit::TestDatabase;
    use carnelian::settings::{ClockSource, Settings};
    use carnelian::store::{Database as _, SqlDatabase};
    let mut settings = Settings::in_database(scheduler, url.parse().unwrap());
    settings.job_store.clock = ClockSource::Node; // the test's clock
    settings.data_source.as_mut().unwrap().max_connections = 4;
    let database = SqlDatabase::open(&settings, clock).unwrap();
    database.migrate().unwrap();
    let database: Arc<dyn TestDatabase> = Arc::new(database);
    Opened { database, strategy: PollingStrategy::Lock, folder: None }
}

/// A scheduler on PostgreSQL, where due triggers are taken by locking their rows.
#[cfg(feature = "postgres")]
pub fn postgres_claiming(scheduler: &str, clock: Arc<dyn Clock>) -> Opened {
    Opened { strategy: PollingStrategy::LockAndFetch, ..postgres(scheduler, clock) }
}

/// A scheduler on MySQL, where due triggers are taken by locking their rows.
#[cfg(feature = "mysql")]
pub fn mysql_claiming(scheduler: &str, clock: Arc<dyn Clock>) -> Opened {
    Opened { strategy: PollingStrategy::LockAndFetch, ..mysql(scheduler, clock) }
}
