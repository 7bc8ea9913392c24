//! Settings: the contents of a `quartz.properties` file, checked as a whole.
//!
//! [`Settings::from_file`] reads the file, [`Settings::from_text`] a text. Both report *every*
//! problem at once, each with file, line, key, value and the values that are accepted. Keys that
//! are accepted without an effect are in [`Settings::warnings`]. All keys are in the table
//! [`keys::KEYS`], from which `docs/configuration.md` is made.
//!
//! This module reads no clock, starts no thread and logs nothing. No message and no `Debug` output
//! shows a password.

mod choices;
mod cluster;
mod dashboard;
mod data_source;
mod definitions;
mod executions;
mod history;
mod in_code;
mod intervals;
mod job_store;
pub mod keys;
mod loader;
mod monitoring;
mod nearest;
mod node;
mod plugin;
mod problem;
mod profile;
mod properties;
mod reader;
mod recovery;
mod redact;
mod scheduler;
mod secret;
mod source;
mod substitute;
mod thread_pool;
pub(crate) mod url;

use crate::debug_fields::debug_fields;
use std::collections::BTreeMap;

pub use crate::node::{Labels, LabelsError, NodeRole};
pub use crate::trigger::TriggerOrder;
pub use crate::zone::ZoneSource;
pub use choices::{LockForm, PollingStrategy, Pooler, Synchronous};
pub use cluster::{ClusterMode, ClusterSettings, OnOwnershipLost, ShutdownSettings};
pub use dashboard::{DashboardRole, DashboardSettings, DashboardUser};
pub use data_source::DataSourceSettings;
pub use definitions::DefinitionSettings;
pub use executions::ExecutionSettings;
pub use history::{HistoryRecord, HistorySettings};
pub use intervals::UnsafeInterval;
pub use job_store::{ClockSource, JobStoreSettings, StoreKind};
pub use loader::SettingsLoader;
pub use monitoring::{AlarmSettings, MonitorSettings};
pub use node::NodeSettings;
pub use plugin::{
    InterruptMonitorPlugin, JobFilesPlugin, JobHistoryPlugin, PluginSettings, ShutdownHookPlugin, TriggerHistoryPlugin,
};
pub use problem::{SettingsError, SettingsErrorKind, SettingsErrors, SettingsWarning};
pub use profile::Profile;
pub use recovery::RecoverySettings;
pub use scheduler::{InstanceIdSetting, SchedulerSettings};
pub use secret::Secret;
pub use thread_pool::ThreadPoolSettings;
pub use url::{DataSourceUrl, DataSourceUrlError};

#[cfg(feature = "dashboard")]
pub(crate) use redact::{looks_secret, scrub};

use reader::Reader;
use redact::RedactedMap;

/// All settings of one node.
///
/// A file gives them, or [`Settings::default`], a scheduler in memory with ten threads, whose
/// fields may be set. `Debug` shows no passwords.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// The scheduler whose defaults hold for keys that are not given; Quartz.
    /// Property `carnelian.profile`.
    pub profile: Profile,
    /// Identity of this node, and its polling.
    pub scheduler: SchedulerSettings,
    /// Worker threads.
    pub thread_pool: ThreadPoolSettings,
    /// The store of the jobs.
    pub job_store: JobStoreSettings,
    /// The database, unless jobs live in memory: the one that `jobStore.dataSource` names.
    pub data_source: Option<DataSourceSettings>,
    /// Description of this node for the others.
    pub node: NodeSettings,
    /// Behaviour of nodes towards each other.
    pub cluster: ClusterSettings,
    /// Record of the fires that have ended.
    pub history: HistorySettings,
    /// Treatment of jobs that are defined in code.
    pub definitions: DefinitionSettings,
    /// Supervision of running fires.
    pub executions: ExecutionSettings,
    /// Monitoring of the load, metrics and alarms.
    pub monitor: MonitorSettings,
    /// The web page for operators.
    pub dashboard: DashboardSettings,
    /// Draining of a backlog.
    pub recovery: RecoverySettings,
    /// Shutdown of a node.
    pub shutdown: ShutdownSettings,
    /// Quartz's own plugins.
    pub plugins: PluginSettings,
    /// The keys that belong to applications, such as `demo.log.file`. Each `${…}` is filled in and
    /// nothing else is changed.
    pub extra: BTreeMap<String, String>,
    warnings: Vec<SettingsWarning>,
}

impl Settings {
    /// Settings of an empty file, for a scheduler of this name.
    pub fn named(scheduler: impl Into<String>) -> Self {
        let mut settings = Self::default();
        settings.scheduler.instance_name = scheduler.into();
        settings
    }

    /// The settings of an empty file, for a scheduler of this name in the database of the URL.
    ///
    /// ```
    /// use carnelian::settings::{Settings, StoreKind};
    ///
    /// let settings = Settings::in_database("billing", "sqlite:jobs.db".parse()?);
    /// assert_eq!(settings.job_store.kind, StoreKind::Sql);
    /// # Ok::<(), carnelian::settings::DataSourceUrlError>(())
    /// ```
    pub fn in_database(scheduler: impl Into<String>, url: DataSourceUrl) -> Self {
        let mut settings = Self::named(scheduler);
        settings.put_in_database(url);
        settings
    }

    /// The keys of the file that have no effect here, or another effect than their author may
    /// expect.
    pub fn warnings(&self) -> &[SettingsWarning] {
        &self.warnings
    }

    /// Reads everything; where something is wrong the reader knows it and the default stands in.
    pub(super) fn read(reader: &mut Reader) -> Self {
        let profile = Profile::read(reader);
        let thread_pool = ThreadPoolSettings::read(reader);
        let mut job_store = JobStoreSettings::read(reader);
        let clustered = job_store.clustered;
        let data_source = DataSourceSettings::read(reader, &mut job_store);
        let url = data_source.as_ref().map(|source| &source.url);
        let in_memory = job_store.kind == StoreKind::Memory;
        choices::warn_of_no_effect(reader, job_store.polling_strategy, in_memory, url);
        Self {
            profile,
            scheduler: SchedulerSettings::read(reader, thread_pool.thread_count, clustered),
            data_source,
            node: NodeSettings::read(reader),
            cluster: ClusterSettings::read(reader, clustered),
            history: HistorySettings::read(reader),
            definitions: DefinitionSettings::read(reader),
            executions: ExecutionSettings::read(reader),
            monitor: MonitorSettings::read(reader),
            dashboard: DashboardSettings::read(reader),
            recovery: RecoverySettings::read(reader),
            shutdown: ShutdownSettings::read(reader),
            plugins: PluginSettings::read(reader),
            extra: reader.free(),
            warnings: Vec::new(),
            thread_pool,
            job_store,
        }
    }
}

impl Default for Settings {
    /// Settings of an empty file.
    fn default() -> Self {
        Self::read(&mut Reader::default())
    }
}

debug_fields! {
    Settings {
        profile, scheduler, thread_pool, job_store, data_source, node, cluster, history, definitions, executions,
        monitor, dashboard, recovery, shutdown, plugins, extra = RedactedMap(&me.extra), warnings,
    } finish |me|
}
