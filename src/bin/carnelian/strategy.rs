//! `--strategy`: how many nodes run each tick of a job.

use carnelian::ExecutionStrategy;
use clap::Args;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;

#[derive(Args)]
pub struct StrategyFlags {
    /// Which nodes run each tick: one, all that may run the job, or all with a share each. Others than preempt not beside
    /// nodes of Quartz, unless --force
    #[arg(long, default_value = "preempt", value_parser = strategy())]
    pub strategy: ExecutionStrategy,
}

fn strategy() -> impl TypedValueParser<Value = ExecutionStrategy> {
    PossibleValuesParser::new(ExecutionStrategy::ALL.map(ExecutionStrategy::name))
        .map(|name| ExecutionStrategy::from_name(&name).unwrap_or_default())
}

/// What `explain` says of it; nothing of the usual one.
pub fn reason(strategy: ExecutionStrategy) -> Option<String> {
    match strategy {
        ExecutionStrategy::Broadcast => {
            Some("each tick runs on every node that may run the job, once (broadcast)".to_owned())
        }
        ExecutionStrategy::Sharded => {
            Some("each tick is shared by all nodes that may run the job, a part each (sharded)".to_owned())
        }
        _ => None,
    }
}
