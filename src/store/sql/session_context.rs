//! `SessionContext`: what all sessions of one database share.

#[cfg(any(test, feature = "test-util"))]
use super::plans::Plans;
use super::sql_options::SqlOptions;
use crate::clock::Clock;
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
    #[cfg(any(test, feature = "test-util"))]
    pub faults: FaultPlan,
    #[cfg(any(test, feature = "test-util"))]
    pub plans: Plans,
}

impl SessionContext {
    pub(super) fn new(options: SqlOptions, clock: Arc<dyn Clock>) -> Self {
        Self {
            options,
            clock,
            fences: Fences::default(),
            passes_over_locked: OnceLock::new(),
            #[cfg(any(test, feature = "test-util"))]
            faults: FaultPlan::default(),
            #[cfg(any(test, feature = "test-util"))]
            plans: Plans::default(),
        }
    }
}
