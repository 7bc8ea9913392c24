//! Groups of triggers that are paused.

use super::table::table;

table! {
    /// A row of `PAUSED_TRIGGER_GRPS`: a paused group, or the marker for all groups.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PausedGroupRow in "PAUSED_TRIGGER_GRPS" by [group] under trigger_access {
        /// `TRIGGER_GROUP`.
        pub group: String = [trigger_group],
    }
}
