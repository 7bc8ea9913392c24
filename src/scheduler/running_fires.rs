//! `RunningFires`: the fires that this node has handed to workers and that have not ended.

use super::lease::Lease;
use super::run::run_handle::{RunHandle, RunningJob};
use crate::hash::HashMap;
use crate::signal::Flag;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// The table of the running fires, and what they are told of the end of their node.
#[derive(Default)]
pub(crate) struct RunningFires {
    fires: Mutex<HashMap<Arc<str>, Arc<RunHandle>>>,
    /// True if the node is about to end.
    pub(crate) stopping: Flag,
    /// True if the jobs are told that the node ends.
    pub(crate) telling: Flag,
}

impl RunningFires {
    /// Enters a fire in the table, before a worker sees it.
    pub(crate) fn enter(&self, fire: Arc<RunHandle>, lease: &Lease) {
        let mut fires = self.fires.lock();
        // A conviction between the acquisition and here found the table without this fire.
        if !lease.is_of(&fire.owner) {
            fire.revoke();
        }
        fires.insert(Arc::clone(&fire.fire_id), fire);
    }

    /// Takes a fire out of the table.
    pub(crate) fn remove(&self, fire_id: &str) {
        self.fires.lock().remove(fire_id);
    }

    /// Every fire.
    pub(crate) fn all(&self) -> Vec<Arc<RunHandle>> {
        self.fires.lock().values().cloned().collect()
    }

    /// The fires as people see them at this time in ticks, in the order in which they were fired.
    pub(crate) fn shown(&self, now: Duration) -> Vec<RunningJob> {
        let mut shown: Vec<RunningJob> = self.all().iter().map(|fire| fire.show(now)).collect();
        // Of one moment by their fences, with which their ids end: the longer is the larger.
        shown.sort_by(|a, b| {
            (a.fire_time, a.fire_id.len(), &a.fire_id).cmp(&(b.fire_time, b.fire_id.len(), &b.fire_id))
        });
        shown
    }

    /// The number of fires.
    pub(crate) fn count(&self) -> usize {
        self.fires.lock().len()
    }

    /// Notes that all fires are lost, once the lease is revoked. Returns how many were not lost
    /// before.
    pub(crate) fn revoke(&self) -> usize {
        self.fires.lock().values().filter(|fire| fire.revoke()).count()
    }

    /// Notes that the node is about to end. The jobs do not hear of it: those of a graceful end go
    /// on.
    pub(crate) fn begin_stopping(&self) {
        self.stopping.set(true);
        self.wake();
    }

    /// Tells all jobs that the node ends, so that those that look stop.
    pub(crate) fn tell_jobs(&self) {
        self.telling.set(true);
        self.wake();
    }

    /// Wakes the workers and jobs that wait for a change of their node.
    pub(crate) fn wake(&self) {
        for fire in self.fires.lock().values() {
            fire.signal.raise();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{ManualClock, Moment};
    use crate::epoch::moment;
    use crate::scheduler::run::run_handle::tests::handle;
    use crate::store::Owner;

    fn owner(incarnation: &str) -> Owner {
        Owner { instance: "n1".to_owned(), incarnation: incarnation.to_owned() }
    }

    #[test]
    fn fires_of_a_lost_incarnation_never_hold_again() {
        let clock = Arc::new(ManualClock::at(moment(0)));
        let lease = Lease::new(clock.clone(), Duration::from_secs(15), Duration::from_millis(7500));
        let fires = RunningFires::default();
        lease.confirm(owner("a"), Moment::now(&*clock));
        let fire = handle("f1", owner("a"));
        fires.enter(Arc::clone(&fire), &lease);
        lease.revoke();
        assert_eq!(fires.revoke(), 1);
        assert_eq!(fires.revoke(), 0);
        lease.confirm(owner("b"), Moment::now(&*clock));
        assert!(fire.is_lost());
        assert!(!lease.is_held_by(&fire.owner));
        // A fire that was acquired before the conviction and handed over after it.
        let late = handle("f2", owner("a"));
        fires.enter(Arc::clone(&late), &lease);
        assert!(late.is_lost());
    }
}
