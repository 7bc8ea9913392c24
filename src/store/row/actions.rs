//! The rows of the log of actions.

use super::table::table;
use crate::epoch::moment;
use chrono::{DateTime, Utc};

table! {
    /// A row of `CN_ACTIONS`: an action of a person, or of a program by the administrative API, on
    /// one subject.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct ActionRow in "CN_ACTIONS" by [action_id] {
        /// The id; later actions have larger ones.
        pub action_id: String,
        /// The time of the action by the store's clock, in epoch milliseconds.
        #[doc(hidden)]
        pub made_ms: i64,
        /// The person or program that did it.
        pub actor: String,
        /// The node through which it was done; the host, if it was done by the command line.
        pub node: String = [node_name],
        /// The word of the command line for it, such as `pause`.
        pub action: String = [action_name],
        /// The kind of the subject, such as `trigger`.
        pub kind: String = [subject_kind],
        /// The subject: a key as `group.name`, or a name.
        pub subject: String,
        /// A further word on it, at most 500 characters.
        pub detail: Option<String>,
    }
}

impl ActionRow {
    /// The time of the action by the store's clock.
    pub fn time(&self) -> DateTime<Utc> {
        moment(self.made_ms)
    }
}
