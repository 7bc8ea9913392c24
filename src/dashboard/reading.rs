//! A read of the API: its name, what it gives, what it may be asked for.

use super::view::View;
use crate::error::Result;
use serde_json::Value;

/// The document of a read; none if what is asked for does not exist.
type Read = fn(&View<'_>) -> Result<Option<Value>>;

/// A read of the API.
pub(super) struct Reading {
    /// The name below `/api/`.
    pub(super) name: &'static str,
    pub(super) gives: &'static str,
    /// The names of the fields of its query.
    pub(super) parameters: &'static [&'static str],
    pub(super) read: Read,
}

impl Reading {
    /// The kind of the one thing that it is about, and how a query names it.
    pub(super) fn subject(&self) -> Option<(&'static str, &'static str)> {
        const KEY: &str = "`key=group.name`, or `group` and `name`";
        match self.name {
            "trigger" | "explain" => Some(("trigger", KEY)),
            "job" => Some(("job", KEY)),
            "run" => Some(("run", "`fire`")),
            _ => None,
        }
    }
}

/// A read by its parts.
pub(super) const fn reading(
    name: &'static str,
    gives: &'static str,
    parameters: &'static [&'static str],
    read: Read,
) -> Reading {
    Reading { name, gives, parameters, read }
}
