//! `open`: from settings to a store.

use super::{JobStore, MemoryDatabase};
use crate::clock::Clock;
#[cfg(not(any(feature = "sqlite", feature = "postgres", feature = "mysql")))]
use crate::error::Error;
use crate::error::Result;
use crate::settings::{Settings, StoreKind};
use std::sync::Arc;

/// The store that the settings describe. The database is not reached for yet, and no table is made.
///
/// # Errors
/// [`Error::Settings`](crate::Error::Settings) if the settings name no data source, or a database
/// this program was built without.
pub fn open(settings: &Settings, clock: Arc<dyn Clock>) -> Result<JobStore> {
    match settings.job_store.kind {
        StoreKind::Memory => {
            let database = MemoryDatabase::new(Arc::clone(&clock));
            Ok(JobStore::new(Arc::new(database), clock, settings.clone()))
        }
        StoreKind::Sql => open_sql(settings, clock),
    }
}

/// The store that the settings describe, in the database that a pool of the caller's leads to. The
/// settings need no data source; one that they name is not used.
///
/// # Errors
/// [`Error::Invalid`](crate::Error::Invalid) for a table prefix or a scheduler name that cannot be
/// used.
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub fn open_with_pool(
    settings: &Settings,
    pool: impl Into<super::CallersPool>,
    clock: Arc<dyn Clock>,
) -> Result<JobStore> {
    let database = super::SqlDatabase::with_pool(pool, Arc::clone(&clock), settings)?;
    Ok(JobStore::new(Arc::new(database), clock, settings.clone()))
}

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
fn open_sql(settings: &Settings, clock: Arc<dyn Clock>) -> Result<JobStore> {
    let database = super::SqlDatabase::open(settings, Arc::clone(&clock))?;
    Ok(JobStore::new(Arc::new(database), clock, settings.clone()))
}

#[cfg(not(any(feature = "sqlite", feature = "postgres", feature = "mysql")))]
fn open_sql(_: &Settings, _: Arc<dyn Clock>) -> Result<JobStore> {
    Err(Error::Settings(
        "this program was built without a database: use the feature sqlite, postgres or mysql".to_owned(),
    ))
}
