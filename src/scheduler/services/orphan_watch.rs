//! `OrphanWatch`: looks for jobs that no living node can run, and says so before they are due.

use crate::error::Result;
use crate::key::JobKey;
use crate::listener::lifecycle_log;
use crate::scheduler::node::Node;
use crate::store::Orphan;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// An orphan is named at the latest so long before it is due.
const AHEAD: Duration = Duration::from_secs(3600);

/// The state of a node between two looks. Of the nodes of the cluster the longest-serving one
/// looks.
#[derive(Default)]
pub(crate) struct OrphanWatch {
    /// The time at which the next audit of all jobs is due, in ticks.
    next_audit: Option<Duration>,
    /// The jobs that were named since they are due soon, and still are.
    named: BTreeSet<JobKey>,
    /// A log line has said already that nothing can be told.
    blind: bool,
}

impl OrphanWatch {
    /// True if the audit of all jobs is due.
    pub(crate) fn is_due(&self, node: &Node) -> bool {
        self.next_audit.is_none_or(|at| node.clock.ticks() >= at)
    }

    /// One look: at what is due soon, and once in a while at everything.
    pub(crate) fn look(&mut self, node: &Node, is_ours: bool) -> Result<()> {
        if !is_ours {
            *self = Self::default();
            node.metrics.orphans.store(0, Ordering::Relaxed);
            return Ok(());
        }
        let now = node.clock.ticks();
        let is_audit = self.next_audit.is_none_or(|at| now >= at);
        let imminent: BTreeSet<JobKey> = node.store.job_types().imminent_orphans(AHEAD)?.into_iter().collect();
        let is_new = |orphan: &Orphan| imminent.contains(&orphan.job) && !self.named.contains(&orphan.job);
        if is_audit || imminent.difference(&self.named).next().is_some() {
            let found = node.store.job_types().note_orphans()?;
            let blind = found.blind_because();
            if let (Some(why), false) = (&blind, self.blind) {
                lifecycle_log::orphans_unknown(why);
            }
            self.blind = blind.is_some();
            node.metrics.orphans.store(found.jobs.len(), Ordering::Relaxed);
            let told: Vec<Orphan> = found.jobs.into_iter().filter(|orphan| is_audit || is_new(orphan)).collect();
            if !told.is_empty() {
                tell(node, told);
            }
        }
        self.named = imminent;
        if is_audit {
            // Only now: an audit that failed is tried again with the next look.
            delete_unresolved(node)?;
            self.next_audit = Some(now.saturating_add(node.settings.job_store.orphan_audit_interval));
        }
        Ok(())
    }
}

fn tell(node: &Node, orphans: Vec<Orphan>) {
    node.counters.orphaned_jobs.add(orphans.len());
    lifecycle_log::orphaned(&orphans);
    node.listeners.announce("orphaned_jobs", move |listener| listener.orphaned_jobs(&orphans));
}

/// Deletes what has been unresolved for longer than the settings allow; by default nothing.
fn delete_unresolved(node: &Node) -> Result<()> {
    let Some(after) = node.settings.job_store.delete_unresolved_after else { return Ok(()) };
    let found = node.store.job_types().orphans()?;
    let is_over = |orphan: &Orphan| orphan.since.is_some() && orphan.age(found.now) >= after;
    if found.blind_because().is_some() || !found.jobs.iter().any(is_over) {
        return Ok(());
    }
    for orphan in node.store.job_types().delete_orphans(after)? {
        lifecycle_log::orphan_deleted(&orphan);
        node.listeners.announce("job_deleted", move |listener| listener.job_deleted(&orphan.job));
    }
    Ok(())
}
