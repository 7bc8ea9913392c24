//! Intervals that are legal each by itself, and together convict living nodes or leave dead ones
//! unseen.

use super::Settings;
use std::fmt;
use std::time::Duration;

/// A node distrusts itself so long before its peers may convict it.
const MARGIN: Duration = Duration::from_millis(1500);

/// One rule: true if the settings break it, the keys with their values, and the consequence.
type Rule<'a> = (bool, &'a [(&'static str, Duration)], &'static str);

/// A pair of settings that is unsafe together.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnsafeInterval {
    /// The keys that do not go together, with their values in milliseconds.
    pub keys: Vec<(&'static str, u128)>,
    /// Consequence, and advice.
    pub meaning: &'static str,
}

impl fmt::Display for UnsafeInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unsafe intervals:")?;
        for (key, ms) in &self.keys {
            write!(f, " {key}={ms}ms")?;
        }
        write!(f, ": {}", self.meaning)
    }
}

impl Settings {
    /// The combinations of intervals that are legal and unwise. The defaults of every
    /// [`Profile`](super::Profile) have none. A node logs the combinations when it starts.
    ///
    /// ```
    /// use carnelian::settings::Settings;
    ///
    /// let mut settings = Settings::default();
    /// assert!(settings.unsafe_intervals().is_empty());
    /// settings.job_store.clustered = true;
    /// settings.job_store.checkin_misfire_threshold = std::time::Duration::from_secs(1);
    /// assert!(settings.unsafe_intervals()[0].to_string().contains("clusterCheckinMisfireThreshold=1000ms"));
    /// ```
    pub fn unsafe_intervals(&self) -> Vec<UnsafeInterval> {
        let (store, scheduler, executions) = (&self.job_store, &self.scheduler, &self.executions);
        let interval = ("jobStore.clusterCheckinInterval", store.checkin_interval);
        let tolerance = ("jobStore.clusterCheckinMisfireThreshold", store.checkin_misfire_threshold);
        let window = store.checkin_interval.saturating_add(store.checkin_misfire_threshold);
        let misfire = ("jobStore.misfireThreshold", store.misfire_threshold);
        let heartbeat = ("carnelian.scheduler.heartbeatInterval", executions.heartbeat_interval);
        let silence = executions.heartbeat_interval.saturating_mul(executions.missed_heartbeat_limit);
        let timeout = ("carnelian.dataSource.connectionTimeout", self.connection_timeout());
        let retry = ("jobStore.dbRetryInterval", store.db_retry_interval);
        let idle = ("scheduler.idleWaitTime", scheduler.idle_wait_time);
        let poll = (
            "carnelian.scheduler.pollInterval",
            scheduler.poll_interval.unwrap_or_default().min(scheduler.idle_wait_time),
        );
        let takeover = ("carnelian.cluster.takeoverDelay", self.cluster.takeover_delay);
        let deadline = ("carnelian.shutdown.deadline", self.shutdown.deadline);
        let stop = ("carnelian.shutdown.stopWait", self.shutdown.stop_wait);
        let interrupts = scheduler.interrupt_jobs_on_shutdown || scheduler.interrupt_jobs_on_shutdown_with_wait;

        let cluster: [Rule<'_>; 8] = [
            (
                tolerance.1 <= MARGIN,
                &[tolerance],
                "a node distrusts itself 1500 ms before the end of its window and then takes no work: with so little \
                 tolerance it does so before each check-in; allow at least 5000 ms",
            ),
            (
                tolerance.1 > MARGIN && tolerance.1 < Duration::from_secs(5),
                &[tolerance],
                "a pause of so little, of the database or of this process, is enough for a living node to be declared \
                 dead; allow at least 5000 ms",
            ),
            (
                interval.1 < Duration::from_secs(1),
                &[interval],
                "each node writes and reads the cluster's state more than once a second; what is gained in detection is \
                 lost in the database",
            ),
            (
                window > Duration::from_secs(600),
                &[interval, tolerance],
                "work of a dead node lies for more than ten minutes before anybody takes it over",
            ),
            (
                misfire.1 < window.saturating_add(takeover.1),
                &[misfire, interval, tolerance, takeover],
                "work that a dead node had taken and not begun is a misfire by the time it is given back: let the misfire \
                 threshold be longer than interval, tolerance and delay together, or do not wonder at misfires after a failure",
            ),
            (
                silence < store.checkin_misfire_threshold,
                &[heartbeat, tolerance],
                "a fire counts as silent sooner than its node counts as late: give it more heartbeats",
            ),
            (
                retry.1 > window,
                &[retry, interval, tolerance],
                "after a long outage of the database other work than check-ins may wait longer than the whole window of a node: \
                 the waits between tries grow up to this",
            ),
            (
                timeout.1 > window.saturating_mul(10),
                &[timeout, interval, tolerance],
                "a thread waits for a connection for many windows: the node is declared dead long before it hears that \
                 there is none",
            ),
        ];
        let alone: [Rule<'_>; 4] = [
            (
                poll.1 >= misfire.1,
                &[poll, misfire],
                "what another node or program stores may be seen so late that it is a misfire at once",
            ),
            (
                idle.1 > misfire.1.saturating_mul(10),
                &[idle, misfire],
                "a node may sleep through ten misfire thresholds before it looks for work that it was not told of",
            ),
            (
                heartbeat.1 < Duration::from_millis(500),
                &[heartbeat],
                "running fires are written more than twice a second; what is gained in detection is lost in the database",
            ),
            (
                interrupts && deadline.1 < self.shutdown.grace(),
                &[deadline, stop],
                "a shutdown ends before a job that was asked to stop has had its attempts: its work is recovered by \
                 others instead",
            ),
        ];
        let cluster = cluster.into_iter().filter(|_| store.clustered);
        let found = cluster.chain(alone).filter(|(is_unsafe, _, _)| *is_unsafe);
        found
            .map(|(_, keys, meaning)| UnsafeInterval {
                keys: keys.iter().map(|(key, time)| (*key, time.as_millis())).collect(),
                meaning,
            })
            .collect()
    }

    fn connection_timeout(&self) -> Duration {
        self.data_source.as_ref().map_or(Duration::ZERO, |source| source.connection_timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Profile;

    fn with(lines: &str) -> Vec<String> {
        let text =
            format!("jobStore.isClustered = true\njobStore.dataSource = d\ndataSource.d.URL = sqlite:x.db\n{lines}");
        let settings = Settings::from_text("x", &text, |_| None).unwrap();
        settings.unsafe_intervals().iter().map(ToString::to_string).collect()
    }

    /// DS-21: what ships is safe.
    #[test]
    fn the_defaults_of_every_profile_are_safe() {
        for profile in Profile::ALL {
            let found = with(&format!("carnelian.profile = {}", profile.name()));
            assert!(found.is_empty(), "{profile:?}: {found:?}");
        }
        assert!(Settings::default().unsafe_intervals().is_empty());
    }

    /// DS-21: each rule, met just beyond its limit and not just within.
    #[test]
    fn each_combination_is_named_beyond_its_limit_and_not_within() {
        for (beyond, within, words) in [
            ("jobStore.clusterCheckinMisfireThreshold = 1500", "", "before each check-in"),
            (
                "jobStore.clusterCheckinMisfireThreshold = 4999",
                "jobStore.clusterCheckinMisfireThreshold = 5000",
                "declared dead",
            ),
            (
                "jobStore.clusterCheckinInterval = 999\njobStore.dbRetryInterval = 1000",
                "jobStore.clusterCheckinInterval = 1000\njobStore.dbRetryInterval = 1000",
                "more than once a second",
            ),
            (
                "jobStore.clusterCheckinInterval = 592501\njobStore.misfireThreshold = 700000",
                "jobStore.clusterCheckinInterval = 592500\njobStore.misfireThreshold = 700000",
                "more than ten minutes",
            ),
            ("jobStore.misfireThreshold = 22499", "jobStore.misfireThreshold = 22500", "given back"),
            (
                "carnelian.scheduler.heartbeatInterval = 2499ms",
                "carnelian.scheduler.heartbeatInterval = 2500ms",
                "counts as silent",
            ),
            ("jobStore.dbRetryInterval = 22501", "jobStore.dbRetryInterval = 22500", "whole window"),
            (
                "carnelian.dataSource.connectionTimeout = 226s",
                "carnelian.dataSource.connectionTimeout = 225s",
                "hears that",
            ),
            (
                "carnelian.scheduler.pollInterval = 60s\nscheduler.idleWaitTime = 60000",
                "carnelian.scheduler.pollInterval = 59s\nscheduler.idleWaitTime = 60000",
                "misfire at once",
            ),
            ("scheduler.idleWaitTime = 600001", "scheduler.idleWaitTime = 600000", "sleep through"),
            (
                "carnelian.scheduler.heartbeatInterval = 499ms\ncarnelian.scheduler.missedHeartbeatLimit = 100",
                "carnelian.scheduler.heartbeatInterval = 500ms\ncarnelian.scheduler.missedHeartbeatLimit = 100",
                "more than twice a second",
            ),
            (
                "carnelian.shutdown.deadline = 8999ms\nscheduler.interruptJobsOnShutdown = true",
                "carnelian.shutdown.deadline = 9s\nscheduler.interruptJobsOnShutdown = true",
                "had its attempts",
            ),
            (
                "carnelian.shutdown.stopAttempts = 11\nscheduler.interruptJobsOnShutdownWithWait = true",
                "carnelian.job.stopAttempts = 11\nscheduler.interruptJobsOnShutdownWithWait = true",
                "had its attempts",
            ),
            (
                "carnelian.shutdown.stopWait = 11s\ncarnelian.profile = logi",
                "carnelian.shutdown.stopWait = 11s",
                "had its attempts",
            ),
        ] {
            let found = with(beyond);
            assert!(found.len() == 1 && found[0].contains(words), "{beyond}: {found:?}");
            let found = with(within);
            assert!(found.is_empty(), "{within}: {found:?}");
        }
    }

    #[test]
    fn without_a_cluster_nobody_is_convicted() {
        let text = "jobStore.clusterCheckinMisfireThreshold = 1";
        assert!(Settings::from_text("x", text, |_| None).unwrap().unsafe_intervals().is_empty());
    }
}
