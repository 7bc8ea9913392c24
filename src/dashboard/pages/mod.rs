//! The pages by their addresses.

pub(super) mod actions;
mod calendars;
mod continuations;
pub(super) mod history;
mod job;
pub(super) mod jobs;
mod locks;
mod node;
mod nodes;
mod outages;
mod overview;
pub(super) mod parked;
mod run;
pub(super) mod running;
mod trigger;
pub(super) mod triggers;

pub(super) use job::masked;

use super::view::{Page, View};
use crate::error::Result;

/// The contents of a page; none if what it is about does not exist.
type Make = fn(&View<'_>) -> Result<Option<Page>>;

/// A page, and the section of the navigation that it belongs to.
pub(super) struct Place {
    pub(super) address: &'static str,
    pub(super) section: &'static str,
    pub(super) make: Make,
}

const PLACES: &[Place] = &[
    Place { address: "", section: "", make: overview::page },
    Place { address: "running", section: "running", make: running::page },
    Place { address: "triggers", section: "triggers", make: triggers::page },
    Place { address: "trigger", section: "triggers", make: trigger::page },
    Place { address: "jobs", section: "jobs", make: jobs::page },
    Place { address: "job", section: "jobs", make: job::page },
    Place { address: "history", section: "history", make: history::page },
    Place { address: "run", section: "history", make: run::page },
    Place { address: "nodes", section: "nodes", make: nodes::page },
    Place { address: "node", section: "nodes", make: node::page },
    Place { address: "parked", section: "parked", make: parked::page },
    Place { address: "outages", section: "outages", make: outages::page },
    Place { address: "calendars", section: "calendars", make: calendars::page },
    Place { address: "continuations", section: "continuations", make: continuations::page },
    Place { address: "locks", section: "locks", make: locks::page },
    Place { address: "actions", section: "actions", make: actions::page },
];

/// The page of an address below the dashboard's folder.
pub(super) fn find(address: &str) -> Option<&'static Place> {
    PLACES.iter().find(|place| place.address == address)
}
