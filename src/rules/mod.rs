//! Rules: what is to be done, decided from values alone.

pub(crate) mod acquisition;
pub(crate) mod ahead;
pub(crate) mod alarms;
pub(crate) mod backfill;
pub(crate) mod begun;
pub(crate) mod continuation;
pub(crate) mod definitions;
pub(crate) mod failover;
pub(crate) mod firing;
pub(crate) mod foresight;
pub(crate) mod invariants;
#[cfg(feature = "test-util")]
pub mod measured;
pub(crate) mod misfire;
pub(crate) mod new_calendar;
pub(crate) mod outages;
pub(crate) mod overdue;
pub(crate) mod overlap;
pub(crate) mod passing_over;
pub(crate) mod placement;
pub(crate) mod run_times;
pub(crate) mod store_time;
pub(crate) mod strategy;
pub(crate) mod watch;
