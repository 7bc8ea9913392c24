//! `JobType`: code with what is to be said of it: the version of its data, how earlier data become
//! it, whether it is to end.

use super::job::Job;
use super::job_error::JobError;
use crate::data_map::JobDataMap;
use crate::debug_fields::debug_fields;
use crate::error::{Error, Result};
use crate::hash::HashMap;
use crate::job::JobPolicy;
use crate::key::check_text;
use crate::listener::guarded;
use crate::setters::setters;
use std::sync::Arc;

/// Brings data from one version to the next.
type Upgrader = Arc<dyn Fn(&mut JobDataMap) -> Result<(), JobError> + Send + Sync>;

/// A job type as it is registered: its code, the version of the data that the code reads, the steps
/// that bring earlier data there, and whether it is deprecated.
///
/// The version counts the forms of the job's own data, from 1. A job that is stored gets the
/// version of its type; one that was stored earlier keeps its own, and its data are upgraded step
/// by step before the code sees them. Nodes whose code reads an earlier version leave a job of a
/// later one alone.
///
/// ```
/// use carnelian::{JobContext, JobType, Scheduler};
///
/// let report = JobType::new(|ctx: &mut JobContext| {
///     println!("to {}", ctx.data().text("recipient").unwrap_or("nobody"));
///     Ok(())
/// })
/// .upgrade(1, |data| {
///     if let Some(to) = data.remove("to") {
///         data.put("recipient", to);
///     }
///     Ok(())
/// });
/// assert_eq!(report.version(), 2);
/// let scheduler = Scheduler::builder().job_type("report", report).job_alias("old-report", "report").build()?;
/// # Ok::<(), carnelian::Error>(())
/// ```
#[derive(Clone)]
pub struct JobType {
    pub(crate) job: Arc<dyn Job>,
    version: u32,
    upgraders: HashMap<u32, Upgrader>,
    deprecated: Option<String>,
    policy: JobPolicy,
}

impl JobType {
    /// A type whose data are of version 1.
    pub fn new(job: impl Job) -> Self {
        Self::of(Arc::new(job))
    }

    pub(crate) fn of(job: Arc<dyn Job>) -> Self {
        Self { job, version: 1, upgraders: HashMap::default(), deprecated: None, policy: JobPolicy::new() }
    }

    /// The step from data of version `from` to the version after it; the type reads that one from
    /// now on, if it did not read a later one. Every version needs its step: registration refuses a
    /// type that leaves one out.
    ///
    /// The step sees the job's own data, not its trigger's. An error, or panic, of the step fails
    /// the run. The job sees the result; it is stored if the job persists its data, and by
    /// [`Scheduler::migrate_jobs`](crate::Scheduler::migrate_jobs).
    pub fn upgrade<F>(mut self, from: u32, step: F) -> Self
    where
        F: Fn(&mut JobDataMap) -> Result<(), JobError> + Send + Sync + 'static,
    {
        self.upgraders.insert(from, Arc::new(step));
        self.version = self.version.max(from.saturating_add(1));
        self
    }

    setters! {
        /// Declares that the type is to end: what is stored of it still runs. This node refuses new
        /// jobs of it, and a new trigger that is stored by itself for a job of it; `instead` says
        /// what to use. [`JobDetailBuilder::even_if_deprecated`] forces it.
        ///
        /// A trigger that is stored together with its job, by a definition, a file or
        /// [`IfExists::Replace`](crate::IfExists::Replace), is not refused if the job exists.
        ///
        /// [`JobDetailBuilder::even_if_deprecated`]: crate::JobDetailBuilder::even_if_deprecated
        pub fn deprecated(instead: impl Into<String>) { self.deprecated = Some(instead.into()) }

        /// The policy of all jobs of the type, in what their own policies leave open: retry,
        /// timeout, take-overs and the rest; not placement, strategy and the rows of the history
        /// that are kept, which are refused. Default: none.
        ///
        /// The policy is stored when a node that has the type registers, for nodes without the type
        /// that recover its work. Of nodes that say different things the last is believed.
        ///
        /// ```
        /// use carnelian::{JobContext, JobPolicy, JobType, RetryPolicy, Scheduler};
        /// use std::time::Duration;
        ///
        /// let retry = RetryPolicy::fixed(Duration::from_secs(60)).max_attempts(5);
        /// let mail = JobType::new(|_: &mut JobContext| Ok(())).policy(JobPolicy::new().retry(retry));
        /// let scheduler = Scheduler::builder().job_type("mail", mail).build()?;
        /// # Ok::<(), carnelian::Error>(())
        /// ```
        pub fn policy(policy: JobPolicy) { self.policy = policy }
    }

    /// The policy of all jobs of the type.
    pub fn jobs_policy(&self) -> &JobPolicy {
        &self.policy
    }

    /// The version of the data that its code reads. Default: 1.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The replacement, if the type is deprecated.
    pub fn instead(&self) -> Option<&str> {
        self.deprecated.as_deref()
    }

    /// Checks what can be wrong with it, under the name it is registered with.
    pub(crate) fn check(&self, name: &str) -> Result<()> {
        if let Some(missing) = (1..self.version).find(|from| !self.upgraders.contains_key(from)) {
            return Err(Error::Refused(format!(
                "job type `{name}` reads data of version {}, but nothing says how data of version {missing} become those of \
                 version {}: add `.upgrade({missing}, …)`, which may do nothing",
                self.version,
                missing + 1
            )));
        }
        if self.upgraders.contains_key(&0) {
            return Err(Error::invalid(
                "version",
                "0",
                "expected an upgrade from version 1 or later: the first version is 1",
            ));
        }
        self.policy.check_for_type()?;
        match &self.deprecated {
            Some(instead) => check_text("what to use instead of a deprecated job type", instead, 250),
            None => Ok(()),
        }
    }

    /// Brings data of a version to that of the type.
    pub(crate) fn bring_up(&self, version: u32, data: &mut JobDataMap) -> Result<(), JobError> {
        if version > self.version {
            return Err(JobError::new(format!(
                "the job's data are of version {version}, and this node reads up to version {}",
                self.version
            )));
        }
        for from in version.max(1)..self.version {
            let Some(step) = self.upgraders.get(&from) else { continue };
            let failed =
                |why: &dyn std::fmt::Display| format!("the job's data cannot be upgraded from version {from}: {why}");
            match guarded(|| step(data)) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    let message = failed(&error);
                    return Err(error.with_message(message));
                }
                Err(panic) => return Err(JobError::new(failed(&format!("panic: {panic}")))),
            }
        }
        Ok(())
    }
}

debug_fields! { JobType { version, deprecated } finish_non_exhaustive |me| }

#[cfg(test)]
mod tests {
    use super::*;

    fn add(letter: &'static str) -> impl Fn(&mut JobDataMap) -> Result<(), JobError> {
        move |data| {
            let so_far = data.text("steps").unwrap_or_default().to_owned();
            data.put("steps", format!("{so_far}{letter}"));
            Ok(())
        }
    }

    fn nothing() -> JobType {
        JobType::new(|_: &mut crate::JobContext| Ok(()))
    }

    #[test]
    fn data_go_through_every_step_from_theirs_on() {
        let job_type = nothing().upgrade(2, add("b")).upgrade(1, add("a"));
        assert_eq!(job_type.version(), 3);
        job_type.check("t").unwrap();
        for (version, steps) in [(1, Some("ab")), (2, Some("b")), (3, None)] {
            let mut data = JobDataMap::new();
            job_type.bring_up(version, &mut data).unwrap();
            assert_eq!(data.text("steps"), steps, "{version}");
        }
        let error = job_type.bring_up(4, &mut JobDataMap::new()).unwrap_err();
        assert_eq!(error.message(), "the job's data are of version 4, and this node reads up to version 3");
    }

    #[test]
    fn what_goes_wrong_in_a_step_is_said() {
        let job_type = nothing().upgrade(1, |_| Err(JobError::new("no `to`").unschedule_firing_trigger()));
        let error = job_type.bring_up(1, &mut JobDataMap::new()).unwrap_err();
        assert_eq!(error.message(), "the job's data cannot be upgraded from version 1: no `to`");
        assert!(error.wants_firing_trigger_unscheduled());
        let job_type = nothing().upgrade(1, |_| panic!("boo"));
        let error = job_type.bring_up(1, &mut JobDataMap::new()).unwrap_err();
        assert_eq!(error.message(), "the job's data cannot be upgraded from version 1: panic: boo");
    }

    #[test]
    fn a_missing_step_is_refused() {
        let error = nothing().upgrade(2, add("b")).check("t").unwrap_err().to_string();
        assert!(error.contains("how data of version 1 become those of version 2: add `.upgrade(1, …)`"), "{error}");
        assert!(nothing().upgrade(0, add("b")).check("t").is_err());
        nothing().check("t").unwrap();
    }
}
