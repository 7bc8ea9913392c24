//! Prefetched fires, as a node leaves them in the store for the case of its death.

use super::Counts;
use super::table::table;
use serde::{Deserialize, Serialize};

/// A prefetched fire, with what its trigger was before: whoever finds the node dead gives the fire
/// back as if the node had never taken it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrefetchedFire {
    /// The fence of the fire.
    pub fence: i64,
    /// `START_TIME` before.
    #[serde(rename = "start")]
    pub start_ms: i64,
    /// `PREV_FIRE_TIME` before.
    #[serde(rename = "previous", default, skip_serializing_if = "Option::is_none")]
    pub previous_ms: Option<i64>,
    /// `NEXT_FIRE_TIME` as the fire left it.
    #[serde(rename = "next_after", default, skip_serializing_if = "Option::is_none")]
    pub next_after_ms: Option<i64>,
    /// The counts in the table of its kind, before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<Counts>,
    /// The rest of the trigger's row, if the row went with the fire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<GoneTrigger>,
}

/// The row of a simple trigger that went with its last fire: what the fired row does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GoneTrigger {
    /// A note for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `END_TIME`.
    #[serde(rename = "end", skip_serializing_if = "Option::is_none")]
    pub end_ms: Option<i64>,
    /// `CALENDAR_NAME`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calendar: Option<String>,
    /// `MISFIRE_INSTR`.
    #[serde(skip_serializing_if = "is_zero")]
    pub misfire: i32,
    /// `JOB_DATA`, in whichever form `useProperties` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Vec<u8>>,
    /// `REPEAT_INTERVAL`.
    #[serde(rename = "interval", skip_serializing_if = "is_none")]
    pub interval_ms: i64,
}

fn is_zero(number: &i32) -> bool {
    *number == 0
}

fn is_none(number: &i64) -> bool {
    *number == 0
}

table! {
    /// A row of `CN_AHEAD`: fires that an instance prefetched in one transaction.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PrefetchedRow in "CN_AHEAD" by [instance, last_fence] {
        /// The instance.
        pub instance: String = [instance_name],
        /// The largest fence of the fires.
        pub last_fence: i64,
        /// The fires, as JSON.
        pub fires: String,
    }
}

table! {
    /// A row of `CN_BEGUN`: the begin mark of an instance.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct BegunRow in "CN_BEGUN" by [instance] {
        /// The instance.
        pub instance: String = [instance_name],
        /// The incarnation of the instance.
        pub incarnation: String,
        /// The number of the mark.
        pub mark_number: i64,
        /// The last fence that the mark speaks of.
        pub last_fence: i64,
        /// The fences that had not begun, as text.
        pub waiting: String,
        /// True if the instance was declared dead, and can begin nothing more.
        pub closed: bool,
    }
}
