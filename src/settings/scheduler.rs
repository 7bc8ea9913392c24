//! Scheduler settings: who this node is, and how it looks for work.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono_tz::Tz;

use super::reader::Reader;
use super::redact::RedactedMap;
use crate::debug_fields::debug_fields;
use crate::zone::{self, ZoneSource};

/// Identity of this node, and its polling (`org.quartz.scheduler.*`).
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchedulerSettings {
    /// The name of the scheduler, equal on all nodes of a cluster; `QuartzScheduler`.
    /// Property `scheduler.instanceName`.
    pub instance_name: String,
    /// The name of this node; [`InstanceIdSetting::Auto`] in a cluster, else `NON_CLUSTERED`.
    /// Property `scheduler.instanceId`.
    pub instance_id: InstanceIdSetting,
    /// The longest time between two polls, whatever [`SchedulerSettings::poll_interval`] says; also
    /// how far ahead triggers are reserved, which is never more than 1 s; 30 s.
    /// Property `scheduler.idleWaitTime` (ms, at least 1000).
    pub idle_wait_time: Duration,
    /// A switch: the node starts; yes. A node that is not enabled does nothing on
    /// [`Scheduler::start`](crate::Scheduler::start): it does not register and runs no job. The
    /// work that its program stores is stored.
    /// Property `carnelian.scheduler.enabled`.
    pub enabled: bool,
    /// The interval at which a node polls for work that other nodes have stored, by one statement;
    /// at most `scheduler.idleWaitTime`. None is 160 ms, and 1 s while the node hears notifications
    /// ([`SchedulerSettings::listen`]).
    ///
    /// Work stored by this node is seen at once. Nodes of Quartz send no notifications.
    /// Property `carnelian.scheduler.pollInterval`.
    pub poll_interval: Option<Duration>,
    /// A switch: the node listens for notifications of other nodes, on PostgreSQL, by a connection
    /// of its own beside the pool; yes. Behind a pooler that lends sessions by the transaction a
    /// node listens only if it is given the URL of the server itself
    /// (`carnelian.dataSource.listenUrl`). A node with a pool of the caller's does not listen.
    /// Property `carnelian.scheduler.listen`.
    pub listen: bool,
    /// A switch: other nodes are notified of changes, on PostgreSQL; yes. Equal on all nodes.
    /// Property `carnelian.scheduler.notify`.
    pub notify: bool,
    /// By how many percent a poll interval is shortened at most, each time by another amount, so
    /// that nodes do not look in step; 5. Property `carnelian.scheduler.pollJitter`.
    pub poll_jitter: u32,
    /// The value of `scheduler.dbFailureRetryInterval` (ms); 2 s. The field has no effect by
    /// itself: a file's value is read into `job_store.db_retry_interval` too, which all threads
    /// use.
    pub db_failure_retry_interval: Duration,
    /// The largest number of triggers that one transaction acquires; 500, or the number of threads
    /// if that is more. Quartz has 1.
    /// Property `scheduler.batchTriggerAcquisitionMaxCount`.
    pub batch_max_count: u32,
    /// The time within which a prefetched fire is to begin on the node that took it; 20 ms, and at
    /// most ten seconds. At 0 a node takes no more fires than it has free workers, as Quartz.
    ///
    /// A node prefetches job types whose recent runs were shorter than this time, as far as earlier
    /// prefetched fires began within it: larger batches are faster. A prefetched fire is given back
    /// if jobs run on all workers for five times as long (at least 50 ms), if it has not begun
    /// after half a second, or if the node stands by, ends or dies. Any node may then take it, and
    /// no trace is left.
    /// Property `carnelian.scheduler.takeAhead`.
    pub take_ahead: Duration,
    /// Time by which a trigger of a batch may fire early; 0.
    /// Property `scheduler.batchTriggerAcquisitionFireAheadTimeWindow` (ms).
    pub batch_time_window: Duration,
    /// A switch: a shutdown that does not wait for running jobs interrupts them: it asks them to
    /// stop, again and again, and gives up those that do not; no. If not, they are told, and have a
    /// second to stop.
    /// Property `scheduler.interruptJobsOnShutdown`.
    pub interrupt_jobs_on_shutdown: bool,
    /// A switch: a shutdown that waits for running jobs interrupts them likewise; no. If not, they
    /// go on to their end, and are told nothing before `carnelian.shutdown.deadline` is near.
    /// Property `scheduler.interruptJobsOnShutdownWithWait`.
    pub interrupt_jobs_on_shutdown_with_wait: bool,
    /// The name of the acquisition thread, if not made from the scheduler's name.
    /// Property `scheduler.threadName`.
    pub thread_name: Option<String>,
    /// The zone of cron expressions, other schedules, calendars and times in job files that have
    /// none of their own; the machine's, as in Java: the zone of `TZ`, else of the system, else
    /// UTC. A schedule keeps the zone with which it was stored. All nodes must have the same zone,
    /// since Quartz stores no zone with some triggers and calendars.
    /// Property `carnelian.scheduler.timeZone`.
    pub time_zone: Tz,
    /// The origin of that zone.
    pub time_zone_source: ZoneSource,
    /// Texts that jobs find in the scheduler's context.
    /// Properties `context.key.NAME`.
    pub context: BTreeMap<String, String>,
}

/// Most triggers of a transaction by default: beyond that batches make nothing faster.
pub(super) const BATCH: u32 = 500;

/// Origin of the name of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstanceIdSetting {
    /// Made when the scheduler starts, different each time.
    Auto,
    /// This one; at most 168 characters, unique in the cluster.
    Fixed(String),
}

impl SchedulerSettings {
    pub(crate) fn read(reader: &mut Reader, thread_count: u32, clustered: bool) -> Self {
        let named = reader.text("carnelian.scheduler.timeZone").and_then(|name| name.parse().ok());
        let (time_zone, time_zone_source) = named.map_or_else(zone::machine, |zone| (zone, ZoneSource::Property));
        Self {
            instance_name: reader.text("scheduler.instanceName").unwrap_or_default(),
            instance_id: InstanceIdSetting::read(reader, clustered),
            idle_wait_time: reader.duration("scheduler.idleWaitTime"),
            enabled: reader.flag("carnelian.scheduler.enabled"),
            poll_interval: reader.duration_if_any("carnelian.scheduler.pollInterval"),
            listen: reader.flag("carnelian.scheduler.listen"),
            notify: reader.flag("carnelian.scheduler.notify"),
            poll_jitter: reader.count("carnelian.scheduler.pollJitter"),
            db_failure_retry_interval: reader.duration("scheduler.dbFailureRetryInterval"),
            batch_max_count: reader
                .count_if_any("scheduler.batchTriggerAcquisitionMaxCount")
                .unwrap_or(thread_count.max(BATCH)),
            take_ahead: reader.duration("carnelian.scheduler.takeAhead"),
            batch_time_window: reader.duration("scheduler.batchTriggerAcquisitionFireAheadTimeWindow"),
            interrupt_jobs_on_shutdown: reader.flag("scheduler.interruptJobsOnShutdown"),
            interrupt_jobs_on_shutdown_with_wait: reader.flag("scheduler.interruptJobsOnShutdownWithWait"),
            thread_name: reader.text("scheduler.threadName"),
            time_zone,
            time_zone_source,
            context: reader.below("context.key."),
        }
    }
}

debug_fields! {
    SchedulerSettings {
        instance_name, instance_id, idle_wait_time, enabled, poll_interval, listen, notify, poll_jitter,
        db_failure_retry_interval, batch_max_count, take_ahead, batch_time_window, interrupt_jobs_on_shutdown,
        interrupt_jobs_on_shutdown_with_wait, thread_name, time_zone, time_zone_source,
        context = RedactedMap(&me.context),
    } finish |me|
}

impl InstanceIdSetting {
    /// Name of a node that shares its tables with nobody.
    pub const NON_CLUSTERED: &'static str = "NON_CLUSTERED";

    fn read(reader: &mut Reader, clustered: bool) -> Self {
        const KEY: &str = "scheduler.instanceId";
        let unclustered = || Self::Fixed(Self::NON_CLUSTERED.to_owned());
        match reader.given(KEY).map(str::to_owned) {
            // As in Quartz, a node alone does not need a made-up name.
            None if clustered => Self::Auto,
            None => unclustered(),
            Some(id) if id.eq_ignore_ascii_case("AUTO") => {
                if clustered {
                    Self::Auto
                } else {
                    unclustered()
                }
            }
            Some(id) if id == "SYS_PROP" => {
                reader.refuse(
                    KEY,
                    "expected AUTO or a name: there are no system properties here, write ${env:NAME} to take the name from the environment",
                    None,
                );
                Self::Auto
            }
            Some(id) => {
                if clustered && id == Self::NON_CLUSTERED {
                    reader.warn(KEY, "every node of a cluster needs a name of its own: write AUTO or ${env:POD_NAME}");
                }
                Self::Fixed(id)
            }
        }
    }
}
