//! Scheduling: jobs and triggers come, are replaced, and go.

use super::Catalogue;
use super::foreign::check_triggers_beside_quartz;
use super::if_stored::IfStored;
use crate::calendar::Calendar;
use crate::data_map::JobDataMap;
use crate::error::{Error, Result};
use crate::job::JobDetail;
use crate::key::{JobKey, TriggerKey, distinct};
use crate::rules::new_trigger::PauseState;
use crate::store::Session;
use crate::store::calendars::Calendars;
use crate::store::firing::{delete_idle, drop_submitted, submitted_after, take_back_reservations};
use crate::store::row::{CalendarName, JobRow, JobVersionRow, TriggerSelection};
use crate::store::transaction::random_hex;
use crate::trigger::{Overlap, START_WHEN_STORED, Trigger};
use std::collections::{BTreeSet, HashSet};

/// A trigger to be stored.
struct NewTrigger {
    trigger: Trigger,
    /// True if the trigger's job disallows concurrent execution.
    nonconcurrent: bool,
}

impl Catalogue<'_> {
    /// Checks what can be checked without the store.
    pub(in crate::store) fn check_work(&self, work: &[(JobDetail, Vec<Trigger>)]) -> Result<()> {
        for (job, triggers) in work {
            job.check()?;
            if triggers.is_empty() && !job.durable {
                return Err(Error::Refused(format!(
                    "job `{}` is not durable and has no trigger: make it durable or give it a trigger",
                    job.key
                )));
            }
            for trigger in triggers {
                trigger.check()?;
                if trigger.job_key != job.key {
                    return Err(Error::Refused(format!(
                        "trigger `{}` is for job `{}`, but was given with job `{}`",
                        trigger.key, trigger.job_key, job.key
                    )));
                }
            }
        }
        Ok(())
    }

    pub(in crate::store) fn schedule_in_session(
        &self,
        s: &mut dyn Session,
        work: &[(JobDetail, Vec<Trigger>)],
        stored: IfStored,
    ) -> Result<Vec<Trigger>> {
        self.put_jobs(s, work.iter().map(|(job, _)| job), stored)?;
        let new = |job: &JobDetail, trigger: &Trigger| NewTrigger {
            trigger: trigger.clone(),
            nonconcurrent: job.disallow_concurrent_execution,
        };
        let mut triggers: Vec<NewTrigger> =
            work.iter().flat_map(|(job, triggers)| triggers.iter().map(move |trigger| new(job, trigger))).collect();
        self.put_triggers(s, &mut triggers, stored)?;
        Ok(triggers.into_iter().map(|new| new.trigger).collect())
    }

    /// Stores a job that needs not be durable and waits for its first trigger.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] without `replace`.
    #[doc(alias = "storeNonDurableWhileAwaitingScheduling")]
    pub fn add_job_awaiting_trigger(&self, job: &JobDetail, replace: bool) -> Result<()> {
        job.check()?;
        self.store.write("store a job", |s| self.put_jobs(s, std::iter::once(job), replace.into()))
    }

    /// Stores a trigger for a job that is stored already, and returns it with its first fire time.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the job or the calendar is not stored; [`Error::Refused`] if the
    /// job's type is deprecated on this node; else as [`Catalogue::schedule`].
    pub fn add_trigger(&self, trigger: Trigger, replace: bool) -> Result<Trigger> {
        trigger.check()?;
        if replace {
            return self
                .store
                .write("schedule a trigger", |s| self.put_one_trigger(s, &trigger, IfStored::Replace, false));
        }
        self.put_in_group(trigger, false)
    }

    /// Stores one trigger of a job that is stored already, and checks what can be checked alone.
    pub(super) fn put_one_trigger(
        &self,
        s: &mut dyn Session,
        trigger: &Trigger,
        stored: IfStored,
        even_if_deprecated: bool,
    ) -> Result<Trigger> {
        let job = s.job(&trigger.job_key)?;
        if let (false, Some(job)) = (even_if_deprecated, &job) {
            self.node
                .types
                .read()
                .check_not_deprecated(&format!("trigger `{}` of job `{}`", trigger.key, job.key), &job.job_type)?;
        }
        if let Some(name) = &trigger.calendar_name
            && s.row::<CalendarName>(name)?.is_none()
        {
            return Err(no_calendar(name));
        }
        self.put_trigger_of(s, job, trigger.clone(), stored)
    }

    /// Puts `trigger` in the place of the trigger `key`, which may have another name. As in Quartz
    /// it is for the job of the trigger that it replaces, whatever it says. None, and nothing is
    /// stored, if there is no trigger `key`.
    ///
    /// # Errors
    /// As [`Catalogue::schedule`]; [`Error::NotFound`] if the job is gone.
    pub fn reschedule(&self, key: &TriggerKey, trigger: Trigger) -> Result<Option<Trigger>> {
        trigger.check()?;
        self.store.write("reschedule a trigger", |s| {
            let Some(old) = s.trigger(key)? else {
                return Ok(None);
            };
            let trigger = Trigger { job_key: old.job, ..trigger.clone() };
            s.delete_reservations(std::slice::from_ref(key))?;
            s.delete_triggers(std::slice::from_ref(key), None)?;
            self.note(s, "reschedule", "trigger", std::slice::from_ref(key))?;
            self.put_trigger(s, trigger.clone(), (&trigger.key == key).into()).map(Some)
        })
    }

    /// Deletes triggers, and jobs that are left without one, are not durable and do not run;
    /// returns how many triggers there were.
    pub fn unschedule(&self, keys: &[TriggerKey]) -> Result<usize> {
        self.store.write("unschedule triggers", |s| {
            let (there, jobs): (Vec<_>, Vec<_>) =
                s.triggers(TriggerSelection::Keys(keys))?.into_iter().map(|row| (row.key, row.job)).unzip();
            s.delete_reservations(keys)?;
            let deleted = s.delete_triggers(keys, None)?;
            delete_idle(s, &distinct(jobs.iter()))?;
            self.note(s, "delete", "trigger", &there)?;
            Ok(deleted)
        })
    }

    /// Deletes jobs with all their triggers, in one transaction; returns how many jobs there were.
    /// Runs in progress end as usual.
    pub fn delete_jobs(&self, keys: &[JobKey]) -> Result<usize> {
        self.store.write("delete jobs", |s| self.delete_jobs_in(s, keys))
    }

    pub(in crate::store) fn delete_jobs_in(&self, s: &mut dyn Session, keys: &[JobKey]) -> Result<usize> {
        let triggers = s.trigger_keys(TriggerSelection::OfJobs(keys))?;
        s.delete_reservations(&triggers)?;
        s.delete_triggers(&triggers, None)?;
        let forsaken = submitted_after(s, keys)?;
        let there = s.existing_jobs(keys)?;
        self.note(s, "delete", "job", &there)?;
        let deleted = s.delete_jobs(&there)?;
        drop_submitted(s, forsaken.into_iter().collect())?;
        Ok(deleted)
    }

    /// Makes a one-shot trigger that fires now: `MT_…` in the group `DEFAULT`, as Quartz names it.
    /// The trigger goes the ordinary way, so any node may run it.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such job.
    #[doc(alias = "triggerJob")]
    pub fn trigger_job(&self, job: &JobKey, data: JobDataMap) -> Result<TriggerKey> {
        let key = TriggerKey::named(format!("MT_{}", random_hex()?));
        let trigger = Trigger::builder(key, job.clone()).data_map(data).build()?;
        // A deprecated type is no hindrance: the job is stored already.
        if !self.store.actor.is_person {
            return self.put_in_group(trigger, true).map(|t| t.key);
        }
        self.store.write("run a job", |s| {
            self.note(s, "run", "job", std::slice::from_ref(job))?;
            self.put_one_trigger(s, &trigger, IfStored::Refuse, true).map(|t| t.key)
        })
    }

    /// Deletes all jobs, triggers, calendars and pauses of the scheduler; running fires end as
    /// usual.
    pub fn clear(&self) -> Result<()> {
        self.store.write("clear everything", |s| {
            s.clear()?;
            self.note(s, "clear", "all", &["all"])
        })
    }

    pub(super) fn put_jobs<'a>(
        &self,
        s: &mut dyn Session,
        jobs: impl Iterator<Item = &'a JobDetail>,
        stored: IfStored,
    ) -> Result<()> {
        let jobs: Vec<&JobDetail> = jobs.collect();
        let rows = jobs.iter().map(|job| self.store.job_row(job)).collect::<Result<Vec<_>>>()?;
        let keys: Vec<_> = rows.iter().map(|row| row.key.clone()).collect();
        check_distinct("job", &keys)?;
        self.check_types_beside_quartz(s, &rows)?;
        Self::check_placements_beside_quartz(s, &jobs)?;
        Self::check_strategies_beside_quartz(s, &jobs)?;
        let existing = if stored == IfStored::Collide { Vec::new() } else { s.existing_jobs(&keys)? };
        let existing: BTreeSet<JobKey> = existing.into_iter().collect();
        if let (IfStored::Refuse, Some(key)) = (stored, existing.first()) {
            return Err(Error::AlreadyExists { what: "job", key: key.to_string() });
        }
        // A stored job of a deprecated type may be changed; a new one is refused.
        for job in jobs.iter().filter(|job| !job.even_if_deprecated && !existing.contains(&job.key)) {
            self.node.types.read().check_not_deprecated(&format!("job `{}`", job.key), &job.job_type)?;
        }
        let version = |job: &&JobDetail| JobVersionRow {
            job: job.key.clone(),
            job_type: job.job_type.to_string(),
            version: self.node.types.read().version_of(job),
        };
        let versions: Vec<JobVersionRow> =
            jobs.iter().map(version).filter(|row| row.version > 1 || existing.contains(&row.job)).collect();
        self.check_versions_beside_quartz(s, &versions)?;
        self.note(s, "replace", "job", &existing.iter().collect::<Vec<_>>())?;
        let (old, new): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| existing.contains(&row.key));
        old.iter().try_for_each(|row| s.update_job(row))?;
        s.insert_jobs(&new)?;
        if versions.is_empty() {
            return Ok(());
        }
        s.put_job_versions(&versions)?;
        // A node that reads earlier data only may have reserved a trigger of a job that was
        // replaced.
        let later = versions.into_iter().filter(|row| row.version > 1 && existing.contains(&row.job));
        take_back_reservations(s, &later.map(|row| row.job).collect::<Vec<_>>())
    }

    /// Stores one trigger of a stored job, and sets its first fire time.
    pub(super) fn put_trigger(&self, s: &mut dyn Session, trigger: Trigger, stored: IfStored) -> Result<Trigger> {
        let job = s.job(&trigger.job_key)?;
        self.put_trigger_of(s, job, trigger, stored)
    }

    fn put_trigger_of(
        &self,
        s: &mut dyn Session,
        job: Option<JobRow>,
        trigger: Trigger,
        stored: IfStored,
    ) -> Result<Trigger> {
        let job = job.ok_or_else(|| Error::NotFound {
            what: "job",
            key: trigger.job_key.to_string(),
            hint: ": store the job first, or schedule both together",
        })?;
        let mut triggers = [NewTrigger { trigger, nonconcurrent: job.nonconcurrent }];
        self.put_triggers(s, &mut triggers, stored)?;
        let [NewTrigger { trigger, .. }] = triggers;
        Ok(trigger)
    }

    /// Stores triggers, and sets their first fire times.
    fn put_triggers(&self, s: &mut dyn Session, triggers: &mut [NewTrigger], stored: IfStored) -> Result<()> {
        let keys: Vec<TriggerKey> = triggers.iter().map(|new| new.trigger.key.clone()).collect();
        check_distinct("trigger", &keys)?;
        check_triggers_beside_quartz(s, triggers.iter().map(|new| &new.trigger))?;
        triggers.iter().try_for_each(|new| check_overlap(&new.trigger, new.nonconcurrent))?;
        let existing = match stored {
            IfStored::Collide => Vec::new(),
            _ => s.trigger_keys(TriggerSelection::Keys(&keys))?,
        };
        if let (IfStored::Refuse, Some(key)) = (stored, existing.first()) {
            return Err(Error::AlreadyExists { what: "trigger", key: key.to_string() });
        }
        let now_ms = s.now_ms()?;
        let mut calendars = Calendars::default();
        let names = triggers.iter().filter_map(|new| new.trigger.calendar_name.as_deref());
        self.store.read_calendars(s, &mut calendars, names)?;
        for NewTrigger { trigger, .. } in triggers.iter_mut() {
            let calendar = trigger.calendar_name.as_deref().map(|name| calendars.named(name)).transpose()?.flatten();
            if let (Some(name), None) = (&trigger.calendar_name, &calendar) {
                log::warn!(
                    "trigger will not fire before its calendar is stored trigger={} calendar={name}",
                    trigger.key
                );
            }
            self.set_first_fire_time(trigger, calendar.as_deref(), now_ms)?;
        }
        let triggers: Vec<&Trigger> = triggers.iter().map(|new| &new.trigger).collect();
        self.write_triggers(s, &triggers, &existing)
    }

    /// Writes triggers that have their fire times, in the place of the `existing` triggers among
    /// their keys. All new triggers of the catalogue are written here, or by the fast path.
    pub(super) fn write_triggers(
        &self,
        s: &mut dyn Session,
        triggers: &[&Trigger],
        existing: &[TriggerKey],
    ) -> Result<()> {
        let mut jobs_before = BTreeSet::new();
        if !existing.is_empty() {
            jobs_before.extend(s.triggers(TriggerSelection::Keys(existing))?.into_iter().map(|row| row.job));
            // Triggers go before reservations: a node that reserves one without the lock is waited
            // for.
            s.delete_triggers(existing, None)?;
            s.delete_reservations(existing)?;
            self.note(s, "replace", "trigger", existing)?;
        }
        let pauses = PauseState::read(s, triggers.iter().map(|trigger| &trigger.job_key))?;
        let row = |trigger: &&Trigger| {
            let state = pauses.state_of_new(&trigger.key, &trigger.job_key);
            self.store.trigger_row(trigger, state)
        };
        let rows = triggers.iter().map(row).collect::<Result<Vec<_>>>()?;
        remember_paused_groups(s, &pauses, rows.iter().map(|row| row.key.group()))?;
        s.insert_triggers(&rows)?;
        // A job whose last trigger now belongs to another job would never fire and never go.
        jobs_before.retain(|job| triggers.iter().all(|trigger| trigger.job_key != *job));
        match jobs_before.is_empty() {
            true => Ok(()),
            false => delete_idle(s, &jobs_before.into_iter().collect::<Vec<_>>()).map(drop),
        }
    }

    /// The first fire time; as in Quartz it may be after the end, if only the start is not.
    pub(super) fn set_first_fire_time(
        &self,
        trigger: &mut Trigger,
        calendar: Option<&Calendar>,
        now_ms: i64,
    ) -> Result<()> {
        if trigger.start_ms == START_WHEN_STORED {
            let cut = trigger.schedule.starts_with_the_second();
            trigger.start_ms = if cut { now_ms.div_euclid(1000) * 1000 } else { now_ms };
        }
        trigger.previous_ms = None;
        trigger.schedule.set_default_zone(self.store.settings.scheduler.time_zone);
        match trigger.compute_first_ms(calendar, now_ms) {
            Some(_) if trigger.end_ms.is_none_or(|end| trigger.start_ms <= end) => Ok(()),
            _ => Err(Error::NeverFires {
                trigger: trigger.key.to_string(),
                reason: format!(
                    "there is no fire time from {} to {}{}",
                    crate::trigger::show(Some(trigger.start_ms)),
                    trigger.end_ms.map_or("the end of time".to_owned(), |end| crate::trigger::show(Some(end))),
                    trigger
                        .calendar_name
                        .as_deref()
                        .map_or(String::new(), |name| format!(" that calendar `{name}` includes"))
                ),
            }),
        }
    }
}

/// While a job runs that disallows concurrent execution its triggers are blocked, and nobody sees
/// them come due.
fn check_overlap(trigger: &Trigger, nonconcurrent: bool) -> Result<()> {
    if trigger.policies.overlap != Overlap::CancelPrevious || !nonconcurrent {
        return Ok(());
    }
    Err(Error::Refused(format!(
        "trigger `{}` has overlap `{}`, and its job `{}` disallows concurrent execution, so that the trigger is blocked while \
         it runs and nobody would ask it to stop: let the job run concurrently, or use `{}`",
        trigger.key,
        Overlap::CancelPrevious.name(),
        trigger.job_key,
        Overlap::BufferOne.name()
    )))
}

pub(super) fn no_calendar(name: &str) -> Error {
    Error::NotFound { what: "calendar", key: name.to_owned(), hint: ": store the calendar first" }
}

/// Makes the groups of new triggers paused groups while everything is paused.
pub(super) fn remember_paused_groups<'g>(
    s: &mut dyn Session,
    pauses: &PauseState,
    groups: impl Iterator<Item = &'g str>,
) -> Result<()> {
    let groups: BTreeSet<&str> = groups.filter(|group| pauses.is_paused_with_all(group)).collect();
    let groups: Vec<String> = groups.into_iter().map(str::to_owned).collect();
    if groups.is_empty() { Ok(()) } else { s.insert_paused_groups(&groups) }
}

fn check_distinct<K: Eq + std::hash::Hash + std::fmt::Display>(what: &'static str, keys: &[K]) -> Result<()> {
    let mut seen = HashSet::with_capacity(keys.len());
    match keys.iter().find(|key| !seen.insert(*key)) {
        Some(key) => Err(Error::Refused(format!("{what} `{key}` is given twice: give each key once"))),
        None => Ok(()),
    }
}
