//! The rows of jobs, and of their definitions in code.

use super::table::{NotStored, table};
use crate::job::{JobMarks, JobPolicy, RunMarks};
use crate::key::{JobKey, TriggerKey};
use std::sync::Arc;

/// A row of `JOB_DETAILS`.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRow {
    /// The key.
    pub key: JobKey,
    /// A note for people.
    pub description: Option<String>,
    /// `JOB_CLASS_NAME`.
    pub job_type: Arc<str>,
    /// `IS_DURABLE`.
    pub durable: bool,
    /// `IS_NONCONCURRENT`.
    pub nonconcurrent: bool,
    /// `IS_UPDATE_DATA`.
    pub update_data: bool,
    /// `REQUESTS_RECOVERY`.
    pub requests_recovery: bool,
    /// `JOB_DATA`, in whichever form `useProperties` says.
    pub data: Option<Vec<u8>>,
    /// The row in `CN_JOB_POLICIES`.
    pub policy: Option<String>,
    /// The row in `CN_JOB_MARKS`.
    pub marks: Option<String>,
}

impl JobRow {
    /// The marks of a run of the job in this trace.
    pub(in crate::store) fn run_marks(&self, traceparent: Option<&str>) -> RunMarks {
        let marks = self.marks.as_deref().and_then(|text| JobMarks::decode(text).ok());
        RunMarks::of(&marks.unwrap_or_default(), self.description.as_deref(), traceparent)
    }

    /// True if the job runs on several nodes.
    pub(in crate::store) fn is_spread(&self) -> bool {
        let policy = self.policy.as_deref().and_then(|text| JobPolicy::decode(text).ok());
        policy.is_some_and(|policy| policy.is_spread())
    }
}

table! {
    /// A row of `CN_JOB_POLICIES`: what is done about runs of a job.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct JobPolicyRow in "CN_JOB_POLICIES" by [job] under trigger_access {
        /// The job.
        pub job: JobKey = [job_name, job_group],
        /// The type of the job that the policy was given to.
        pub job_type: String,
        /// The policy, as text.
        pub policy: String,
    }
}

table! {
    /// A row of `CN_JOB_MARKS`: what people and other systems know a job by.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct JobMarksRow in "CN_JOB_MARKS" by [job] under trigger_access {
        /// The job.
        pub job: JobKey = [job_name, job_group],
        /// The type of the job that the marks were given to.
        pub job_type: String,
        /// The name of the work in the business.
        pub biz_key: Option<String>,
        /// The owner.
        pub owner: Option<String>,
        /// All marks, as text.
        pub marks: String,
    }
}

table! {
    /// A row of `CN_TAGS`: a tag of a job with marks.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TagRow in "CN_TAGS" by [tag, job] under trigger_access {
        /// The tag.
        pub tag: String,
        /// The job.
        pub job: JobKey = [job_name, job_group],
    }
}

table! {
    /// A row of `CN_DEFINITIONS` with those of `CN_DEFINED_TRIGGERS`: a job that a program has
    /// defined in code.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct DefinitionRow in "CN_DEFINITIONS" by [job] under trigger_access {
        /// The job.
        pub job: JobKey = [job_name, job_group],
        /// The program that has defined the job.
        pub source: String,
        /// The revision of the definition; at least 0.
        pub revision: i64,
        /// The form of the definition.
        pub hash: String,
        /// The time at which it was stored in this form.
        pub made_ms: i64,
        /// The triggers that the definition had, in order.
        pub triggers: Vec<TriggerKey> as NotStored = [],
    }
}

table! {
    /// A row of `CN_DEFINED_TRIGGERS`: a trigger that a definition had.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct DefinedTriggerRow in "CN_DEFINED_TRIGGERS" by [trigger] under trigger_access {
        /// The trigger.
        pub trigger: TriggerKey = [trigger_name, trigger_group],
        /// The job of the definition.
        pub job: JobKey = [job_name, job_group],
    }
}
