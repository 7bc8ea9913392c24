//! Failover: who is dead, decided from check-in rows and from what the observer itself has seen.

use std::collections::BTreeMap;
use std::time::Duration;

/// What an observer has seen of its peers' check-ins, on its own monotonic clock.
#[derive(Clone, Debug, Default)]
pub struct Observations {
    seen: BTreeMap<String, (i64, Duration)>,
}

/// The rule of Quartz: dead is who has been silent for longer than its interval (or than the observer itself was out of
/// touch, if that is longer) plus a tolerance.
pub(crate) fn is_dead(
    last_checkin_ms: i64,
    interval_ms: i64,
    observer_gap_ms: i64,
    tolerance_ms: i64,
    now_ms: i64,
) -> bool {
    last_checkin_ms.saturating_add(interval_ms.max(observer_gap_ms)).saturating_add(tolerance_ms) < now_ms
}

impl Observations {
    /// How long the observer has seen no change in a peer's check-in time.
    pub(crate) fn silent_for(&mut self, instance: &str, last_checkin_ms: i64, ticks: Duration) -> Duration {
        match self.seen.get(instance) {
            Some((seen, since)) if *seen == last_checkin_ms => ticks.saturating_sub(*since),
            _ => {
                self.seen.insert(instance.to_owned(), (last_checkin_ms, ticks));
                Duration::ZERO
            }
        }
    }

    /// Forgets peers that are not in `instances`.
    pub(crate) fn keep_only<'a>(&mut self, instances: impl Iterator<Item = &'a str>) {
        let names: std::collections::BTreeSet<&str> = instances.collect();
        self.seen.retain(|name, _| names.contains(name.as_str()));
    }
}
