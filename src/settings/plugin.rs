//! Plugin settings: Quartz's own plugins, as far as they mean something here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::keys::{self, Status};
use super::reader::{Reader, is_class};
#[cfg(feature = "quartz-plugins")]
use crate::quartz_plugins::message_format::MessageFormat;

const JOB_FILES: &str = "org.quartz.plugins.xml.XMLSchedulingDataProcessorPlugin";
const JOB_HISTORY: &str = "org.quartz.plugins.history.LoggingJobHistoryPlugin";
const TRIGGER_HISTORY: &str = "org.quartz.plugins.history.LoggingTriggerHistoryPlugin";
const SHUTDOWN_HOOK: &str = "org.quartz.plugins.management.ShutdownHookPlugin";
const INTERRUPT_MONITOR: &str = "org.quartz.plugins.interrupt.JobInterruptMonitorPlugin";

/// Quartz's own plugins (`org.quartz.plugin.NAME.class` and the keys beside it), in the order of
/// their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginSettings {
    /// Job files to load when the node starts.
    pub job_files: Vec<JobFilesPlugin>,
    /// Logs of the runs of jobs.
    pub job_history: Vec<JobHistoryPlugin>,
    /// Logs of the fires of triggers.
    pub trigger_history: Vec<TriggerHistoryPlugin>,
    /// The shutdown of the scheduler when a signal ends the program. `carnelian node` and
    /// [`Scheduler::run_until_signal`](crate::Scheduler::run_until_signal) ask for this plugin.
    pub shutdown_hook: Option<ShutdownHookPlugin>,
    /// Asks runs that take too long to stop.
    pub interrupt_monitor: Option<InterruptMonitorPlugin>,
    /// A switch: a start leaves triggers alone that are stored just as their job file has them; no,
    /// as in Quartz.
    /// Property `carnelian.jobFiles.keepUnchanged`.
    pub keep_unchanged: bool,
}

/// `org.quartz.plugins.xml.XMLSchedulingDataProcessorPlugin`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobFilesPlugin {
    /// The plugin's name.
    pub name: String,
    /// The files, in the order in which they are loaded; `quartz_data.xml`.
    /// Property `plugin.NAME.fileNames` (separated by commas).
    pub file_names: Vec<PathBuf>,
    /// A switch: a file that does not exist is an error, and the scheduler is not built; yes.
    /// Property `plugin.NAME.failOnFileNotFound`.
    pub fail_on_file_not_found: bool,
    /// Time between two looks for changes of the files; none, for no looks.
    /// Property `plugin.NAME.scanInterval` (s).
    pub scan_interval: Option<Duration>,
    /// The folder of the properties file. Files that are not in the working directory are looked
    /// for there.
    pub folder: Option<PathBuf>,
}

/// `org.quartz.plugins.history.LoggingJobHistoryPlugin`: patterns of `java.text.MessageFormat`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobHistoryPlugin {
    /// The plugin's name.
    pub name: String,
    /// Said when a job is about to run. Property `plugin.NAME.jobToBeFiredMessage`.
    pub to_be_fired: String,
    /// Said when a job has succeeded. Property `plugin.NAME.jobSuccessMessage`.
    pub success: String,
    /// Said when a job has failed. Property `plugin.NAME.jobFailedMessage`.
    pub failed: String,
    /// Said when a trigger listener said no. Property `plugin.NAME.jobWasVetoedMessage`.
    pub was_vetoed: String,
}

/// `org.quartz.plugins.history.LoggingTriggerHistoryPlugin`: patterns of `java.text.MessageFormat`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TriggerHistoryPlugin {
    /// The plugin's name.
    pub name: String,
    /// Said when a trigger has fired. Property `plugin.NAME.triggerFiredMessage`.
    pub fired: String,
    /// Said when a trigger could not fire in time. Property `plugin.NAME.triggerMisfiredMessage`.
    pub misfired: String,
    /// Said when the job of a fire has ended. Property `plugin.NAME.triggerCompleteMessage`.
    pub complete: String,
}

/// `org.quartz.plugins.management.ShutdownHookPlugin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownHookPlugin {
    /// A switch: the shutdown waits for running jobs; yes.
    /// Property `plugin.NAME.cleanShutdown`.
    pub clean_shutdown: bool,
}

/// `org.quartz.plugins.interrupt.JobInterruptMonitorPlugin`.
///
/// The plugin gives each run on this node a [timeout](crate::JobPolicy::timeout) if the job's data
/// have `AutoInterruptable = true`: the milliseconds of `MaxRunTime` in the data, or else the
/// plugin's own. A timeout of the job's policy goes before both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct InterruptMonitorPlugin {
    /// Time limit of a run whose job gives none; 5 min.
    /// Property `plugin.NAME.defaultMaxRunTime` (ms).
    pub default_max_run_time: Duration,
}

impl JobFilesPlugin {
    /// The path of a file: its name as given, or else within the folder of the properties file,
    /// which stands for Java's class path.
    pub fn find(&self, file_name: &Path) -> Option<PathBuf> {
        let beside = self.folder.as_ref().map(|folder| folder.join(file_name));
        [Some(file_name.to_owned()), beside].into_iter().flatten().find(|path| path.exists())
    }
}

impl PluginSettings {
    pub(crate) fn read(reader: &mut Reader) -> Self {
        let mut plugins = Self { keep_unchanged: reader.flag("carnelian.jobFiles.keepUnchanged"), ..Self::default() };
        for name in reader.names("plugin.") {
            plugins.read_one(reader, Keys { name });
        }
        plugins
    }

    fn read_one(&mut self, reader: &mut Reader, keys: Keys) {
        let class_key = keys.full("class");
        let Some(class) = reader.given(&class_key).map(str::to_owned) else {
            if !reader.failed(&class_key) {
                let known = [JOB_FILES, JOB_HISTORY, TRIGGER_HISTORY, SHUTDOWN_HOOK, INTERRUPT_MONITOR].join(" or ");
                reader.missing(&class_key, format!("a plugin needs a class: write org.quartz.{class_key} = {known}"));
            }
            return;
        };
        let is = |known| is_class(&class, known);
        if let Some(feature) = missing_feature(&class) {
            let message = format!("this plugin needs the feature `{feature}`, which this program was built without");
            reader.refuse(&class_key, message, None);
        } else if is(JOB_FILES) {
            keys.warn_of_others(reader, &["fileNames", "failOnFileNotFound", "scanInterval", "wrapInUserTransaction"]);
            self.job_files.push(keys.job_files(reader));
        } else if is(JOB_HISTORY) {
            let own = ["jobToBeFiredMessage", "jobSuccessMessage", "jobFailedMessage", "jobWasVetoedMessage"];
            keys.warn_of_others(reader, &own);
            let [to_be_fired, success, failed, was_vetoed] = own.map(|key| keys.pattern(reader, key));
            self.job_history.push(JobHistoryPlugin { name: keys.name, to_be_fired, success, failed, was_vetoed });
        } else if is(TRIGGER_HISTORY) {
            let own = ["triggerFiredMessage", "triggerMisfiredMessage", "triggerCompleteMessage"];
            keys.warn_of_others(reader, &own);
            let [fired, misfired, complete] = own.map(|key| keys.pattern(reader, key));
            self.trigger_history.push(TriggerHistoryPlugin { name: keys.name, fired, misfired, complete });
        } else if is(SHUTDOWN_HOOK) {
            keys.warn_of_others(reader, &["cleanShutdown"]);
            self.shutdown_hook = Some(ShutdownHookPlugin { clean_shutdown: reader.flag(&keys.full("cleanShutdown")) });
            reader.warn(
                &class_key,
                "no signal is caught by a library unless it is told to: of effect in `carnelian node`, and in programs that call Scheduler::run_until_signal",
            );
        } else if is(INTERRUPT_MONITOR) {
            keys.warn_of_others(reader, &["defaultMaxRunTime"]);
            let default_max_run_time = reader.duration(&keys.full("defaultMaxRunTime"));
            self.interrupt_monitor = Some(InterruptMonitorPlugin { default_max_run_time });
        } else {
            super::thread_pool::misnamed(
                reader,
                &class_key,
                &class,
                &[JOB_FILES, JOB_HISTORY, TRIGGER_HISTORY, SHUTDOWN_HOOK, INTERRUPT_MONITOR],
                "no effect: Java plugins are not loaded; use the log, the listeners and the signals of the program",
            );
        }
    }
}

/// The feature of this crate that a plugin needs and that is not there.
fn missing_feature(class: &str) -> Option<&'static str> {
    let optional = [
        (JOB_FILES, "job-files", cfg!(feature = "job-files")),
        (JOB_HISTORY, "quartz-plugins", cfg!(feature = "quartz-plugins")),
        (TRIGGER_HISTORY, "quartz-plugins", cfg!(feature = "quartz-plugins")),
    ];
    let needed = optional.into_iter().find(|(known, _, is_there)| !is_there && is_class(class, known));
    needed.map(|(_, feature, _)| feature)
}

/// The keys of one plugin.
struct Keys {
    name: String,
}

impl Keys {
    fn full(&self, key: &str) -> String {
        format!("plugin.{}.{key}", self.name)
    }

    /// Warns about keys of other plugins; Quartz would not start.
    fn warn_of_others(&self, reader: &mut Reader, own: &[&str]) {
        for key in reader.below(&self.full("")).into_keys().filter(|key| key != "class" && !own.contains(&key.as_str()))
        {
            let full = self.full(&key);
            // Keys without an effect anywhere have their warning.
            if keys::find(&full).is_some_and(|row| !matches!(row.status, Status::Ignored(_))) {
                reader.warn(&full, format!("no effect: a plugin of this class has {}", own.join(", ")));
            }
        }
    }

    fn job_files(self, reader: &mut Reader) -> JobFilesPlugin {
        let key = self.full("fileNames");
        let names = reader.text(&key).unwrap_or_default();
        let file_names: Vec<PathBuf> =
            names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(PathBuf::from).collect();
        if file_names.is_empty() {
            reader.refuse(&key, "expected the names of files, separated by commas", None);
        }
        JobFilesPlugin {
            file_names,
            fail_on_file_not_found: reader.flag(&self.full("failOnFileNotFound")),
            scan_interval: Some(reader.seconds(&self.full("scanInterval"))).filter(|interval| !interval.is_zero()),
            folder: reader.folder(),
            name: self.name,
        }
    }

    /// A pattern that can be read.
    fn pattern(&self, reader: &mut Reader, key: &str) -> String {
        let key = self.full(key);
        let pattern = reader.text(&key).unwrap_or_default();
        #[cfg(feature = "quartz-plugins")]
        if let Err(why) = MessageFormat::parse(&pattern) {
            reader.refuse(&key, format!("expected a text in the format of java.text.MessageFormat: {why}"), None);
        }
        pattern
    }
}
