//! `Backlog`: the due triggers in order of priority, found once for many acquisitions.
//!
//! No index has that order. A search puts all that is due in order for the few that one acquisition
//! takes, under the lock, and a backlog is taken by the few: in the recovery mode as many as there
//! are free workers. The keys of a large backlog are therefore found without the lock, and
//! acquisitions take from the first of them for a while.

use crate::key::TriggerKey;
use std::sync::Arc;
use std::time::Duration;

/// The number of keys that are found at a time.
pub(super) const MOST_KEYS: usize = 10_000;

/// The keys count for so many times as long as it took to find them, so that a node spends a
/// twentieth of its time on it.
const WORTH: u32 = 20;

/// The keys count for so many times as long where other triggers may have come to be due.
const WORTH_IN_A_HURRY: u32 = 4;

/// The keys count at least so long.
const AT_LEAST: Duration = Duration::from_millis(200);

/// The keys count at most so long: a trigger that comes to be due meanwhile, however important,
/// waits so long.
const AT_MOST: Duration = Duration::from_secs(5);

/// Of triggers for fewer acquisitions than these a search is as good.
const FEWEST_ACQUISITIONS: usize = 40;

/// Keys in order, without those that are done with: taken, or not to be taken now.
#[derive(Clone, Debug, Default)]
pub(super) struct KeysInOrder {
    all: Arc<[TriggerKey]>,
    done: usize,
}

impl KeysInOrder {
    pub(super) fn as_slice(&self) -> &[TriggerKey] {
        self.all.get(self.done..).unwrap_or_default()
    }
}

/// The keys that were found, and what is known of the need for them.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    keys: KeysInOrder,
    /// Until when the keys count, in ticks; a short list is not looked for again before.
    until: Option<Duration>,
    /// The last search under the lock brought as many as were asked for.
    is_there: bool,
    /// The keys were enough for many acquisitions.
    was_long: bool,
    /// The time that it took to find them.
    took: Duration,
}

impl Backlog {
    /// True if the keys are to be looked for; old ones are forgotten.
    pub(super) fn is_wanted(&mut self, now: Duration) -> bool {
        let is_old = self.until.is_none_or(|until| now >= until);
        if is_old {
            self.keys = KeysInOrder::default();
        }
        self.keys.as_slice().is_empty() && self.is_there && (is_old || self.was_long)
    }

    /// Takes over the keys that were found from one time to another, for acquisitions of so many.
    pub(super) fn fill(&mut self, keys: Vec<TriggerKey>, (began, ended): (Duration, Duration), max: usize) {
        self.took = ended.saturating_sub(began);
        self.until = Some(ended.saturating_add(self.took.saturating_mul(WORTH).clamp(AT_LEAST, AT_MOST)));
        self.was_long = keys.len() >= max.saturating_mul(FEWEST_ACQUISITIONS).min(MOST_KEYS / 2);
        self.keys = KeysInOrder { all: if self.was_long { keys.into() } else { Arc::default() }, done: 0 };
    }

    /// The keys that are left, if there are any.
    pub(super) fn keys(&self) -> Option<KeysInOrder> {
        (!self.keys.as_slice().is_empty()).then(|| self.keys.clone())
    }

    /// Notes that so many more keys are done with, but for some of them that are due again: these
    /// come first. With the last of the keys a search says whether there are others.
    pub(super) fn pass(&mut self, count: usize, again: Vec<TriggerKey>) {
        let KeysInOrder { all, done } = &mut self.keys;
        *done = done.saturating_add(count).min(all.len());
        let first = done.saturating_sub(again.len());
        if let Some(places) = Arc::make_mut(all).get_mut(first..*done).filter(|places| !places.is_empty()) {
            places.iter_mut().zip(again).for_each(|(place, key)| *place = key);
            *done = first;
        }
        self.is_there = !self.keys.as_slice().is_empty();
    }

    /// Lets the keys grow old soon: a trigger that was not to be taken may be due now.
    pub(super) fn hurry(&mut self, now: Duration) {
        let soon = now.saturating_add(self.took.saturating_mul(WORTH_IN_A_HURRY).max(AT_LEAST));
        self.until = self.until.map(|until| until.min(soon));
    }

    /// Notes whether a search has brought as many as were asked for.
    pub(super) fn note_search(&mut self, is_full: bool) {
        self.is_there = is_full;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(count: usize) -> Vec<TriggerKey> {
        (0..count).map(|at| TriggerKey::named(at.to_string())).collect()
    }

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_long_list_counts_for_as_long_as_it_is_worth_and_is_followed_by_a_search() {
        let mut backlog = Backlog::default();
        assert!(!backlog.is_wanted(at(0)), "nothing says that there is a backlog");
        backlog.note_search(true);
        assert!(backlog.is_wanted(at(0)));
        backlog.fill(keys(80), (at(0), at(100)), 2);
        assert!(!backlog.is_wanted(at(100)));
        let left = |backlog: &Backlog| -> Vec<String> {
            backlog.keys().unwrap().as_slice().iter().map(|key| key.name().to_owned()).collect()
        };
        backlog.pass(3, Vec::new());
        assert_eq!((left(&backlog).len(), &*left(&backlog)[0]), (77, "3"));
        backlog.pass(3, vec![TriggerKey::named("4")]);
        assert_eq!((left(&backlog).len(), &left(&backlog)[..2]), (75, &["4".to_owned(), "6".to_owned()][..]));
        assert!(!backlog.is_wanted(at(2_099)));
        assert!(backlog.is_wanted(at(2_100)), "it is old, and there is more");
        assert!(backlog.keys().is_none());
        backlog.fill(keys(80), (at(2_100), at(2_101)), 2);
        backlog.hurry(at(2_101));
        assert!(!backlog.is_wanted(at(2_300)));
        backlog.pass(80, Vec::new());
        assert!(!backlog.is_wanted(at(2_102)), "a search comes first");
        backlog.note_search(true);
        assert!(backlog.is_wanted(at(2_103)), "the next list may be as long");
    }

    #[test]
    fn a_short_list_is_no_better_than_a_search_and_is_not_looked_for_again_at_once() {
        let mut backlog = Backlog::default();
        backlog.note_search(true);
        assert!(backlog.is_wanted(at(0)));
        backlog.fill(keys(79), (at(0), at(1)), 2);
        assert!(backlog.keys().is_none());
        assert!(!backlog.is_wanted(at(200)));
        assert!(backlog.is_wanted(at(201)));
    }
}
