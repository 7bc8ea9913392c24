//! `StoreMeters`: what a store counts of its transactions: waits for locks, and tries again.

use super::Lock;
use crate::error::FailureClass;
use crate::meter::{Counter, Histogram};

/// The meters of a store since it was made.
#[derive(Debug, Default)]
pub(crate) struct StoreMeters {
    state_access: Histogram,
    trigger_access: Histogram,
    retries: [Counter; FailureClass::ALL.len()],
}

impl StoreMeters {
    /// The times that transactions waited until they had a connection and this lock, which was
    /// their first.
    pub(crate) fn lock_wait(&self, lock: Lock) -> &Histogram {
        match lock {
            Lock::StateAccess => &self.state_access,
            Lock::TriggerAccess => &self.trigger_access,
        }
    }

    /// Notes that a transaction is tried again after such a failure.
    pub(super) fn note_retry(&self, class: Option<FailureClass>) {
        let known = FailureClass::ALL.into_iter().zip(&self.retries).find(|(known, _)| Some(*known) == class);
        if let Some((_, counter)) = known {
            counter.add(1);
        }
    }

    /// The numbers of transactions that were tried again, by the class of the failure.
    pub(crate) fn retries(&self) -> impl Iterator<Item = (FailureClass, u64)> + '_ {
        let counts = FailureClass::ALL.into_iter().zip(self.retries.iter().map(Counter::value));
        counts.filter(|(class, _)| class.is_transient())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every class that is tried again is counted under its name.
    #[test]
    fn no_transient_class_is_forgotten() {
        use FailureClass::*;
        for class in [
            Deadlock,
            Serialization,
            LockWait,
            Busy,
            ConnectionLost,
            CommitUnknown,
            Unavailable,
            InsufficientResources,
            UniqueViolation,
            InvalidData,
            Permanent,
        ] {
            let meters = StoreMeters::default();
            meters.note_retry(Some(class));
            let counted: u64 = meters.retries().map(|(_, count)| count).sum();
            assert_eq!(counted > 0, class.is_transient(), "{class:?}");
        }
    }
}
