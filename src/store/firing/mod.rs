//! The life of a fire in the store: acquired, fired, completed or released.

mod acquire;
mod acquisition;
mod apply_stop_orders;
mod beside_quartz;
mod checkpoint;
mod choosing;
mod claim;
mod combined;
mod complete;
mod completion;
mod doubt;
mod ended_part;
mod fail;
mod fan_out;
mod firable;
mod fire;
mod fire_batch;
mod fire_bundle;
mod fire_ids;
mod following;
mod in_order;
mod isolation;
mod overdue;
mod overlap;
mod prefetch;
mod release;
mod released;
mod rerun;
mod schedule_reruns;
mod skipped;
mod tried_ends;
mod unfire;
mod whole_ticks;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod within;

pub use acquisition::{AcquireRequest, Acquisition, Doubt, PrefetchRequest, Reservation};
pub use checkpoint::MAX_CHECKPOINT_BYTES;
pub use completion::{Completion, CompletionInstruction, CompletionOutcome, CompletionReport, Ending};
pub use fail::FailedFire;
pub use fire_bundle::FireBundle;
pub use prefetch::Unfired;
pub use rerun::{Recovering, Rerun, RerunOrder, RerunReason};
pub use skipped::{SkipReason, SkippedFires};

pub(in crate::store) use fire_ids::is_fire_id;
pub(in crate::store) use following::{delete_idle, drop_submitted, submitted_after};
pub(in crate::store) use overlap::EndedRuns;
pub(in crate::store) use prefetch::gone_rows;
pub(in crate::store) use release::take_back_reservations;
