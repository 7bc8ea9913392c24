//! Work that is set aside, as a row.

use super::table::table;
use crate::key::{JobKey, TriggerKey};

/// Work that nobody does until a person has looked at it: its trigger waits in `ERROR`, and a row
/// of `CN_PARKED` says why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parked {
    /// The trigger that waits, by which the work is known.
    pub key: TriggerKey,
    /// The job.
    pub job: JobKey,
    /// The fire that died last; none of a tick that could not be spread.
    pub fire_id: Option<String>,
    /// Why it is parked, for people.
    pub reason: String,
    /// The number of times in a row that the work was taken over from a run that died.
    pub takeovers: i64,
    /// Since when it is parked, epoch milliseconds by the store's clock.
    pub since_ms: i64,
}

table! {
    /// A row of `CN_PARKED`: the work of a trigger is parked.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ParkedRow in "CN_PARKED" by [trigger] under trigger_access {
        /// The trigger that waits.
        pub trigger: TriggerKey = [trigger_name, trigger_group],
        /// The fire that died last.
        pub fire_id: Option<String>,
        /// Why the work is parked.
        pub reason: String,
        /// The number of times in a row that the work was taken over.
        pub takeovers: i64,
        /// Since when the work is parked, epoch milliseconds by the store's clock.
        pub since_ms: i64,
    }
}
