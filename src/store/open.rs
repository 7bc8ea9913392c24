//! `open`: from settings to a store.

use super::{JobStore, MemoryDatabase, StoreSettings};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::settings::{Settings, StoreKind};
use std::sync::Arc;

/// The store that the settings describe. The database is not reached for yet, and no table is made.
///
/// # Errors
/// [`Error::Settings`] if the settings name no data source, or a database this program was built
/// without.
pub fn open(settings: &Settings, clock: Arc<dyn Clock>) -> Result<JobStore> {
    match settings.job_store.kind {
        StoreKind::Memory => {
            let database = MemoryDatabase::new(Arc::clone(&clock));
            Ok(JobStore::new(Arc::new(database), clock, store_settings(settings)))
        }
        StoreKind::Sql => open_sql(settings, clock),
    }
}

/// The store that the settings describe, in the database that a pool of the caller's leads to. The
/// settings need no data source; one that they name is not used.
///
/// # Errors
/// [`Error::Invalid`] for a table prefix or a scheduler name that cannot be used.
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub fn open_with_pool(
    settings: &Settings,
    pool: impl Into<super::CallersPool>,
    clock: Arc<dyn Clock>,
) -> Result<JobStore> {
    let database = super::SqlDatabase::with_pool(pool, Arc::clone(&clock), sql_options(settings))?;
    Ok(JobStore::new(Arc::new(database), clock, store_settings(settings)))
}

fn store_settings(settings: &Settings) -> StoreSettings {
    let store = &settings.job_store;
    StoreSettings {
        scheduler_name: settings.scheduler.instance_name.clone(),
        misfire_threshold: store.misfire_threshold,
        max_misfires_at_a_time: usize::try_from(store.max_misfires_at_a_time).unwrap_or(usize::MAX),
        use_properties: store.use_properties,
        default_zone: settings.scheduler.time_zone,
        checkin_interval: store.checkin_interval,
        checkin_tolerance: store.checkin_misfire_threshold,
        own_types_beside_quartz: settings.cluster.own_types_beside_quartz,
        trigger_order: store.trigger_order,
        polling_strategy: store.polling_strategy,
        takeover_delay: settings.cluster.takeover_delay,
        history_record: settings.history.record,
        history_retention: settings.history.retention,
        history_max_rows: settings.history.max_rows,
        history_max_rows_per_job: settings.history.max_rows_per_job,
        history_misfires: settings.history.misfires,
        recovery_threshold: settings.recovery.threshold,
        recovery_batch: settings.recovery.batch,
        max_takeovers: settings.recovery.max_takeovers,
    }
}

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
fn sql_options(settings: &Settings) -> super::SqlOptions {
    let mut options = super::SqlOptions::new(&settings.scheduler.instance_name);
    options.table_prefix = settings.job_store.table_prefix.clone();
    options.node_clock = settings.job_store.clock == crate::settings::ClockSource::Node;
    if let Some(source) = &settings.data_source {
        options.max_connections = source.max_connections;
        options.connection_timeout = source.connection_timeout;
        options.validate_on_checkout = source.validate_on_checkout;
        options.idle_timeout = source.idle_timeout;
        options.synchronous = source.synchronous;
    }
    options
}

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
fn open_sql(settings: &Settings, clock: Arc<dyn Clock>) -> Result<JobStore> {
    let source = settings.data_source.as_ref().ok_or_else(|| {
        Error::Settings(
            "a database store needs a data source: set jobStore.dataSource and dataSource.NAME.URL".to_owned(),
        )
    })?;
    let database = super::SqlDatabase::open(&source.url, Arc::clone(&clock), sql_options(settings))?;
    Ok(JobStore::new(Arc::new(database), clock, store_settings(settings)))
}

#[cfg(not(any(feature = "sqlite", feature = "postgres", feature = "mysql")))]
fn open_sql(_: &Settings, _: Arc<dyn Clock>) -> Result<JobStore> {
    Err(Error::Settings(
        "this program was built without a database: use the feature sqlite, postgres or mysql".to_owned(),
    ))
}
