//! Overdue: when a node takes a reservation back whose owner has not fired it. Nodes do not act in
//! step: the first is enough.

use crate::hash::drawn;
use std::time::Duration;

/// The time after its due time for which a reservation is its owner's alone. A living owner fires a
/// few milliseconds before the due time.
pub(crate) const GRACE: Duration = Duration::from_millis(200);

/// The longest extra wait of a node, each node another part of it: the first takes back an overdue
/// reservation, and the others find it taken.
const SPREAD_MS: u64 = 50;

/// The time until the next try after a poll that took nothing back.
pub(crate) const RETRY: Duration = Duration::from_millis(250);

/// The time at which this node takes back a reservation for `reserved_ms`, in the time of the
/// store.
pub(crate) fn overdue_at(instance: &str, reserved_ms: i64) -> i64 {
    let wait = GRACE + Duration::from_millis(1 + throw(instance, reserved_ms) % SPREAD_MS);
    reserved_ms.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(0))
}

/// The time by which this node polls later than the first for triggers due at `due_ms`, if they may
/// be reserved ahead: one node takes them, and the others see that.
pub(crate) fn stagger_ms(instance: &str, due_ms: Option<i64>, ahead_ms: i64) -> i64 {
    let most = u64::try_from(ahead_ms / 4).unwrap_or(0).max(1);
    due_ms.map_or(0, |due_ms| i64::try_from(throw(instance, due_ms) % most).unwrap_or(0))
}

/// A number from a node and a time, always equal for equal arguments.
fn throw(instance: &str, at_ms: i64) -> u64 {
    drawn(format_args!("{instance} {at_ms}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_waits_a_time_of_its_own_that_is_more_than_the_grace() {
        let waits: Vec<i64> = (0..100).map(|node| overdue_at(&format!("n{node}"), 5_000) - 5_000).collect();
        assert!(waits.iter().all(|wait| (201..=250).contains(wait)), "{waits:?}");
        assert!(waits.iter().any(|wait| *wait < 210) && waits.iter().any(|wait| *wait > 240), "{waits:?}");
        assert_eq!(overdue_at("n", i64::MAX), i64::MAX);
    }

    #[test]
    fn nodes_look_one_after_the_other_for_what_is_due() {
        let later: Vec<i64> = (0..100).map(|node| stagger_ms(&format!("n{node}"), Some(5_000), 1_000)).collect();
        assert!(later.iter().all(|ms| (0..250).contains(ms)), "{later:?}");
        assert!(later.iter().any(|ms| *ms < 50) && later.iter().any(|ms| *ms > 200), "{later:?}");
        assert_eq!((stagger_ms("n", None, 1_000), stagger_ms("n", Some(1), 0)), (0, 0));
    }
}
