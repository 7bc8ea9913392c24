//! `JobDefinition`: a job with its triggers, as a program says in its code that they shall be.

use super::JobDetail;
use crate::error::{Error, Result};
use crate::setters::setters;
use crate::trigger::{CronSchedule, Schedule, Trigger};

/// The action on a stored definition that differs from the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnChange {
    /// Store the definition again when the *code* has changed since it was last stored. Changes of
    /// an operator in between stay until then.
    #[default]
    Update,
    /// Store a missing definition, and never touch it afterwards.
    Keep,
    /// Store the definition again whenever it differs from the code, also after an operator has
    /// changed it. Not for triggers that come to an end: they would begin anew.
    Enforce,
}

/// A job with its triggers, as the code says they shall be: stored if missing, updated if the code
/// has changed.
///
/// Given to [`SchedulerBuilder::define`](crate::SchedulerBuilder::define), it is stored when the
/// scheduler starts (unless [`JobDefinition::auto_register`] says otherwise), by whichever node
/// comes first; the others find it done. The job is durable, so that it stays when its last trigger
/// has ended. A trigger that is paused stays so when it is updated.
///
/// Quartz has job files and annotations for this; LogiTask its `@Task`.
///
/// ```
/// use carnelian::{JobDefinition, JobDetail, JobKey, Scheduler};
///
/// let job = JobDetail::builder(JobKey::new("billing", "nightly"), "billing.close_day").requests_recovery(true).build()?;
/// let nightly = JobDefinition::new(job).cron("0 30 2 * * ?")?.revision(2);
/// let scheduler = Scheduler::builder()
///     .job_fn("billing.close_day", |_| Ok(()))
///     .define(nightly)
///     .build()?;
/// let report = scheduler.sync_definitions()?;
/// assert_eq!(report.inserted, [JobKey::new("billing", "nightly")]);
/// assert!(scheduler.sync_definitions()?.changed_nothing());
/// # Ok::<(), carnelian::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use = "it does nothing until a scheduler gets it"]
pub struct JobDefinition {
    pub(crate) job: JobDetail,
    pub(crate) triggers: Vec<Trigger>,
    pub(crate) on_change: OnChange,
    pub(crate) revision: u32,
    pub(crate) auto_register: bool,
}

impl JobDefinition {
    /// A job without triggers, as far as the code is concerned.
    pub fn new(job: JobDetail) -> Self {
        let job = JobDetail { durable: true, ..job };
        Self { job, triggers: Vec::new(), on_change: OnChange::default(), revision: 0, auto_register: true }
    }

    /// Adds a trigger of the job's own name and group, by a cron expression in the scheduler's
    /// zone.
    ///
    /// # Errors
    /// [`Error::Cron`] for an expression that cannot be read.
    pub fn cron(self, expression: &str) -> Result<Self> {
        self.schedule(CronSchedule::new(expression)?)
    }

    /// Adds a trigger of the job's own name and group.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name that no table can hold.
    pub fn schedule(self, schedule: impl Into<Schedule>) -> Result<Self> {
        let (group, name) = (self.job.key.group(), self.job.key.name());
        let key = crate::key::TriggerKey::new(group, name);
        let trigger = Trigger::builder(key, self.job.key.clone()).schedule(schedule).build()?;
        Ok(self.trigger(trigger))
    }

    /// Adds a trigger; it is for this job, whatever it says.
    pub fn trigger(mut self, trigger: Trigger) -> Self {
        self.triggers.push(Trigger { job_key: self.job.key.clone(), ..trigger });
        self
    }

    setters! {
        /// The action on a stored definition that differs. Default: [`OnChange::Update`].
        pub fn on_change(on_change: OnChange) { self.on_change = on_change }

        /// A number that grows with changes of the definition. A node leaves a stored definition
        /// with a larger number alone, and stores nothing if somebody has deleted that job: in a
        /// rolling upgrade, a node of the old program that starts again does not undo what the new
        /// one has stored. Default: 0.
        pub fn revision(revision: u32) { self.revision = revision }

        /// True if the scheduler stores the definition when it starts. Otherwise only
        /// [`Scheduler::sync_definitions`](crate::Scheduler::sync_definitions) stores it. Default:
        /// yes.
        pub fn auto_register(yes: bool) { self.auto_register = yes }
    }

    /// The job.
    pub fn job(&self) -> &JobDetail {
        &self.job
    }

    /// The triggers of the job.
    pub fn triggers(&self) -> &[Trigger] {
        &self.triggers
    }

    /// Checks what can be checked without a store.
    pub(crate) fn check(&self) -> Result<()> {
        self.job.check()?;
        for trigger in &self.triggers {
            trigger.check()?;
            if self.triggers.iter().filter(|other| other.key == trigger.key).count() > 1 {
                let why = format!(
                    "the definition of job `{}` has trigger `{}` twice: give each a name of its own",
                    self.job.key, trigger.key
                );
                return Err(Error::Refused(why));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{JobKey, TriggerKey};

    fn job() -> JobDetail {
        JobDetail::builder(JobKey::new("g", "n"), "t").build().unwrap()
    }

    #[test]
    fn a_trigger_belongs_to_its_definition_and_has_a_name_of_its_own() {
        let other = Trigger::builder(TriggerKey::new("g", "n"), JobKey::new("g", "other")).build().unwrap();
        let twice = JobDefinition::new(job()).trigger(other.clone()).trigger(other);
        assert!(twice.triggers.iter().all(|trigger| trigger.job_key == *twice.job.key()));
        assert!(twice.check().unwrap_err().to_string().contains("`g.n` twice"));
        assert!(twice.job().is_durable());
    }
}
