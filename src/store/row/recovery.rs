//! The rows of recoveries.

use super::table::table;
use crate::key::TriggerKey;

table! {
    /// A row of `CN_RECOVERIES`: where a recovery trigger comes from.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct RecoveryRow in "CN_RECOVERIES" by [origin_fire_id] under trigger_access {
        /// The recovery trigger.
        pub trigger: TriggerKey = [trigger_name, trigger_group],
        /// The fire that was interrupted; no two recovery triggers have the same.
        pub origin_fire_id: String,
        /// The first fire of the chain of recoveries.
        pub root_fire_id: String,
        /// The scheduled time of the first fire.
        pub original_scheduled_ms: i64 = [original_sched_ms],
        /// The number of runs that were interrupted before.
        pub attempt: i64,
        /// The number of runs in a row that have died with their nodes, and were taken over.
        pub takeovers: i64,
    }
}
