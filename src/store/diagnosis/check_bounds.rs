//! `CheckBounds`: between which bounds a cluster is well; `CheckReport`: whether it is.

use crate::setters::setters;
use std::time::Duration;

/// The bounds of a cluster, for a monitor; see [`Scheduler::check`](crate::Scheduler::check).
/// Nothing is bounded by default.
///
/// ```
/// use carnelian::Scheduler;
/// use carnelian::monitoring::CheckBounds;
///
/// let scheduler = Scheduler::builder().build()?;
/// let report = scheduler.check(&CheckBounds::new().min_nodes(1).max_overdue(10))?;
/// assert_eq!(report.problems, ["0 nodes are alive and take work, at least 1 are needed"]);
/// # Ok::<(), carnelian::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is looked at before it is given to a scheduler"]
pub struct CheckBounds {
    pub(super) max_overdue: Option<usize>,
    pub(super) min_nodes: Option<usize>,
    pub(super) max_age: Option<Duration>,
    pub(super) max_stuck: Option<usize>,
    pub(super) max_orphans: Option<usize>,
    pub(super) max_failed: Option<usize>,
    pub(super) failed_within: Duration,
    pub(super) overdue_after: Duration,
}

impl Default for CheckBounds {
    fn default() -> Self {
        Self {
            max_overdue: None,
            min_nodes: None,
            max_age: None,
            max_stuck: None,
            max_orphans: None,
            max_failed: None,
            failed_within: Duration::from_secs(3_600),
            overdue_after: Duration::from_secs(1),
        }
    }
}

impl CheckBounds {
    /// No bounds.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// The most triggers that may be overdue.
        pub fn max_overdue(triggers: usize) { self.max_overdue = Some(triggers) }

        /// The least number of nodes that must be alive and take work: observers and nodes that are
        /// drained or stand by do not count.
        pub fn min_nodes(nodes: usize) { self.min_nodes = Some(nodes) }

        /// The greatest age of the newest check-in of all nodes that take work.
        pub fn max_age(age: Duration) { self.max_age = Some(age) }

        /// The most running fires that may have missed all their heartbeats, or be without progress
        /// for longer than they may.
        pub fn max_stuck(fires: usize) { self.max_stuck = Some(fires) }

        /// The most jobs that may be without a living node that can run them. The check reads all
        /// jobs for this bound.
        pub fn max_orphans(jobs: usize) { self.max_orphans = Some(jobs) }

        /// The most fires that may have failed, timed out or been lost lately; at most 9999 are
        /// counted.
        pub fn max_failed(fires: usize) { self.max_failed = Some(fires) }

        /// The time before now that [`CheckBounds::max_failed`] counts. Default: one hour.
        pub fn failed_within(time: Duration) { self.failed_within = time }

        /// The lateness from which a waiting trigger counts as overdue. Default: one second.
        pub fn overdue_after(time: Duration) { self.overdue_after = time }
    }
}

/// The answer of [`Scheduler::check`](crate::Scheduler::check). A count that no bound asks
/// for is none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckReport {
    /// The bounds that are broken, in words; empty if all is well.
    pub problems: Vec<String>,
    /// The number of overdue triggers; no more than 10,000 are counted unless the bound is higher.
    pub overdue: usize,
    /// The lateness of the oldest overdue trigger.
    pub oldest_overdue: Option<Duration>,
    /// The number of living nodes.
    pub nodes: usize,
    /// The number of living nodes that take work.
    pub working_nodes: usize,
    /// The age of the newest check-in of all nodes that take work.
    pub newest_checkin_age: Option<Duration>,
    /// The number of running fires that are silent or make no progress.
    pub stuck: Option<usize>,
    /// The number of jobs without a living node that can run them; none also if it cannot be told.
    pub orphans: Option<usize>,
    /// The number of fires that have not ended well lately, counted up to one beyond the bound.
    pub failed: Option<usize>,
}
