//! `Once`: confirmations that count once, however often their form is sent.

use crate::error::Result;
use crate::random;
use parking_lot::Mutex;
use std::collections::VecDeque;

/// The most confirmations that are remembered.
const MOST: usize = 1_000;

/// The numbers of the confirmations that were given, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Once(Mutex<VecDeque<String>>);

impl Once {
    /// The number of a new confirmation.
    pub(super) fn number() -> Result<String> {
        random::hex()
    }

    /// Notes that a confirmation was given; false if it was before.
    pub(super) fn is_first(&self, number: &str) -> bool {
        let mut given = self.0.lock();
        if given.iter().any(|before| before == number) {
            return false;
        }
        if given.len() >= MOST {
            given.pop_front();
        }
        given.push_back(number.to_owned());
        true
    }
}
