//! `Lease`: whether this node may act in the cluster.
//!
//! A node that has not checked in for long suspects itself before others may convict it: it begins
//! nothing new and its jobs no longer hold their fires. A good check-in under the same incarnation
//! ends the suspicion. A conviction ends the incarnation, and its fires are lost for good.

use crate::clock::{Clock, Moment};
use crate::rules::failover::patience;
use crate::signal::Signal;
use crate::store::Owner;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The tolerance of nodes of Quartz, which no property changes
/// (`JobStoreSupport.calcFailedIfAfter`).
pub(crate) const QUARTZ_TOLERANCE: Duration = Duration::from_millis(7500);

/// Shared by all services and jobs of a node.
pub(crate) struct Lease {
    clock: Arc<dyn Clock>,
    checkin_interval: Duration,
    tolerance: Duration,
    is_beside_quartz: AtomicBool,
    state: Mutex<State>,
    /// Raised, once after each check-in, when the node is seen to suspect itself: the next check-in
    /// is to come at once.
    ask: Arc<Signal>,
    asked: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    owner: Option<Owner>,
    /// The beginning of the last check-in that was committed.
    confirmed: Option<Moment>,
}

impl Lease {
    /// The lease of a node that has not checked in yet.
    pub(crate) fn new(clock: Arc<dyn Clock>, checkin_interval: Duration, tolerance: Duration) -> Self {
        Self {
            clock,
            checkin_interval,
            tolerance,
            is_beside_quartz: AtomicBool::new(false),
            state: Mutex::default(),
            ask: Arc::default(),
            asked: AtomicBool::new(false),
        }
    }

    /// Notes whether a node of Quartz is a member, which may take this one for dead earlier than
    /// the settings say.
    pub(crate) fn set_beside_quartz(&self, is_beside_quartz: bool) {
        self.is_beside_quartz.store(is_beside_quartz, Ordering::SeqCst);
    }

    /// The tolerance of others, less the time by which a node suspects itself earlier.
    fn patience(&self) -> Duration {
        let is_beside_quartz = self.is_beside_quartz.load(Ordering::SeqCst);
        patience(if is_beside_quartz { self.tolerance.min(QUARTZ_TOLERANCE) } else { self.tolerance })
    }

    fn window(&self) -> Duration {
        self.checkin_interval.saturating_add(self.patience())
    }

    /// Asks for check-ins by this signal.
    pub(crate) fn asking(self, ask: Arc<Signal>) -> Self {
        Self { ask, ..self }
    }

    /// Notes a committed check-in that was begun at `begun`; returns whether a suspicion ended.
    ///
    /// A suspicion that a service has seen ends here too if a wall clock that was set forward and
    /// back has ended it before: the service sleeps until it is told.
    pub(crate) fn confirm(&self, owner: Owner, begun: Moment) -> bool {
        let mut state = self.state.lock();
        let was_fresh = self.is_fresh(&state);
        *state = State { owner: Some(owner), confirmed: Some(begun) };
        let was_seen = self.asked.swap(false, Ordering::SeqCst);
        (was_seen || !was_fresh) && self.is_fresh(&state)
    }

    /// Notes that the incarnation is over.
    pub(crate) fn revoke(&self) {
        *self.state.lock() = State::default();
    }

    /// Notes an incarnation under which the node may be registered, as a registration whose answer
    /// was lost has left it: nothing may begin under it, and the node leaves by it.
    pub(crate) fn set_attempt(&self, owner: Owner) {
        *self.state.lock() = State { owner: Some(owner), confirmed: None };
    }

    /// Notes that a guarded write of `owner` was refused: suspicion until the next good check-in.
    pub(crate) fn doubt(&self, owner: &Owner) {
        let mut state = self.state.lock();
        if state.owner.as_ref() == Some(owner) {
            state.confirmed = None;
        }
    }

    /// The node's incarnation, if it is registered.
    pub(crate) fn owner(&self) -> Option<Owner> {
        self.state.lock().owner.clone()
    }

    /// True if `owner` is this node's present incarnation, whether or not it may act.
    pub(crate) fn is_of(&self, owner: &Owner) -> bool {
        self.state.lock().owner.as_ref() == Some(owner)
    }

    /// The node's incarnation, if it may begin something: registered, and checked in recently.
    pub(crate) fn owner_for_new_work(&self) -> Option<Owner> {
        let state = self.state.lock();
        state.owner.clone().filter(|_| self.is_fresh(&state))
    }

    /// True if `owner` is this node's present incarnation, with a check-in recent enough.
    pub(crate) fn is_held_by(&self, owner: &Owner) -> bool {
        let state = self.state.lock();
        state.owner.as_ref() == Some(owner) && self.is_fresh(&state)
    }

    /// The time until which a fire is this node's, if its last beat was begun now and it may be
    /// silent for `limit`: others take it for dead later.
    pub(crate) fn holds_until(&self, limit: Duration) -> Duration {
        self.clock.ticks().saturating_add(limit).saturating_add(self.patience())
    }

    /// The time at which the node will suspect itself, in ticks.
    pub(crate) fn suspicion_at(&self) -> Option<Duration> {
        self.state.lock().confirmed.map(|confirmed| confirmed.ticks.saturating_add(self.window()))
    }

    /// The time since the last good check-in was begun.
    pub(crate) fn since_checkin(&self) -> Option<Duration> {
        self.state.lock().confirmed.map(|confirmed| self.clock.ticks().saturating_sub(confirmed.ticks))
    }

    /// Also false after a pause that the ticks do not know of: how long it was is known to nobody
    /// here.
    fn is_fresh(&self, state: &State) -> bool {
        let Some(confirmed) = &state.confirmed else { return false };
        let now = Moment::now(&*self.clock);
        let is_fresh = now.ticks < confirmed.ticks.saturating_add(self.window()) && !now.was_paused_since(confirmed);
        if !is_fresh && !self.asked.swap(true, Ordering::SeqCst) {
            self.ask.raise();
        }
        is_fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::epoch::moment;

    fn owner(incarnation: &str) -> Owner {
        Owner { instance: "n1".to_owned(), incarnation: incarnation.to_owned() }
    }

    fn lease() -> (Arc<ManualClock>, Lease) {
        let clock = Arc::new(ManualClock::default());
        let shared: Arc<dyn Clock> = clock.clone();
        (clock, Lease::new(shared, Duration::from_secs(15), Duration::from_millis(7500)))
    }

    fn now(clock: &ManualClock) -> Moment {
        Moment::now(clock)
    }

    #[test]
    fn suspicion_comes_before_conviction_and_is_counted_from_the_beginning_of_the_attempt() {
        let (clock, lease) = lease();
        assert_eq!(lease.owner_for_new_work(), None);
        clock.advance(Duration::from_secs(3));
        // The attempt took three seconds.
        assert!(lease.confirm(owner("a"), Moment::default()));
        clock.advance(Duration::from_millis(17_999));
        assert_eq!(lease.owner_for_new_work(), Some(owner("a")));
        clock.advance(Duration::from_millis(1));
        assert_eq!(lease.owner_for_new_work(), None);
        assert_eq!(lease.suspicion_at(), Some(clock.ticks()));
        assert_eq!(lease.owner(), Some(owner("a")));
        assert!(lease.confirm(owner("a"), now(&clock)));
        assert!(lease.is_held_by(&owner("a")));
        assert!(!lease.confirm(owner("a"), now(&clock)));
    }

    /// Quartz waits for 7.5 s whatever the settings of this node say.
    #[test]
    fn suspicion_comes_before_the_conviction_by_a_node_of_quartz() {
        let clock = Arc::new(ManualClock::default());
        let shared: Arc<dyn Clock> = clock.clone();
        let lease = Lease::new(shared, Duration::from_secs(10), Duration::from_secs(20));
        lease.confirm(owner("a"), now(&clock));
        clock.advance(Duration::from_secs(16));
        assert!(lease.is_held_by(&owner("a")));
        lease.set_beside_quartz(true);
        assert!(!lease.is_held_by(&owner("a")));
        assert_eq!(lease.suspicion_at(), Some(Duration::from_secs(16)));
        lease.set_beside_quartz(false);
        assert!(lease.is_held_by(&owner("a")));
    }

    #[test]
    fn a_pause_of_the_process_is_a_suspicion_at_once() {
        let (clock, lease) = lease();
        lease.confirm(owner("a"), now(&clock));
        clock.advance(Duration::from_secs(600));
        assert!(!lease.is_held_by(&owner("a")));
    }

    /// A virtual machine that is paused as a whole: none of its monotonic clocks goes on, and its
    /// host sets the wall clock right.
    #[test]
    fn a_pause_that_only_the_wall_clock_knows_of_is_a_suspicion_until_the_next_check_in() {
        let (clock, lease) = lease();
        let begun = now(&clock);
        lease.confirm(owner("a"), begun);
        clock.set_wall_time(moment(40_000));
        assert!(!lease.is_held_by(&owner("a")));
        assert_eq!(lease.owner_for_new_work(), None);
        assert!(!lease.confirm(owner("a"), begun), "the pause was in the middle of this check-in");
        assert!(lease.confirm(owner("a"), now(&clock)));
        assert!(lease.is_held_by(&owner("a")));
    }

    /// Seed 630010610 of the simulator: the acquirer saw a suspicion and slept until the check-in
    /// that would end it; the clock was set back before, and nobody woke the acquirer.
    #[test]
    fn a_suspicion_that_was_seen_ends_with_the_check_in_though_the_clock_was_set_back() {
        let (clock, lease) = lease();
        lease.confirm(owner("a"), now(&clock));
        clock.set_wall_time(moment(40_000));
        assert_eq!(lease.owner_for_new_work(), None);
        clock.set_wall_time(moment(0));
        assert!(lease.owner_for_new_work().is_some());
        assert!(lease.confirm(owner("a"), now(&clock)), "who saw the suspicion is told that it is over");
        assert!(!lease.confirm(owner("a"), now(&clock)));
    }

    #[test]
    fn a_short_tolerance_leaves_room_for_the_interval() {
        let clock = Arc::new(ManualClock::default());
        let lease = Lease::new(clock.clone(), Duration::from_secs(1), Duration::from_millis(500));
        lease.confirm(owner("a"), Moment::default());
        clock.advance(Duration::from_millis(1249));
        assert!(lease.is_held_by(&owner("a")));
        clock.advance(Duration::from_millis(1));
        assert!(!lease.is_held_by(&owner("a")));
    }

    #[test]
    fn a_refused_write_is_a_suspicion_until_the_next_check_in() {
        let (clock, lease) = lease();
        lease.confirm(owner("b"), now(&clock));
        lease.doubt(&owner("a"));
        assert!(lease.owner_for_new_work().is_some());
        lease.doubt(&owner("b"));
        assert_eq!(lease.owner_for_new_work(), None);
        assert!(lease.confirm(owner("b"), now(&clock)));
    }
}
