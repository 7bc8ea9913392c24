//! The rows of definitions in code.

use super::table::{NotStored, table};
use crate::key::{JobKey, TriggerKey};

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
