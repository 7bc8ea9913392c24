//! `Quarantine`: triggers that cannot be read, or whose strategy has no answer, named once each and
//! left alone for a while.

use crate::key::TriggerKey;
use crate::listener::lifecycle_log;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The time for which a trigger is left alone before it is tried again.
const TERM: Duration = Duration::from_secs(60);

/// Beyond so many, further ones are neither remembered nor named; the store leaves them alone all
/// the same.
const LIMIT: usize = 10_000;

/// Triggers that nobody can fire now, with the reason.
#[derive(Debug, Default)]
pub(crate) struct Quarantine {
    entries: Mutex<BTreeMap<TriggerKey, Entry>>,
}

#[derive(Debug)]
struct Entry {
    reason: String,
    since: Duration,
}

impl Quarantine {
    /// Adds triggers; names those whose trouble is new.
    pub(crate) fn add(&self, unreadable: Vec<(TriggerKey, String)>, now: Duration) {
        let mut entries = self.entries.lock();
        for (key, reason) in unreadable {
            let known = entries.get(&key).is_some_and(|entry| entry.reason == reason);
            if entries.len() >= LIMIT && !entries.contains_key(&key) {
                continue;
            }
            if !known {
                lifecycle_log::unreadable(&key, &reason);
            }
            entries.insert(key, Entry { reason, since: now });
        }
    }

    /// The triggers to leave alone now.
    pub(crate) fn keys(&self, now: Duration) -> BTreeSet<TriggerKey> {
        let mut entries = self.entries.lock();
        // Kept for a second term, so that a retry that fails again is not named again.
        entries.retain(|_, entry| now.saturating_sub(entry.since) < TERM * 2);
        entries.iter().filter(|(_, e)| now.saturating_sub(e.since) < TERM).map(|(key, _)| key.clone()).collect()
    }

    /// The number of triggers in quarantine.
    pub(crate) fn count(&self) -> usize {
        self.entries.lock().len()
    }

    /// The triggers in quarantine, for health.
    pub(crate) fn list(&self) -> Vec<(TriggerKey, String)> {
        self.entries.lock().iter().map(|(key, entry)| (key.clone(), entry.reason.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trigger_is_tried_again_after_its_term() {
        let quarantine = Quarantine::default();
        let at = Duration::from_secs;
        quarantine.add(vec![(TriggerKey::named("t"), "torn".to_owned())], at(0));
        assert_eq!(quarantine.keys(at(59)).len(), 1);
        assert_eq!(quarantine.keys(at(60)).len(), 0);
        assert_eq!(quarantine.list().len(), 1);
        assert_eq!(quarantine.keys(at(120)).len(), 0);
        assert_eq!(quarantine.list().len(), 0);
    }
}
