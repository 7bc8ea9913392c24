//! The meaning of health: whether a node lives, whether it is ready, and all of it as JSON.

use crate::epoch::whole_millis as ms;
use crate::scheduler::health::{Health, SchedulerStatus, ServiceHealth, ServiceState};
use serde_json::{Value, json};
use std::time::Duration;

/// A pass that goes on for longer hangs. A database that is away is no reason: its waits have
/// shorter limits.
const HANGS: Duration = Duration::from_secs(900);

/// The one service that may end by itself.
const MAY_END: &str = "job-files";

impl SchedulerStatus {
    fn is_stopped(self) -> bool {
        self == Self::Stopped
    }
}

impl Health {
    /// True if the process is worth keeping, for `/livez`: false if a service has ended although
    /// the node has not, or hangs. A database that is away, a suspicion or stuck jobs are no reason
    /// to end a process.
    ///
    /// ```
    /// let scheduler = carnelian::Scheduler::builder().build()?;
    /// let health = scheduler.health();
    /// assert!(health.is_live() && !health.is_ready(), "it is not started yet");
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    pub fn is_live(&self) -> bool {
        self.status.is_stopped() || self.services.iter().all(|service| is_fine(service, self.ticks))
    }

    /// True if the node does its work, for `/readyz`: it runs, is registered, does not suspect
    /// itself, lives, and has no more stuck fires than `carnelian.health.maxStuckFires` (by default
    /// they do not matter).
    pub fn is_ready(&self) -> bool {
        let stuck = u32::try_from(self.stuck_fires).unwrap_or(u32::MAX);
        self.status == SchedulerStatus::Running
            && self.is_registered
            && !self.is_suspicious
            && self.is_live()
            && self.max_stuck_fires.is_none_or(|most| stuck <= most)
    }

    /// All of it as a JSON object: `status`, `scheduler`, `completed`, `failed` and `executors`
    /// (`instance`, `running`, `last_seen_ms`), and beside them what only this node knows.
    /// Durations are in milliseconds.
    ///
    /// ```
    /// let scheduler = carnelian::Scheduler::builder().build()?;
    /// assert_eq!(scheduler.health().to_json()["status"], "standby");
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    pub fn to_json(&self) -> Value {
        let executors = self.executors.iter().map(|executor| {
            json!({
                "instance": executor.instance,
                "running": executor.running,
                "last_seen_ms": executor.last_seen.map(|time| time.timestamp_millis()),
            })
        });
        let quarantined =
            self.quarantined.iter().map(|(key, reason)| json!({"trigger": key.to_string(), "reason": reason}));
        json!({
            "status": self.status.name(),
            "scheduler": self.scheduler,
            "completed": self.completed,
            "failed": self.failed,
            "executors": executors.collect::<Vec<_>>(),
            "instance": self.instance,
            "live": self.is_live(),
            "ready": self.is_ready(),
            "firing": self.is_firing,
            "stopping": self.stopping.map(|step| step.name()),
            "registered": self.is_registered,
            "suspicious": self.is_suspicious,
            "active": self.is_active,
            "since_checkin_ms": self.since_checkin.map(ms),
            "since_monitored_ms": self.since_monitored.map(ms),
            "workers": self.workers,
            "free_workers": self.free_workers,
            "stray_threads": self.stray_threads,
            "running": self.running,
            "stuck_fires": self.stuck_fires,
            "reserved": self.reserved,
            "unrecorded": self.unrecorded,
            "orphaned_jobs": self.orphans,
            "alarms": self.alarms.iter().map(|kind| kind.name()).collect::<Vec<_>>(),
            "quarantined": quarantined.collect::<Vec<_>>(),
            "services": self.services.iter().map(|one| service(one, self.ticks)).collect::<Vec<_>>(),
        })
    }
}

fn is_fine(service: &ServiceHealth, now: Duration) -> bool {
    match service.state {
        ServiceState::Stopped => service.name == MAY_END,
        ServiceState::Working => service.last_pass.is_none_or(|begun| now.saturating_sub(begun) < HANGS),
        ServiceState::NotStarted | ServiceState::Waiting | ServiceState::BackingOff => true,
    }
}

fn service(service: &ServiceHealth, now: Duration) -> Value {
    json!({
        "name": service.name,
        "state": service.state.name(),
        "passes": service.runs,
        "errors": service.errors,
        "panics": service.panics,
        "errors_in_a_row": service.errors_in_a_row,
        "last_error": service.last_error,
        "since_last_pass_ms": service.last_pass.map(|begun| ms(now.saturating_sub(begun))),
        "last_duration_ms": service.last_duration.map(ms),
        "longest_duration_ms": service.longest_duration.map(ms),
        "last_rows": service.last_rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scheduler;
    use crate::scheduler::health::ServiceRecord;

    /// A node in its best health.
    fn healthy() -> Health {
        let mut health = Scheduler::builder().build().expect("a scheduler in memory").health();
        health.status = SchedulerStatus::Running;
        health.is_registered = true;
        health.ticks = Duration::from_secs(10_000);
        health
    }

    fn in_state(name: &'static str, state: ServiceState, last_pass: u64) -> ServiceHealth {
        ServiceHealth {
            state,
            last_pass: Some(Duration::from_secs(last_pass)),
            ..ServiceRecord::new(name).health(Duration::ZERO)
        }
    }

    /// DS-73, DS-80, DS-118: what makes a node not live, and what only makes it not ready.
    #[test]
    fn a_node_lives_until_a_service_is_gone_and_is_ready_while_it_does_its_work() {
        type Case = (&'static str, fn(&mut Health), bool, bool);
        let cases: [Case; 12] = [
            ("well", |_| {}, true, true),
            ("standing by", |h| h.status = SchedulerStatus::Standby, true, false),
            ("stopped", |h| h.status = SchedulerStatus::Stopped, true, false),
            ("unregistered", |h| h.is_registered = false, true, false),
            ("suspicious", |h| h.is_suspicious = true, true, false),
            ("stuck, and nobody minds", |h| h.stuck_fires = 9, true, true),
            ("stuck, as far as it may be", |h| (h.stuck_fires, h.max_stuck_fires) = (9, Some(9)), true, true),
            ("too stuck", |h| (h.stuck_fires, h.max_stuck_fires) = (10, Some(9)), true, false),
            (
                "a service is gone",
                |h| h.services = vec![in_state("cluster", ServiceState::Stopped, 9_999)],
                false,
                false,
            ),
            ("job files are read", |h| h.services = vec![in_state("job-files", ServiceState::Stopped, 1)], true, true),
            ("a service hangs", |h| h.services = vec![in_state("misfire", ServiceState::Working, 9_000)], false, false),
            (
                "the database is away",
                |h| h.services = vec![in_state("misfire", ServiceState::BackingOff, 1)],
                true,
                true,
            ),
        ];
        for (what, change, live, ready) in cases {
            let mut health = healthy();
            change(&mut health);
            assert_eq!((health.is_live(), health.is_ready()), (live, ready), "{what}");
        }
    }
}
