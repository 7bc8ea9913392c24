//! Import: the jobs and triggers of a job file, and what it deletes before, in one transaction.

use super::Catalogue;
use super::if_stored::IfStored;
use super::scheduling::no_calendar;
use crate::calendar::Calendar;
use crate::error::{Error, Result};
use crate::hash::HashMap;
use crate::job::JobDetail;
use crate::job_file::plan::{Plan, Stored, Unfit, doomed, plan};
use crate::job_file::{FileJob, FileTrigger, JobFile, Start};
use crate::key::{FOLLOWING_GROUP, JobKey, TriggerKey, distinct};
use crate::rules::strategy::may_be_tick;
use crate::store::Session;
use crate::store::calendars::Calendars;
use crate::store::firing::{delete_idle, drop_submitted, submitted_after};
use crate::store::row::{JobRow, JobSelection, TriggerRow, TriggerSelection};
use crate::trigger::Trigger;
use std::collections::{BTreeMap, BTreeSet};

/// The most excluded fire times that are passed over.
const MOST_EXCLUDED: usize = 100_000;

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Imported {
    /// The jobs that the file's commands deleted.
    pub deleted_jobs: Vec<JobKey>,
    /// The triggers that the file's commands deleted, without those of deleted jobs.
    pub deleted_triggers: Vec<TriggerKey>,
    /// The jobs that were stored, new or in the place of others.
    pub jobs: Vec<JobDetail>,
    /// The triggers that were stored, with their first fire times.
    pub triggers: Vec<Trigger>,
    /// Jobs of the file that existed and were passed over.
    pub ignored_jobs: Vec<JobKey>,
    /// Triggers of the file that existed and were passed over.
    pub ignored_triggers: Vec<TriggerKey>,
    /// Triggers that were left alone because they were stored just so, see
    /// [`JobFile::keep_unchanged`].
    pub unchanged: Vec<TriggerKey>,
    /// Remarks, each `file:line: …`, on what is odd about the file and was not done as it says:
    /// triggers that will never fire, and triggers that stayed with another job.
    pub remarks: Vec<String>,
}

/// A trigger of the file as it would be stored now.
type Prepared = HashMap<usize, Trigger>;

impl Catalogue<'_> {
    /// Does what a job file says: deletes, then stores jobs and triggers by its directives. All or
    /// nothing.
    ///
    /// The rules are Quartz's, see [`JobFile`]. A job that is replaced keeps its flags of
    /// concurrency and persistence unless [`JobFile::with_flags`] knows them. A trigger that will
    /// never fire is left out and in [`Imported::remarks`], where Quartz stops in the middle of the
    /// file.
    ///
    /// # Errors
    /// [`Error::Refused`] with every reason, each with its line: what exists and may neither be
    /// replaced nor passed over, a job or calendar that does not exist, a job that could not stay.
    #[doc(alias = "processFileAndScheduleJobs")]
    pub fn import(&self, file: &JobFile) -> Result<Imported> {
        self.store.write("import a job file", |s| {
            let mut imported = Imported::default();
            let spared = match file.commands.is_empty() {
                true => BTreeSet::new(),
                false => {
                    let unchanged = self.stored_just_so(s, file)?;
                    delete_doomed(s, file, unchanged, &mut imported)?
                }
            };
            self.note(s, "delete", "trigger", &imported.deleted_triggers)?;
            self.note(s, "delete", "job", &imported.deleted_jobs)?;
            self.put_file(s, file, &spared, imported)
        })
    }

    /// The jobs and triggers that the file stores just as they are stored. The commands of a file
    /// that keeps what is unchanged leave them alone: several nodes may load the file, and the
    /// second finds what the first has stored.
    fn stored_just_so(&self, s: &mut dyn Session, file: &JobFile) -> Result<Unchanged> {
        let mut unchanged = Unchanged::default();
        if !file.keeps_unchanged {
            return Ok(unchanged);
        }
        let keys: Vec<JobKey> = distinct(file.jobs.iter().map(|job| &job.detail.key));
        let rows = s.jobs(JobSelection::Whole(&keys))?;
        // Of a job that is given twice the last counts.
        for job in &file.jobs {
            let stored = rows.iter().find(|row| row.key == job.detail.key);
            match self.is_stored_as(stored, &with_flags(job, stored))? {
                true => unchanged.jobs.insert(job.detail.key.clone()),
                false => unchanged.jobs.remove(&job.detail.key),
            };
        }
        let old = triggers_of(s, file)?;
        let (prepared, _) = self.prepare(s, file, &old)?;
        let places = self.unchanged(file, &prepared, &old).into_iter();
        unchanged.triggers = places.filter_map(|at| Some(file.triggers.get(at)?.trigger.key.clone())).collect();
        Ok(unchanged)
    }

    /// Stores what the file has. Jobs that its commands have `spared` count as not stored.
    fn put_file(
        &self,
        s: &mut dyn Session,
        file: &JobFile,
        spared: &BTreeSet<JobKey>,
        mut imported: Imported,
    ) -> Result<Imported> {
        let old = triggers_of(s, file)?;
        let (prepared, unfit) = self.prepare(s, file, &old)?;
        let of_triggers = file.triggers.iter().map(|entry| &entry.trigger.job_key);
        let wanted: Vec<JobKey> = distinct(file.jobs.iter().map(|job| &job.detail.key).chain(of_triggers));
        let stored = Stored {
            // The file has no say in whether these may be replaced.
            jobs: s.existing_jobs(&wanted)?.into_iter().filter(|job| !spared.contains(job)).collect(),
            spared: spared.clone(),
            triggers: old.iter().map(|(key, row)| (key.clone(), row.job.clone())).collect(),
            unfit,
            unchanged: if file.keeps_unchanged { self.unchanged(file, &prepared, &old) } else { BTreeSet::new() },
        };
        let plan = plan(file, stored);
        if !plan.refusals.is_empty() {
            let lines = plan.refusals.iter().map(|(line, why)| format!("{}:{line}: {why}", file.name));
            return Err(Error::Refused(lines.collect::<Vec<_>>().join("\n")));
        }
        imported.jobs = self.put_file_jobs(s, file, &plan)?;
        imported.triggers = self.put_file_triggers(s, &plan, prepared)?;
        imported.ignored_jobs = plan.ignored_jobs;
        imported.ignored_triggers = plan.ignored_triggers;
        imported.unchanged = plan.unchanged;
        imported.remarks =
            plan.remarks.into_iter().map(|(line, what)| format!("{}:{line}: {what}", file.name)).collect();
        Ok(imported)
    }

    /// Every trigger with its first fire time, and those that cannot be stored.
    fn prepare(
        &self,
        s: &mut dyn Session,
        file: &JobFile,
        old: &BTreeMap<TriggerKey, TriggerRow>,
    ) -> Result<(Prepared, BTreeMap<usize, Unfit>)> {
        let now_ms = s.now_ms()?;
        let mut calendars = Calendars::default();
        let names = file.triggers.iter().filter_map(|entry| entry.trigger.calendar_name.as_deref());
        self.store.read_calendars(s, &mut calendars, names)?;
        let (mut prepared, mut unfit) = (Prepared::default(), BTreeMap::new());
        for (at, entry) in file.triggers.iter().enumerate() {
            let mut trigger = entry.trigger.clone();
            if let Start::After(ms) = entry.start {
                trigger.start_ms = start_of(&trigger, now_ms.saturating_add(ms));
            }
            let starts_about_now = trigger.start_ms < now_ms.saturating_add(ABOUT_NOW_MS);
            let replaced = old.get(&trigger.key).filter(|_| file.directives.relative && starts_about_now);
            if let Some(replaced) = replaced {
                trigger.start_ms = replaced.start_ms;
            }
            let calendar = match &trigger.calendar_name {
                Some(name) => {
                    calendars.named(name).and_then(|calendar| calendar.ok_or_else(|| no_calendar(name)).map(Some))
                }
                None => Ok(None),
            };
            let first = calendar.and_then(|calendar| {
                self.set_first_fire_time(&mut trigger, calendar.as_deref(), now_ms).map(|()| calendar)
            });
            match first {
                Ok(calendar) => {
                    if let Some(replaced) = replaced {
                        go_on_from(&mut trigger, replaced, calendar.as_deref(), now_ms);
                    }
                    prepared.insert(at, trigger);
                }
                Err(error @ Error::NeverFires { .. }) => {
                    unfit.insert(at, Unfit::NeverFires(error.to_string()));
                }
                Err(error) if error.is_database() => return Err(error),
                Err(error) => {
                    unfit.insert(at, Unfit::Wrong(format!("trigger `{}`: {error}", entry.trigger.key)));
                }
            }
        }
        Ok((prepared, unfit))
    }

    /// The triggers of the file that are stored just so.
    fn unchanged(
        &self,
        file: &JobFile,
        prepared: &Prepared,
        old: &BTreeMap<TriggerKey, TriggerRow>,
    ) -> BTreeSet<usize> {
        let is_same = |at: usize, entry: &FileTrigger| {
            let stored = old.get(&entry.trigger.key).and_then(|row| self.store.trigger_value(row).ok());
            // A trigger that has ended does not begin anew because its time is over.
            let fresh = prepared.get(&at).unwrap_or(&entry.trigger);
            stored.is_some_and(|stored| self.is_same(&stored, fresh, matches!(entry.start, Start::At(_))))
        };
        file.triggers.iter().enumerate().filter(|(at, entry)| is_same(*at, entry)).map(|(at, _)| at).collect()
    }

    fn put_file_jobs(&self, s: &mut dyn Session, file: &JobFile, plan: &Plan) -> Result<Vec<JobDetail>> {
        let planned: Vec<&FileJob> = plan.jobs.values().filter_map(|at| file.jobs.get(*at)).collect();
        let asked = planned.iter().filter(|job| file.keeps_unchanged || job.flags.is_none());
        let asked: Vec<JobKey> = asked.map(|job| job.detail.key.clone()).collect();
        let stored: HashMap<JobKey, JobRow> =
            s.jobs(JobSelection::Whole(&asked))?.into_iter().map(|row| (row.key.clone(), row)).collect();
        let mut jobs = Vec::with_capacity(planned.len());
        for job in planned {
            let stored = stored.get(&job.detail.key);
            let detail = with_flags(job, stored);
            if file.keeps_unchanged && self.is_stored_as(stored, &detail)? {
                continue;
            }
            jobs.push(detail);
        }
        self.put_jobs(s, jobs.iter(), IfStored::Replace)?;
        Ok(jobs)
    }

    fn put_file_triggers(&self, s: &mut dyn Session, plan: &Plan, mut prepared: Prepared) -> Result<Vec<Trigger>> {
        let mut triggers = Vec::with_capacity(plan.triggers.len());
        for (at, job) in plan.triggers.values() {
            let Some(trigger) = prepared.remove(at) else { continue };
            triggers.push(Trigger { job_key: job.clone(), ..trigger });
        }
        let keys: Vec<TriggerKey> = triggers.iter().map(|trigger| trigger.key.clone()).collect();
        let existing = s.trigger_keys(TriggerSelection::Keys(&keys))?;
        self.write_triggers(s, &triggers.iter().collect::<Vec<_>>(), &existing)?;
        Ok(triggers)
    }
}

/// The job with the two flags that its file does not say.
fn with_flags(job: &FileJob, stored: Option<&JobRow>) -> JobDetail {
    let mut detail = job.detail.clone();
    if let Some(flags) = job.flags {
        detail.disallow_concurrent_execution = flags.disallow_concurrent_execution;
        detail.persist_job_data_after_execution = flags.persist_job_data_after_execution;
    } else if let Some(row) = stored.filter(|row| row.job_type == detail.job_type) {
        detail.disallow_concurrent_execution = row.nonconcurrent;
        detail.persist_job_data_after_execution = row.update_data;
    }
    detail
}

/// The stored triggers among those of the file.
fn triggers_of(s: &mut dyn Session, file: &JobFile) -> Result<BTreeMap<TriggerKey, TriggerRow>> {
    let keys: Vec<TriggerKey> = distinct(file.triggers.iter().map(|entry| &entry.trigger.key));
    Ok(s.triggers(TriggerSelection::Keys(&keys))?.into_iter().map(|row| (row.key.clone(), row)).collect())
}

/// Jobs and triggers that are left alone.
#[derive(Default)]
struct Unchanged {
    jobs: BTreeSet<JobKey>,
    triggers: BTreeSet<TriggerKey>,
}

/// Deletes what the commands of the file name, but for what is unchanged; returns the jobs that
/// were spared so.
fn delete_doomed(
    s: &mut dyn Session,
    file: &JobFile,
    unchanged: Unchanged,
    imported: &mut Imported,
) -> Result<BTreeSet<JobKey>> {
    let jobs: Vec<JobKey> = s.jobs(JobSelection::All)?.into_iter().map(|row| row.key).collect();
    let triggers: BTreeMap<TriggerKey, JobKey> =
        s.triggers(TriggerSelection::All)?.into_iter().map(|row| (row.key, row.job)).collect();
    let (named_jobs, mut doomed_triggers) = doomed(file, &jobs, &triggers);
    let (spared, doomed_jobs): (BTreeSet<JobKey>, BTreeSet<JobKey>) =
        named_jobs.into_iter().partition(|job| unchanged.jobs.contains(job));
    let of_spared = |key: &TriggerKey| triggers.get(key).is_some_and(|job| spared.contains(job));
    // A job that stays keeps what its runs have left to do.
    let is_work = |key: &TriggerKey| key.group() == FOLLOWING_GROUP || !may_be_tick(key);
    let is_protected = |key: &TriggerKey| file.protected_trigger_groups.contains(key.group());
    doomed_triggers.extend(triggers.keys().filter(|key| of_spared(key) && !is_protected(key)).cloned());
    let stays = |key: &TriggerKey| unchanged.triggers.contains(key) || of_spared(key) && is_work(key);
    doomed_triggers.retain(|key| !stays(key));

    let with_jobs = triggers.iter().filter(|(_, job)| doomed_jobs.contains(job)).map(|(key, _)| key.clone());
    let going: Vec<TriggerKey> = with_jobs.chain(doomed_triggers.iter().cloned()).collect();
    s.delete_reservations(&going)?;
    s.delete_triggers(&going, None)?;
    imported.deleted_jobs = doomed_jobs.into_iter().collect();
    let forsaken = submitted_after(s, &imported.deleted_jobs)?;
    s.delete_jobs(&imported.deleted_jobs)?;
    drop_submitted(s, forsaken.into_iter().collect())?;

    let bereft = doomed_triggers.iter().filter_map(|key| triggers.get(key)).cloned().collect::<BTreeSet<_>>();
    let idle = delete_idle(s, &bereft.into_iter().collect::<Vec<_>>())?;
    imported.deleted_jobs.extend(idle);
    imported.deleted_triggers = doomed_triggers.into_iter().collect();
    Ok(spared)
}

/// The start of a cron trigger is a whole second.
fn start_of(trigger: &Trigger, ms: i64) -> i64 {
    if trigger.schedule.starts_with_the_second() { ms.div_euclid(1000) * 1000 } else { ms }
}

/// Quartz.NET's rule for `schedule-trigger-relative-to-replaced-trigger`: a start that is over, or
/// less than this away.
const ABOUT_NOW_MS: i64 = 5_000;

/// Lets a trigger go on where the one it replaces stands: it fires next after that one's last fire,
/// or after now.
fn go_on_from(trigger: &mut Trigger, replaced: &TriggerRow, calendar: Option<&Calendar>, now_ms: i64) {
    let after = trigger.fire_ms_after(replaced.previous_ms.unwrap_or(now_ms), now_ms);
    let times = std::iter::successors(after, |time| trigger.fire_ms_after(*time, now_ms)).take(MOST_EXCLUDED);
    let next = times.into_iter().find(|time| calendar.is_none_or(|calendar| calendar.includes(*time)));
    if next.is_some() {
        trigger.previous_ms = replaced.previous_ms;
        trigger.next_ms = next;
    }
}
