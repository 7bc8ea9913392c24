//! The rows of continuations, and of the parts of ticks that they wait for.

use super::table::{NotStored, table};
use crate::key::JobKey;

table! {
    /// A row of `CN_TICK_PARTS`: a part of a tick that is followed as a whole.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TickPartRow in "CN_TICK_PARTS" by [tick, part] stamped made_ms {
        /// The tick: its trigger and its time.
        pub tick: String,
        /// The part: the node that it was made for.
        pub part: String,
        /// The job.
        pub job: JobKey = [job_name, job_group],
        /// The outcome of the part; none while its work is not over.
        pub outcome: Option<String>,
        /// The last fire of the part.
        pub fire_id: Option<String>,
        /// The result that it left.
        pub result: Option<String>,
        /// The trace that it belonged to.
        pub traceparent: Option<String>,
    }
}

table! {
    /// A row of `CN_CONTINUATIONS`, of jobs that are both there.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ContinuationRow in "CN_CONTINUATIONS" by [parent, child_hash] under trigger_access {
        /// The job that is followed.
        pub parent: JobKey = [parent_name, parent_group],
        /// The type of that job when this was written: another program may have replaced it since.
        pub parent_type: String,
        /// The job that follows.
        pub child: JobKey = [child_name, child_group],
        /// Stands for the child where its key is too long.
        pub child_hash: String,
        /// After which ends, and whether of whole ticks; kept as text since it may be of a later
        /// version.
        pub on: String = [on_outcome],
        /// Only runs of a larger fence are followed.
        pub since_fence: i64,
        /// Data for the child, in whichever form `useProperties` says.
        pub data: Option<Vec<u8>>,
        /// True if a fire of the child is executing beside which the child may not run. Read only.
        pub child_is_blocked: bool as NotStored = [],
    }
}
