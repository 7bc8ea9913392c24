//! Rules as benchmarks call them: they are no part of the public interface, but their speed is
//! measured from outside.

use super::acquisition::{self, Batch};
use super::prefetch::Room;
use crate::store::row::Candidate;
use std::collections::BTreeSet;

/// Orders candidates, earliest first, and picks a batch of at most `room`; returns how many were
/// picked.
pub fn acquisition(candidates: &mut [Candidate], now_ms: i64, room: usize) -> usize {
    candidates.sort_by(|a, b| acquisition::order(Default::default(), now_ms, &a.trigger, &b.trigger));
    let quarantined = BTreeSet::new();
    let mut batch = Batch::new(Room::of_workers(room), &quarantined);
    candidates.iter().filter(|candidate| batch.takes(candidate, false).is_ok()).count()
}
