//! `Catalogue`: the stored jobs, triggers, calendars and pauses of a scheduler.

mod backfill;
mod calendars;
mod commit_queue;
mod continuations;
mod declared;
mod fast_path;
mod foreign;
mod group_commit;
mod if_stored;
#[cfg(feature = "job-files")]
mod import;
mod listing;
mod new_work;
mod pages;
mod parking;
mod pausing;
mod rename;
mod requests;
mod scheduling;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod within;

pub use backfill::{Backfill, Backfilled, BackfilledFire};
pub(in crate::store) use commit_queue::GroupCommit;
pub use continuations::{MAX_CHILDREN, MAX_PASSED_BYTES};
pub use declared::{DefinitionReport, OrphanedDefinitions};
#[cfg(feature = "job-files")]
pub use import::Imported;
pub use pages::FireQuery;
pub use rename::Renamed;
pub use requests::{Request, Taken};

use crate::error::Result;
use crate::store::action_log::Action;
use crate::store::{Catalogue, Session};
use std::fmt::Display;

impl Catalogue<'_> {
    /// Writes down an action on these jobs, triggers … of the catalogue.
    fn note<T: Display>(&self, s: &mut dyn Session, action: &str, kind: &str, subjects: &[T]) -> Result<()> {
        self.store.note_action(s, Action::new(action, kind), subjects)
    }
}
