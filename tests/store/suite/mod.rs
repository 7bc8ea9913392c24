//! The suite: functions that know of their database by `open` only.

use super::kit::*;
use super::stories::{on_each_database, on_each_strategy, open};

mod acquisition;
mod actions;
mod backfill;
mod beside_quartz;
mod calendars;
mod changes;
mod completion;
mod continuations;
mod contract;
mod definitions;
mod diagnosis;
mod failing;
mod fast_path;
#[cfg(feature = "test-util")]
mod faults;
mod fencing;
mod firing;
mod fixed_delay;
mod heartbeat;
mod history;
mod history_marks;
mod history_of_runs;
mod history_pruning;
#[cfg(feature = "job-files")]
mod import;
mod intervals;
mod prefetched;

mod group_commit;
mod job_types;
mod last_runs;
#[cfg(feature = "test-util")]
mod linearisability;
mod listing;
mod locks;
#[cfg(feature = "test-util")]
mod lost_commits;
mod many;
mod marks;
mod membership;
mod misfires;
mod monitor;
mod nodes;
mod options;
mod orphans;
mod outages;
mod overdue;
mod overlap;
mod own_strategies;
mod parked;
mod pausing;
mod placement;
mod policies;
mod polling;
mod recovery;
#[cfg(feature = "recurrence")]
mod recurrences;
mod renaming;
mod retry;
mod scheduling;
mod states;
mod stop_orders;
mod strategies;
mod tables;
mod taking_back;
mod turns;
mod type_policies;
mod work;
