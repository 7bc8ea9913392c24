//! Diagnosis, as a program sees it: the words of the command line `doctor`, `explain` and `check`.

use super::handle::Scheduler;
use crate::error::Result;
use crate::key::TriggerKey;
use crate::store::{CheckBounds, CheckReport, Explanation, Finding, Repair};

impl Scheduler {
    /// Everything that is not as it should be: missing tables and indexes, rows that cannot be
    /// read, stuck states, silent nodes, overdue work, orphans, parked work, clocks that are off.
    /// `carnelian doctor` says the same. Reads every row, in pages and without a lock.
    ///
    /// ```
    /// let scheduler = carnelian::Scheduler::builder().build()?;
    /// assert_eq!(scheduler.doctor()?, []);
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    ///
    /// # Errors
    /// What can go wrong with the store; missing tables are a finding.
    pub fn doctor(&self) -> Result<Vec<Finding>> {
        self.store().diagnosis().doctor(false)
    }

    /// As [`Scheduler::doctor`], and checks every invariant of the store: `doctor --invariants`.
    ///
    /// # Errors
    /// As [`Scheduler::doctor`].
    pub fn doctor_with_invariants(&self) -> Result<Vec<Finding>> {
        self.store().diagnosis().doctor(true)
    }

    /// Mends every finding that is [repairable](Finding::is_repairable), and returns what was done:
    /// `doctor --repair`. The repair does what running nodes do; a missing index is made while
    /// nobody can write into its table.
    ///
    /// ```
    /// let scheduler = carnelian::Scheduler::builder().build()?;
    /// for done in scheduler.repair()? {
    ///     println!("{} {}: {}", done.kind, done.subject, done.detail);
    /// }
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    ///
    /// # Errors
    /// What can go wrong with the store. Repairs that were done before stay done.
    pub fn repair(&self) -> Result<Vec<Repair>> {
        let done = self.open_store()?.diagnosis().repair()?;
        if !done.is_empty() {
            self.wake();
        }
        Ok(done)
    }

    /// Why a trigger is not running right now, or when and where it will: `carnelian explain`.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) without the trigger; what can go wrong with the
    /// store.
    pub fn explain(&self, key: &TriggerKey) -> Result<Explanation> {
        self.store().diagnosis().explain(key)
    }

    /// The state of the cluster against bounds, for a monitor: `carnelian check`. The database
    /// alone answers, also with no node alive.
    ///
    /// # Errors
    /// What can go wrong with the store.
    pub fn check(&self, bounds: &CheckBounds) -> Result<CheckReport> {
        self.store().diagnosis().check(bounds)
    }
}
