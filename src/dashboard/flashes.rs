//! Flashes: what actions have done, each kept until its person sees the next page.

use super::layout::Flash;
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// The most that are kept.
const MOST: usize = 100;

/// By the tokens of the sessions.
#[derive(Default)]
pub(super) struct Flashes(Mutex<BTreeMap<String, Flash>>);

impl Flashes {
    pub(super) fn put(&self, token: &str, flash: Flash) {
        let mut flashes = self.0.lock();
        // The tokens are random: this takes any one of them.
        if flashes.len() >= MOST && !flashes.contains_key(token) {
            flashes.pop_first();
        }
        flashes.insert(token.to_owned(), flash);
    }

    pub(super) fn take(&self, token: &str) -> Option<Flash> {
        self.0.lock().remove(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_too_many_costs_one_word() {
        let flashes = Flashes::default();
        let put = |n: &usize| flashes.put(&n.to_string(), Flash { text: String::new(), is_error: false, undo: None });
        (0..=MOST).for_each(|n| put(&n));
        assert_eq!((0..=MOST).filter(|n| flashes.take(&n.to_string()).is_some()).count(), MOST);
    }
}
