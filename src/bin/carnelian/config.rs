//! Configuration: which settings a command uses, and the store they lead to.

use crate::actions::by_person;
use crate::failure::{Failure, Outcome};
use crate::warned;
use carnelian::clock::SystemClock;
use carnelian::settings::{Settings, StoreKind};
use carnelian::store::JobStore;
use chrono_tz::Tz;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Names the properties file if `--config` does not.
const VARIABLE: &str = "CARNELIAN_CONFIG";
/// Read if it is there and nothing else is named.
const DEFAULT_FILE: &str = "carnelian.properties";
/// The settings without any file: a cluster on an embedded database in the working directory.
const EMBEDDED: &str = "
    jobStore.class = JobStoreTX
    jobStore.isClustered = true
    jobStore.dataSource = embedded
    dataSource.embedded.URL = sqlite:carnelian.db
";

/// Longest wait of an operator for a database to be reached.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(3);

/// The settings of this invocation.
pub struct Config {
    /// The settings of the file.
    pub settings: Settings,
    /// No file was named: the embedded database, whose tables are made when they are first needed.
    embedded: bool,
    /// The command writes nothing.
    pub only_looks: bool,
}

impl Config {
    /// Reads `file`, or what stands in for it. Warnings go to standard error, unless it is to be
    /// quiet; those of a node each time, as a part of its log.
    pub fn load(file: Option<&Path>, quiet: bool, is_node: bool) -> Outcome<Self> {
        let (settings, found) = read(file)?;
        if let Some(found) = found.as_ref().filter(|_| !quiet) {
            let warnings: Vec<String> = settings.warnings().iter().map(ToString::to_string).collect();
            warned::show(found, &warnings, is_node);
        }
        Ok(Self { settings, embedded: found.is_none(), only_looks: false })
    }

    /// Opens the store, and makes sure that its database can be reached and has its tables.
    pub fn open(&self) -> Outcome<JobStore> {
        let store = self.open_unchecked()?;
        // Once, without the retries of the store: who operates it wants to know now.
        match self.only_looks {
            // Under a name that was mistyped nothing is made, and no right to write is needed.
            true => store.database().check_versions()?,
            false => store.database().check_schema()?,
        }
        Ok(store)
    }

    /// Opens the store, with whatever tables it has; those of the embedded database are made.
    pub fn open_unchecked(&self) -> Outcome<JobStore> {
        let store = by_person(self.open_any()?, &self.settings);
        // To make tables that are there would wait for whoever holds the lock.
        let is_own =
            self.embedded || self.settings.data_source.as_ref().is_some_and(|source| source.url.is_in_memory());
        if is_own && store.database().examine_schema().is_err() {
            store.database().migrate()?;
        }
        Ok(store)
    }

    /// Opens the store without making tables; it must be a database, which others can see.
    pub fn open_any(&self) -> Outcome<JobStore> {
        if self.settings.job_store.kind == StoreKind::Memory {
            return Err(Failure::Usage(
                "the settings keep jobs in memory, where no other process sees them: \
                 name a database with jobStore.dataSource and dataSource.NAME.URL"
                    .to_owned(),
            ));
        }
        let mut settings = self.settings.clone();
        if let Some(source) = &mut settings.data_source {
            source.connection_timeout = source.connection_timeout.min(CONNECTION_TIMEOUT);
        }
        open(&settings)
    }
}

/// The settings of `file`, or of the file that stands in for it, which is named, or those that are
/// built in.
fn read(file: Option<&Path>) -> Outcome<(Settings, Option<PathBuf>)> {
    let named = file
        .map(Path::to_owned)
        .or_else(|| std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from));
    let found = named.or_else(|| Some(PathBuf::from(DEFAULT_FILE)).filter(|path| path.exists()));
    let read = match &found {
        Some(path) => Settings::from_file(path),
        None => Settings::from_text("built-in settings", EMBEDDED, |_| None),
    };
    let settings = read.map_err(|errors| Failure::Usage(errors.to_string()))?;
    Ok((settings, found))
}

/// The zone of schedules that name none.
pub fn default_zone(file: Option<&Path>) -> Outcome<Tz> {
    Ok(read(file)?.0.scheduler.time_zone)
}

/// Opens the store that `settings` name.
pub fn open(settings: &Settings) -> Outcome<JobStore> {
    Ok(carnelian::store::open(settings, Arc::new(SystemClock::default()))?)
}
