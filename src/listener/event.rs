//! The events of listeners: a fire, and how it ended.

use super::FireValues;
use crate::calendar::Calendar;
use crate::data_map::JobDataMap;
use crate::epoch::moment;
use crate::job::{FireOutcome, JobDetail, trace_id_of};
use crate::store::{FireBundle, Recovering};
use crate::trigger::Trigger;
use chrono::{DateTime, Utc};
use std::time::Duration;

/// A fire of this node, as listeners see it.
#[derive(Clone, Copy, Debug)]
pub struct FireEvent<'a> {
    bundle: &'a FireBundle,
    instance: &'a str,
    refire_count: u32,
    values: &'a FireValues,
}

impl<'a> FireEvent<'a> {
    pub(crate) fn new(bundle: &'a FireBundle, instance: &'a str, refire_count: u32, values: &'a FireValues) -> Self {
        Self { bundle, instance, refire_count, values }
    }

    /// The id of the fire, never used twice.
    #[doc(alias = "getFireInstanceId")]
    pub fn fire_id(&self) -> &'a str {
        &self.bundle.fire_id
    }

    /// Larger than that of any earlier fire of the scheduler.
    pub fn fence(&self) -> i64 {
        self.bundle.fence
    }

    /// The job.
    pub fn job(&self) -> &'a JobDetail {
        &self.bundle.job
    }

    /// The trigger, already moved on to its next fire time.
    pub fn trigger(&self) -> &'a Trigger {
        &self.bundle.trigger
    }

    /// The time the fire stands for.
    pub fn scheduled_fire_time(&self) -> DateTime<Utc> {
        moment(self.bundle.scheduled_ms)
    }

    /// The time at which it was fired.
    pub fn fire_time(&self) -> DateTime<Utc> {
        moment(self.bundle.fired_ms)
    }

    /// The fire time of the trigger before this one.
    pub fn previous_fire_time(&self) -> Option<DateTime<Utc>> {
        self.bundle.previous_ms.map(moment)
    }

    /// The fire time of the trigger after this one.
    pub fn next_fire_time(&self) -> Option<DateTime<Utc>> {
        self.bundle.trigger.next_fire_time()
    }

    /// The calendar that the trigger names, as it was when the fire began.
    pub fn calendar(&self) -> Option<&'a Calendar> {
        self.bundle.calendar.as_deref()
    }

    /// The job's data overlaid by the trigger's, as they were when the fire began.
    #[doc(alias = "getMergedJobDataMap")]
    pub fn data(&self) -> JobDataMap {
        self.bundle.job.data().merged_with(self.bundle.trigger.data())
    }

    /// Present if the fire runs the work of a failed instance again.
    pub fn recovering(&self) -> Option<&'a Recovering> {
        self.bundle.recovering.as_ref()
    }

    pub(super) fn trace_id(&self) -> Option<&'a str> {
        self.bundle.traceparent().and_then(trace_id_of)
    }

    /// The node it runs on.
    pub fn instance_id(&self) -> &'a str {
        self.instance
    }

    /// The number of times that the job asked to be run again at once, so far.
    pub fn refire_count(&self) -> u32 {
        self.refire_count
    }

    /// The values that the job and its listeners leave for each other.
    pub fn values(&self) -> &'a FireValues {
        self.values
    }
}

/// The end of a run of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FireEnd {
    /// Well, badly or told to stop.
    pub outcome: FireOutcome,
    /// The message of the job when it failed, or its panic.
    pub error: Option<String>,
    /// The time for which it ran.
    pub run_time: Duration,
    /// The text that the job left with [`JobContext::set_result`](crate::JobContext::set_result).
    pub result: Option<String>,
}
