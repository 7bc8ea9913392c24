//! Failover: who is dead, decided from check-in rows and from what the observer itself has seen.

use super::observer::{Observer, Reach, Suspect};
use crate::epoch::{length, millis};
use crate::hash::HashMap;
use crate::store::row::InstanceRow;
use std::collections::BTreeSet;
use std::time::Duration;

/// The largest difference between the observer's time and the store's time between two readings. A
/// larger difference means that the store's clock has jumped.
const CLOCK_JUMP_MS: i64 = 1000;

/// The time by which a node suspects itself earlier than others, if the tolerance allows it.
const MARGIN: Duration = Duration::from_millis(1500);

/// The time beyond its interval for which a node that cannot check in does not suspect itself. With
/// a small tolerance the margin shrinks, or the node would suspect itself before each check-in.
pub(crate) fn patience(tolerance: Duration) -> Duration {
    tolerance.saturating_sub(MARGIN.min(tolerance / 2))
}

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
    seen: HashMap<String, PeerSighting>,
    /// Between which two numbers the store's clock is ahead of the ticks, in milliseconds, as all
    /// readings since the last jump tell together.
    lead_ms: Option<(i64, i64)>,
    /// The time at which the store's clock was seen to have jumped, in ticks.
    jumped: Option<Duration>,
    /// The time in which the store has answered since the first outage; none before it.
    reach: Option<Reach>,
    /// The longest check-in interval of the nodes of Quartz that were seen.
    quartz_interval_ms: i64,
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
    /// The observer's reach from which on the peer could have come back from an outage and has not.
    missed: Option<Duration>,
}

/// A clock that is off by more has not merely the wrong time: whoever checked in longer ago is
/// gone.
const LARGEST_SKEW_MS: i64 = 24 * 3_600_000;

/// The verdict on the node that is registered under the name of a node that starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Namesake {
    /// The other node is dead, or has been silent for so long that it suspects itself: the name is
    /// free.
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
    /// The tolerance is time in which the store answers and the peer is overdue. A peer that could
    /// not come back between two outages has the rest of it after the second. Each end of an outage
    /// counts as a quarter of it, so that outages that never end convict the dead as well.
    pub(crate) fn note_answer(&mut self, observer: &Observer, ends_outage: bool) {
        let until = observer.answered;
        self.reach = match self.reach {
            Some(reach) if !ends_outage => Some(Reach { total: reach.at(until), until, ..reach }),
            None if !ends_outage => None,
            before => {
                let step = observer.quarter_of_tolerance();
                let total = before.map_or(Duration::ZERO, |reach| reach.total.saturating_add(step));
                Some(Reach { total, until, returned: total })
            }
        };
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
        if suspect.foreign {
            self.quartz_interval_ms = self.quartz_interval_ms.max(suspect.interval_ms);
        }
        let silent_ms = millis(self.silent_for(suspect, observer));
        self.note_overdue(suspect, silent_ms, observer);
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

    /// Takes note of a peer that is overdue after an outage. A peer that was not due between two
    /// outages has not missed the time between them.
    fn note_overdue(&mut self, suspect: Suspect<'_>, silent_ms: i64, observer: &Observer) {
        let age_ms = match suspect.foreign || observer.has_several_clocks {
            true => silent_ms,
            false => observer.now_ms.saturating_sub(suspect.last_checkin_ms),
        };
        let overdue_ms = age_ms.saturating_sub(suspect.interval_ms);
        if let (Some(reach), Some(peer), 0..) = (self.reach, self.seen.get_mut(suspect.instance), overdue_ms) {
            let due = reach.at(observer.answered).saturating_sub(length(overdue_ms));
            peer.missed.get_or_insert(due.max(reach.returned));
        }
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
                *seen = PeerSighting { skew_ms, changed: true, ..fresh };
                Duration::ZERO
            }
            None => {
                self.seen.insert(suspect.instance.to_owned(), fresh);
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

    /// The longest check-in interval of the nodes of Quartz that were seen: one that is taken for
    /// dead may be without a row for so long, and live.
    pub(crate) fn quartz_interval_ms(&self) -> i64 {
        self.quartz_interval_ms
    }

    /// True if whoever has the observer's own name in the store lives; `is_gone` is what the
    /// machine knows of its process, and `patience` that of the node.
    pub(crate) fn judge_namesake<'s>(
        &mut self,
        namesake: impl Into<Suspect<'s>>,
        is_gone: Option<bool>,
        patience: Duration,
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
        // Two must not hold the same fires.
        let enough = seen.since.saturating_add(length(namesake.interval_ms)).saturating_add(patience);
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
mod tests;
