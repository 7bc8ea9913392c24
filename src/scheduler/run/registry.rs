//! `Registry`: the job types this program can run, by name.

use super::job::Job;
use super::job_error::JobError;
use super::job_type::JobType;
use crate::error::{Error, Result};
use crate::job::JobPolicy;
use crate::key::check_text;
use crate::store::{FireBundle, JobTypeInfo};
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Job types and their code, and the old names of some; types are added, never taken away.
#[derive(Default)]
pub(crate) struct Registry {
    types: RwLock<Types>,
    names: RwLock<Arc<[String]>>,
}

#[derive(Default)]
struct Types {
    types: BTreeMap<String, JobType>,
    /// Old names and what they stand for now.
    aliases: BTreeMap<String, String>,
}

impl Types {
    fn named(&self, name: &str) -> Option<&JobType> {
        self.types.get(name).or_else(|| self.types.get(self.aliases.get(name)?))
    }
}

impl Registry {
    /// Adds a type, or replaces its code for the runs to come.
    pub(crate) fn register(&self, name: impl Into<String>, job_type: JobType) -> Result<()> {
        let name = checked(name.into())?;
        job_type.check(&name)?;
        let mut types = self.types.write();
        types.aliases.remove(&name);
        let before = types.types.insert(name, job_type);
        self.set_names(&types);
        drop(types);
        // Code of the application, which may ask for the types.
        drop(before);
        Ok(())
    }

    /// Adds an old name of a type that is registered.
    pub(crate) fn alias(&self, old: impl Into<String>, new: &str) -> Result<()> {
        let old = checked(old.into())?;
        let mut types = self.types.write();
        if types.types.contains_key(&old) {
            return Err(Error::Refused(format!(
                "`{old}` cannot be an old name of job type `{new}`: it is registered as a type of its own"
            )));
        }
        if !types.types.contains_key(new) {
            let hint = ": register the type before its old names";
            return Err(Error::NotFound { what: "job type", key: new.to_owned(), hint });
        }
        types.aliases.insert(old, new.to_owned());
        self.set_names(&types);
        Ok(())
    }

    fn set_names(&self, types: &Types) {
        *self.names.write() = types.types.keys().chain(types.aliases.keys()).cloned().collect();
    }

    /// The code of a type, by its name or an old one.
    pub(crate) fn job(&self, name: &str) -> Option<Arc<dyn Job>> {
        self.types.read().named(name).map(|job_type| Arc::clone(&job_type.job))
    }

    /// A type, by its name or an old one.
    pub(crate) fn job_type(&self, name: &str) -> Option<JobType> {
        self.types.read().named(name).cloned()
    }

    /// All names under which jobs can be run, the old ones after the others.
    pub(crate) fn names(&self) -> Arc<[String]> {
        Arc::clone(&self.names.read())
    }

    /// The types as the store and other nodes are told of them.
    pub(crate) fn infos(&self) -> Vec<JobTypeInfo> {
        let types = self.types.read();
        let info = |name: &String, alias_of: Option<&String>| {
            let job_type = types.named(name)?;
            Some(JobTypeInfo {
                name: name.clone(),
                version: job_type.version(),
                alias_of: alias_of.cloned(),
                deprecated: job_type.instead().map(str::to_owned),
            })
        };
        let own = types.types.keys().filter_map(|name| info(name, None));
        own.chain(types.aliases.iter().filter_map(|(old, new)| info(old, Some(new)))).collect()
    }

    /// The policies of types that have one, by all names of the types.
    pub(crate) fn policies(&self) -> BTreeMap<String, JobPolicy> {
        let types = self.types.read();
        let names = types.types.keys().chain(types.aliases.keys());
        let named = names.filter_map(|name| Some((name.clone(), types.named(name)?.jobs_policy().clone())));
        named.filter(|(_, policy)| !policy.is_default()).collect()
    }

    /// True if [`Registry::bring_up`] has anything to do.
    pub(crate) fn needs_upgrade(&self, bundle: &FireBundle) -> bool {
        let Some(stored) = bundle.job.version else { return false };
        self.types.read().named(&bundle.job.job_type).is_some_and(|job_type| job_type.version() != stored)
    }

    /// Brings the data of a fire's job to the version that its code reads; says to which if they
    /// were of an earlier one.
    pub(crate) fn bring_up(&self, bundle: &mut FireBundle) -> Result<Option<u32>, JobError> {
        let Some(stored) = bundle.job.version else { return Ok(None) };
        let Some(job_type) = self.job_type(&bundle.job.job_type) else { return Ok(None) };
        if stored == job_type.version() {
            return Ok(None);
        }
        let mut data = bundle.job.data.clone();
        job_type.bring_up(stored, &mut data)?;
        bundle.job.data = data;
        bundle.job.version = Some(job_type.version());
        Ok(Some(job_type.version()))
    }
}

fn checked(name: String) -> Result<String> {
    check_text("job type", &name, 250)?;
    if name.is_empty() {
        return Err(Error::invalid("job type", "", "expected a name"));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing() -> JobType {
        JobType::new(|_: &mut crate::JobContext| Ok(()))
    }

    #[test]
    fn an_old_name_stands_for_its_type() {
        let registry = Registry::default();
        let error = registry.alias("old", "new").unwrap_err();
        assert_eq!(error.to_string(), "job type `new` does not exist: register the type before its old names");
        registry.register("new", nothing().upgrade(1, |_| Ok(()))).unwrap();
        registry.alias("old", "new").unwrap();
        assert_eq!(*registry.names(), ["new", "old"]);
        assert!(registry.job("old").is_some() && registry.job("older").is_none());
        let infos = registry.infos();
        assert_eq!((infos[1].alias_of.as_deref(), infos[1].version), (Some("new"), 2));
        assert!(registry.alias("new", "old").is_err(), "a type is no old name");
        // The old name becomes a type of its own.
        registry.register("old", nothing()).unwrap();
        assert_eq!(registry.infos().iter().map(|info| info.alias_of.clone()).collect::<Vec<_>>(), [None, None]);
    }
}
