//! `View`: what a page is made from: the store, the user, the query, the time.

use super::form::Fields;
use super::login::User;
use super::reads::Reads;
use super::trends::Trends;
use crate::error::Result;
use crate::store::{ClusterLoad, ClusterNow, JobStore};
use maud::Markup;
use std::sync::Arc;
use std::time::Duration;

/// One look at one page.
pub(super) struct View<'a> {
    pub(super) store: &'a JobStore,
    pub(super) user: &'a User,
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
    /// True if the user may change things, and see the data of jobs.
    pub(super) fn may_act(&self) -> bool {
        self.user.login.may_act()
    }

    /// The nodes of the cluster, and the fires that are reserved or run.
    pub(super) fn cluster(&self) -> Result<Arc<ClusterNow>> {
        self.reads.cluster(self.store, self.ticks)
    }
}

/// The contents of a page.
pub(super) struct Page {
    pub(super) title: String,
    pub(super) body: Markup,
    /// The seconds after which a browser brings the page up to date.
    pub(super) every_s: u32,
}

impl Page {
    pub(super) fn new(title: impl Into<String>, body: Markup) -> Self {
        Self { title: title.into(), body, every_s: 10 }
    }

    /// The contents of a page that shows the cluster at work.
    pub(super) fn at_work(title: impl Into<String>, body: Markup) -> Self {
        Self { every_s: 5, ..Self::new(title, body) }
    }
}
