//! Orphans: jobs that no living node can run.
//!
//! Nodes publish their types when they register, so a missing one is seen before a job of it is
//! due. An orphan is told only if every living node says which types it has: a node of Quartz does
//! not, and may have any type.

use super::JobTypes;
use crate::epoch::{millis, moment};
use crate::error::{Error, Result};
use crate::hash::HashMap;
use crate::key::JobKey;
use crate::store::row::{JobSelection, OrphanRow, TriggerSelection, UnknownJobRow};
use crate::store::{Lock, Session, TxMode};
use chrono::{DateTime, Utc};
use std::collections::BTreeSet;
use std::time::Duration;

/// The most orphans that one search finds.
const LIMIT: usize = 10_000;

/// The most orphans that are read at a time for a page.
const PAGE: usize = 500;

/// The orphans that a page is to have, in order of group and name.
#[derive(Clone, Debug, Default)]
pub struct OrphanQuery {
    /// Only jobs of this type.
    pub job_type: Option<String>,
    /// Only those that have been orphans for so long.
    pub older_than: Duration,
    /// Only jobs behind this one.
    pub after: Option<JobKey>,
    /// At most so many.
    pub limit: Option<usize>,
}

impl OrphanQuery {
    fn takes(&self, orphan: &Orphan, now: DateTime<Utc>) -> bool {
        orphan.age(now) >= self.older_than && self.job_type.as_ref().is_none_or(|wanted| orphan.job_type == *wanted)
    }
}

/// A job that no living node can run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Orphan {
    /// The job.
    pub job: JobKey,
    /// The type, which no living node has.
    pub job_type: String,
    /// The version of its data; if nodes have the type, none reads data so late.
    pub version: u32,
    /// The latest version of its type that a living node reads; none if no node has the type.
    pub known_version: Option<u32>,
    /// The number of its triggers.
    pub triggers: usize,
    /// The time at which the job would be due next.
    pub next_fire_time: Option<DateTime<Utc>>,
    /// Since when it is known to be one; none if it was not noted yet.
    pub since: Option<DateTime<Utc>>,
}

impl Orphan {
    /// The job of a row: the latest version of its type that is known, and since when it is noted.
    fn of(row: UnknownJobRow, known: Option<i64>, noted: Option<&OrphanRow>) -> Self {
        let version = |version| u32::try_from(version).unwrap_or(u32::MAX);
        let noted = noted.filter(|noted| noted.job_type == row.job_type);
        Self {
            version: version(row.version),
            known_version: known.map(version),
            triggers: usize::try_from(row.triggers).unwrap_or(0),
            next_fire_time: row.next_ms.map(moment),
            since: noted.map(|noted| moment(noted.since_ms)),
            job: row.job,
            job_type: row.job_type,
        }
    }

    /// The time for which it is known to be one; zero if it was not noted yet.
    pub fn age(&self, now: DateTime<Utc>) -> Duration {
        self.since.and_then(|since| (now - since).to_std().ok()).unwrap_or_default()
    }

    /// Why no node runs it, for people.
    pub fn reason(&self) -> String {
        match self.known_version {
            None => format!("no live node has job type `{}`", self.job_type),
            Some(known) => format!(
                "its data are of version {}, and no live node reads a later version of job type `{}` than {known}",
                self.version, self.job_type
            ),
        }
    }
}

/// The result of a search for orphans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Orphans {
    /// The jobs that no living node can run, in order of their keys; at most 10,000.
    pub jobs: Vec<Orphan>,
    /// The living nodes that do not say what they can run: nodes of Quartz, and of versions before
    /// job types were published. A silent node may have any type, so nothing is called an orphan
    /// while there is one.
    pub silent: Vec<String>,
    /// The number of living nodes. With none, nothing is called an orphan either: nobody knows who
    /// would come back.
    pub nodes: usize,
    /// The store's time.
    pub now: DateTime<Utc>,
}

impl Orphans {
    /// Why nothing could be called an orphan; none if it could.
    pub fn blind_because(&self) -> Option<String> {
        match (self.nodes, self.silent.as_slice()) {
            (0, _) => Some("no node is alive: nobody says which job types there are".to_owned()),
            (_, []) => None,
            (_, silent) => Some(format!(
                "these nodes do not say which job types they have, and may have any: {} (of Quartz, or of an older version)",
                silent.join(", ")
            )),
        }
    }
}

impl JobTypes<'_> {
    /// The jobs that no living node can run. Reads every job of the scheduler.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn orphans(&self) -> Result<Orphans> {
        self.store.read("look for orphans", |s| self.orphans_in(s))
    }

    /// The job of this key, if no living node can run it. Reads this job only.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn orphan(&self, key: &JobKey) -> Result<Option<Orphan>> {
        self.store.read("look whether a job is an orphan", |s| {
            let nodes = self.living_nodes(s)?;
            let Some(job) = s.jobs(JobSelection::Keys(std::slice::from_ref(key)))?.pop() else { return Ok(None) };
            if !nodes.tell_all() {
                return Ok(None);
            }
            let version = s.job_versions(std::slice::from_ref(key))?.pop().map_or(1, |row| row.version);
            let known = nodes.types().get(&*job.job_type).copied();
            if known.is_some_and(|known| version <= known) {
                return Ok(None);
            }
            let triggers = s.triggers(TriggerSelection::OfJob(key))?;
            let noted = s.row::<OrphanRow>(key)?;
            let row = UnknownJobRow {
                job: job.key,
                job_type: job.job_type.to_string(),
                version,
                triggers: i64::try_from(triggers.len()).unwrap_or(i64::MAX),
                next_ms: triggers.iter().filter_map(|trigger| trigger.next_ms).min(),
            };
            Ok(Some(Orphan::of(row, known, noted.as_ref())))
        })
    }

    /// As [`JobTypes::orphans`], and notes since when each of them is one, for `--older-than` and
    /// `carnelian.jobStore.deleteUnresolvedAfter`. A job that somebody can run again is forgotten.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn note_orphans(&self) -> Result<Orphans> {
        let found = self.orphans()?;
        if found.blind_because().is_some() || !self.store.read("look for orphans", |s| is_news(s, &found))? {
            return Ok(found);
        }
        // Orphans that were noted are not noted again.
        self.store.at_least_once("note orphans", TxMode::Exclusive(Lock::StateAccess), |s| {
            s.lock(Lock::TriggerAccess)?;
            let mut found = self.orphans_in(s)?;
            if found.blind_because().is_none() {
                note(s, &mut found)?;
            }
            Ok(found)
        })
    }

    /// Deletes jobs that have been orphans for so long, with their triggers; returns them. Orphans
    /// that were not noted yet are noted, and stay unless `older_than` is zero. A job that runs
    /// stays.
    ///
    /// Nobody can register meanwhile, so that none is deleted which a node has come back for.
    ///
    /// # Errors
    /// [`Error::Refused`] while it cannot be told what is an orphan; what the database reports
    /// after the bounded retries.
    pub fn delete_orphans(&self, older_than: Duration) -> Result<Vec<Orphan>> {
        self.delete_orphans_of(None, older_than)
    }

    /// As [`JobTypes::delete_orphans`], of one job type only.
    ///
    /// # Errors
    /// As [`JobTypes::delete_orphans`].
    pub fn delete_orphans_of(&self, job_type: Option<&str>, older_than: Duration) -> Result<Vec<Orphan>> {
        let token = crate::store::transaction::random_hex()?;
        self.store.retrying(
            "delete orphans",
            TxMode::Exclusive(Lock::StateAccess),
            |s| {
                s.lock(Lock::TriggerAccess)?;
                let mut found = self.orphans_in(s)?;
                if let Some(why) = found.blind_because() {
                    return Err(Error::Refused(format!("orphans are not deleted: {why}")));
                }
                note(s, &mut found)?;
                let (now, mut deleted) = (found.now, Vec::new());
                for orphan in found.jobs {
                    let is_meant = job_type.is_none_or(|job_type| orphan.job_type == job_type);
                    if is_meant
                        && orphan.age(now) >= older_than
                        && s.executing_jobs(std::slice::from_ref(&orphan.job))?.is_empty()
                    {
                        self.store.catalogue().delete_jobs_in(s, std::slice::from_ref(&orphan.job))?;
                        deleted.push(orphan);
                    }
                }
                s.mark_commit(&token)?;
                Ok(deleted)
            },
            &mut |s, _| Ok(s.committed_ms(&token)?.is_some()),
        )
    }

    /// Jobs that no living node can run and that are due within this time: a cheap look, at the
    /// triggers due by then only.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn imminent_orphans(&self, within: Duration) -> Result<Vec<JobKey>> {
        self.store.read("look for orphans that are due", |s| {
            let nodes = self.living_nodes(s)?;
            if !nodes.tell_all() {
                return Ok(Vec::new());
            }
            let within_ms = millis(within);
            let before_ms = s.now_ms()?.saturating_add(within_ms);
            Ok(s.unknown_jobs(&nodes.types(), Some(before_ms), None, LIMIT)?.into_iter().map(|row| row.job).collect())
        })
    }

    /// A page of the orphans, and whether there are more behind it. Orphans that were not noted yet
    /// are noted, with all the others.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn orphan_page(&self, query: &OrphanQuery) -> Result<(Orphans, bool)> {
        let page = self.store.read("list orphans", |s| self.page_in(s, query))?;
        if page.0.jobs.iter().all(|orphan| orphan.since.is_some()) {
            return Ok(page);
        }
        self.note_orphans()?;
        self.store.read("list orphans", |s| self.page_in(s, query))
    }

    fn page_in(&self, s: &mut dyn Session, query: &OrphanQuery) -> Result<(Orphans, bool)> {
        let mut found = self.orphans_behind(s, query.after.as_ref(), PAGE)?;
        let (mut read, mut jobs) = (std::mem::take(&mut found.jobs), Vec::new());
        let is_full = |jobs: &Vec<Orphan>| query.limit.is_some_and(|limit| jobs.len() > limit);
        loop {
            let last = read.last().filter(|_| read.len() == PAGE).map(|orphan| orphan.job.clone());
            jobs.extend(read.into_iter().filter(|orphan| query.takes(orphan, found.now)));
            match last {
                Some(last) if !is_full(&jobs) => read = self.orphans_behind(s, Some(&last), PAGE)?.jobs,
                _ => break,
            }
        }
        let has_more = is_full(&jobs);
        jobs.truncate(query.limit.unwrap_or(usize::MAX));
        Ok((Orphans { jobs, ..found }, has_more))
    }

    fn orphans_in(&self, s: &mut dyn Session) -> Result<Orphans> {
        self.orphans_behind(s, None, LIMIT)
    }

    fn orphans_behind(&self, s: &mut dyn Session, behind: Option<&JobKey>, limit: usize) -> Result<Orphans> {
        let now_ms = s.now_ms()?;
        let nodes = self.living_nodes(s)?;
        let mut found = Orphans {
            jobs: Vec::new(),
            nodes: nodes.published.len() + nodes.silent.len(),
            silent: nodes.silent.clone(),
            now: moment(now_ms),
        };
        if !nodes.tell_all() {
            return Ok(found);
        }
        let types = nodes.types();
        let jobs = s.unknown_jobs(&types, None, behind, limit)?;
        let noted = match limit < LIMIT {
            true if jobs.is_empty() => Vec::new(),
            true => {
                let keys: Vec<JobKey> = jobs.iter().map(|row| row.job.clone()).collect();
                s.rows::<OrphanRow>().any_of(&["job"], &keys).list()?
            }
            false => s.rows::<OrphanRow>().list()?,
        };
        let noted: HashMap<JobKey, OrphanRow> = noted.into_iter().map(|row| (row.job.clone(), row)).collect();
        let orphan = |row: UnknownJobRow| {
            let (known, noted) = (types.get(&row.job_type).copied(), noted.get(&row.job));
            Orphan::of(row, known, noted)
        };
        found.jobs = jobs.into_iter().map(orphan).collect();
        Ok(found)
    }
}

/// True if there is an orphan that was not noted, or a note of a job that is no orphan.
fn is_news(s: &mut dyn Session, found: &Orphans) -> Result<bool> {
    let noted: BTreeSet<JobKey> = s.rows::<OrphanRow>().list()?.into_iter().map(|row| row.job).collect();
    Ok(found.jobs.iter().any(|orphan| orphan.since.is_none())
        || (found.jobs.len() < LIMIT && noted.len() != found.jobs.len()))
}

/// Notes what is new, and forgets what is over.
fn note(s: &mut dyn Session, found: &mut Orphans) -> Result<()> {
    let since_ms = found.now.timestamp_millis();
    let new: Vec<OrphanRow> = found
        .jobs
        .iter()
        .filter(|orphan| orphan.since.is_none())
        .map(|orphan| OrphanRow { job: orphan.job.clone(), job_type: orphan.job_type.clone(), since_ms })
        .collect();
    let mut over: BTreeSet<JobKey> = new.iter().map(|row| row.job.clone()).collect();
    if found.jobs.len() < LIMIT {
        let still: BTreeSet<&JobKey> = found.jobs.iter().map(|orphan| &orphan.job).collect();
        over.extend(s.rows::<OrphanRow>().list()?.into_iter().map(|row| row.job).filter(|job| !still.contains(job)));
    }
    s.delete_orphans(&over.into_iter().collect::<Vec<_>>())?;
    s.insert_all(&new)?;
    for orphan in &mut found.jobs {
        orphan.since.get_or_insert(found.now);
    }
    Ok(())
}
