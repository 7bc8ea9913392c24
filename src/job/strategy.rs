//! `ExecutionStrategy`: how many nodes run each tick of a job.

use super::policy::{JobPolicy, OnDead};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// How many nodes run each time at which a trigger of a job fires: its ticks.
///
/// ```
/// use carnelian::{ExecutionStrategy, JobDetail, JobKey, JobPolicy};
///
/// let policy = JobPolicy::new().strategy(ExecutionStrategy::Broadcast);
/// let job = JobDetail::builder(JobKey::named("drop_caches"), "drop_caches").policy(policy).build()?;
/// assert_eq!(job.policy().execution_strategy(), ExecutionStrategy::Broadcast);
/// # Ok::<(), carnelian::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ExecutionStrategy {
    /// One node, whichever takes it first: what Quartz does.
    #[default]
    Preempt,
    /// Every node that may run the job, each once. A run belongs to its node: if that dies, it is lost.
    Broadcast,
    /// Every node that may run the job, each a share of the work
    /// ([`JobContext::shard`](crate::JobContext::shard)). The share of a node that dies is given to another if the job
    /// requests recovery.
    Sharded,
}

impl ExecutionStrategy {
    /// Every strategy.
    pub const ALL: [Self; 3] = [ExecutionStrategy::Preempt, ExecutionStrategy::Broadcast, ExecutionStrategy::Sharded];

    /// The word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            ExecutionStrategy::Preempt => "preempt",
            ExecutionStrategy::Broadcast => "broadcast",
            ExecutionStrategy::Sharded => "sharded",
        }
    }

    /// The strategy of this name, see [`ExecutionStrategy::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|strategy| strategy.name() == name)
    }

    /// Checks that a job with this policy, that requests recovery and is not concurrent or otherwise, can be run so.
    pub(super) fn check(self, policy: &JobPolicy, requests_recovery: bool, nonconcurrent: bool) -> Result<()> {
        let refuse = |expected: &str| Err(Error::invalid("strategy", self.name(), expected));
        if self == ExecutionStrategy::Preempt {
            return Ok(());
        }
        if nonconcurrent {
            return refuse("expected a job that may run concurrently: each tick runs on several nodes at once");
        }
        if policy.placed().is_some_and(|placement| placement.preferred().is_some()) {
            return refuse("expected no preferred node: each tick runs on all nodes that may run the job");
        }
        if self == ExecutionStrategy::Sharded {
            return match policy.on_dead_policy() {
                Some(OnDead::Revive) => {
                    refuse("expected another `on dead` than revive: a share is given to another node")
                }
                _ => Ok(()),
            };
        }
        if requests_recovery {
            return refuse("expected a job that does not request recovery: a run belongs to its node; see sharded");
        }
        match policy.retry_policy() {
            Some(_) => refuse("expected no retry policy: another node might run it again"),
            None => Ok(()),
        }
    }
}
