//! Failover: who is dead, decided from check-in rows and from what the observer itself has seen.

use super::foresight::lateness_ms;
use super::observer::{Observer, Reach, Suspect};
use crate::epoch::{length, millis};
use crate::store::row::InstanceRow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The largest difference between the observer's time and the store's time between two readings. A
/// larger difference means that the store's clock has jumped.
const CLOCK_JUMP_MS: i64 = 1000;

/// The rule of Quartz (QZ-45), by one look: dead is who has been silent for longer than its
/// interval plus a tolerance.
pub(crate) fn is_dead(row: &InstanceRow, tolerance_ms: i64, now_ms: i64) -> bool {
    window_end(row, tolerance_ms) < now_ms
}

/// The last moment at which a node still counts as alive.
pub(crate) fn window_end(row: &InstanceRow, tolerance_ms: i64) -> i64 {
    row.last_checkin_ms.saturating_add(row.checkin_interval_ms).saturating_add(tolerance_ms)
}

/// An observer's record of its peers' check-ins, on its own monotonic clock.
///
/// The record decides when the store's clock cannot be trusted: for a check-in from the future
/// (H20), and for one that may be older than the last jump of the clock. Then a peer is dead if its
/// row has not changed for a whole window *in front of the observer*.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observations {
    seen: BTreeMap<String, PeerSighting>,
    /// Between which two numbers the store's clock is ahead of the ticks, in milliseconds, as all
    /// readings since the last jump tell together.
    lead_ms: Option<(i64, i64)>,
    /// The time at which the store's clock was seen to have jumped, in ticks.
    jumped: Option<Duration>,
    /// The time in which the store has answered since the first outage; none before it.
    reach: Option<Reach>,
}

/// The record of one peer.
#[derive(Clone, Copy, Debug)]
struct PeerSighting {
    checkin_ms: i64,
    /// Since when the row has not changed.
    since: Duration,
    /// True if the peer's row has changed in front of the observer.
    changed: bool,
    /// The store's time at the last reading.
    looked_ms: i64,
    /// The distance of the peer's clock from the store's, at least.
    skew_ms: i64,
    /// The observer's reach at the end of an outage after which the peer has not been seen yet.
    missed: Option<Duration>,
}

/// A clock that is off by more has not merely the wrong time: whoever checked in longer ago is
/// gone.
const LARGEST_SKEW_MS: i64 = 24 * 3_600_000;

/// The verdict on the node that is registered under the name of a node that starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Namesake {
    /// The other node is dead, or was silent for longer than its interval: the name is free.
    Gone,
    /// The other node lives.
    Lives,
    /// The other node counts as gone if it is silent for this long from now on.
    Doubtful(Duration),
}

impl Observations {
    /// Compares the store's clock with the observer's own. A jump is only what no moment between
    /// the question and the answer explains: an answer that was slow is none.
    pub(crate) fn read_clock(&mut self, observer: &Observer) {
        let least = observer.now_ms.saturating_sub(millis(observer.answered));
        let most = observer.now_ms.saturating_sub(millis(observer.ticks));
        self.lead_ms = match self.lead_ms {
            Some((lower, upper)) if least <= upper && most >= lower => Some((least.max(lower), most.min(upper))),
            Some((lower, upper)) => {
                // Clocks that run at slightly different speeds drift apart by less.
                if least.saturating_sub(upper).max(lower.saturating_sub(most)) > CLOCK_JUMP_MS {
                    self.jumped = Some(observer.answered);
                }
                Some((least, most))
            }
            None => Some((least, most)),
        };
    }

    /// Takes note of an answer. An outage that the observer has seen is one for its peers as well:
    /// each has the tolerance from the end of it to come back, and the observer is not the first
    /// only to find the others missing.
    ///
    /// The tolerance is time in which the store answers, so that a peer that could not come back
    /// between two outages has the rest of it after the second. Each end of an outage counts as a
    /// quarter of it, so that outages that never end convict the dead as well.
    pub(crate) fn note_answer(&mut self, observer: &Observer, ends_outage: bool) {
        let until = observer.answered;
        if !ends_outage {
            self.reach = self.reach.map(|reach| Reach { total: reach.at(until), until, is_new: false });
            return;
        }
        let step = observer.quarter_of_tolerance();
        let total = self.reach.map_or(Duration::ZERO, |reach| reach.total.saturating_add(step));
        self.reach = Some(Reach { total, until, is_new: true });
        for peer in self.seen.values_mut() {
            peer.missed.get_or_insert(total);
        }
    }

    /// The time that a peer still has to come back after an outage of the store, if the store goes
    /// on answering.
    pub(crate) fn grace(&self, instance: &str, observer: &Observer) -> Duration {
        let missed = self.seen.get(instance).and_then(|peer| peer.missed);
        self.reach.zip(missed).map_or(Duration::ZERO, |(reach, missed)| {
            length(observer.tolerance_ms).saturating_sub(reach.at(observer.answered).saturating_sub(missed))
        })
    }

    /// True if the peer is dead: silent for longer than its interval, or than the observer was out
    /// of touch if that is longer, plus the tolerance.
    pub(crate) fn convicts<'s>(&mut self, suspect: impl Into<Suspect<'s>>, observer: &Observer) -> bool {
        let suspect = suspect.into();
        let silent_ms = millis(self.silent_for(suspect, observer));
        if !self.grace(suspect.instance, observer).is_zero() {
            return false;
        }
        let window_ms = suspect.interval_ms.max(observer.gap_ms).saturating_add(observer.tolerance_ms);
        let from_the_future = suspect.last_checkin_ms > observer.now_ms.saturating_add(observer.tolerance_ms);
        // A time from before the jump cannot be compared with a time after it.
        let older_than_jump = self.jumped.is_some_and(|jumped| {
            let window = length(window_ms);
            let seen = self.seen.get(suspect.instance);
            seen.is_none_or(|seen| seen.since <= if seen.changed { jumped } else { jumped.saturating_add(window) })
        });
        if from_the_future || older_than_jump {
            return silent_ms > window_ms;
        }
        // By a clock that is behind, the peer is dead from its first check-in on.
        let recent = suspect.last_checkin_ms > observer.now_ms.saturating_sub(LARGEST_SKEW_MS);
        if (suspect.foreign || observer.has_several_clocks) && recent && silent_ms <= window_ms {
            return false;
        }
        suspect.last_checkin_ms.saturating_add(window_ms) < observer.now_ms
    }

    /// The time for which the observer has seen no change in a peer's check-in time.
    fn silent_for(&mut self, suspect: Suspect<'_>, observer: &Observer) -> Duration {
        let fresh = PeerSighting {
            checkin_ms: suspect.last_checkin_ms,
            since: observer.answered,
            changed: false,
            looked_ms: observer.now_ms,
            skew_ms: 0,
            missed: None,
        };
        match self.seen.get_mut(suspect.instance) {
            Some(seen) if seen.checkin_ms == suspect.last_checkin_ms => {
                seen.looked_ms = observer.now_ms;
                observer.ticks.saturating_sub(seen.since)
            }
            Some(seen) => {
                // The peer wrote its row after the last reading and before this one, both by the
                // store's clock.
                let skew_ms = match suspect.last_checkin_ms {
                    ahead if ahead > observer.now_ms => ahead.saturating_sub(observer.now_ms),
                    behind if behind < seen.looked_ms => behind.saturating_sub(seen.looked_ms),
                    _ => 0,
                };
                // The peer may have written it before the outage that has just ended.
                let missed = self.reach.filter(|reach| reach.is_new).map(|reach| reach.total);
                *seen = PeerSighting { skew_ms, changed: true, missed, ..fresh };
                Duration::ZERO
            }
            None => {
                let missed = self.reach.map(|reach| reach.at(observer.answered));
                self.seen.insert(suspect.instance.to_owned(), PeerSighting { missed, ..fresh });
                Duration::ZERO
            }
        }
    }

    /// The earliest time at which silence alone convicts the peer, by the observer's monotonic
    /// clock.
    pub(crate) fn silent_until(&self, instance: &str, window: Duration) -> Option<Duration> {
        self.seen.get(instance).map(|seen| seen.since.saturating_add(window))
    }

    /// The distance of a peer's clock from the store's, at least; positive if the peer's is ahead.
    pub(crate) fn skew_ms(&self, instance: &str) -> i64 {
        self.seen.get(instance).map_or(0, |seen| seen.skew_ms)
    }

    /// True if whoever has the observer's own name in the store lives; `is_gone` is what the
    /// machine knows of its process.
    pub(crate) fn judge_namesake<'s>(
        &mut self,
        namesake: impl Into<Suspect<'s>>,
        is_gone: Option<bool>,
        observer: &Observer,
    ) -> Namesake {
        let namesake = namesake.into();
        if is_gone == Some(true) || self.convicts(namesake, observer) {
            return Namesake::Gone;
        }
        let Some(seen) = self.seen.get(namesake.instance) else { return Namesake::Doubtful(Duration::ZERO) };
        if seen.changed || is_gone == Some(false) {
            return Namesake::Lives;
        }
        let enough_ms = namesake.interval_ms.saturating_add(lateness_ms(observer.tolerance_ms));
        let enough = seen.since.saturating_add(length(enough_ms));
        match enough.checked_sub(observer.ticks) {
            Some(left) if !left.is_zero() => Namesake::Doubtful(left),
            _ => Namesake::Gone,
        }
    }

    /// Forgets peers that are gone.
    pub(crate) fn keep_only<'a>(&mut self, instances: impl Iterator<Item = &'a str>) {
        let names: BTreeSet<&str> = instances.collect();
        self.seen.retain(|name, _| names.contains(name.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: Suspect<'static> =
        Suspect { instance: "peer", last_checkin_ms: 100_000, interval_ms: 15_000, foreign: false };

    fn observer(now_ms: i64, ticks_ms: u64, gap_ms: i64) -> Observer {
        slow(now_ms, ticks_ms, ticks_ms, gap_ms)
    }

    fn slow(now_ms: i64, asked_ms: u64, answered_ms: u64, gap_ms: i64) -> Observer {
        let (ticks, answered) = (Duration::from_millis(asked_ms), Duration::from_millis(answered_ms));
        Observer { now_ms, ticks, answered, gap_ms, tolerance_ms: 7500, has_several_clocks: false }
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

    /// The store was away for a minute. The first node that is back looks again at once, and the
    /// others, which try again a little later, are not dead for that.
    #[test]
    fn after_an_outage_each_peer_has_the_tolerance_to_come_back() {
        let mut seen = Observations::default();
        let back = observer(160_000, 60_000, 60_000);
        seen.note_answer(&back, true);
        assert!(!seen.convicts(PEER, &back));
        assert!(!seen.convicts(PEER, &observer(160_100, 60_100, 100)));
        let last = observer(167_499, 67_499, 100);
        assert_eq!((seen.grace("peer", &last), seen.convicts(PEER, &last)), (Duration::from_millis(1), false));
        assert!(seen.convicts(PEER, &observer(167_500, 67_500, 100)));
    }

    /// A look of the observer at its peer, at so many milliseconds; it may be the first after an
    /// outage.
    fn is_dead_at(seen: &mut Observations, ticks_ms: u64, ends_outage: bool) -> bool {
        let look = observer(160_000 + millis(Duration::from_millis(ticks_ms)), ticks_ms, 5_000);
        seen.note_answer(&look, ends_outage);
        seen.convicts(PEER, &look)
    }

    /// A check-in of its own that fails every five seconds is no excuse for ever.
    #[test]
    fn outages_without_an_end_put_off_a_verdict_once() {
        let mut seen = Observations::default();
        assert_eq!(
            (0..).position(|n| is_dead_at(&mut seen, 5_000 * n, true)),
            Some(4),
            "the fourth return after the first"
        );
    }

    /// The store is away for 18 of each 25 seconds: 7 seconds, less than the tolerance, are left to
    /// come back in each time. A node that has died meanwhile is found in the second of them.
    #[test]
    fn outages_a_window_apart_do_not_put_off_a_verdict_each_time() {
        let mut seen = Observations::default();
        for (ticks_ms, ends_outage) in [(0, true), (2_500, false), (5_000, false), (25_000, true)] {
            assert!(!is_dead_at(&mut seen, ticks_ms, ends_outage), "{ticks_ms}");
        }
        assert!(is_dead_at(&mut seen, 27_500, false));
    }

    /// The peer was back after the first outage, and has written its row after the observer's look.
    #[test]
    fn a_check_in_of_before_an_outage_is_no_return_from_it() {
        let mut seen = Observations::default();
        assert!(!is_dead_at(&mut seen, 0, true));
        let written = Suspect { last_checkin_ms: 165_000, ..PEER };
        let (back, later) = (observer(182_500, 22_500, 22_500), observer(188_000, 28_000, 5_500));
        seen.note_answer(&back, true);
        assert!(!seen.convicts(written, &back));
        seen.note_answer(&later, false);
        assert!(!seen.convicts(written, &later), "5.5 s after the return");
    }

    /// The store answers for a moment only, to one node, and is away again for ten seconds. The
    /// others could not come back in that moment, and have most of the tolerance after the second.
    #[test]
    fn a_moment_between_two_outages_is_no_time_to_come_back() {
        let mut seen = Observations::default();
        assert!(!is_dead_at(&mut seen, 0, true));
        assert!(!is_dead_at(&mut seen, 10_000, true));
        assert!(!is_dead_at(&mut seen, 15_000, false), "5 of 7.5 seconds, and a quarter for the return");
        assert!(is_dead_at(&mut seen, 15_700, false));
    }

    /// H20: a restored backup or a bad clock left a check-in in the future; the node would be
    /// "alive" for hours.
    #[test]
    fn a_check_in_from_the_future_is_judged_by_whether_it_changes() {
        let mut seen = Observations::default();
        let future = Suspect { last_checkin_ms: 10_000_000, ..PEER };
        assert!(!seen.convicts(future, &observer(100_000, 0, 0)));
        assert!(!seen.convicts(future, &observer(122_000, 22_000, 0)));
        assert!(seen.convicts(future, &observer(122_600, 22_501, 0)));
        assert!(!seen.convicts(Suspect { last_checkin_ms: 10_000_001, ..PEER }, &observer(122_700, 22_700, 0)));
    }

    /// A node of Quartz writes its own clock's time. A clock that is a minute behind makes the node
    /// look dead with every check-in.
    #[test]
    fn a_node_of_quartz_whose_clock_is_behind_is_convicted_by_silence_only() {
        let mut seen = Observations::default();
        let java = |last_checkin_ms| Suspect { last_checkin_ms, interval_ms: 1000, foreign: true, ..PEER };
        assert!(!seen.convicts(java(40_000), &observer(100_000, 0, 0)));
        assert!(!seen.convicts(java(41_000), &observer(101_000, 1_000, 0)));
        assert_eq!(seen.skew_ms("peer"), -59_000, "it was written after 100 s of the store's time");
        assert!(!seen.convicts(java(41_000), &observer(109_500, 9_500, 0)));
        assert!(seen.convicts(java(41_000), &observer(109_501, 9_501, 0)));
        // A clock that is ahead does not make its node count as alive for longer.
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

    /// The database's clock is set forward by an hour: every row looks an hour old, and nobody is
    /// dead.
    #[test]
    fn a_jump_of_the_stores_clock_convicts_nobody() {
        let mut seen = Observations::default();
        seen.read_clock(&observer(100_000, 0, 0));
        let after = observer(3_715_000, 15_000, 15_000);
        seen.read_clock(&after);
        assert!(!seen.convicts(PEER, &after));
        // The peer goes on checking in; one that does not is convicted after a window of silence.
        let later = observer(3_738_000, 38_000, 15_000);
        seen.read_clock(&later);
        assert!(seen.convicts(PEER, &later));
        let alive = Suspect { last_checkin_ms: 3_730_000, ..PEER };
        assert!(!seen.convicts(alive, &later));
    }

    /// Answers that take between nothing and three seconds, in no order: the dead node's row is
    /// judged as ever.
    #[test]
    fn slow_answers_are_no_jump() {
        let mut seen = Observations::default();
        let mut asked_ms = 0;
        for (turn, delay_ms) in [0, 3000, 100, 2900, 1500, 0, 2500, 50].into_iter().cycle().take(40).enumerate() {
            // The store's time is read at the beginning, in the middle or at the end.
            let read_ms = asked_ms + delay_ms * (turn as u64 % 3) / 2;
            let look = slow(100_000 + read_ms as i64, asked_ms, asked_ms + delay_ms, 0);
            seen.read_clock(&look);
            assert_eq!(seen.convicts(PEER, &look), look.now_ms > 122_500, "{look:?}");
            asked_ms += 3000;
        }
        assert_eq!(seen.jumped, None);
    }

    /// A jump that a slow answer hides is seen with the next quick one.
    #[test]
    fn a_jump_is_seen_as_soon_as_no_reading_explains_it() {
        let mut seen = Observations::default();
        seen.read_clock(&observer(100_000, 0, 0));
        seen.read_clock(&slow(104_900, 1_000, 5_000, 0));
        assert_eq!(seen.jumped, None, "it may be that the time was read at the end");
        seen.read_clock(&observer(108_900, 6_000, 0));
        assert_eq!(seen.jumped, Some(Duration::from_millis(6_000)));
        for second in 0..1000 {
            seen.read_clock(&observer(108_900 + second * 1001, 6_000 + 1000 * second as u64, 0));
        }
        assert_eq!(seen.jumped, Some(Duration::from_millis(6_000)), "a clock that is a little faster does not jump");
    }

    /// A peer that checks in once a minute is not convicted by a time that has jumped since.
    #[test]
    fn a_row_from_before_the_jump_is_judged_by_silence_however_long_its_interval_is() {
        let mut seen = Observations::default();
        let slow_peer = Suspect { interval_ms: 60_000, ..PEER };
        seen.read_clock(&observer(100_000, 0, 0));
        assert!(!seen.convicts(slow_peer, &observer(100_000, 0, 0)));
        for ticks_ms in [15_000, 30_000, 45_000, 60_000] {
            let look = observer(3_700_000 + ticks_ms as i64, ticks_ms, 15_000);
            seen.read_clock(&look);
            assert!(!seen.convicts(slow_peer, &look), "{ticks_ms}");
        }
        // Silence that was seen before the jump counts.
        assert!(seen.convicts(slow_peer, &observer(3_767_501, 67_501, 15_000)));
    }

    #[test]
    fn a_namesake_is_judged_by_its_process_or_by_one_interval_of_silence() {
        let at = |ticks_ms: u64| observer(100_000 + ticks_ms as i64, ticks_ms, 0);
        let mut seen = Observations::default();
        assert_eq!(seen.judge_namesake(PEER, Some(true), &at(0)), Namesake::Gone);
        assert_eq!(seen.judge_namesake(PEER, Some(false), &at(0)), Namesake::Lives);
        assert_eq!(seen.judge_namesake(PEER, None, &at(0)), Namesake::Doubtful(Duration::from_millis(17_000)));
        assert_eq!(seen.judge_namesake(PEER, None, &at(16_999)), Namesake::Doubtful(Duration::from_millis(1)));
        let checked_in = Suspect { last_checkin_ms: 116_999, ..PEER };
        assert_eq!(seen.clone().judge_namesake(checked_in, None, &at(17_000)), Namesake::Lives);
        assert_eq!(seen.judge_namesake(PEER, None, &at(17_000)), Namesake::Gone);
        // A node that everybody takes for dead is gone at first sight, also if its process hangs.
        assert_eq!(Observations::default().judge_namesake(PEER, Some(false), &at(22_501)), Namesake::Gone);
    }
}
