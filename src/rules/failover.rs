//! Failover: who is dead, decided from check-in rows and from what the observer itself has seen.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How far the store's clock and the observer's monotonic clock may drift apart between two check-ins before the
/// store's clock is taken to have jumped.
const CLOCK_JUMP_MS: i64 = 1000;

/// The rule of Quartz (QZ-45): dead is who has been silent for longer than its interval (or than the observer itself
/// was out of touch, if that is longer) plus a tolerance.
pub(crate) fn is_dead(
    last_checkin_ms: i64,
    interval_ms: i64,
    observer_gap_ms: i64,
    tolerance_ms: i64,
    now_ms: i64,
) -> bool {
    window_end(last_checkin_ms, interval_ms, observer_gap_ms, tolerance_ms) < now_ms
}

/// The last moment at which a node still counts as alive.
pub(crate) fn window_end(last_checkin_ms: i64, interval_ms: i64, observer_gap_ms: i64, tolerance_ms: i64) -> i64 {
    last_checkin_ms.saturating_add(interval_ms.max(observer_gap_ms)).saturating_add(tolerance_ms)
}

/// What an observer has seen of its peers' check-ins, on its own monotonic clock.
///
/// It decides where the store's clock cannot be trusted: a check-in from the future (H20), and the time after the
/// clock has jumped. Then a peer is dead if its row has not changed for a whole window *in front of the observer*.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observations {
    seen: BTreeMap<String, Seen>,
    last_reading: Option<(i64, Duration)>,
    distrust_until: Option<Duration>,
}

/// What was seen of one peer.
#[derive(Clone, Copy, Debug)]
struct Seen {
    checkin_ms: i64,
    /// Since when the row has not changed.
    since: Duration,
    /// The store's time at the last look.
    looked_ms: i64,
    /// How far the peer's clock is from the store's, at least.
    skew_ms: i64,
}

/// One peer's row and what the observer knows of its own state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspect<'a> {
    pub instance: &'a str,
    pub last_checkin_ms: i64,
    pub interval_ms: i64,
    /// A node of Quartz, whose check-ins are in the time of its own clock, not in the store's.
    pub foreign: bool,
}

/// A clock that is off by more has not merely the wrong time: whoever checked in longer ago is gone.
const LARGEST_SKEW_MS: i64 = 24 * 3_600_000;

/// The observer at one check-in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observer {
    /// The store's time.
    pub now_ms: i64,
    /// The observer's monotonic clock.
    pub ticks: Duration,
    /// How long ago its own last committed check-in was.
    pub gap_ms: i64,
    /// The tolerance of the rule.
    pub tolerance_ms: i64,
}

impl Observations {
    /// Compares the store's clock with the observer's own; a jump makes the store's clock untrusted for one window.
    pub(crate) fn read_clock(&mut self, observer: &Observer, window: Duration) {
        if let Some((then_ms, then)) = self.last_reading {
            let by_store = observer.now_ms.saturating_sub(then_ms);
            let by_self = millis(observer.ticks.saturating_sub(then));
            if by_store.saturating_sub(by_self).abs() > CLOCK_JUMP_MS {
                self.distrust_until = Some(observer.ticks + window);
                // What was seen under the old time says nothing about silence under the new one.
                self.seen.clear();
            }
        }
        self.last_reading = Some((observer.now_ms, observer.ticks));
    }

    /// Whether the peer is dead.
    pub(crate) fn convicts(&mut self, suspect: Suspect<'_>, observer: &Observer) -> bool {
        let silent_ms = millis(self.silent_for(suspect, observer));
        let window_ms = suspect.interval_ms.max(observer.gap_ms).saturating_add(observer.tolerance_ms);
        let from_the_future = suspect.last_checkin_ms > observer.now_ms.saturating_add(observer.tolerance_ms);
        let distrusted = self.distrust_until.is_some_and(|until| observer.ticks < until);
        if from_the_future || distrusted {
            return silent_ms > window_ms;
        }
        // By a clock that is behind it is dead from its first check-in on; only silence that was seen convicts it.
        let recent = suspect.last_checkin_ms > observer.now_ms.saturating_sub(LARGEST_SKEW_MS);
        if suspect.foreign && recent && silent_ms <= window_ms {
            return false;
        }
        is_dead(suspect.last_checkin_ms, suspect.interval_ms, observer.gap_ms, observer.tolerance_ms, observer.now_ms)
    }

    /// How long the observer has seen no change in a peer's check-in time.
    fn silent_for(&mut self, suspect: Suspect<'_>, observer: &Observer) -> Duration {
        let fresh =
            Seen { checkin_ms: suspect.last_checkin_ms, since: observer.ticks, looked_ms: observer.now_ms, skew_ms: 0 };
        match self.seen.get_mut(suspect.instance) {
            Some(seen) if seen.checkin_ms == suspect.last_checkin_ms => {
                seen.looked_ms = observer.now_ms;
                observer.ticks.saturating_sub(seen.since)
            }
            Some(seen) => {
                // It was written after the last look and before this one, both by the store's clock.
                let skew_ms = match suspect.last_checkin_ms {
                    ahead if ahead > observer.now_ms => ahead.saturating_sub(observer.now_ms),
                    behind if behind < seen.looked_ms => behind.saturating_sub(seen.looked_ms),
                    _ => 0,
                };
                *seen = Seen { skew_ms, ..fresh };
                Duration::ZERO
            }
            None => {
                self.seen.insert(suspect.instance.to_owned(), fresh);
                Duration::ZERO
            }
        }
    }

    /// When silence alone convicts the peer at the earliest, by the observer's monotonic clock.
    pub(crate) fn silent_until(&self, suspect: Suspect<'_>, window: Duration) -> Option<Duration> {
        self.seen.get(suspect.instance).map(|seen| seen.since.saturating_add(window))
    }

    /// How far a peer's clock is from the store's, at least; positive if it is ahead.
    pub(crate) fn skew_ms(&self, instance: &str) -> i64 {
        self.seen.get(instance).map_or(0, |seen| seen.skew_ms)
    }

    /// Forgets peers that are gone.
    pub(crate) fn keep_only<'a>(&mut self, instances: impl Iterator<Item = &'a str>) {
        let names: BTreeSet<&str> = instances.collect();
        self.seen.retain(|name, _| names.contains(name.as_str()));
    }
}

pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: Suspect<'static> =
        Suspect { instance: "peer", last_checkin_ms: 100_000, interval_ms: 15_000, foreign: false };

    fn observer(now_ms: i64, ticks_ms: u64, gap_ms: i64) -> Observer {
        Observer { now_ms, ticks: Duration::from_millis(ticks_ms), gap_ms, tolerance_ms: 7500 }
    }

    #[test]
    fn a_node_is_dead_one_millisecond_after_its_window_and_not_before() {
        let mut seen = Observations::default();
        assert!(!seen.convicts(PEER, &observer(122_500, 0, 0)));
        assert!(seen.convicts(PEER, &observer(122_501, 0, 0)));
    }

    #[test]
    fn an_observer_that_was_away_itself_forgives_as_much() {
        let mut seen = Observations::default();
        assert!(!seen.convicts(PEER, &observer(167_500, 0, 60_000)));
        assert!(seen.convicts(PEER, &observer(167_501, 0, 60_000)));
    }

    /// H20: a restored backup or a bad clock left a check-in in the future; the node would be "alive" for hours.
    #[test]
    fn a_check_in_from_the_future_is_judged_by_whether_it_changes() {
        let mut seen = Observations::default();
        let future = Suspect { last_checkin_ms: 10_000_000, ..PEER };
        assert!(!seen.convicts(future, &observer(100_000, 0, 0)));
        assert!(!seen.convicts(future, &observer(122_000, 22_000, 0)));
        assert!(seen.convicts(future, &observer(122_600, 22_501, 0)));
        assert!(!seen.convicts(Suspect { last_checkin_ms: 10_000_001, ..PEER }, &observer(122_700, 22_700, 0)));
    }

    /// A node of Quartz writes its own clock's time. One that is a minute behind looks dead with every check-in.
    #[test]
    fn a_node_of_quartz_whose_clock_is_behind_is_convicted_by_silence_only() {
        let mut seen = Observations::default();
        let java = |last_checkin_ms| Suspect { last_checkin_ms, interval_ms: 1000, foreign: true, ..PEER };
        assert!(!seen.convicts(java(40_000), &observer(100_000, 0, 0)));
        assert!(!seen.convicts(java(41_000), &observer(101_000, 1_000, 0)));
        assert_eq!(seen.skew_ms("peer"), -59_000, "it was written after 100 s of the store's time");
        assert!(!seen.convicts(java(41_000), &observer(109_500, 9_500, 0)));
        assert!(seen.convicts(java(41_000), &observer(109_501, 9_501, 0)));
        // One that is ahead counts as alive no longer than one that is not.
        assert!(!seen.convicts(java(170_000), &observer(110_000, 10_000, 0)));
        assert_eq!(seen.skew_ms("peer"), 60_000);
        assert!(seen.convicts(java(170_000), &observer(119_000, 18_501, 0)));
    }

    /// A node that has not run since yesterday needs no watching.
    #[test]
    fn a_node_of_quartz_that_is_long_gone_is_convicted_at_first_sight() {
        let java = Suspect { foreign: true, ..PEER };
        let now_ms = PEER.last_checkin_ms + LARGEST_SKEW_MS;
        assert!(Observations::default().convicts(java, &observer(now_ms, 0, 0)));
        assert!(!Observations::default().convicts(java, &observer(now_ms - 1, 0, 0)));
    }

    /// The database's clock is set forward by an hour: every row looks an hour old, and nobody is dead.
    #[test]
    fn a_jump_of_the_stores_clock_convicts_nobody() {
        let mut seen = Observations::default();
        let window = Duration::from_millis(22_500);
        seen.read_clock(&observer(100_000, 0, 0), window);
        let after = observer(3_715_000, 15_000, 15_000);
        seen.read_clock(&after, window);
        assert!(!seen.convicts(PEER, &after));
        // The peer goes on checking in; one that does not is convicted after a window of silence.
        let later = observer(3_738_000, 38_000, 15_000);
        seen.read_clock(&later, window);
        assert!(seen.convicts(PEER, &later));
        let alive = Suspect { last_checkin_ms: 3_730_000, ..PEER };
        assert!(!seen.convicts(alive, &later));
    }
}
