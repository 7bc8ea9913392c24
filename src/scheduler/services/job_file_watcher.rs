//! `JobFileWatcher`: loads the job files of the settings when a node starts, and again when they
//! change.
//!
//! Quartz looks for changes by a job in the store, on one node of the cluster. Here each node
//! watches its own files; that a change is stored by each of them does no harm, since what is
//! stored just so already is left alone.

use super::service::{Next, Service};
use crate::error::{Error, Result};
use crate::job_file::{JobFile, JobFlags};
use crate::listener::lifecycle_log;
use crate::scheduler::node::Node;
use crate::scheduler::run::registry::Registry;
use crate::settings::{JobFilesPlugin, PluginSettings};
use crate::store::Imported;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The service of all job files of a node.
pub(crate) struct JobFileWatcher {
    node: Arc<Node>,
    registry: Arc<Registry>,
    files: Vec<Watched>,
}

/// One file, and what was seen of it last.
struct Watched {
    plugin: JobFilesPlugin,
    name: PathBuf,
    /// The time at which it is looked at next, in ticks.
    due: Duration,
    seen: Option<Stamp>,
    /// True if what was seen has been dealt with.
    is_loaded: bool,
    /// True if it is the load of the start, which follows Quartz to the letter.
    is_first: bool,
}

/// The mark of a version of a file: the time of the last change, and the size.
type Stamp = (Option<SystemTime>, u64);

impl JobFileWatcher {
    /// Loads the job files of the settings; the service, if there is something left for it to do.
    pub(crate) fn load(node: &Arc<Node>, registry: &Arc<Registry>) -> Option<Box<dyn Service>> {
        let mut service = Self::new(Arc::clone(node), Arc::clone(registry))?;
        if service.begin() { Some(Box::new(service)) } else { None }
    }

    /// None if the settings name no job files.
    fn new(node: Arc<Node>, registry: Arc<Registry>) -> Option<Self> {
        let plugins = &node.settings.plugins.job_files;
        let watched = |plugin: &JobFilesPlugin| {
            let plugin = plugin.clone();
            plugin.file_names.clone().into_iter().map(move |name| Watched {
                plugin: plugin.clone(),
                name,
                due: Duration::ZERO,
                seen: None,
                is_loaded: false,
                is_first: true,
            })
        };
        let files: Vec<Watched> = plugins.iter().flat_map(watched).collect();
        if files.is_empty() { None } else { Some(Self { node, registry, files }) }
    }

    /// True if every file is there that must be.
    pub(crate) fn check(plugins: &PluginSettings) -> Result<()> {
        let wanted = plugins.job_files.iter().filter(|plugin| plugin.fail_on_file_not_found);
        let missing = wanted.flat_map(|plugin| {
            let missing = plugin.file_names.iter().filter(|name| plugin.find(name).is_none());
            missing.map(|name| missing_file(plugin, name))
        });
        let missing: Vec<String> = missing.collect();
        if missing.is_empty() { Ok(()) } else { Err(Error::Settings(missing.join("\n"))) }
    }

    /// The load of the start. An error is reported and keeps nobody from starting, as in Quartz;
    /// what may succeed later is tried again by the service. True if there is something left to do.
    fn begin(&mut self) -> bool {
        if let Err(error) = self.look() {
            self.node.listeners.error(&format!("job files are loaded later: {error}"));
        }
        self.files.iter().any(|file| !file.is_done())
    }

    fn look(&mut self) -> Result<()> {
        let now = self.node.clock.ticks();
        for file in &mut self.files {
            if file.due <= now && !file.is_done() {
                file.look(&self.node, &self.registry)?;
                file.due = now.saturating_add(file.plugin.scan_interval.unwrap_or_default());
            }
        }
        Ok(())
    }
}

impl Service for JobFileWatcher {
    fn run_once(&mut self) -> Result<Next> {
        self.look()?;
        let due = self.files.iter().filter(|file| !file.is_done()).map(|file| file.due).min();
        Ok(due.map_or(Next::Stop, Next::At))
    }
}

impl Watched {
    /// True if nothing is left to do with it, ever.
    fn is_done(&self) -> bool {
        !self.is_first && self.is_loaded && self.plugin.scan_interval.is_none()
    }

    /// Loads the file if it has changed. An error means that it is worth trying again.
    fn look(&mut self, node: &Node, registry: &Registry) -> Result<()> {
        let path = self.plugin.find(&self.name);
        let stamp = path.as_ref().and_then(|path| {
            let metadata = std::fs::metadata(path).ok()?;
            Some((metadata.modified().ok(), metadata.len()))
        });
        let (Some(path), Some(stamp)) = (path, stamp) else {
            if self.is_first || self.seen.take().is_some() {
                lifecycle_log::job_file_missing(&missing_file(&self.plugin, &self.name));
            }
            (self.is_first, self.is_loaded) = (false, true);
            return Ok(());
        };
        if self.seen == Some(stamp) && self.is_loaded {
            return Ok(());
        }
        (self.seen, self.is_loaded) = (Some(stamp), false);
        match load(node, registry, &path, !self.is_first || node.settings.plugins.keep_unchanged) {
            Err(error) if error.is_transient() => return Err(error),
            // A half-written file cannot be read, as the end of its one element is missing; the
            // next look finds it whole.
            Err(error) => node.listeners.error(&format!("job file not loaded: {error}")),
            Ok(()) => {}
        }
        (self.is_first, self.is_loaded) = (false, true);
        Ok(())
    }
}

impl Node {
    /// Stores a job file, wakes the acquirer and tells the listeners. `flags` knows the flags of
    /// job types, for which job files have no element.
    pub(crate) fn import(&self, file: &JobFile, flags: &dyn Fn(&str) -> Option<JobFlags>) -> Result<Imported> {
        let imported = self.store.catalogue().import(&file.clone().with_flags(flags))?;
        self.services.acquirer.wake();
        self.tell_imported(&imported);
        Ok(imported)
    }
}

fn load(node: &Node, registry: &Registry, path: &std::path::Path, keep_unchanged: bool) -> Result<()> {
    let file = JobFile::read_in_zone(path, node.settings.scheduler.time_zone)?.keep_unchanged(keep_unchanged);
    let imported = node.import(&file, &|job_type| registry.job(job_type)?.flags())?;
    lifecycle_log::job_file_loaded(file.name(), &imported);
    Ok(())
}

fn missing_file(plugin: &JobFilesPlugin, name: &std::path::Path) -> String {
    let beside = match &plugin.folder {
        Some(folder) => format!(" or in `{}`", folder.display()),
        None => String::new(),
    };
    format!(
        "plugin.{}.fileNames: there is no file `{}` in the working directory{beside}, and no class path here",
        plugin.name,
        name.display()
    )
}
