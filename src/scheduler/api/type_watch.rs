//! `TypeWatch`: which job types that this node lacks a living node has, as the store said last.

use crate::hash::HashMap;
use parking_lot::Mutex;
use std::time::Duration;

/// The time for which an answer of the store holds: nodes come and go no faster than they check in.
const HOLDS: Duration = Duration::from_secs(15);

/// Most types that are remembered.
const MOST_TYPES: usize = 1_000;

/// The types that this node lacks, with the answer of the store and when it was given, in ticks.
#[derive(Default)]
pub(crate) struct TypeWatch {
    answers: Mutex<HashMap<String, (bool, Duration)>>,
}

impl TypeWatch {
    /// True if a living node has the type, by an answer that still holds.
    pub(super) fn known(&self, job_type: &str, now: Duration) -> Option<bool> {
        let answers = self.answers.lock();
        let (is_there, given) = answers.get(job_type)?;
        (now.saturating_sub(*given) < HOLDS).then_some(*is_there)
    }

    pub(super) fn remember(&self, job_type: &str, is_there: bool, now: Duration) {
        let mut answers = self.answers.lock();
        if answers.len() >= MOST_TYPES {
            answers.clear();
        }
        answers.insert(job_type.to_owned(), (is_there, now));
    }
}
