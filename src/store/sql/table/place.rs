//! A place in a table that is read in pages, as a condition on the columns of its key.

use crate::store::sql::statement::Value;

/// The rows after a place. The first condition lets the index find the place on every database.
pub(super) fn after_place(name: &str, group: &str) -> String {
    format!("{name} >= ? AND ({name} > ? OR {group} > ?)")
}

/// The values of [`after_place`].
pub(super) fn place_values(name: &str, group: &str) -> [Value; 3] {
    [name.into(), name.into(), group.into()]
}
