//! The rows of definitions in code.

use crate::key::{JobKey, TriggerKey};

/// A row of `CN_DEFINITIONS` with those of `CN_DEFINED_TRIGGERS`: a job that a program has defined in code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionRow {
    /// The job.
    pub job: JobKey,
    /// Which program has defined it.
    pub source: String,
    /// The revision of the definition; at least 0.
    pub revision: i64,
    /// The form of the definition.
    pub hash: String,
    /// When it was stored in this form.
    pub made_ms: i64,
    /// The triggers that the definition had, in order.
    pub triggers: Vec<TriggerKey>,
}
