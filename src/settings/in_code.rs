//! Settings in code: the database and the number of workers that a program names itself.

use super::data_source::DataSourceSettings;
use super::job_store::{ClockSource, StoreKind};
use super::scheduler::{BATCH, InstanceIdSetting};
use super::url::DataSourceUrl;
use super::{DataSourceUrlError, Settings};
use crate::error::{Error, Result};

/// Most workers of a node, as `threadPool.threadCount` has it.
const MOST_WORKERS: u32 = 1_000;

impl Settings {
    /// Has the jobs in the database of this URL. A data source that the settings have already keeps
    /// everything but its URL.
    pub(crate) fn use_database(&mut self, url: &str) -> Result<()> {
        let url: DataSourceUrl =
            url.parse().map_err(|why: DataSourceUrlError| Error::Settings(format!("URL of the database: {why}")))?;
        self.put_in_database(url);
        Ok(())
    }

    /// Has the jobs in this database, by the node's clock where the database has none of its own.
    pub(super) fn put_in_database(&mut self, url: DataSourceUrl) {
        if matches!(url, DataSourceUrl::Sqlite { .. }) {
            self.job_store.clock = ClockSource::Node;
        }
        let source = match self.data_source.take() {
            Some(source) => DataSourceSettings { url, ..source },
            None => DataSourceSettings::new("database", url),
        };
        (self.job_store.kind, self.job_store.data_source) = (StoreKind::Sql, Some(source.name.clone()));
        self.data_source = Some(source);
    }

    /// Shares the database with other nodes, under a name of this node's own. A pool of the
    /// application's leads to the database without a data source.
    pub(crate) fn use_cluster(&mut self, has_pool: bool) -> Result<()> {
        if has_pool {
            self.job_store.kind = StoreKind::Sql;
        }
        if self.job_store.kind == StoreKind::Memory {
            let message = "a cluster needs a database, which the nodes share: name it with `database` or `pool`, or with \
                           jobStore.dataSource and dataSource.NAME.URL";
            return Err(Error::Settings(message.to_owned()));
        }
        self.job_store.clustered = true;
        let id = &mut self.scheduler.instance_id;
        if *id == InstanceIdSetting::Fixed(InstanceIdSetting::NON_CLUSTERED.to_owned()) {
            *id = InstanceIdSetting::Auto;
        }
        Ok(())
    }

    /// Has this many worker threads. The size of a batch follows where it is the default.
    pub(crate) fn use_workers(&mut self, count: u32) -> Result<()> {
        if count > MOST_WORKERS {
            let message = format!("workers = {count}: expected 1 to {MOST_WORKERS}, or 0 for a node that runs no jobs");
            return Err(Error::Settings(message));
        }
        let batch = &mut self.scheduler.batch_max_count;
        if *batch == self.thread_pool.thread_count.max(BATCH) {
            *batch = count.max(BATCH);
        }
        self.thread_pool.thread_count = count;
        Ok(())
    }
}
