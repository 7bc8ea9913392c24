//! `open`: from settings to a store.

use super::{JobStore, MemoryDatabase, StoreSettings};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::settings::{Settings, StoreKind};
use std::sync::Arc;

/// The store that the settings describe. The database is not reached for yet, and no table is made.
///
/// # Errors
/// [`Error::Settings`] if the settings name no data source, or a database this program was built without.
pub fn open(settings: &Settings, clock: Arc<dyn Clock>) -> Result<JobStore> {
    let store = &settings.job_store;
    let store_settings = StoreSettings {
        scheduler_name: settings.scheduler.instance_name.clone(),
        misfire_threshold: store.misfire_threshold,
        max_misfires_at_a_time: usize::try_from(store.max_misfires_at_a_time).unwrap_or(usize::MAX),
        use_properties: store.use_properties,
        default_zone: settings.scheduler.time_zone,
        checkin_interval: store.checkin_interval,
        checkin_tolerance: store.checkin_misfire_threshold,
        takeover_delay: settings.cluster.takeover_delay,
    };
    match store.kind {
        StoreKind::Memory => {
            let database = MemoryDatabase::new(Arc::clone(&clock));
            Ok(JobStore::new(Arc::new(database), clock, store_settings))
        }
        StoreKind::Sql => open_sql(settings, clock, store_settings),
    }
}

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
fn open_sql(settings: &Settings, clock: Arc<dyn Clock>, store_settings: StoreSettings) -> Result<JobStore> {
    use super::{SqlDatabase, SqlOptions};
    let source = settings.data_source.as_ref().ok_or_else(|| {
        Error::Settings(
            "a database store needs a data source: set jobStore.dataSource and dataSource.NAME.URL".to_owned(),
        )
    })?;
    let mut options = SqlOptions::new(&store_settings.scheduler_name);
    options.table_prefix = settings.job_store.table_prefix.clone();
    options.max_connections = source.max_connections;
    options.connection_timeout = source.connection_timeout;
    options.node_clock = settings.job_store.clock == crate::settings::ClockSource::Node;
    let database = SqlDatabase::open(&source.url, Arc::clone(&clock), options)?;
    Ok(JobStore::new(Arc::new(database), clock, store_settings))
}

#[cfg(not(any(feature = "sqlite", feature = "postgres", feature = "mysql")))]
fn open_sql(_: &Settings, _: Arc<dyn Clock>, _: StoreSettings) -> Result<JobStore> {
    Err(Error::Settings(
        "this program was built without a database: use the feature sqlite, postgres or mysql".to_owned(),
    ))
}
