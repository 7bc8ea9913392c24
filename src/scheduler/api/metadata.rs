//! `SchedulerMetadata`: what a scheduler says about itself.

use super::handle::Scheduler;
use crate::epoch::moment;
use chrono::{DateTime, SecondsFormat, Utc};
use std::fmt;

/// A scheduler's description of itself, as Quartz's `SchedulerMetaData` does; shown as a summary
/// for people.
///
/// For monitoring there is more in [`Scheduler::health`].
///
/// ```
/// use carnelian::Scheduler;
///
/// let scheduler = Scheduler::builder().build()?;
/// assert_eq!(scheduler.metadata().running_since, None);
/// scheduler.start()?;
/// let metadata = scheduler.metadata();
/// assert!(metadata.is_started && metadata.running_since.is_some());
/// assert_eq!((metadata.scheduler_name.as_str(), metadata.jobs_executed), ("QuartzScheduler", 0));
/// println!("{metadata}");
/// # Ok::<(), carnelian::Error>(())
/// ```
#[doc(alias = "SchedulerMetaData")]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchedulerMetadata {
    /// The scheduler's name, equal on all nodes.
    pub scheduler_name: String,
    /// This node's name.
    pub instance_id: String,
    /// The version of this crate.
    pub version: &'static str,
    /// The time at which this node was first started, by its own clock; none before.
    pub running_since: Option<DateTime<Utc>>,
    /// Runs of jobs that this node has begun, as Quartz counts them: those that still run too, and
    /// each try of one that was fired again at once.
    #[doc(alias = "getNumberOfJobsExecuted")]
    pub jobs_executed: u64,
    /// As [`Scheduler::is_started`].
    pub is_started: bool,
    /// As [`Scheduler::is_in_standby`].
    pub is_in_standby: bool,
    /// As [`Scheduler::is_shut_down`].
    pub is_shut_down: bool,
    /// The number of jobs that run at a time on this node. Property `threadPool.threadCount`.
    pub thread_pool_size: u32,
    /// The place where jobs are kept, without secrets.
    pub store: String,
    /// True if the settings say that other nodes share the store. Property `jobStore.isClustered`.
    pub is_clustered: bool,
}

impl Scheduler {
    /// The scheduler's description of itself; asks nothing of the store.
    #[doc(alias = "getMetaData")]
    pub fn metadata(&self) -> SchedulerMetadata {
        let node = &self.inner.node;
        let counters = node.counters.values();
        SchedulerMetadata {
            scheduler_name: node.name.to_string(),
            instance_id: node.instance.to_string(),
            version: env!("CARGO_PKG_VERSION"),
            running_since: self.inner.engine.since_ms().map(moment),
            jobs_executed: counters.begun,
            is_started: self.is_started(),
            is_in_standby: self.is_in_standby(),
            is_shut_down: self.is_shut_down(),
            thread_pool_size: node.settings.thread_pool.thread_count,
            store: node.store.database().describe(),
            is_clustered: node.settings.job_store.clustered,
        }
    }
}

impl fmt::Display for SchedulerMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheduler_name, instance_id, version, jobs_executed, thread_pool_size, store, .. } = self;
        let state = match (self.is_shut_down, self.is_started, self.is_in_standby) {
            (true, ..) => "shut down",
            (false, false, _) => "not started",
            (false, true, true) => "in standby",
            (false, true, false) => "running",
        };
        writeln!(f, "carnelian {version}: scheduler `{scheduler_name}`, instance `{instance_id}`")?;
        match self.running_since {
            Some(since) => writeln!(f, "  {state}, since {}", since.to_rfc3339_opts(SecondsFormat::Secs, true))?,
            None => writeln!(f, "  {state}")?,
        }
        writeln!(f, "  {jobs_executed} jobs executed, {thread_pool_size} workers")?;
        write!(f, "  store: {store}, {}", if self.is_clustered { "clustered" } else { "not clustered" })
    }
}
