//! `PrefetchWindow`: how many more short jobs the acquirer takes than it has free workers.

use crate::epoch::millis;
use crate::rules::prefetch::{Room, Window};
use crate::scheduler::node::Node;
use crate::store::FireBundle;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Triggers are dense if a full batch of them is due within this time. Only then more are acquired
/// than there are free workers, and not from further ahead: what waits here waits longer if the
/// node dies.
pub(super) const DENSE_MS: i64 = 250;

/// The number of fires that may wait for a worker, and of which job types.
#[derive(Default)]
pub(super) struct PrefetchWindow {
    pub(super) window: Window,
    /// The job types whose recent runs were short; none while nothing is prefetched.
    pub(super) short: Arc<BTreeSet<String>>,
    /// The number of fires of other types that the node has, begun or not.
    long: usize,
    /// The last acquisition left triggers that are taken for free workers only.
    pub(super) is_withheld: bool,
}

/// The fences of prefetched fires.
pub(super) fn prefetched(bundles: &[FireBundle]) -> impl Iterator<Item = i64> {
    bundles.iter().filter(|bundle| bundle.prefetched).map(|bundle| bundle.fence)
}

impl PrefetchWindow {
    fn is_open(&self) -> bool {
        self.window.size > 0
    }

    /// Looks which job types are short by now, and how many fires the node has of others.
    pub(super) fn measure(&mut self, node: &Node) {
        if !self.is_open() {
            (self.short, self.long) = (Arc::default(), 0);
            return;
        }
        let allowed = node.settings.scheduler.take_ahead;
        let (now, fires) = (node.clock.ticks(), node.running_fires.all());
        let mut short = node.prefetch.run_times().short(allowed);
        for fire in fires.iter().filter(|fire| fire.running_for(now).is_some_and(|time| time > allowed)) {
            short.remove(fire.job_type());
        }
        self.long = fires.iter().filter(|fire| !short.contains(fire.job_type())).count();
        self.short = Arc::new(short);
    }

    /// The room of so many workers beside so many fires, of which so many more are long.
    pub(super) fn room_beside(&self, workers: usize, fires: usize, long: usize) -> Room {
        Room::beside(workers, self.window.size, fires, self.long + long)
    }

    /// The time before their own times at which triggers are reserved, in milliseconds: none where
    /// nothing may be.
    pub(super) fn reservation_lead_ms(&self, node: &Node) -> i64 {
        if node.store.may_meet_quartz() {
            return 0;
        }
        let usual = millis(node.reservation_lead());
        if self.is_open() { usual.min(DENSE_MS) } else { usual }
    }

    /// The time within which something must be due for an acquisition: with many triggers each
    /// brings many.
    pub(super) fn soon_ms(&self, node: &Node) -> i64 {
        let lead = self.reservation_lead_ms(node);
        if self.is_open() { lead / 2 } else { lead }
    }

    /// True if the settings, the cluster and the last measurements allow a prefetch.
    pub(super) fn is_allowed(&self, node: &Node, now: Duration) -> bool {
        // In recovery the order counts: what waits for a worker is overtaken by nothing that
        // matters more. Nodes of Quartz, which are slower, would be left next to nothing.
        let is_ruled_out = node.store.is_in_recovery_mode() || node.store.is_beside_quartz();
        !node.settings.scheduler.take_ahead.is_zero() && !is_ruled_out && !self.window.is_cooling(now)
    }
}
