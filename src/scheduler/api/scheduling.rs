//! Scheduling: what an application stores through the scheduler: jobs and triggers come, are
//! replaced, and go.

use super::handle::Scheduler;
use crate::data_map::JobDataMap;
use crate::error::{Error, Result};
use crate::job::JobDetail;
use crate::key::{JobKey, TriggerKey};
use crate::store::{Backfill, Backfilled};
use crate::trigger::Trigger;
use chrono::{DateTime, Utc};

/// The fate of what is stored under the same key already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfExists {
    /// Store nothing: the call fails with [`Error::AlreadyExists`](crate::Error::AlreadyExists).
    Refuse,
    /// Store the new in the place of the old.
    Replace,
}

impl IfExists {
    pub(crate) fn replaces(self) -> bool {
        self == Self::Replace
    }
}

impl Scheduler {
    /// Stores a job with a trigger and returns when it fires first.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] for either key, [`Error::NeverFires`], and what can go wrong with
    /// the store.
    pub fn schedule_job(&self, job: JobDetail, trigger: Trigger) -> Result<DateTime<Utc>> {
        let stored = self.schedule_jobs(vec![(job, vec![trigger])], IfExists::Refuse)?;
        first_fire_time(stored.first())
    }

    /// Stores a trigger for a job that is stored already and returns when it fires first.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the job, [`Error::AlreadyExists`] for the trigger,
    /// [`Error::NeverFires`], and what can go wrong with the store.
    pub fn schedule_trigger(&self, trigger: Trigger) -> Result<DateTime<Utc>> {
        let fires_at_once = trigger.fires_when_stored();
        let stored = self.open_store()?.catalogue().add_trigger(trigger, false)?;
        self.signal_stored(fires_at_once);
        self.tell("job_scheduled", |listener| listener.job_scheduled(&stored));
        first_fire_time(Some(&stored))
    }

    /// Stores jobs, each with its triggers, all or none; returns the triggers with their first fire
    /// times.
    ///
    /// # Errors
    /// As [`Scheduler::schedule_job`]; what exists is replaced if [`IfExists::Replace`] says so.
    /// [`Error::Refused`] for a job without a trigger that is not durable, and for a trigger of
    /// another job than the one it is given with.
    pub fn schedule_jobs(&self, work: Vec<(JobDetail, Vec<Trigger>)>, if_exists: IfExists) -> Result<Vec<Trigger>> {
        let store = self.open_store()?;
        let jobs: Vec<JobDetail> = work.iter().map(|(job, _)| job.clone()).collect();
        let here = work.iter().filter(|(job, _)| self.is_of_this_node(job));
        let fires_at_once = here.flat_map(|(_, triggers)| triggers).any(Trigger::fires_when_stored);
        let stored = store.catalogue().schedule(work, if_exists.replaces())?;
        self.signal_stored(fires_at_once);
        for job in &jobs {
            self.tell("job_added", |listener| listener.job_added(job));
        }
        for trigger in &stored {
            self.tell("job_scheduled", |listener| listener.job_scheduled(trigger));
        }
        self.name_unknown_types(&jobs);
        Ok(stored)
    }

    /// Stores jobs with their triggers inside a transaction of the caller's: with what the caller
    /// writes, or not at all.
    ///
    /// Call it as the last step of the transaction, and [`Scheduler::wake`] after the commit;
    /// without that nodes hear of the work, or find it with their next look
    /// (`carnelian.scheduler.pollInterval`). Listeners are not told, since nobody knows whether the
    /// transaction will be committed.
    ///
    /// ```
    /// use carnelian::{IfExists, JobDetail, JobKey, Scheduler, Trigger, TriggerKey};
    /// use diesel::connection::SimpleConnection;
    /// use diesel::r2d2::{ConnectionManager, Pool};
    /// use diesel::{Connection, SqliteConnection};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let file = folder.path().join("jobs.db").display().to_string();
    /// let pool = Pool::new(ConnectionManager::<SqliteConnection>::new(file))?;
    /// let scheduler = Scheduler::builder().pool(pool.clone()).build()?;
    /// scheduler.migrate()?;
    ///
    /// let mut db = pool.get()?;
    /// db.batch_execute("CREATE TABLE orders (id INTEGER)")?;
    /// db.immediate_transaction(|db| {
    ///     db.batch_execute("INSERT INTO orders VALUES (17)")?;
    ///     let job = JobDetail::builder(JobKey::named("confirm-17"), "mail").build()?;
    ///     let trigger = Trigger::builder(TriggerKey::named("confirm-17"), job.key().clone()).build()?;
    ///     scheduler.schedule_in(db, vec![(job, vec![trigger])], IfExists::Refuse)?;
    ///     Ok::<(), Box<dyn std::error::Error>>(())
    /// })?;
    /// scheduler.wake();
    /// assert!(scheduler.job_exists(&JobKey::named("confirm-17"))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Scheduler::schedule_job`]; [`Error::Refused`] without an open transaction, or for a
    /// connection to another kind of database than the jobs are in.
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    pub fn schedule_in<'c>(
        &self,
        connection: impl Into<crate::store::CallersConnection<'c>>,
        work: Vec<(JobDetail, Vec<Trigger>)>,
        if_exists: IfExists,
    ) -> Result<Vec<Trigger>> {
        self.open_store()?.catalogue().schedule_within(connection, &work, if_exists.replaces())
    }

    /// Has this node look for due work now, such as work that was stored by other means.
    pub fn wake(&self) {
        self.inner.node.services.acquirer.wake();
    }

    /// Stores a durable job without a trigger.
    ///
    /// # Errors
    /// [`Error::Refused`] for a job that is not durable, as none is by default
    /// ([`JobDetailBuilder::durable`](crate::JobDetailBuilder::durable); or
    /// [`Scheduler::add_job_awaiting_trigger`]); [`Error::AlreadyExists`] with
    /// [`IfExists::Refuse`], and what can go wrong with the store.
    pub fn add_job(&self, job: &JobDetail, if_exists: IfExists) -> Result<()> {
        self.open_store()?.catalogue().add_job(job, if_exists.replaces())?;
        self.tell("job_added", |listener| listener.job_added(job));
        self.name_unknown_types([job]);
        Ok(())
    }

    /// Stores a job that needs not be durable and waits for its first trigger. Without one it stays
    /// until it is deleted; `carnelian doctor --invariants` names it (I14).
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] with [`IfExists::Refuse`], and what can go wrong with the store.
    #[doc(alias = "storeNonDurableWhileAwaitingScheduling")]
    pub fn add_job_awaiting_trigger(&self, job: &JobDetail, if_exists: IfExists) -> Result<()> {
        self.open_store()?.catalogue().add_job_awaiting_trigger(job, if_exists.replaces())?;
        self.tell("job_added", |listener| listener.job_added(job));
        Ok(())
    }

    /// Deletes a job with all its triggers; false if there is none.
    ///
    /// # Errors
    /// What can go wrong with the store.
    pub fn delete_job(&self, key: &JobKey) -> Result<bool> {
        Ok(self.delete_jobs(std::slice::from_ref(key))? > 0)
    }

    /// Deletes jobs with all their triggers; returns how many there were.
    ///
    /// # Errors
    /// What can go wrong with the store.
    pub fn delete_jobs(&self, keys: &[JobKey]) -> Result<usize> {
        let count = self.open_store()?.catalogue().delete_jobs(keys)?;
        self.wake();
        if count > 0 {
            for key in keys {
                self.tell("job_deleted", |listener| listener.job_deleted(key));
            }
        }
        Ok(count)
    }

    /// Deletes a trigger, and its job if that is left without one and is not durable; false if
    /// there is none.
    ///
    /// # Errors
    /// What can go wrong with the store.
    #[doc(alias = "unscheduleJob")]
    pub fn unschedule(&self, key: &TriggerKey) -> Result<bool> {
        Ok(self.unschedule_all(std::slice::from_ref(key))? > 0)
    }

    /// Deletes triggers as [`Scheduler::unschedule`] does, all in one transaction; returns how many
    /// there were.
    ///
    /// # Errors
    /// What can go wrong with the store.
    #[doc(alias = "unscheduleJobs")]
    pub fn unschedule_all(&self, keys: &[TriggerKey]) -> Result<usize> {
        let count = self.open_store()?.catalogue().unschedule(keys)?;
        self.wake();
        if count > 0 {
            for key in keys {
                self.tell("job_unscheduled", |listener| listener.job_unscheduled(key));
            }
        }
        Ok(count)
    }

    /// Puts `trigger` in the place of the trigger `key` and returns when it fires first; none if
    /// there is no such trigger. The job stays that of the old trigger, whichever `trigger` was
    /// built for, as in Quartz.
    ///
    /// # Errors
    /// [`Error::NeverFires`], and what can go wrong with the store.
    #[doc(alias = "rescheduleJob")]
    pub fn reschedule(&self, key: &TriggerKey, trigger: Trigger) -> Result<Option<DateTime<Utc>>> {
        let stored = self.open_store()?.catalogue().reschedule(key, trigger)?;
        self.wake();
        let Some(stored) = stored else { return Ok(None) };
        self.tell("job_unscheduled", |listener| listener.job_unscheduled(key));
        self.tell("job_scheduled", |listener| listener.job_scheduled(&stored));
        first_fire_time(Some(&stored)).map(Some)
    }

    /// Makes up for the fires of a trigger in a range of the past: stores a one-shot trigger for
    /// each, all in one transaction, and those only that no backfill has stored before.
    ///
    /// ```
    /// use carnelian::{CronSchedule, JobDetail, JobKey, Scheduler, Trigger, TriggerKey};
    /// use carnelian::backfill::Backfill;
    /// use chrono::{DateTime, Utc};
    ///
    /// let scheduler = Scheduler::builder().build()?;
    /// let job = JobDetail::builder(JobKey::named("report"), "report").build()?;
    /// let noon = Trigger::builder(TriggerKey::named("noon"), job.key().clone()).schedule(CronSchedule::new("0 0 12 * * ?")?);
    /// scheduler.schedule_job(job, noon.build()?)?;
    /// // The reports of last summer are wanted, too.
    /// let day = |text: &str| text.parse::<DateTime<Utc>>();
    /// let july = Backfill::new(TriggerKey::named("noon"), day("2025-07-01T00:00:00Z")?, day("2025-07-31T23:59:59Z")?);
    /// assert_eq!(scheduler.backfill(&july)?.stored.len(), 31);
    /// assert_eq!(scheduler.backfill(&july)?.stored.len(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`] for the trigger; [`Error::Invalid`] for a range that is none, or not of
    /// the past, or has more fires than allowed; [`Error::Refused`] if they could overlap and those
    /// of the trigger may not. Nothing is stored then.
    pub fn backfill(&self, backfill: &Backfill) -> Result<Backfilled> {
        let done = self.open_store()?.catalogue().backfill(backfill)?;
        self.wake();
        for trigger in &done.stored {
            self.tell("job_scheduled", |listener| listener.job_scheduled(trigger));
        }
        Ok(done)
    }

    /// Makes a one-shot trigger that fires now, on any node; returns its key.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the job, and what can go wrong with the store.
    pub fn trigger_job(&self, job: &JobKey, data: JobDataMap) -> Result<TriggerKey> {
        let key = self.open_store()?.catalogue().trigger_job(job, data)?;
        self.signal_stored(true);
        Ok(key)
    }

    /// Does what a job file says, all or nothing, and tells the scheduler listeners.
    ///
    /// Job types that are registered here say by [`Job::flags`](crate::Job::flags) what Java takes
    /// from annotations.
    ///
    /// # Errors
    /// [`Error::Refused`] with every reason, each with its line: what exists and may neither be
    /// replaced nor passed over, a job or calendar that does not exist, a job that could not stay.
    #[cfg(feature = "job-files")]
    #[doc(alias = "processFileAndScheduleJobs")]
    pub fn import(&self, file: &crate::job_file::JobFile) -> Result<crate::store::Imported> {
        self.open_store()?;
        self.inner.node.import(file, &|job_type| self.inner.registry.job(job_type)?.flags())
    }

    /// Deletes all jobs, triggers, calendars and pauses of the scheduler; running fires end as
    /// usual.
    ///
    /// # Errors
    /// What can go wrong with the store.
    pub fn clear(&self) -> Result<()> {
        self.open_store()?.catalogue().clear()?;
        self.wake();
        self.tell("scheduling_data_cleared", |listener| listener.scheduling_data_cleared());
        Ok(())
    }
}

fn first_fire_time(trigger: Option<&Trigger>) -> Result<DateTime<Utc>> {
    trigger.and_then(Trigger::next_fire_time).ok_or_else(|| Error::NeverFires {
        trigger: trigger.map_or_else(String::new, |trigger| trigger.key().to_string()),
        reason: "it was stored without a fire time".to_owned(),
    })
}
