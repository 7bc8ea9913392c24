//! `Auditor`: mends what nobody is responsible for, and looks for jobs that no node can run.
//!
//! A service of its own: an audit may have to go through all triggers, and a check-in does not wait
//! for that.

use super::orphan_watch::OrphanWatch;
use super::service::{Next, Service};
use crate::error::{Error, Result};
use crate::listener::lifecycle_log;
use crate::scheduler::counters::CounterValues;
use crate::scheduler::node::Node;
use std::sync::Arc;
use std::time::Duration;

/// An audit follows every so many check-ins; on a node on which nothing has happened since, it is
/// only a look for triggers that are stuck and, if there is news, for orphans, and only the
/// longest-serving node's.
const CHECKINS_PER_AUDIT: u64 = 4;

/// A whole audit follows every so many check-ins in any case.
const CHECKINS_PER_IDLE_AUDIT: u64 = 16;

/// The largest factor by which such an audit is rarer on a node that has not served longest, since
/// other nodes audit too.
const MOST_SHARED_AUDITS: u32 = 8;

/// An audit takes no larger share of the time than one in so many: it may have to go through all
/// triggers.
const SHARE_OF_AUDITS: u32 = 200;

/// The longest pause after audits that fail one after the other.
const LONGEST_RETRY: Duration = Duration::from_secs(300);

/// The audit service, which goes on in standby.
pub(crate) struct Auditor {
    node: Arc<Node>,
    orphan_watch: OrphanWatch,
    /// The check-ins that there had been at the last look at the versions of the tables.
    looked: u64,
    /// The check-ins that there had been at the last audit.
    checkins: u64,
    /// The counters of this node at the last audit.
    counted: Option<CounterValues>,
    /// The counter of changes when orphans were looked for.
    changes: i64,
    /// No audit before this, in ticks.
    next_audit: Duration,
}

impl Auditor {
    pub(crate) fn new(node: Arc<Node>) -> Self {
        let orphan_watch = OrphanWatch::default();
        Self { node, orphan_watch, looked: 0, checkins: 0, counted: None, changes: -1, next_audit: Duration::ZERO }
    }

    /// True if an audit follows this check-in.
    pub(crate) fn follows(checkins: u64) -> bool {
        checkins.is_multiple_of(CHECKINS_PER_AUDIT)
    }

    /// Looks whether another program has made the tables too new for this one since the start.
    fn look_at_tables(&mut self, checkins: u64) -> Result<()> {
        if checkins / CHECKINS_PER_IDLE_AUDIT > self.looked / CHECKINS_PER_IDLE_AUDIT {
            self.looked = checkins;
            match self.node.store.database().check_versions() {
                Ok(()) => self.node.apply_unfit_tables(None),
                Err(Error::Schema(why)) => self.node.apply_unfit_tables(Some(&why)),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn audit(&mut self, is_whole_due: bool) -> Result<()> {
        let node = Arc::clone(&self.node);
        let is_longest_serving = node.work_state.longest_serving.is_set();
        let counted = node.counters.values();
        let is_idle = match self.counted.replace(counted) {
            Some(before) => before == counted,
            // Of many nodes that start at once one looks at everything.
            None => !is_longest_serving && counted == CounterValues::default(),
        };
        let everything = !is_idle || is_whole_due;
        if !everything && !is_longest_serving {
            return Ok(());
        }
        let mut failed = Ok(());
        let audited = if everything { node.store.upkeep().audit() } else { node.store.upkeep().mend() };
        match audited {
            Ok(pass) => {
                node.counters.mended.add(pass.released.len() + pass.unblocked.len() + pass.finished.len());
                lifecycle_log::mended(&pass);
                if !(pass.released.is_empty() && pass.unblocked.is_empty() && pass.following.is_empty()) {
                    node.services.acquirer.wake();
                }
            }
            Err(error) => failed = Err(error),
        }
        let changes = node.notifications.changes();
        // A node that takes no work does not look for changes either.
        let is_unchanged = node.takes_work() && changes == self.changes;
        if is_longest_serving && !everything && is_unchanged && !self.orphan_watch.is_due(&node) {
            return failed;
        }
        self.changes = changes;
        self.orphan_watch.look(&node, is_longest_serving).and(failed)
    }
}

impl Service for Auditor {
    fn run_once(&mut self) -> Result<Next> {
        let begun = self.node.clock.ticks();
        let checkins = self.node.metrics.checkins.value();
        self.look_at_tables(checkins)?;
        let is_over = |every: u64| checkins / every > self.checkins / every;
        if !is_over(CHECKINS_PER_AUDIT) || begun < self.next_audit {
            return Ok(Next::WhenSignalled);
        }
        let share =
            if self.node.work_state.longest_serving.is_set() { 1 } else { self.node.shared_among(MOST_SHARED_AUDITS) };
        let is_whole_due = is_over(CHECKINS_PER_IDLE_AUDIT * u64::from(share));
        let before = std::mem::replace(&mut self.checkins, checkins);
        // An audit that fails is made again after a pause.
        self.audit(is_whole_due).inspect_err(|_| self.checkins = before)?;
        let ended = self.node.clock.ticks();
        self.next_audit = ended.saturating_add(ended.saturating_sub(begun).saturating_mul(SHARE_OF_AUDITS));
        Ok(Next::WhenSignalled)
    }

    /// An audit may have to go through all triggers before it fails.
    fn longest_retry(&self, settings: Duration) -> Duration {
        settings.max(LONGEST_RETRY)
    }
}
