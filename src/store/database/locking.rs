//! The locks of a cluster, and how a transaction begins with them.

use crate::words::words;

/// The two locks of a cluster, rows of the `LOCKS` table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lock {
    /// Guards registration and failure of nodes. Always taken before [`Lock::TriggerAccess`].
    StateAccess,
    /// Guards every change of triggers, jobs and fired rows.
    TriggerAccess,
}

words! {
    /// The name in `LOCK_NAME`.
    Lock { StateAccess = "STATE_ACCESS", TriggerAccess = "TRIGGER_ACCESS" }
}

/// The mode in which a transaction begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxMode {
    /// Reads only, each statement for itself: no transaction is around them, and what they see need
    /// not be one moment.
    Autocommit,
    /// Reads only: one moment on SQLite; elsewhere each statement sees what was committed before
    /// the statement began, with and without a transaction.
    ReadOnly,
    /// Writes rows that only their owner writes (the check-in), without a lock.
    OwnRows,
    /// Takes this lock as its first statement.
    Exclusive(Lock),
    /// Takes [`Lock::TriggerAccess`] for changes that claims ([`TxMode::Claiming`]) may happen
    /// beside: those that touch fires of their own, and triggers only by guarded writes. On a
    /// database that cannot tell these changes apart, the mode takes the lock itself.
    BesideClaims,
    /// One statement that is a transaction by itself, and takes the lock that it needs. If its
    /// answer is lost it may not even have begun, and still happen at any later time.
    SingleStatement,
    /// Shares [`Lock::TriggerAccess`] with others that claim due triggers by locking their rows. A
    /// transaction that takes the lock itself waits for the end of the claims, and the claims wait
    /// for its end.
    Claiming,
}

impl TxMode {
    /// Tells whether a transaction of this mode may write.
    pub fn may_write(self) -> bool {
        !matches!(self, TxMode::ReadOnly | TxMode::Autocommit)
    }

    /// The lock that a transaction which begins so holds, or has its share of.
    pub(in crate::store) fn lock(self) -> Option<Lock> {
        match self {
            TxMode::ReadOnly | TxMode::Autocommit | TxMode::OwnRows | TxMode::SingleStatement => None,
            TxMode::Exclusive(lock) => Some(lock),
            TxMode::BesideClaims | TxMode::Claiming => Some(Lock::TriggerAccess),
        }
    }

    /// The mode of a transaction that asks what became of one of this mode, and waits for its end.
    pub(in crate::store) fn to_ask(self) -> TxMode {
        match self {
            TxMode::BesideClaims | TxMode::Claiming => TxMode::Exclusive(Lock::TriggerAccess),
            other => other,
        }
    }
}
