//! `KnownTypes`: the job types of the node that a store belongs to, as far as the node has said.

use crate::error::{Error, Result};
use crate::job::{JobDetail, JobPolicy};
use crate::store::row::{JobTypeRow, JobVersionRow, TypePolicyRow, TypeVersions};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A name under which a node can run jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobTypeInfo {
    /// The name.
    pub name: String,
    /// The version of the data that its code reads; from 1.
    pub version: u32,
    /// The type that the name stands for, if it is another's old name.
    pub alias_of: Option<String>,
    /// Advice on what to use instead, if nothing new is to be stored with the type.
    pub deprecated: Option<String>,
}

/// The job types of a node.
#[derive(Debug, Default)]
pub(in crate::store) struct KnownTypes {
    types: BTreeMap<String, JobTypeInfo>,
    /// The policies of types that have one.
    policies: BTreeMap<String, JobPolicy>,
    reader: Arc<Reader>,
    /// The number of changes, which tells when to publish; 0 where a store has no node.
    pub(in crate::store) generation: u64,
}

/// The job types as acquisition needs them.
#[derive(Clone, Debug, Default)]
pub(in crate::store) struct Reader {
    /// The types with a version beyond the first, with that version.
    pub versions: TypeVersions,
    /// All types; none where a store has no node, or a node that said nothing of its types.
    pub names: Option<BTreeSet<String>>,
}

impl KnownTypes {
    /// Types of a node, or, with generation 0, types that a program without a node has learnt.
    pub(in crate::store) fn new(types: Vec<JobTypeInfo>, generation: u64) -> Self {
        let later = types.iter().filter(|info| info.version > 1);
        let versions = later.map(|info| (info.name.clone(), i64::from(info.version))).collect();
        let names = (generation > 0).then(|| types.iter().map(|info| info.name.clone()).collect());
        let types = types.into_iter().map(|info| (info.name.clone(), info)).collect();
        Self { types, policies: BTreeMap::new(), reader: Arc::new(Reader { versions, names }), generation }
    }

    /// Types of which some have policies.
    pub(in crate::store) fn with_policies(self, policies: BTreeMap<String, JobPolicy>) -> Self {
        Self { policies, ..self }
    }

    /// Gives a job what its own policy leaves open, as its type has it.
    pub(in crate::store) fn complete_policy(&self, job: &mut JobDetail) {
        if let Some(of_type) = self.policies.get(job.job_type()) {
            job.policy = job.policy().clone().or(of_type).boxed();
        }
    }

    /// The names of the types, and the rows of the policies of those that have one.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a policy that cannot be stored.
    pub(in crate::store) fn policy_rows(&self) -> Result<(Vec<String>, Vec<TypePolicyRow>)> {
        let row = |(job_type, policy): (&String, &JobPolicy)| {
            let policy = policy.encode().transpose()?;
            Some(policy.map(|policy| TypePolicyRow { job_type: job_type.clone(), policy }))
        };
        let rows = self.policies.iter().filter_map(row).collect::<Result<Vec<_>>>()?;
        Ok((self.types.keys().cloned().collect(), rows))
    }

    /// The types that acquisition may fire.
    pub(in crate::store) fn reader(&self) -> Arc<Reader> {
        Arc::clone(&self.reader)
    }

    /// The version of the data of a job that is stored now: its own, else that of its type.
    pub(in crate::store) fn version_of(&self, job: &JobDetail) -> i64 {
        let of_type = || self.types.get(job.job_type()).map_or(1, |info| info.version);
        i64::from(job.version.unwrap_or_else(of_type))
    }

    /// The version of the data of a stored job, where it was noted or makes a difference here.
    pub(in crate::store) fn noted_version(&self, job: &JobDetail, noted: &[JobVersionRow]) -> Option<u32> {
        let row = noted.iter().find(|row| row.job == job.key && row.job_type == job.job_type());
        match row {
            Some(row) => Some(u32::try_from(row.version).unwrap_or(u32::MAX)),
            None => self.reader.versions.contains_key(job.job_type()).then_some(1),
        }
    }

    /// True if any type of this node is deprecated.
    pub(in crate::store) fn has_deprecated(&self) -> bool {
        self.types.values().any(|info| info.deprecated.is_some())
    }

    /// Refuses a type that is deprecated here.
    pub(in crate::store) fn check_not_deprecated(&self, what: &str, job_type: &str) -> Result<()> {
        let Some(instead) = self.types.get(job_type).and_then(|info| info.deprecated.as_deref()) else {
            return Ok(());
        };
        Err(Error::Refused(format!(
            "{what}: job type `{job_type}` is deprecated: {instead}; what is stored of it still runs, nothing new is taken \
             unless it is forced (JobDetailBuilder::even_if_deprecated, `--force`)"
        )))
    }

    /// The rows in which an instance publishes its types, and their generation.
    pub(in crate::store) fn rows(&self, instance: &str) -> (Vec<JobTypeRow>, u64) {
        (self.types.values().map(|info| row(instance, info)).collect(), self.generation)
    }
}

impl Reader {
    /// True if jobs of the type may be fired.
    pub(in crate::store) fn has(&self, job_type: &str) -> bool {
        self.names.as_ref().is_none_or(|names| names.contains(job_type))
    }
}

fn row(instance: &str, info: &JobTypeInfo) -> JobTypeRow {
    JobTypeRow {
        instance: instance.to_owned(),
        ordinal: 0,
        job_type: info.name.clone(),
        version: i64::from(info.version),
        alias_of: info.alias_of.clone(),
        deprecated: info.deprecated.clone(),
    }
}
