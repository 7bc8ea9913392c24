//! Unknown types: stored jobs whose type no living node has are named when they are stored.

use super::handle::Scheduler;
use crate::job::JobDetail;
use crate::listener::lifecycle_log;
use std::collections::BTreeSet;

impl Scheduler {
    /// Names the jobs, which are stored by now, whose type neither this node nor another living one
    /// has; returns these types. A store that does not answer has the audit name them later.
    pub(crate) fn name_unknown_types<'j>(&self, jobs: impl IntoIterator<Item = &'j JobDetail>) -> BTreeSet<String> {
        let foreign: Vec<&JobDetail> = jobs.into_iter().filter(|job| !self.is_of_this_node(job)).collect();
        if foreign.is_empty() {
            return BTreeSet::new();
        }
        let (watch, now) = (&self.inner.type_watch, self.inner.node.clock.ticks());
        let unasked: BTreeSet<&str> =
            foreign.iter().map(|job| job.job_type()).filter(|name| watch.known(name, now).is_none()).collect();
        if !unasked.is_empty() {
            let Ok(missing) = self.store().job_types().missing(&unasked) else { return BTreeSet::new() };
            unasked.iter().for_each(|name| watch.remember(name, !missing.contains(*name), now));
            foreign.iter().filter(|job| missing.contains(job.job_type())).for_each(|job| {
                lifecycle_log::stored_without_node(job.key(), job.job_type());
            });
        }
        let is_missing = |name: &&str| watch.known(name, now) == Some(false);
        foreign.iter().map(|job| job.job_type()).filter(is_missing).map(str::to_owned).collect()
    }
}
