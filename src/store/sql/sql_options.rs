//! `SqlOptions`: the scheduler's name, the prefix of its tables, and whose clock tells the time.

use crate::epoch::millis;
use crate::error::{Error, Result};
use crate::hash::fnv1a;
use crate::settings::{ClockSource, JobStoreSettings, LockForm, Settings};
use std::time::Duration;

/// The settings that every statement needs.
pub(super) struct SqlOptions {
    pub scheduler_name: String,
    pub table_prefix: String,
    /// True if the time is the node's instead of the database's. On SQLite it always is.
    pub node_clock: bool,
    pub lock_form: LockForm,
    /// Other nodes are notified of changes, where the database can.
    pub notifies: bool,
    /// Work that is due later is seen by a poll of every node in time.
    pub soon_ms: i64,
}

/// The longest wait between two polls of a node whose settings are unknown here: the default of
/// `scheduler.idleWaitTime`.
const USUAL_LONGEST_POLL: Duration = Duration::from_secs(30);

impl SqlOptions {
    /// The prefix is the one text that is put into statements as it is: it is checked here.
    pub(super) fn of(settings: &Settings) -> Result<Self> {
        let (scheduler_name, table_prefix) =
            (settings.scheduler.instance_name.clone(), settings.job_store.table_prefix.clone());
        if !JobStoreSettings::is_table_prefix(&table_prefix) {
            return Err(Error::invalid(
                "table prefix",
                &table_prefix,
                "expected at most 31 letters, digits and `_`, with or without a schema of at most 63 before a dot",
            ));
        }
        crate::key::check_text("scheduler name", &scheduler_name, 120)?;
        let JobStoreSettings { clock, lock_form, .. } = settings.job_store;
        let longest_poll = settings.scheduler.idle_wait_time.max(USUAL_LONGEST_POLL);
        Ok(Self {
            scheduler_name,
            table_prefix,
            node_clock: clock == ClockSource::Node,
            lock_form,
            notifies: settings.scheduler.notify,
            soon_ms: millis(longest_poll),
        })
    }

    /// The channel of PostgreSQL on which nodes of this scheduler listen: one for each scheduler
    /// and table prefix, of a name that every version makes the same. Schedulers whose channels
    /// have the same name wake each other now and then.
    pub(super) fn channel(&self) -> String {
        let bytes = self.table_prefix.bytes().chain([0]).chain(self.scheduler_name.bytes());
        format!("carnelian_{:016x}", fnv1a(bytes))
    }
}
