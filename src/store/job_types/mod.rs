//! Job types: what nodes can run, as they publish it, and what becomes of jobs that none of them can.

mod known;
mod migrate;
mod orphans;
mod rename;

pub use known::JobTypeInfo;
pub use migrate::{Migrated, Upgrade};
pub use orphans::{Orphan, Orphans};
pub use rename::Renamed;

pub(in crate::store) use known::Known;
pub(in crate::store) use rename::take_back_reservations;
