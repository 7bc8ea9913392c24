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

/// A read by its parts.
pub(super) const fn reading(
    name: &'static str,
    gives: &'static str,
    parameters: &'static [&'static str],
    read: Read,
) -> Reading {
    Reading { name, gives, parameters, read }
}
