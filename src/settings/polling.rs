//! Polling settings: how a node takes due triggers beside other nodes.

use super::job_store::StoreKind;
use super::reader::Reader;

/// How a node takes due triggers beside other nodes.
///
/// In every way a trigger is taken by one node, and the invariants hold; they differ in how long nodes wait for each other.
/// On SQLite and in memory there is one writer at a time, and every strategy means [`PollingStrategy::Lock`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PollingStrategy {
    /// What is due is looked for and taken under the lock `TRIGGER_ACCESS` (`lock`), as Quartz does with
    /// `acquireTriggersWithinLock`. The fewest statements.
    #[default]
    Lock,
    /// What is due is looked for without the lock, and taken under it after another look at just these triggers (`fetch`).
    /// The lock is held for a shorter time; what another node has taken meanwhile is lost to it.
    Fetch,
    /// What is due is looked for without the lock, and taken by locking the triggers' rows, passing over those that another
    /// node has locked (`lock-and-fetch`). Nodes take plain triggers side by side. Triggers whose jobs run once at a time,
    /// persist their data or have versions, those with options, and reruns are taken as by [`PollingStrategy::Fetch`].
    LockAndFetch,
}

impl PollingStrategy {
    /// Every strategy.
    pub const ALL: [Self; 3] = [PollingStrategy::Lock, PollingStrategy::Fetch, PollingStrategy::LockAndFetch];

    /// The word of the property `carnelian.jobStore.pollingStrategy`.
    ///
    /// ```
    /// use carnelian::settings::PollingStrategy;
    ///
    /// assert_eq!(PollingStrategy::LockAndFetch.name(), "lock-and-fetch");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            PollingStrategy::Lock => "lock",
            PollingStrategy::Fetch => "fetch",
            PollingStrategy::LockAndFetch => "lock-and-fetch",
        }
    }

    pub(crate) fn read(reader: &mut Reader, kind: StoreKind) -> Self {
        const KEY: &str = "carnelian.jobStore.pollingStrategy";
        let strategy = Self::ALL.into_iter().find(|one| reader.chose(KEY, one.name())).unwrap_or_default();
        if strategy != PollingStrategy::Lock && reader.given(KEY).is_some() && kind == StoreKind::Memory {
            reader.warn(KEY, "no effect: a store in memory has one writer at a time and works as with `lock`");
        }
        strategy
    }
}
