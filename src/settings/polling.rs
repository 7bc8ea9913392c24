//! Polling settings: how a node takes due triggers beside other nodes.

use super::reader::Reader;
use super::url::DataSourceUrl;
use crate::words::words;

const KEY: &str = "carnelian.jobStore.pollingStrategy";

/// The way in which a node takes due triggers beside other nodes.
///
/// One node takes a trigger, and the invariants hold, in every way. The ways differ in how long
/// nodes wait for each other. SQLite and memory have one writer at a time, so that every strategy
/// means [`PollingStrategy::Lock`] there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PollingStrategy {
    /// The node looks for due triggers and takes them under the lock `TRIGGER_ACCESS` (`lock`), as
    /// Quartz does with `acquireTriggersWithinLock`. This way has the fewest statements.
    #[default]
    Lock,
    /// The node looks for due triggers without the lock, and takes them by the locks of their rows,
    /// passing over those that another node has locked (`lock-and-fetch`). Nodes take plain
    /// triggers side by side. The lock is still needed, and another look at just these triggers,
    /// for reruns, for triggers with options, and for triggers whose jobs run once at a time,
    /// persist their data or have versions.
    LockAndFetch,
}

words! {
    /// The word of the property `carnelian.jobStore.pollingStrategy`.
    ///
    /// ```
    /// use carnelian::settings::PollingStrategy;
    ///
    /// assert_eq!(PollingStrategy::LockAndFetch.name(), "lock-and-fetch");
    /// ```
    PollingStrategy {
        Lock = "lock",
        LockAndFetch = "lock-and-fetch",
    }
}

impl PollingStrategy {
    pub(crate) fn read(reader: &Reader) -> Self {
        Self::ALL.into_iter().find(|one| reader.chose(KEY, one.name())).unwrap_or_default()
    }

    /// Warns of a strategy that is asked for where there is one writer at a time.
    pub(crate) fn warn_of_no_effect(self, reader: &mut Reader, in_memory: bool, url: Option<&DataSourceUrl>) {
        let one_writer = match (in_memory, url) {
            (true, _) => "a store in memory",
            (_, Some(DataSourceUrl::Sqlite { .. })) => "SQLite",
            _ => return,
        };
        if self != PollingStrategy::Lock && reader.given(KEY).is_some() {
            reader.warn(KEY, format!("no effect: {one_writer} has one writer at a time and works as with `lock`"));
        }
    }
}
