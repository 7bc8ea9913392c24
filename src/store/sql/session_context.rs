//! `SessionContext`: what all sessions of one database share.

use super::backend::Backend;
#[cfg(any(test, feature = "test-util"))]
use super::plans::Plans;
use super::sql_options::SqlOptions;
use crate::clock::Clock;
use crate::settings::LockForm;
use crate::store::database::Fences;
#[cfg(any(test, feature = "test-util"))]
use crate::store::faults::FaultPlan;
use std::sync::{Arc, OnceLock};

pub(super) struct SessionContext {
    pub options: SqlOptions,
    pub clock: Arc<dyn Clock>,
    pub fences: Fences,
    /// True if the server can pass over locked rows, once it was asked.
    pub passes_over_locked: OnceLock<bool>,
    /// True if locks are written, once that is known.
    pub writes_locks: OnceLock<bool>,
    #[cfg(any(test, feature = "test-util"))]
    pub faults: FaultPlan,
    #[cfg(any(test, feature = "test-util"))]
    pub plans: Plans,
}

impl SessionContext {
    /// Tells whether locks are written; none where the server has to be asked first.
    pub(super) fn writes_locks(&self) -> Option<bool> {
        self.writes_locks.get().copied()
    }

    pub(super) fn new(options: SqlOptions, clock: Arc<dyn Clock>, backend: Backend) -> Self {
        let writes_locks = match (options.lock_form, backend) {
            (LockForm::Auto, Backend::Mysql) => OnceLock::new(),
            (form, backend) => OnceLock::from(form == LockForm::Written && backend != Backend::Sqlite),
        };
        Self {
            options,
            clock,
            fences: Fences::default(),
            passes_over_locked: OnceLock::new(),
            writes_locks,
            #[cfg(any(test, feature = "test-util"))]
            faults: FaultPlan::default(),
            #[cfg(any(test, feature = "test-util"))]
            plans: Plans::default(),
        }
    }
}
