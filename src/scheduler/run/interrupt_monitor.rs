//! `JobInterruptMonitorPlugin`: how Quartz's job data say that a run which takes too long is to be
//! interrupted.

use crate::settings::InterruptMonitorPlugin;
use crate::store::FireBundle;
use std::time::Duration;

/// The key by which a job asks to be watched.
const AUTO_INTERRUPTABLE: &str = "AutoInterruptable";

/// The key by which a job says how long it may run, in milliseconds.
const MAX_RUN_TIME: &str = "MaxRunTime";

/// Gives the job of a fire the time limit that its data ask for. A timeout of its own goes before.
///
/// As in Quartz, it is the job's data that count, not the trigger's.
pub(crate) fn limit(bundle: &mut FireBundle, plugin: Option<&InterruptMonitorPlugin>) {
    let Some(plugin) = plugin else { return };
    let data = bundle.job.data();
    if data.flag(AUTO_INTERRUPTABLE) != Some(true) || bundle.job.policy().timeout_limit().is_some() {
        return;
    }
    let given = data.integer(MAX_RUN_TIME).and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis);
    let time = given.unwrap_or(plugin.default_max_run_time);
    bundle.job.policy = bundle.job.policy().clone().timeout(time).boxed();
}
