//! Definitions in code: what the program says of its jobs is made true.

use super::Scheduler;
use crate::error::Result;
use crate::job::JobDefinition;
use crate::listener::log;
use crate::store::{DefinitionReport, OrphanedDefinitions};

impl Scheduler {
    /// Stores what is missing of the jobs that the program defines (see [`JobDefinition`]), and what has changed, all or
    /// nothing; says what was inserted, updated, left alone and why, and which jobs it does not define any more
    /// (`carnelian.definitions.orphaned` says what is done with those).
    ///
    /// The start does the same for those of them that are to be registered then. Nodes that start at once do not disturb
    /// each other; one that finds everything stored takes no lock.
    ///
    /// # Errors
    /// [`Error::Refused`](crate::Error::Refused) for a job that another source defines (`carnelian.definitions.source`), for
    /// keys that are given twice, and what can go wrong with the store. Nothing is stored then.
    pub fn sync_definitions(&self) -> Result<DefinitionReport> {
        self.sync_those(|_| true, false)
    }

    /// What [`Scheduler::sync_definitions`] would do. Nothing is stored.
    ///
    /// # Errors
    /// As [`Scheduler::sync_definitions`].
    pub fn preview_definitions(&self) -> Result<DefinitionReport> {
        self.sync_those(|_| true, true)
    }

    /// Those that are to be stored at the start.
    pub(super) fn register_definitions(&self) -> Result<()> {
        if self.inner.defined.is_empty() {
            return Ok(());
        }
        self.sync_those(|definition| definition.auto_register, false).map(drop)
    }

    fn sync_those(&self, meant: impl Fn(&JobDefinition) -> bool, plan_only: bool) -> Result<DefinitionReport> {
        let settings = &self.inner.node.settings.definitions;
        let orphaned = if settings.delete_orphaned { OrphanedDefinitions::Delete } else { OrphanedDefinitions::Report };
        let defined = &self.inner.defined;
        let report = self.open_store()?.catalogue().sync_some_definitions(
            &settings.source,
            defined,
            meant,
            orphaned,
            plan_only,
        )?;
        if plan_only {
            return Ok(report);
        }
        log::definitions_synced(&settings.source, &report);
        if !report.changed_nothing() {
            self.signal_change();
        }
        let is_stored = |definition: &&JobDefinition| {
            let key = &definition.job.key;
            report.inserted.contains(key) || report.updated.contains(key)
        };
        for definition in defined.iter().filter(is_stored) {
            self.tell("job_added", |listener| listener.job_added(&definition.job));
        }
        for key in &report.deleted {
            self.tell("job_deleted", |listener| listener.job_deleted(key));
        }
        Ok(report)
    }
}
