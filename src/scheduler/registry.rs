//! `Registry`: the job types this program can run, by name.

use super::job::Job;
use crate::error::{Error, Result};
use crate::key::check_text;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Job types and their code; types are added, never taken away.
#[derive(Default)]
pub(crate) struct Registry {
    types: RwLock<BTreeMap<String, Arc<dyn Job>>>,
    names: RwLock<Arc<[String]>>,
}

impl Registry {
    /// Adds a type, or replaces its code for the runs to come.
    pub(crate) fn register(&self, job_type: impl Into<String>, job: Arc<dyn Job>) -> Result<()> {
        let job_type = job_type.into();
        check_text("job type", &job_type, 250)?;
        if job_type.is_empty() {
            return Err(Error::invalid("job type", "", "expected a name"));
        }
        let mut types = self.types.write();
        types.insert(job_type, job);
        *self.names.write() = types.keys().cloned().collect();
        Ok(())
    }

    /// The code of a type.
    pub(crate) fn job(&self, job_type: &str) -> Option<Arc<dyn Job>> {
        self.types.read().get(job_type).cloned()
    }

    /// The names of all types, in order.
    pub(crate) fn names(&self) -> Arc<[String]> {
        Arc::clone(&self.names.read())
    }
}
