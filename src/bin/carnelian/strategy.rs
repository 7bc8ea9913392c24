//! `--strategy`: which nodes run each tick of a job.

use carnelian::placement::Strategy;
use clap::Args;

#[derive(Args)]
pub struct StrategyFlags {
    /// The nodes that run each tick: preempt for one, broadcast for all that may run the job,
    /// sharded for all with a share each, or the name of a strategy of the program's own. Others
    /// than preempt not beside nodes of Quartz, unless --force
    #[arg(long, value_name = "NAME", default_value = "preempt")]
    pub strategy: Strategy,
}

/// The line of `explain` about the strategy; none for the usual one.
pub fn reason(strategy: &Strategy) -> Option<String> {
    match strategy {
        Strategy::Broadcast => Some("each tick runs on every node that may run the job, once (broadcast)".to_owned()),
        Strategy::Sharded => {
            Some("each tick is shared by all nodes that may run the job, a part each (sharded)".to_owned())
        }
        Strategy::Named(name) => Some(format!(
            "each tick runs on the nodes that the strategy `{name}` chooses; nodes that do not have that leave it alone"
        )),
        _ => None,
    }
}
