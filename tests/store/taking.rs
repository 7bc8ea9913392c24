//! The part of the suite that has to do with how triggers are taken (DS-48, DS-65); asked of each
//! polling strategy.

use super::super::kit::*;
use super::open;

#[path = "suite/acquisition.rs"]
mod acquisition;
#[path = "suite/beside_quartz.rs"]
mod beside_quartz;
#[path = "suite/completion.rs"]
mod completion;
#[path = "suite/fencing.rs"]
mod fencing;
#[path = "suite/firing.rs"]
mod firing;
#[path = "suite/intervals.rs"]
mod intervals;
#[path = "suite/membership.rs"]
mod membership;
#[path = "suite/misfires.rs"]
mod misfires;
#[path = "suite/overdue.rs"]
mod overdue;
#[path = "suite/overlap.rs"]
mod overlap;
#[path = "suite/pausing.rs"]
mod pausing;
#[path = "suite/polling.rs"]
mod polling;
#[path = "suite/recovery.rs"]
mod recovery;
#[path = "suite/retry.rs"]
mod retry;
#[path = "suite/states.rs"]
mod states;
#[path = "suite/taking_back.rs"]
mod taking_back;
