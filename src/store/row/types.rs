//! The rows of job types, versions of data and orphans.

use super::table::table;
use crate::key::JobKey;

table! {
    /// A row of `CN_JOB_TYPES`: a name under which an instance can run jobs.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct JobTypeRow in "CN_JOB_TYPES" by [instance, ordinal] {
        /// The instance.
        pub instance: String = [instance_name],
        /// The place of the name among those of the instance.
        pub ordinal: i64,
        /// The name; empty in the one row of an instance that has none.
        pub job_type: String,
        /// The version of the data that its code reads.
        pub version: i64,
        /// The type that the name stands for, if it is another's old name.
        pub alias_of: Option<String>,
        /// Advice on what to use instead, if nothing new is to be stored with the type.
        pub deprecated: Option<String>,
    }
}

table! {
    /// A row of `CN_TYPE_POLICIES`: what holds for jobs of a type that say nothing else.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TypePolicyRow in "CN_TYPE_POLICIES" by [job_type] {
        /// The type.
        pub job_type: String,
        /// The policy, as text.
        pub policy: String,
    }
}

table! {
    /// A row of `CN_JOB_VERSIONS`: a job whose data are of a later version than the first.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct JobVersionRow in "CN_JOB_VERSIONS" by [job] under trigger_access {
        /// The job.
        pub job: JobKey = [job_name, job_group],
        /// The type that it had then: another program may have replaced it since.
        pub job_type: String,
        /// The version of its data.
        pub version: i64,
    }
}

/// A job that no known type can run, from several tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownJobRow {
    /// The job.
    pub job: JobKey,
    /// `JOB_CLASS_NAME`.
    pub job_type: String,
    /// The version of its data.
    pub version: i64,
    /// The number of the job's triggers.
    pub triggers: i64,
    /// The earliest time of these triggers.
    pub next_ms: Option<i64>,
}

table! {
    /// A row of `CN_ORPHANS`: since when no live node can run a job.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct OrphanRow in "CN_ORPHANS" by [job] {
        /// The job.
        pub job: JobKey = [job_name, job_group],
        /// The type that it had then.
        pub job_type: String,
        /// The time at which that was first seen.
        pub since_ms: i64,
    }
}

/// The job types that can be run: names, each with the latest version of data that its code reads.
pub type TypeVersions = std::collections::BTreeMap<String, i64>;
