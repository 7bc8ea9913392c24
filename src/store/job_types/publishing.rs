//! Published job types: the node sets its own, and reads those of the living nodes.

use super::JobTypes;
use crate::epoch::millis;
use crate::error::Result;
use crate::job::JobPolicy;
use crate::rules::failover::is_dead;
use crate::store::Session;
use crate::store::known_types::{JobTypeInfo, KnownTypes};
use crate::store::row::{InstanceRow, InstanceSelection, JobTypeRow, TypePolicyRow, TypeVersions};
use std::collections::{BTreeMap, BTreeSet};

impl JobTypes<'_> {
    /// Sets the job types that the node of this store can run. The node's next check-in publishes
    /// them.
    ///
    /// From then on the store gives the jobs that it stores the versions of these types, refuses
    /// new jobs of deprecated types, and takes no job whose data are of a later version than these
    /// types read. A node that never sets its types counts as a node that may have any type.
    pub fn set(&self, types: Vec<JobTypeInfo>) {
        self.set_with_policies(types, BTreeMap::new());
    }

    /// Sets the same, with the policies of some types: what holds for jobs of the type that say
    /// nothing else.
    pub fn set_with_policies(&self, types: Vec<JobTypeInfo>, policies: BTreeMap<String, JobPolicy>) {
        let mut known = self.node.types.write();
        *known = KnownTypes::new(types, known.generation + 1).with_policies(policies);
    }

    /// The policies of types, as the nodes that have the types last said.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn policies(&self) -> Result<BTreeMap<String, JobPolicy>> {
        self.store.read("read the policies of job types", |s| {
            let rows = s.rows::<TypePolicyRow>().list()?;
            Ok(rows.into_iter().filter_map(|row| Some((row.job_type, JobPolicy::decode(&row.policy).ok()?))).collect())
        })
    }

    /// Learns from the living nodes the versions of types, and which types are deprecated: for a
    /// program that stores jobs without a node. The latest version counts; a type is deprecated if
    /// all nodes that have it say so. Without this call such a program stores data of the first
    /// version, and knows nothing of deprecation. With `even_deprecated` the program ignores
    /// deprecation.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn learn(&self, even_deprecated: bool) -> Result<()> {
        let nodes = self.store.read("read the job types", |s| self.living_nodes(s))?;
        let mut types: BTreeMap<String, JobTypeInfo> = BTreeMap::new();
        for info in nodes.published.into_iter().flat_map(|(_, types)| types) {
            let known = types.entry(info.name.clone()).or_insert_with(|| info.clone());
            known.version = known.version.max(info.version);
            known.deprecated = known.deprecated.take().filter(|_| info.deprecated.is_some() && !even_deprecated);
        }
        let mut known = self.node.types.write();
        if known.generation == 0 {
            *known = KnownTypes::new(types.into_values().collect(), 0);
        }
        Ok(())
    }

    /// The job types of each living node, in order of the nodes' names; none for a node that does
    /// not publish any: a node of Quartz, or of an older version.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn published(&self) -> Result<Vec<(String, Option<Vec<JobTypeInfo>>)>> {
        let nodes = self.store.read("read the job types", |s| self.living_nodes(s))?;
        let silent = nodes.silent.into_iter().map(|name| (name, None));
        let mut all: Vec<_> =
            nodes.published.into_iter().map(|(name, types)| (name, Some(types))).chain(silent).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(all)
    }

    /// The types, of these, that no living node has; none while a living node does not say what it
    /// has.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn missing(&self, types: &BTreeSet<&str>) -> Result<BTreeSet<String>> {
        let nodes = self.store.read("read the job types", |s| self.living_nodes(s))?;
        if !nodes.silent.is_empty() {
            return Ok(BTreeSet::new());
        }
        let known = nodes.types();
        Ok(types.iter().filter(|name| !known.contains_key(**name)).map(|name| (*name).to_owned()).collect())
    }

    pub(super) fn living_nodes(&self, s: &mut dyn Session) -> Result<Nodes> {
        let now_ms = s.now_ms()?;
        let tolerance_ms = millis(self.store.tolerance());
        let lives = |row: &InstanceRow| !is_dead(row, tolerance_ms, now_ms);
        let mut types: BTreeMap<String, Vec<JobTypeInfo>> = BTreeMap::new();
        for row in s.job_types()? {
            let of_node = types.entry(row.instance.clone()).or_default();
            if !row.job_type.is_empty() {
                of_node.push(info(row));
            }
        }
        let mut nodes = Nodes::default();
        for instance in s.instances(InstanceSelection::All)?.into_iter().filter(lives) {
            match types.remove(&instance.name) {
                Some(types) if instance.incarnation.is_some() => nodes.published.push((instance.name, types)),
                _ => nodes.silent.push(instance.name),
            }
        }
        Ok(nodes)
    }
}

/// The living nodes.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    /// Nodes with the types that they publish.
    pub published: Vec<(String, Vec<JobTypeInfo>)>,
    /// Nodes that publish nothing.
    pub silent: Vec<String>,
}

impl Nodes {
    /// All published types, each in its latest version.
    pub(super) fn types(&self) -> TypeVersions {
        let mut types = TypeVersions::new();
        for info in self.published.iter().flat_map(|(_, types)| types) {
            let latest = types.entry(info.name.clone()).or_insert(1);
            *latest = (*latest).max(i64::from(info.version));
        }
        types
    }

    /// True if all living nodes publish their types, so that a type that nobody has can be told.
    pub(super) fn tell_all(&self) -> bool {
        self.silent.is_empty() && !self.published.is_empty()
    }
}

fn info(row: JobTypeRow) -> JobTypeInfo {
    JobTypeInfo {
        name: row.job_type,
        version: u32::try_from(row.version).unwrap_or(1),
        alias_of: row.alias_of,
        deprecated: row.deprecated,
    }
}
