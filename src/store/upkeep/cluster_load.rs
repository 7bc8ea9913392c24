//! The load of a cluster, in one statement whose cost has a bound.

use super::InstanceStatus;
use crate::epoch::millis;
use crate::error::Result;
use crate::rules::failover::is_dead;
use crate::store::placement::takes_work;
use crate::store::row::Late;
use crate::store::{Session, TxMode, Upkeep};
use std::collections::BTreeMap;
use std::time::Duration;

/// The load of a cluster at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClusterLoad {
    /// The store's time, epoch milliseconds.
    pub now_ms: i64,
    /// Triggers that should have fired by now: they wait although their time has come, or are
    /// reserved by a node that does not fire them. Paused and blocked ones do not count. No more
    /// are counted than was asked for.
    pub overdue: usize,
    /// The time of the oldest of those that wait, epoch milliseconds.
    pub oldest_overdue_ms: Option<i64>,
    /// The amount of work that is parked: see `docs/executions.md`. No more is counted than was
    /// asked for.
    pub parked: usize,
    /// Since when the cluster drains a backlog in recovery mode, epoch milliseconds; none if it
    /// does not.
    pub recovery_since_ms: Option<i64>,
    /// The nodes, in order of their names.
    pub instances: Vec<InstanceStatus>,
    /// The living node of ours that speaks for the cluster: the one that joined first, an observer
    /// only if there is no other.
    pub longest_serving: Option<String>,
}

impl Upkeep<'_> {
    /// The nodes, how many triggers are later than `after`, and how much work is parked; counts at
    /// most `most` of each, however many there are.
    ///
    /// ```
    /// use carnelian::Scheduler;
    /// use std::time::Duration;
    ///
    /// let scheduler = Scheduler::builder().build()?;
    /// let load = scheduler.store().upkeep().cluster_load(Duration::from_secs(5), 10_000)?;
    /// assert_eq!((load.overdue, load.instances.len()), (0, 0));
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn cluster_load(&self, after: Duration, most: usize) -> Result<ClusterLoad> {
        self.store.glance("look at the load", |s| self.load_in(s, after, most))
    }

    /// The load, with a single try: the caller decides when to try again.
    pub(crate) fn read_load(&self, after: Duration, most: usize) -> Result<ClusterLoad> {
        self.store.once("look at the load", TxMode::Autocommit, |s| self.load_in(s, after, most))
    }

    fn load_in(&self, s: &mut dyn Session, after: Duration, most: usize) -> Result<ClusterLoad> {
        let (now_ms, row) = s.read_cluster_load(Late::MoreThan(millis(after)), most)?;
        let tolerance = millis(self.store.tolerance());
        let mut longest_serving: Option<(i64, String)> = None;
        let mut instances = Vec::with_capacity(row.instances.len());
        for (instance, running) in row.instances {
            let alive = !is_dead(&instance, tolerance, now_ms);
            let comes_first = longest_serving.as_ref().is_none_or(|(joined, _)| instance.joined < *joined);
            if alive && instance.incarnation.is_some() && comes_first {
                longest_serving = Some((instance.joined, instance.name.clone()));
            }
            let takes_work = takes_work(&instance, row.infos.get(&instance.name), &row.blacklist, now_ms);
            instances.push(InstanceStatus::of(instance, alive, takes_work, running, None));
        }
        let overdue = row.overdue.min(most);
        let longest_serving = longest_serving.map(|(_, name)| name);
        Ok(ClusterLoad {
            now_ms,
            overdue,
            oldest_overdue_ms: row.oldest_overdue_ms,
            parked: row.parked,
            recovery_since_ms: row.recovery_since_ms,
            instances,
            longest_serving,
        })
    }

    /// The number of triggers in each state. Reads all triggers: not for often.
    ///
    /// # Errors
    /// The error of the database.
    pub fn trigger_states(&self) -> Result<BTreeMap<String, usize>> {
        self.store.once("count triggers", TxMode::Autocommit, |s| Ok(s.count_states()?.into_iter().collect()))
    }
}
