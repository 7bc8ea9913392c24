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
        if flashes.len() >= MOST {
            flashes.clear();
        }
        flashes.insert(token.to_owned(), flash);
    }

    pub(super) fn take(&self, token: &str) -> Option<Flash> {
        self.0.lock().remove(token)
    }
}
