//! `ExecutionStrategy`: a rule that says which nodes take part in a tick of a job, and what part
//! each has.

use super::JobDetail;
use crate::key::TriggerKey;
use crate::node::NodeInfo;
use chrono::{DateTime, Utc};

/// Why a strategy has no answer.
pub type StrategyError = Box<dyn std::error::Error + Send + Sync>;

/// A rule that chooses the nodes that take part in a tick of a job, and the part of each.
///
/// A strategy is registered under a name with
/// [`SchedulerBuilder::execution_strategy`](crate::SchedulerBuilder::execution_strategy), and a job
/// chooses it by that name with [`JobPolicy::strategy`](crate::JobPolicy::strategy). A function
/// with the form of [`ExecutionStrategy::parts`] is a strategy.
///
/// The node that fans out the tick asks the strategy in the transaction that does so, while the
/// cluster waits. A strategy must be quick, decide by its arguments alone, and not block: it must
/// not call the scheduler, which would wait for itself. The transaction may be tried again, and the
/// strategy asked again for the same tick; the first answer is then forgotten.
///
/// An answer that names no node, a node twice, or one that is not among those given is none;
/// neither is an error or a panic. Then the tick stays due: the node that asked names the trigger
/// and the reason in its log and in [`Health::quarantined`](crate::monitoring::Health::quarantined)
/// and leaves it alone for a minute, others that have the strategy may ask theirs, and beyond the
/// misfire threshold the trigger's misfire instruction decides as for any late fire.
///
/// ```
/// use carnelian::{JobPolicy, Scheduler};
/// use carnelian::placement::{EligibleNode, NodePart, Tick};
///
/// // One node in each zone, told which zone that is: `ctx.part_parameter()`.
/// fn one_per_zone(_: &Tick<'_>, nodes: &[EligibleNode]) -> Result<Vec<NodePart>, carnelian::placement::StrategyError> {
///     let mut parts: Vec<NodePart> = Vec::new();
///     for node in nodes {
///         let zone = node.info.labels.get("zone").unwrap_or_default();
///         if !parts.iter().any(|part| part.parameter.as_deref() == Some(zone)) {
///             parts.push(NodePart::of(node).with(zone));
///         }
///     }
///     Ok(parts)
/// }
///
/// let builder = Scheduler::builder().execution_strategy("one-per-zone", one_per_zone);
/// let policy = JobPolicy::new().strategy("one-per-zone");
/// # let _ = (builder, policy);
/// ```
pub trait ExecutionStrategy: Send + Sync {
    /// Chooses the nodes that take part in the tick. The place of a part in the answer is its
    /// index, the length of the answer their count:
    /// [`JobContext::shard`](crate::JobContext::shard).
    ///
    /// `nodes` are those that may run the job now, at least one, in order of their instance ids:
    /// they live, take work, are allowed by the job's placement, have its type, and are at no
    /// earlier tick of a trigger whose fires may not overlap.
    ///
    /// # Errors
    /// Why there is no answer now.
    fn parts(&self, tick: &Tick<'_>, nodes: &[EligibleNode]) -> Result<Vec<NodePart>, StrategyError>;
}

impl<F> ExecutionStrategy for F
where
    F: Fn(&Tick<'_>, &[EligibleNode]) -> Result<Vec<NodePart>, StrategyError> + Send + Sync,
{
    fn parts(&self, tick: &Tick<'_>, nodes: &[EligibleNode]) -> Result<Vec<NodePart>, StrategyError> {
        self(tick, nodes)
    }
}

/// The strategy of `broadcast` and `sharded`: every node that may run the job has a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EveryNode;

impl ExecutionStrategy for EveryNode {
    fn parts(&self, _: &Tick<'_>, nodes: &[EligibleNode]) -> Result<Vec<NodePart>, StrategyError> {
        Ok(nodes.iter().map(NodePart::of).collect())
    }
}

/// A time at which a trigger of a job fires.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Tick<'a> {
    /// The trigger.
    pub trigger: &'a TriggerKey,
    /// The time that the fire stands for.
    pub scheduled: DateTime<Utc>,
    /// The job.
    pub job: &'a JobDetail,
}

impl<'a> Tick<'a> {
    /// A tick, for a test of a strategy.
    pub fn new(trigger: &'a TriggerKey, scheduled: DateTime<Utc>, job: &'a JobDetail) -> Self {
        Self { trigger, scheduled, job }
    }
}

/// A node that may take part in a tick.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EligibleNode {
    /// The instance id of the node.
    pub instance: String,
    /// The node's account of itself with its last check-in: name, labels, load, workers, running
    /// fires. All fields are empty for a node that gives none.
    pub info: NodeInfo,
}

impl EligibleNode {
    /// A node that says this of itself.
    pub fn new(instance: impl Into<String>, info: NodeInfo) -> Self {
        Self { instance: instance.into(), info }
    }
}

/// The part of a tick that one node does.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodePart {
    /// The node's instance id.
    pub instance: String,
    /// The parameter that the run reads:
    /// [`JobContext::part_parameter`](crate::JobContext::part_parameter).
    pub parameter: Option<String>,
}

impl NodePart {
    /// The most characters of a parameter.
    pub const MAX_PARAMETER_CHARS: usize = 1000;

    /// A part for the node.
    pub fn of(node: &EligibleNode) -> Self {
        Self { instance: node.instance.clone(), parameter: None }
    }

    /// A part with a parameter for its run; at most [`NodePart::MAX_PARAMETER_CHARS`].
    #[must_use]
    pub fn with(self, parameter: impl Into<String>) -> Self {
        Self { parameter: Some(parameter.into()), ..self }
    }
}
