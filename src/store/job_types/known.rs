//! What a store's node can run, and what the nodes of the cluster say of themselves.

use crate::error::{Error, Result};
use crate::job::JobDetail;
use crate::node::NodeRole;
use crate::rules::failover::{is_dead, millis};
use crate::store::row::{InstanceRow, JobTypeRow, JobVersionRow, TypeVersions};
use crate::store::{JobStore, Lock, Owner, Session, TxMode};
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
    /// What to use instead, if nothing new is to be stored with it.
    pub deprecated: Option<String>,
}

/// What a store knows of job types.
#[derive(Debug, Default)]
pub(in crate::store) struct Known {
    types: BTreeMap<String, JobTypeInfo>,
    reader: Arc<Reader>,
    /// Grows with each change, so that it is seen when something is to be published; 0 where a store has no node.
    generation: u64,
}

/// What acquisition asks of a node's types.
#[derive(Clone, Debug, Default)]
pub(in crate::store) struct Reader {
    /// The types with a version beyond the first, and that.
    pub versions: TypeVersions,
    /// All of them; none where a store has no node, or one that said nothing of its types.
    pub names: Option<BTreeSet<String>>,
}

impl Known {
    fn new(types: Vec<JobTypeInfo>, generation: u64) -> Self {
        let later = types.iter().filter(|info| info.version > 1);
        let versions = later.map(|info| (info.name.clone(), i64::from(info.version))).collect();
        let names = (generation > 0).then(|| types.iter().map(|info| info.name.clone()).collect());
        let types = types.into_iter().map(|info| (info.name.clone(), info)).collect();
        Self { types, reader: Arc::new(Reader { versions, names }), generation }
    }
}

impl Reader {
    /// Whether jobs of the type may be fired.
    pub(in crate::store) fn has(&self, job_type: &str) -> bool {
        self.names.as_ref().is_none_or(|names| names.contains(job_type))
    }
}

impl JobStore {
    /// The same store for a node of its own, which has not said yet what it can run and counts for itself.
    pub(crate) fn of_node(self) -> Self {
        Self { known: Arc::default(), meters: Arc::default(), placed: Arc::default(), together: Arc::default(), ..self }
    }

    /// Says what the node of this store can run: its next check-in publishes it.
    ///
    /// From then on the store gives the jobs it stores the versions of these types, refuses new ones of deprecated types,
    /// and takes no job whose data are of a later version than these types read. A node that never says anything counts as
    /// one that may have any type.
    pub fn set_job_types(&self, types: Vec<JobTypeInfo>) {
        let mut known = self.known.write();
        *known = Known::new(types, known.generation + 1);
    }

    /// Learns from the living nodes what versions types have, and which are deprecated: for a program that stores jobs
    /// without a node. The latest version counts; a type is deprecated if all who have it say so. Without this call such a
    /// program stores data of the first version, and knows nothing of deprecation. With `even_deprecated` it does not heed
    /// that.
    ///
    /// # Errors
    /// What the database reports after the bounded retries.
    pub fn learn_job_types(&self, even_deprecated: bool) -> Result<()> {
        let nodes = self.read("read the job types", |s| self.look_at_nodes(s))?;
        let mut types: BTreeMap<String, JobTypeInfo> = BTreeMap::new();
        for info in nodes.published.into_iter().flat_map(|(_, types)| types) {
            let known = types.entry(info.name.clone()).or_insert_with(|| info.clone());
            known.version = known.version.max(info.version);
            known.deprecated = known.deprecated.take().filter(|_| info.deprecated.is_some() && !even_deprecated);
        }
        let mut known = self.known.write();
        if known.generation == 0 {
            *known = Known::new(types.into_values().collect(), 0);
        }
        Ok(())
    }

    /// What each living node can run, in order of their names; none for one that does not say: a node of Quartz, or of an
    /// older version.
    ///
    /// # Errors
    /// What the database reports after the bounded retries.
    pub fn published_job_types(&self) -> Result<Vec<(String, Option<Vec<JobTypeInfo>>)>> {
        let nodes = self.read("read the job types", |s| self.look_at_nodes(s))?;
        let silent = nodes.silent.into_iter().map(|name| (name, None));
        let mut all: Vec<_> =
            nodes.published.into_iter().map(|(name, types)| (name, Some(types))).chain(silent).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(all)
    }

    pub(super) fn look_at_nodes(&self, s: &mut dyn Session) -> Result<Nodes> {
        let now_ms = s.now_ms()?;
        let tolerance_ms = millis(self.tolerance());
        let lives = |row: &InstanceRow| !is_dead(row.last_checkin_ms, row.checkin_interval_ms, 0, tolerance_ms, now_ms);
        let mut types: BTreeMap<String, Vec<JobTypeInfo>> = BTreeMap::new();
        for row in s.job_types()? {
            let of_node = types.entry(row.instance.clone()).or_default();
            if !row.job_type.is_empty() {
                of_node.push(info(row));
            }
        }
        let mut nodes = Nodes::default();
        for instance in s.instances()?.into_iter().filter(lives) {
            match types.remove(&instance.name) {
                Some(types) if instance.incarnation.is_some() => nodes.published.push((instance.name, types)),
                _ => nodes.silent.push(instance.name),
            }
        }
        Ok(nodes)
    }

    /// What acquisition asks of this node's types.
    pub(in crate::store) fn reader(&self) -> Arc<Reader> {
        Arc::clone(&self.known.read().reader)
    }

    pub(in crate::store) fn types_generation(&self) -> u64 {
        self.known.read().generation
    }

    /// Publishes what the node has said, within its registration; returns which generation of it.
    pub(in crate::store) fn publish_in(&self, s: &mut dyn Session, instance: &str) -> Result<u64> {
        let (mut rows, generation) = {
            let known = self.known.read();
            (known.types.values().map(|info| row(instance, info)).collect::<Vec<_>>(), known.generation)
        };
        let observes = self.identity(instance).role == NodeRole::Observer;
        if observes {
            rows.clear(); // whatever it has, it runs none of it
        }
        match (generation, rows.as_slice()) {
            (0, _) if !observes => {}
            // Nothing is something too: silence would mean "anything".
            (_, []) => s.put_job_types(instance, &[nothing(instance)])?,
            (_, rows) => s.put_job_types(instance, rows)?,
        }
        Ok(generation)
    }

    /// Publishes again what has changed since the node registered; none if it is not registered any more.
    pub(in crate::store) fn publish(&self, owner: &Owner) -> Result<Option<u64>> {
        self.retrying(
            "publish job types",
            TxMode::Exclusive(Lock::StateAccess),
            |s| match s.draw_fences(Some(owner), 0)? {
                Some(_) => self.publish_in(s, &owner.instance).map(Some),
                None => Ok(None),
            },
            &mut |_, _| Ok(false), // once more does no harm
        )
    }

    /// The version of the data of a job that is stored now: its own, else that of its type.
    pub(in crate::store) fn version_of(&self, job: &JobDetail) -> i64 {
        let of_type = || self.known.read().types.get(&job.job_type).map_or(1, |info| info.version);
        i64::from(job.version.unwrap_or_else(of_type))
    }

    /// The version of the data of a stored job, where it was noted or makes a difference here.
    pub(in crate::store) fn noted_version(&self, job: &JobDetail, noted: &[JobVersionRow]) -> Option<u32> {
        let row = noted.iter().find(|row| row.job == job.key && row.job_type == job.job_type);
        match row {
            Some(row) => Some(u32::try_from(row.version).unwrap_or(u32::MAX)),
            None => self.known.read().reader.versions.contains_key(&job.job_type).then_some(1),
        }
    }

    /// Refuses a type that is deprecated here.
    /// Whether any type of this node is deprecated.
    pub(in crate::store) fn knows_deprecated_types(&self) -> bool {
        self.known.read().types.values().any(|info| info.deprecated.is_some())
    }

    pub(in crate::store) fn check_not_deprecated(&self, what: &str, job_type: &str) -> Result<()> {
        let known = self.known.read();
        let Some(instead) = known.types.get(job_type).and_then(|info| info.deprecated.as_deref()) else {
            return Ok(());
        };
        Err(Error::Refused(format!(
            "{what}: job type `{job_type}` is deprecated: {instead}; what is stored of it still runs, nothing new is taken \
             unless it is forced (JobDetailBuilder::even_if_deprecated, `--force`)"
        )))
    }
}

/// The living nodes.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    /// Those that say what they can run.
    pub published: Vec<(String, Vec<JobTypeInfo>)>,
    /// Those that do not.
    pub silent: Vec<String>,
}

impl Nodes {
    /// All types that somebody says to have, each in its latest version.
    pub(super) fn types(&self) -> TypeVersions {
        let mut types = TypeVersions::new();
        for info in self.published.iter().flat_map(|(_, types)| types) {
            let latest = types.entry(info.name.clone()).or_insert(1);
            *latest = (*latest).max(i64::from(info.version));
        }
        types
    }

    /// Whether it can be told that nobody has a type.
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

fn nothing(instance: &str) -> JobTypeRow {
    JobTypeRow {
        instance: instance.to_owned(),
        ordinal: 0,
        job_type: String::new(),
        version: 1,
        alias_of: None,
        deprecated: None,
    }
}
