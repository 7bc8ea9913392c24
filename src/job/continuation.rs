//! `Continuation`: a job that follows the runs of another.

use crate::data_map::{DataValue, JobDataMap};
use crate::error::{Error, Result};
use crate::job::{FireOutcome, TRACEPARENT, traceparent_of};
use crate::key::JobKey;
use crate::setters::setters;
use crate::words::words;
use std::str::FromStr;

/// After which ends of its parent's runs a child runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum On {
    /// The run has [succeeded](FireOutcome::Succeeded).
    #[default]
    Success,
    /// The run has failed, for good: it [failed](FireOutcome::Failed) or [timed
    /// out](FireOutcome::TimedOut) and is not tried again, was
    /// [interrupted](FireOutcome::Interrupted) and goes on nowhere, or was
    /// [lost](FireOutcome::Lost) and is not recovered.
    Failure,
    /// Either of them, and when somebody has [cancelled](FireOutcome::Cancelled) the run.
    Any,
}

words! {
    /// The word for it: `success`, `failure`, `any`.
    On {
        Success = "success",
        Failure = "failure",
        Any = "any",
    }
}

impl FromStr for On {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|on| on.name() == name);
        found.ok_or_else(|| Error::invalid("outcome to follow on", name, "expected success, failure or any"))
    }
}

/// A rule that a job, the child, runs after runs of another, the parent: once for each run with one
/// of the named outcomes.
///
/// Both are stored jobs, and the child is durable. A job has any number of children up to
/// [`MAX_CHILDREN`](crate::definitions::MAX_CHILDREN), and any number of parents: it runs after
/// each run of any of them.
///
/// ```
/// use carnelian::{Continuation, IfExists, JobDetail, JobKey, On, Scheduler};
///
/// let scheduler = Scheduler::builder().build()?;
/// for name in ["import", "report", "alarm"] {
///     scheduler.add_job(&JobDetail::builder(JobKey::named(name), name).durable(true).build()?, IfExists::Refuse)?;
/// }
/// let import = || JobKey::named("import");
/// scheduler.follow(&Continuation::new(import(), JobKey::named("report")))?;
/// scheduler.follow(&Continuation::new(import(), JobKey::named("alarm")).on(On::Failure).data("channel", "ops"))?;
/// assert_eq!(scheduler.children_of(&import())?.len(), 2);
/// // A circle is an oversight more often than not.
/// assert!(scheduler.follow(&Continuation::new(JobKey::named("report"), import())).is_err());
/// # Ok::<(), carnelian::Error>(())
/// ```
#[doc(alias = "JobChainingJobListener")]
#[derive(Clone, Debug, PartialEq)]
pub struct Continuation {
    pub(crate) parent: JobKey,
    pub(crate) child: JobKey,
    pub(crate) on: On,
    pub(crate) per_tick: bool,
    pub(crate) data: JobDataMap,
    pub(crate) allows_cycle: bool,
}

impl Continuation {
    /// A continuation by which `child` runs after each run of `parent` that has succeeded.
    pub fn new(parent: JobKey, child: JobKey) -> Self {
        Self { parent, child, on: On::Success, per_tick: false, data: JobDataMap::new(), allows_cycle: false }
    }

    setters! {
        /// After which ends. Default: [`On::Success`].
        #[must_use]
        pub fn on(on: On) { self.on = on }

        /// True if a child of a job that is [spread over nodes](crate::placement::Strategy) runs
        /// once for a whole tick, after its last part, and not once for each part. Default: no.
        ///
        /// The tick has failed if a part of it has, if a share of the work was lost with its node,
        /// or a part that was to be tried again there; the child then sees the run of such a part.
        /// A part of a [broadcast](crate::placement::Strategy::Broadcast) that its node never began
        /// does not count.
        #[must_use]
        pub fn once_per_tick(yes: bool) { self.per_tick = yes }
    }

    /// An entry of data for the child's runs after this parent: as data of a trigger it goes over
    /// that of the job.
    #[must_use]
    pub fn data(mut self, key: impl Into<String>, value: impl Into<DataValue>) -> Self {
        self.data.put(key, value);
        self
    }

    setters! {
        /// The data for the child's runs after this parent. Default: none.
        #[must_use]
        pub fn data_map(data: JobDataMap) { self.data = data }

        /// Allows a continuation by which a job follows itself, at once or through others; such a
        /// continuation is refused otherwise. The jobs of such a circle run for ever, or until one
        /// of them ends with another outcome.
        #[must_use]
        pub fn allow_cycle(yes: bool) { self.allows_cycle = yes }
    }

    /// The job that is followed.
    pub fn parent(&self) -> &JobKey {
        &self.parent
    }

    /// The job that follows.
    pub fn child(&self) -> &JobKey {
        &self.child
    }

    /// After which ends it follows.
    pub fn follows_on(&self) -> On {
        self.on
    }

    /// True if it follows whole ticks.
    pub fn is_once_per_tick(&self) -> bool {
        self.per_tick
    }

    /// The data that is passed on to the child's runs.
    pub fn passed_data(&self) -> &JobDataMap {
        &self.data
    }
}

/// The run that a run follows; see [`JobContext::parent`](crate::JobContext::parent).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parent {
    /// The fire.
    pub fire_id: String,
    /// The job of the run.
    pub job: JobKey,
    /// The outcome of the run.
    pub outcome: FireOutcome,
    /// The text that the job [left as its result](crate::JobContext::set_result).
    pub result: Option<String>,
    /// The trace context of the run, which the child's run is in too.
    pub traceparent: Option<String>,
}

impl Parent {
    /// The key in the trigger's data of [`Parent::fire_id`].
    pub const FIRE_ID: &'static str = "CARNELIAN_PARENT_FIRE_ID";
    /// The key in the trigger's data of the name of [`Parent::job`].
    pub const JOB_NAME: &'static str = "CARNELIAN_PARENT_JOB_NAME";
    /// The key in the trigger's data of the group of [`Parent::job`].
    pub const JOB_GROUP: &'static str = "CARNELIAN_PARENT_JOB_GROUP";
    /// The key in the trigger's data of the name of [`Parent::outcome`].
    pub const OUTCOME: &'static str = "CARNELIAN_PARENT_OUTCOME";
    /// The key in the trigger's data of [`Parent::result`]; absent without one.
    pub const RESULT: &'static str = "CARNELIAN_PARENT_RESULT";

    pub(crate) fn put_into(&self, data: &mut JobDataMap) {
        data.put(Self::FIRE_ID, self.fire_id.as_str());
        data.put(Self::JOB_NAME, self.job.name());
        data.put(Self::JOB_GROUP, self.job.group());
        data.put(Self::OUTCOME, self.outcome.name());
        data.remove(Self::RESULT);
        if let Some(result) = &self.result {
            data.put(Self::RESULT, result.as_str());
        }
        // An entry that the continuation passes on goes over it.
        if let Some(trace) = self.traceparent.as_ref().filter(|_| data.text(TRACEPARENT).is_none()) {
            data.put(TRACEPARENT, trace.as_str());
        }
    }

    /// The parent that a trigger's data name; none if that trigger was not stored for a child.
    pub fn of(data: &JobDataMap) -> Option<Self> {
        Some(Self {
            fire_id: data.text(Self::FIRE_ID)?.to_owned(),
            job: JobKey::new(data.text(Self::JOB_GROUP)?, data.text(Self::JOB_NAME)?),
            outcome: FireOutcome::from_name(data.text(Self::OUTCOME)?)?,
            result: data.text(Self::RESULT).map(str::to_owned),
            traceparent: traceparent_of(data).map(str::to_owned),
        })
    }
}
