//! Job store settings: where jobs live, and the rules of the cluster around them.

use std::time::Duration;

use crate::trigger::TriggerOrder;

use super::choices::{LockForm, POLLING_STRATEGY, PollingStrategy};
use super::reader::{Reader, is_class};
use super::thread_pool::misnamed;

const TX: &str = "org.quartz.impl.jdbcjobstore.JobStoreTX";
const CMT: &str = "org.quartz.impl.jdbcjobstore.JobStoreCMT";
const RAM: &str = "org.quartz.simpl.RAMJobStore";

/// The store of the jobs, and the rules of its cluster (`org.quartz.jobStore.*`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobStoreSettings {
    /// Memory or database; a database if a data source is named.
    /// Property `jobStore.class`.
    pub kind: StoreKind,
    /// A switch: several nodes share the tables; no.
    /// Property `jobStore.isClustered`.
    pub clustered: bool,
    /// Time between two check-ins; 15 s.
    /// Property `jobStore.clusterCheckinInterval` (ms, at least 100).
    pub checkin_interval: Duration,
    /// Delay of a check-in from which other nodes take this node for dead; 7.5 s.
    /// Property `jobStore.clusterCheckinMisfireThreshold` (ms).
    pub checkin_misfire_threshold: Duration,
    /// Delay from which a trigger counts as misfired; 60 s.
    /// Property `jobStore.misfireThreshold` (ms).
    pub misfire_threshold: Duration,
    /// Most misfired triggers dealt with in one transaction; 20.
    /// Property `jobStore.maxMisfiresToHandleAtATime`.
    pub max_misfires_at_a_time: u32,
    /// The longest time before a thread, acquisition or other, tries again when the database cannot
    /// be reached; 2 s. The waits begin with 100 ms and double. Quartz waits 15 s each time.
    ///
    /// Property `jobStore.dbRetryInterval` (ms). A given `scheduler.dbFailureRetryInterval`
    /// replaces this value, as in Quartz. The default of that key does not, unlike Quartz.
    pub db_retry_interval: Duration,
    /// Beginning of all table names, with a schema before it if there is one; `QRTZ_`.
    /// Property `jobStore.tablePrefix`; see [`is_table_prefix`](Self::is_table_prefix).
    pub table_prefix: String,
    /// A switch: job data is stored as text instead of Java's serialised form; no.
    /// Property `jobStore.useProperties`.
    pub use_properties: bool,
    /// Always true: triggers are acquired under the lock.
    /// Property `jobStore.acquireTriggersWithinLock`, where `false` gives a warning.
    pub acquire_within_lock: bool,
    /// The name of the data source, for a database.
    /// Property `jobStore.dataSource`.
    pub data_source: Option<String>,
    /// Of errors in a row the first, and then every n-th, is logged as an error; 4.
    /// Property `jobStore.retryableActionErrorLogThreshold`.
    pub retry_log_threshold: u32,
    /// The clock that decides about check-ins: the database's, and on SQLite the node's.
    /// Property `carnelian.jobStore.clock`.
    pub clock: ClockSource,
    /// The order in which due triggers fire: the earliest first, as in Quartz, or the most
    /// important first.
    /// Property `carnelian.jobStore.triggerOrder`.
    pub trigger_order: TriggerOrder,
    /// Way in which due triggers are taken beside other nodes; under the lock.
    /// Property `carnelian.jobStore.pollingStrategy`.
    pub polling_strategy: PollingStrategy,
    /// The form in which locks of the cluster are taken; written where the server is a member of a
    /// Galera cluster.
    /// Property `carnelian.jobStore.lockForm`.
    pub lock_form: LockForm,
    /// Time between two audits for jobs that no live node can run; 24 h.
    /// Property `carnelian.jobStore.orphanAuditInterval` (ms, or a text such as `24h`).
    pub orphan_audit_interval: Duration,
    /// After how long such jobs are deleted; never.
    /// Property `carnelian.jobStore.deleteUnresolvedAfter` (ms, or a text such as `14d`).
    pub delete_unresolved_after: Option<Duration>,
}

/// The kind of the store: memory or a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreKind {
    /// In memory, gone with the process (`RAMJobStore`).
    Memory,
    /// In the tables of a database (`JobStoreTX`, `JobStoreCMT`).
    Sql,
}

/// The clock that decides about check-ins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClockSource {
    /// The database server's, the same for all nodes (`database`).
    Database,
    /// This machine's (`node`), which is all that SQLite and Java nodes have.
    Node,
}

impl JobStoreSettings {
    pub(crate) fn read(reader: &mut Reader) -> Self {
        let kind = StoreKind::read(reader);
        let clustered = reader.flag("jobStore.isClustered");
        if clustered && kind == StoreKind::Memory && !reader.stands("jobStore.dataSource") {
            reader.refuse(
                "jobStore.isClustered",
                format!("expected false with a store in memory, which no other node can see; for a cluster write jobStore.class = {TX}"),
                None,
            );
        }
        let table_prefix = reader.text("jobStore.tablePrefix").unwrap_or_default();
        if !Self::is_table_prefix(&table_prefix) {
            reader.refuse(
                "jobStore.tablePrefix",
                "expected at most 31 letters, digits and _, not beginning with a digit, and perhaps a schema and a dot before them",
                None,
            );
        }
        let clock =
            if reader.chose("carnelian.jobStore.clock", "node") { ClockSource::Node } else { ClockSource::Database };
        Self {
            kind,
            clustered,
            checkin_interval: reader.duration("jobStore.clusterCheckinInterval"),
            checkin_misfire_threshold: reader.duration("jobStore.clusterCheckinMisfireThreshold"),
            misfire_threshold: reader.duration("jobStore.misfireThreshold"),
            max_misfires_at_a_time: reader.count("jobStore.maxMisfiresToHandleAtATime"),
            db_retry_interval: db_retry_interval(reader),
            table_prefix,
            use_properties: reader.flag("jobStore.useProperties"),
            acquire_within_lock: true,
            data_source: reader.text("jobStore.dataSource"),
            retry_log_threshold: reader.count("jobStore.retryableActionErrorLogThreshold"),
            clock,
            trigger_order: match reader.chose("carnelian.jobStore.triggerOrder", "priority-then-time") {
                true => TriggerOrder::PriorityThenTime,
                false => TriggerOrder::TimeThenPriority,
            },
            polling_strategy: reader.choice(POLLING_STRATEGY, PollingStrategy::ALL, PollingStrategy::name),
            lock_form: reader.choice("carnelian.jobStore.lockForm", LockForm::ALL, LockForm::name),
            orphan_audit_interval: reader.duration("carnelian.jobStore.orphanAuditInterval"),
            delete_unresolved_after: reader.duration_if_any("carnelian.jobStore.deleteUnresolvedAfter"),
        }
    }

    /// Says if a text may stand before the names of tables:
    /// `^([A-Za-z_][A-Za-z0-9_]*\.)?[A-Za-z_][A-Za-z0-9_]{0,30}$`, with a schema of at most 63
    /// characters.
    ///
    /// ```
    /// use carnelian::settings::JobStoreSettings;
    ///
    /// assert!(JobStoreSettings::is_table_prefix("jobs.QRTZ_"));
    /// assert!(!JobStoreSettings::is_table_prefix("QRTZ-"));
    /// ```
    pub fn is_table_prefix(text: &str) -> bool {
        let is_word = |text: &str, most: usize| {
            text.len() <= most
                && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        match text.split_once('.') {
            Some((schema, prefix)) => is_word(schema, 63) && is_word(prefix, 31),
            None => is_word(text, 31),
        }
    }
}

impl StoreKind {
    fn read(reader: &mut Reader) -> Self {
        const KEY: &str = "jobStore.class";
        let named = if reader.stands("jobStore.dataSource") { Self::Sql } else { Self::Memory };
        let Some(class) = reader.given(KEY).map(str::to_owned) else {
            return named;
        };
        if is_class(&class, TX) {
            return Self::Sql;
        }
        if is_class(&class, CMT) {
            reader.warn(KEY, "there are no container transactions here: the store works as JobStoreTX does");
            return Self::Sql;
        }
        if is_class(&class, RAM) {
            return Self::Memory;
        }
        if named == Self::Memory {
            reader.refuse(
                KEY,
                format!("expected {TX} (a database) or {RAM} (memory): Java classes are not loaded here"),
                super::nearest::nearest(&class, [TX, CMT, RAM].map(str::to_owned)),
            );
            return named;
        }
        let instead = "Java classes are not loaded here: the store works as JobStoreTX does";
        misnamed(reader, KEY, &class, &[TX, CMT, RAM], instead);
        named
    }
}

fn db_retry_interval(reader: &mut Reader) -> Duration {
    const OWN: &str = "jobStore.dbRetryInterval";
    const OTHER: &str = "scheduler.dbFailureRetryInterval";
    let own = reader.duration(OWN);
    if reader.given(OTHER).is_none() {
        return own;
    }
    let other = reader.duration(OTHER);
    if reader.given(OWN).is_some() && own != other {
        reader.warn(OWN, "no effect: scheduler.dbFailureRetryInterval is given and replaces it, as in Quartz");
    }
    other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_prefix_is_an_identifier_with_at_most_one_schema() {
        let long = "x".repeat(31);
        for prefix in ["QRTZ_", "_", "jobs.QRTZ_", "q1", long.as_str()] {
            assert!(JobStoreSettings::is_table_prefix(prefix), "{prefix}");
        }
        let longer = "x".repeat(32);
        for prefix in ["", "1Q", "a.b.c", ".Q", "a.", "Q-", "Q Z", "Q;", "\"Q", "Ä", longer.as_str()] {
            assert!(!JobStoreSettings::is_table_prefix(prefix), "{prefix}");
        }
    }
}
