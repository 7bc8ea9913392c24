//! Migration: the jobs of a type get another type, and their data the form that its code reads.

use super::JobTypes;
use crate::data_map::JobDataMap;
use crate::error::{Error, Result};
use crate::key::{JobKey, check_text};
use crate::store::Session;
use crate::store::action_log::Action;
use crate::store::firing::take_back_reservations;
use crate::store::row::{JobRow, JobSelection, JobVersionRow};
use std::collections::{BTreeMap, BTreeSet};

/// Brings data of the version that is given into the form of a later one, and returns that; the
/// error says why it cannot.
pub type Upgrade<'a> = dyn Fn(u32, &mut JobDataMap) -> std::result::Result<u32, String> + 'a;

/// The result of a migration of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Migrated {
    /// The jobs that were changed.
    pub changed: Vec<JobKey>,
    /// Jobs that are running, and were left as they are: migrate again when they have ended.
    pub running: Vec<JobKey>,
    /// Jobs that were left as they are since their data could not be read or upgraded, with the
    /// reason.
    pub failed: Vec<(JobKey, String)>,
}

impl JobTypes<'_> {
    /// Gives all jobs of type `from` the type `to`, which may be the same, and runs `upgrade` on
    /// their data; all in one transaction. Reservations of these jobs' triggers are given back, so
    /// that no node fires a type that it does not have.
    ///
    /// With `dry_run` nothing is changed, and the answer is what it would be.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a type that no table can hold; [`Error::Refused`] for one that is
    /// deprecated, or that a node of Quartz in the cluster could not load, and for upgraded data
    /// while there is such a node.
    pub fn migrate(&self, from: &str, to: &str, upgrade: Option<&Upgrade<'_>>, dry_run: bool) -> Result<Migrated> {
        check_text("job type", to, 250)?;
        if to.is_empty() {
            return Err(Error::invalid("job type", "", "expected the name the job's code is registered under"));
        }
        if from != to {
            self.node.types.read().check_not_deprecated(&format!("jobs of type `{from}`"), to)?;
        }
        let change = Change { from, to, upgrade };
        if dry_run {
            return self.store.read("look at jobs to be migrated", |s| Ok(self.plan(s, &change)?.migrated));
        }
        self.store.write("migrate jobs", |s| {
            let Plan { rows, versions, migrated } = self.plan(s, &change)?;
            if rows.is_empty() {
                return Ok(migrated);
            }
            take_back_reservations(s, &migrated.changed)?;
            rows.iter().try_for_each(|row| s.update_job(row))?;
            s.put_job_versions(&versions)?;
            s.delete_orphans(&migrated.changed)?;
            let detail = format!("type {from} to {to}");
            self.store.note_action(s, Action::new("migrate", "job").detail(&detail), &migrated.changed)?;
            Ok(migrated)
        })
    }

    fn plan(&self, s: &mut dyn Session, change: &Change<'_>) -> Result<Plan> {
        let keys: Vec<JobKey> = s
            .jobs(JobSelection::All)?
            .into_iter()
            .filter(|row| *row.job_type == *change.from)
            .map(|row| row.key)
            .collect();
        let running: BTreeSet<JobKey> = s.executing_jobs(&keys)?.into_iter().map(|(job, _)| job).collect();
        let versions: BTreeMap<JobKey, i64> =
            s.job_versions(&keys)?.into_iter().map(|row| (row.job, row.version)).collect();
        let mut plan = Plan::default();
        for key in keys {
            let Some(row) = s.job(&key)? else { continue };
            if running.contains(&key) {
                plan.migrated.running.push(key);
                continue;
            }
            let version = versions.get(&key).copied().unwrap_or(1);
            match self.changed(row, version, change) {
                Ok(None) => {}
                Ok(Some((row, version))) => {
                    plan.versions.push(JobVersionRow { job: key.clone(), job_type: row.job_type.to_string(), version });
                    plan.rows.push(row);
                    plan.migrated.changed.push(key);
                }
                Err(why) => plan.migrated.failed.push((key, why)),
            }
        }
        plan.versions.retain(|row| row.version > 1);
        self.store.catalogue().check_types_beside_quartz(s, &plan.rows)?;
        self.store.catalogue().check_versions_beside_quartz(s, &plan.versions)?;
        Ok(plan)
    }

    /// The job as it is to be, with the version of its data; none if nothing is to be changed.
    fn changed(
        &self,
        row: JobRow,
        version: i64,
        change: &Change<'_>,
    ) -> std::result::Result<Option<(JobRow, i64)>, String> {
        let mut changed = JobRow { job_type: change.to.into(), ..row };
        let mut reached = version;
        if let Some(upgrade) = change.upgrade {
            let mut data = self.store.job_detail(&changed).map_err(|error| error.to_string())?.data;
            let before = u32::try_from(version).unwrap_or(u32::MAX);
            let after = upgrade(before, &mut data)?;
            if after != before {
                changed.data = Some(self.store.encode_job_data(&data).map_err(|error| error.to_string())?);
                reached = i64::from(after);
            }
        }
        Ok((change.from != change.to || reached != version).then_some((changed, reached)))
    }
}

/// A change of types and data.
struct Change<'a> {
    from: &'a str,
    to: &'a str,
    upgrade: Option<&'a Upgrade<'a>>,
}

/// The rows of a migration.
#[derive(Default)]
struct Plan {
    rows: Vec<JobRow>,
    versions: Vec<JobVersionRow>,
    migrated: Migrated,
}
