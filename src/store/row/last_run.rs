//! The rows of last runs.

use super::table::table;
use crate::epoch::{length, moment};
use crate::job::FireOutcome;
use crate::key::JobKey;
use chrono::{DateTime, Utc};
use std::time::Duration;

table! {
    /// A row of `CN_LAST_RUNS`: the last run of a job on a node, of a job that several nodes run.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct LastRunRow in "CN_LAST_RUNS" by [job, instance] {
        /// The job.
        pub job: JobKey = [job_name, job_group],
        /// The instance.
        pub instance: String = [instance_name],
        /// The fire.
        pub fire_id: String,
        /// The time at which it ended.
        #[doc(hidden)]
        pub ended_ms: i64,
        /// The duration of the run, in milliseconds; none if nobody could say.
        #[doc(hidden)]
        pub run_ms: Option<i64>,
        /// The outcome of the fire.
        pub outcome: FireOutcome,
        /// The error that the job gave when it failed.
        pub error: Option<String>,
    }
}

impl LastRunRow {
    /// The time at which the run ended.
    pub fn end_time(&self) -> DateTime<Utc> {
        moment(self.ended_ms)
    }

    /// The duration of the run; none if nobody could say.
    pub fn run_time(&self) -> Option<Duration> {
        self.run_ms.map(length)
    }
}
