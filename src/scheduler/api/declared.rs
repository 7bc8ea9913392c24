//! Declared jobs: the store is brought to what the program declares.

use super::handle::Scheduler;
use crate::error::Result;
use crate::job::JobDefinition;
use crate::listener::lifecycle_log;
use crate::store::{DefinitionReport, OrphanedDefinitions};

impl Scheduler {
    /// Stores what is missing of the jobs that the program defines (see [`JobDefinition`]), and
    /// what has changed, all or nothing; says what was inserted, updated, left alone and why, and
    /// which jobs it does not define any more (`carnelian.definitions.orphaned` says what is done
    /// with those).
    ///
    /// The start does the same for those of them that are to be registered then. Nodes that start
    /// at once do not disturb each other; one that finds everything stored takes no lock.
    ///
    /// # Errors
    /// [`Error::Refused`](crate::Error::Refused) for a job that another source defines
    /// (`carnelian.definitions.source`), for keys that are given twice, and what can go wrong with
    /// the store. Nothing is stored then.
    pub fn sync_definitions(&self) -> Result<DefinitionReport> {
        self.sync_some(|_| true, false)
    }

    /// A report of what [`Scheduler::sync_definitions`] would do. Nothing is stored.
    ///
    /// # Errors
    /// As [`Scheduler::sync_definitions`].
    pub fn preview_definitions(&self) -> Result<DefinitionReport> {
        self.sync_some(|_| true, true)
    }

    /// Stores the declared jobs that are to be registered at the start.
    pub(crate) fn register_definitions(&self) -> Result<()> {
        if self.inner.declared.is_empty() {
            return Ok(());
        }
        self.sync_some(|definition| definition.auto_register, false).map(drop)
    }

    fn sync_some(&self, meant: impl Fn(&JobDefinition) -> bool, plan_only: bool) -> Result<DefinitionReport> {
        let settings = &self.inner.node.settings.definitions;
        let orphaned = if settings.delete_orphaned { OrphanedDefinitions::Delete } else { OrphanedDefinitions::Report };
        let declared = &self.inner.declared;
        let report =
            self.open_store()?.catalogue().sync_definitions(&settings.source, declared, &meant, orphaned, plan_only)?;
        if plan_only {
            return Ok(report);
        }
        lifecycle_log::definitions_synced(&settings.source, &report);
        if !report.changed_nothing() {
            self.wake();
        }
        let is_stored = |definition: &&JobDefinition| {
            let key = &definition.job.key;
            report.inserted.contains(key) || report.updated.contains(key)
        };
        for definition in declared.iter().filter(is_stored) {
            self.tell("job_added", |listener| listener.job_added(&definition.job));
        }
        for key in &report.deleted {
            self.tell("job_deleted", |listener| listener.job_deleted(key));
        }
        self.name_unknown_types(declared.iter().filter(|definition| meant(definition)).map(|one| &one.job));
        Ok(report)
    }
}
