//! `Metrics`: the meters of a node beside its counters, in plain atomics.

use crate::alarm::AlarmKind;
use crate::job::FireOutcome;
use crate::key::JobKey;
use crate::meter::{Counter, Histogram};
use crate::settings::MonitorSettings;
use crate::store::ClusterLoad;
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

/// The name for jobs whose group, or key, is one too many.
const OTHER: &str = "other";

/// The meters of a node beside its counters.
#[derive(Default)]
pub(crate) struct Metrics {
    pub(crate) fire_duration: Histogram,
    pub(crate) lateness: Histogram,
    /// From the fire, or its time if that was later, to its begin on a worker.
    pub(crate) worker_wait: Histogram,
    pub(crate) acquire: Histogram,
    /// Check-ins that recovered nothing.
    pub(crate) checkin: Histogram,
    /// Check-ins that recovered the work of others.
    pub(crate) recovery: Histogram,
    groups: Option<Groups>,
    pub(crate) view: Mutex<View>,
    /// The check-ins that have succeeded.
    pub(crate) checkins: Counter,
    /// The triggers that the acquirer has reserved.
    pub(crate) reserved: AtomicUsize,
    /// The jobs that no living node can run, if this node is the one that looks for them.
    pub(crate) orphans: AtomicUsize,
    #[cfg(feature = "metrics")]
    pub(crate) publisher: Mutex<super::facade::Publisher>,
    /// The number of times that each alarm was raised.
    pub(crate) alarms: [Counter; AlarmKind::ALL.len()],
}

/// The last view of the monitor; times in ticks.
#[derive(Clone, Default)]
pub(crate) struct View {
    /// The cluster, and when it was looked at.
    pub(crate) load: Option<(Duration, ClusterLoad)>,
    /// The time by which the node's clock is ahead of the store's at least, in seconds.
    pub(crate) skew: Option<f64>,
    /// The number of triggers by state.
    pub(crate) states: Option<BTreeMap<String, usize>>,
    pub(crate) raised: BTreeSet<AlarmKind>,
}

/// The time by which a look at the cluster may be late.
const LATE: Duration = Duration::from_secs(5);

impl View {
    /// The cluster, if it was looked at within so many intervals of the monitor. An older look says
    /// nothing of now.
    pub(crate) fn fresh_load(&self, now: Duration, interval: Duration, intervals: u32) -> Option<&ClusterLoad> {
        let longest = interval.saturating_mul(intervals).saturating_add(LATE);
        self.load.as_ref().filter(|(at, _)| now.saturating_sub(*at) <= longest).map(|(_, load)| load)
    }
}

/// Fires by their jobs, or by the groups of these. Only with the setting that asks for it: here is
/// a lock.
struct Groups {
    by_job: bool,
    most: usize,
    meters: RwLock<BTreeMap<String, Arc<GroupMeters>>>,
}

/// The fires of a job, or of the jobs of a group.
#[derive(Default)]
pub(crate) struct GroupMeters {
    pub(super) outcomes: [Counter; FireOutcome::ALL.len()],
    pub(super) duration: Histogram,
}

/// The meters of a job or of a group, with its name.
pub(super) type NamedMeters = (String, Arc<GroupMeters>);

impl Metrics {
    pub(crate) fn new(settings: &MonitorSettings) -> Self {
        let most = usize::try_from(settings.max_groups).unwrap_or(usize::MAX);
        let by_job = settings.job_label;
        let groups = (by_job || settings.group_label).then(|| Groups { by_job, most, meters: RwLock::default() });
        Self { groups, ..Self::default() }
    }

    /// Notes that an alarm was raised or cleared.
    pub(crate) fn set_alarm(&self, kind: AlarmKind, is_raised: bool) {
        if is_raised {
            count(&AlarmKind::ALL, &self.alarms, kind);
            self.view.lock().raised.insert(kind);
        } else {
            self.view.lock().raised.remove(&kind);
        }
    }

    /// Notes a fire under its job or the group of that, with how long the job ran if it did.
    pub(crate) fn observe_fire(&self, job: &JobKey, outcome: FireOutcome, run_time: Option<Duration>) {
        if let Some(run_time) = run_time {
            self.fire_duration.observe(run_time);
        }
        if let Some(groups) = &self.groups {
            let meters = if groups.by_job { groups.of(&job.to_string()) } else { groups.of(job.group()) };
            meters.count(outcome);
            if let Some(run_time) = run_time {
                meters.duration.observe(run_time);
            }
        }
    }

    /// The label by which fires are told apart, and its values so far; none if they are not.
    pub(super) fn groups(&self) -> Option<(&'static str, Vec<NamedMeters>)> {
        let groups = self.groups.as_ref()?;
        let meters = groups.meters.read();
        let seen = meters.iter().map(|(group, meters)| (group.clone(), Arc::clone(meters))).collect();
        Some((if groups.by_job { "job" } else { "group" }, seen))
    }
}

impl Groups {
    fn of(&self, group: &str) -> Arc<GroupMeters> {
        if let Some(meters) = self.meters.read().get(group) {
            return Arc::clone(meters);
        }
        let mut meters = self.meters.write();
        let group = if meters.len() < self.most || meters.contains_key(group) { group } else { OTHER };
        Arc::clone(meters.entry(group.to_owned()).or_default())
    }
}

impl GroupMeters {
    fn count(&self, outcome: FireOutcome) {
        count(&FireOutcome::ALL, &self.outcomes, outcome);
    }
}

/// Adds one to the counter of this kind.
fn count<K: PartialEq>(all: &[K], counters: &[Counter], kind: K) {
    if let Some((_, counter)) = all.iter().zip(counters).find(|(known, _)| **known == kind) {
        counter.add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_beyond_the_limit_are_one() {
        let groups = Groups { by_job: false, most: 2, meters: RwLock::default() };
        for group in ["a", "b", "c", "d", "a"] {
            groups.of(group).count(FireOutcome::Failed);
        }
        let metrics = Metrics { groups: Some(groups), ..Metrics::default() };
        let (label, seen) = metrics.groups().expect("they are told apart");
        assert_eq!(label, "group");
        let failed = |meters: &GroupMeters| meters.outcomes[1].value();
        let counted: Vec<(&str, u64)> = seen.iter().map(|(group, m)| (group.as_str(), failed(m))).collect();
        assert_eq!(counted, [("a", 2), ("b", 1), (OTHER, 2)]);
    }
}
