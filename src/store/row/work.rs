//! The rows of work: checkpoints and requests.

use super::table::table;
use crate::key::{JobKey, TriggerKey};

table! {
    /// A row of `CN_CHECKPOINTS`: how far a piece of work has come.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CheckpointRow in "CN_CHECKPOINTS" by [root_fire_id] stamped made_ms {
        /// The first fire of the chain of recoveries, under which all of them find it.
        pub root_fire_id: String,
        /// Counts the checkpoints of the work, from 1.
        pub version: i64,
        /// That of the fire that wrote it.
        pub fence: i64,
        /// The data that the job wrote.
        pub data: Vec<u8>,
    }
}

table! {
    /// A row of `CN_REQUESTS`: a request that was taken, and what was stored for it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct RequestRow in "CN_REQUESTS" by [request_id] stamped made_ms {
        /// The caller's name for it.
        pub request_id: String,
        /// The trigger that was stored for it.
        pub trigger: TriggerKey = [trigger_name, trigger_group],
        /// The job that was stored for it.
        pub job: JobKey = [job_name, job_group],
    }
}
