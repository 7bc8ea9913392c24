//! `HeldRows`: the fired rows that transactions of callers hold, for tests.

use parking_lot::Mutex;
use std::collections::BTreeSet;

/// The ids of fires whose rows somebody holds.
#[derive(Debug, Default)]
pub(super) struct HeldRows(Mutex<BTreeSet<String>>);

impl HeldRows {
    pub(super) fn has(&self, id: &str) -> bool {
        self.0.lock().contains(id)
    }

    pub(super) fn add(&self, id: &str) {
        self.0.lock().insert(id.to_owned());
    }

    pub(super) fn remove(&self, id: &str) {
        self.0.lock().remove(id);
    }
}
