//! `HeldConnection`: whose a connection is: ours, one that the caller's pool has lent, or the
//! caller's own.

use diesel::connection::{AnsiTransactionManager, Connection, TransactionManager, TransactionManagerStatus};
use diesel::r2d2::{ConnectionManager, PooledConnection, R2D2Connection};
use std::ops::{Deref, DerefMut};

/// A connection that is ours, or of the caller's pool until this is dropped, or the caller's
/// own with a transaction of the caller's on it.
pub(super) enum HeldConnection<'c, C: R2D2Connection + 'static> {
    Own(C),
    OfCallersPool(PooledConnection<ConnectionManager<C>>),
    Callers(&'c mut C),
}

impl<C> HeldConnection<'_, C>
where
    C: R2D2Connection + Connection<TransactionManager = AnsiTransactionManager> + 'static,
{
    pub(super) fn is_of_callers_pool(&self) -> bool {
        matches!(self, HeldConnection::OfCallersPool(_))
    }

    pub(super) fn is_callers(&self) -> bool {
        matches!(self, HeldConnection::Callers(_))
    }

    /// Makes the caller's pool throw the connection away when it comes back.
    pub(super) fn spoil(&mut self) {
        if let HeldConnection::OfCallersPool(connection) = self {
            *AnsiTransactionManager::transaction_manager_status_mut(&mut **connection) =
                TransactionManagerStatus::InError;
        }
    }
}

impl<C: R2D2Connection + 'static> Deref for HeldConnection<'_, C> {
    type Target = C;

    fn deref(&self) -> &C {
        match self {
            HeldConnection::Own(connection) => connection,
            HeldConnection::OfCallersPool(connection) => connection,
            HeldConnection::Callers(connection) => connection,
        }
    }
}

impl<C: R2D2Connection + 'static> DerefMut for HeldConnection<'_, C> {
    fn deref_mut(&mut self) -> &mut C {
        match self {
            HeldConnection::Own(connection) => connection,
            HeldConnection::OfCallersPool(connection) => connection,
            HeldConnection::Callers(connection) => connection,
        }
    }
}
