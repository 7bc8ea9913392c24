//! Definitions that change: job types are registered, renamed, upgraded, and come to their end.

use super::handle::Scheduler;
use crate::data_map::JobDataMap;
use crate::error::Result;
use crate::key::JobKey;
use crate::scheduler::run::job::Job;
use crate::scheduler::run::job_type::JobType;
use crate::store::{Migrated, Orphans, Renamed};

impl Scheduler {
    /// Adds a job type, or replaces its code for the runs to come. This node takes no job whose
    /// type it does not know.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if no table can hold the name.
    pub fn register_job(&self, job_type: impl Into<String>, job: impl Job) -> Result<()> {
        self.register_job_type(job_type, JobType::new(job))
    }

    /// As [`Scheduler::register_job`], with what else is to be said of the type: the version of its
    /// data, how earlier data become it, whether it is deprecated. Other nodes learn of it with the
    /// check-in that follows at once.
    ///
    /// # Errors
    /// As [`Scheduler::register_job`]; [`Error::Refused`](crate::Error::Refused) if a version has
    /// no step to the next.
    pub fn register_job_type(&self, name: impl Into<String>, job_type: JobType) -> Result<()> {
        self.inner.registry.register(name, job_type)?;
        self.types_changed();
        Ok(())
    }

    /// Has this node run jobs that are stored under an old name of a type as well. The jobs keep
    /// that name until [`Scheduler::migrate_jobs`] gives them the other. The versions of data are
    /// those of the type.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) if `new` is not registered;
    /// [`Error::Refused`](crate::Error::Refused) if `old` is, as a type of its own.
    pub fn register_job_alias(&self, old: impl Into<String>, new: &str) -> Result<()> {
        self.inner.registry.alias(old, new)?;
        self.types_changed();
        Ok(())
    }

    fn types_changed(&self) {
        let node = &self.inner.node;
        node.store.job_types().set_with_policies(self.inner.registry.infos(), self.inner.registry.policies());
        node.services.acquirer.wake();
        if self.is_started() {
            node.services.cluster.wake();
        }
    }

    /// The jobs that no living node can run, because none has their type, or reads data so late.
    /// Nodes publish what they can run when they register, so this is known before a job is due.
    ///
    /// While a node lives that does not publish it (a node of Quartz, or of an older version), it
    /// may have any type, and nothing is called an orphan: see [`Orphans::blind_because`].
    ///
    /// ```
    /// use carnelian::{IfExists, JobContext, JobDetail, JobKey, Scheduler};
    ///
    /// let scheduler = Scheduler::builder().job_fn("mail", |_: &mut JobContext| Ok(())).build()?;
    /// scheduler.start()?;
    /// scheduler.add_job(&JobDetail::builder(JobKey::named("nightly"), "report").durable(true).build()?, IfExists::Refuse)?;
    /// let orphans = scheduler.orphans()?;
    /// assert_eq!(orphans.jobs[0].reason(), "no live node has job type `report`");
    /// # scheduler.shutdown_and_wait();
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    ///
    /// # Errors
    /// What can go wrong with the store.
    pub fn orphans(&self) -> Result<Orphans> {
        self.open_store()?.job_types().orphans()
    }

    /// Gives a job another key, with its triggers.
    ///
    /// ```
    /// use carnelian::{IfExists, JobDetail, JobKey, Scheduler};
    ///
    /// let scheduler = Scheduler::builder().build()?;
    /// let (old, new) = (JobKey::new("billing", "night"), JobKey::new("billing", "close-day"));
    /// scheduler.add_job(&JobDetail::builder(old.clone(), "billing").durable(true).build()?, IfExists::Refuse)?;
    /// assert_eq!(scheduler.rename_job(&old, &new)?.triggers, 0);
    /// assert!(scheduler.job_exists(&new)? && !scheduler.job_exists(&old)?);
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) without the job,
    /// [`Error::AlreadyExists`](crate::Error::AlreadyExists) if there is one under the new key, and
    /// [`Error::Refused`](crate::Error::Refused) while the job runs, among others.
    pub fn rename_job(&self, old: &JobKey, new: &JobKey) -> Result<Renamed> {
        let store = self.open_store()?;
        let renamed = store.catalogue().rename_job(old, new, false)?;
        self.wake();
        self.tell("job_deleted", |listener| listener.job_deleted(old));
        // A job that cannot be read was renamed all the same.
        if let Ok(Some(job)) = store.catalogue().job(new) {
            self.tell("job_added", |listener| listener.job_added(&job));
        }
        Ok(renamed)
    }

    /// Checks what [`Scheduler::rename_job`] would do, and changes nothing.
    ///
    /// # Errors
    /// As [`Scheduler::rename_job`].
    pub fn preview_rename(&self, old: &JobKey, new: &JobKey) -> Result<Renamed> {
        self.open_store()?.catalogue().rename_job(old, new, true)
    }

    /// Gives all jobs of type `from` the type `to`, which may be the same. If `to` is registered
    /// here, their data are brought to its version, and stored. One transaction; jobs that run are
    /// left as they are, and named.
    ///
    /// ```
    /// use carnelian::{IfExists, JobContext, JobDetail, JobKey, JobType, Scheduler};
    ///
    /// let report = JobType::new(|_: &mut JobContext| Ok(())).upgrade(1, |data| {
    ///     data.put("copies", 1);
    ///     Ok(())
    /// });
    /// let scheduler = Scheduler::builder().job_type("report", report).build()?;
    /// let old = JobDetail::builder(JobKey::named("nightly"), "old-report").version(1).durable(true).build()?;
    /// scheduler.add_job(&old, IfExists::Refuse)?;
    /// let migrated = scheduler.migrate_jobs("old-report", "report")?;
    /// assert_eq!(migrated.changed, [JobKey::named("nightly")]);
    /// assert_eq!(scheduler.job(&JobKey::named("nightly"))?.and_then(|job| job.version()), Some(2));
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a type that no table can hold;
    /// [`Error::Refused`](crate::Error::Refused) for one that is deprecated, or that a node of
    /// Quartz in the cluster could not load, and for upgraded data while there is such a node.
    pub fn migrate_jobs(&self, from: &str, to: &str) -> Result<Migrated> {
        let migrated = self.migrate_or_preview(from, to, false)?;
        self.wake();
        Ok(migrated)
    }

    /// Finds what [`Scheduler::migrate_jobs`] would do, and changes nothing.
    ///
    /// # Errors
    /// As [`Scheduler::migrate_jobs`].
    pub fn preview_migration(&self, from: &str, to: &str) -> Result<Migrated> {
        self.migrate_or_preview(from, to, true)
    }

    fn migrate_or_preview(&self, from: &str, to: &str, dry_run: bool) -> Result<Migrated> {
        let store = self.open_store()?;
        let job_type = self.inner.registry.job_type(to);
        let upgrade = job_type.map(|job_type| {
            move |version: u32, data: &mut JobDataMap| {
                job_type.bring_up(version, data).map_err(|error| error.to_string())?;
                Ok(job_type.version())
            }
        });
        let upgrade = upgrade.as_ref().map(|upgrade| upgrade as &crate::store::Upgrade<'_>);
        store.job_types().migrate(from, to, upgrade, dry_run)
    }
}
