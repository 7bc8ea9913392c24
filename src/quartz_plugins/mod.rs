//! Quartz's logging plugins, `LoggingJobHistoryPlugin` and `LoggingTriggerHistoryPlugin`: the
//! feature `quartz-plugins`.

mod history;
pub(crate) mod message_format;

use crate::clock::Clock;
use crate::error::Result;
use crate::listener::{ListenerManager, Listeners};
use crate::matcher::KeyMatcher;
use crate::settings::Settings;
use history::{HistoryClock, JobHistory, TriggerHistory};
use std::sync::Arc;

/// Adds the plugins that the settings name, as listeners for everything.
pub(crate) fn add(listeners: &Listeners, settings: &Settings, clock: &Arc<dyn Clock>) -> Result<()> {
    let (plugins, zone) = (&settings.plugins, settings.scheduler.time_zone);
    let time = HistoryClock { clock: Arc::clone(clock), zone };
    let manager = ListenerManager::new(listeners);
    for plugin in &plugins.job_history {
        manager.add_job_listener(KeyMatcher::Everything, JobHistory::new(plugin, time.clone())?);
    }
    for plugin in &plugins.trigger_history {
        manager.add_trigger_listener(KeyMatcher::Everything, TriggerHistory::new(plugin, time.clone())?);
    }
    Ok(())
}
