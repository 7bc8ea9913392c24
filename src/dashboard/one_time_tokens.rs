//! `OneTimeTokens`: confirmations that count once, however often their form is sent.

use crate::error::Result;
use crate::random;
use parking_lot::Mutex;
use std::collections::VecDeque;

/// The most confirmations that are remembered.
const MOST: usize = 1_000;

/// The tokens of the confirmations that were given, the oldest first.
#[derive(Debug, Default)]
pub(super) struct OneTimeTokens(Mutex<VecDeque<String>>);

impl OneTimeTokens {
    /// The token of a new confirmation.
    pub(super) fn draw() -> Result<String> {
        random::hex()
    }

    /// Notes that a confirmation was given; false if it was before.
    pub(super) fn is_first(&self, token: &str) -> bool {
        let mut given = self.0.lock();
        if given.iter().any(|before| before == token) {
            return false;
        }
        if given.len() >= MOST {
            given.pop_front();
        }
        given.push_back(token.to_owned());
        true
    }
}
