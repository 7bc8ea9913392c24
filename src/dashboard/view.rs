//! `View`: what a page is made from: the store, the visitor, the query, the time.

use super::form::Fields;
use super::reads::Reads;
use super::trends::Trends;
use super::visitor::Visitor;
use crate::error::Result;
use crate::monitoring::InstanceStatus;
use crate::store::{ClusterLoad, FiredTrigger, JobStore};
use maud::Markup;
use std::sync::Arc;
use std::time::Duration;

/// One look at one page.
pub(super) struct View<'a> {
    pub(super) store: &'a JobStore,
    pub(super) visitor: &'a Visitor,
    pub(super) query: Fields,
    /// The page with its query, to which an action comes back.
    pub(super) here: String,
    pub(super) load: Arc<ClusterLoad>,
    /// The store's time, epoch milliseconds.
    pub(super) now_ms: i64,
    /// The monotonic clock of this process.
    pub(super) ticks: Duration,
    pub(super) reads: &'a Reads,
    pub(super) trends: &'a Trends,
}

impl View<'_> {
    /// True if the visitor may change things, and see the data of jobs.
    pub(super) fn may_act(&self) -> bool {
        self.visitor.login.may_act()
    }

    /// The nodes of the cluster.
    pub(super) fn nodes(&self) -> Result<Arc<Vec<InstanceStatus>>> {
        self.reads.nodes(self.store, self.ticks)
    }

    /// The fires that are reserved or run.
    pub(super) fn fires(&self) -> Result<Arc<Vec<FiredTrigger>>> {
        self.reads.fires(self.store, self.ticks)
    }
}

/// The contents of a page.
pub(super) struct Page {
    pub(super) title: String,
    pub(super) body: Markup,
}

impl Page {
    pub(super) fn new(title: impl Into<String>, body: Markup) -> Self {
        Self { title: title.into(), body }
    }
}
