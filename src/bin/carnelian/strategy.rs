//! `--strategy`: which nodes run each tick of a job.

use carnelian::placement::Strategy;
use clap::Args;

#[derive(Args)]
#[command(next_help_heading = "Placement")]
pub struct StrategyFlags {
    /// The nodes that run each tick: preempt for one, broadcast for all that may run the job,
    /// sharded for all with a share each, or the name of a strategy of the program's own. Others
    /// than preempt not beside nodes of Quartz, unless --force
    #[arg(long, value_name = "NAME", default_value = "preempt")]
    pub strategy: Strategy,
}
