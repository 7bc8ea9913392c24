//! `Origin`: the stream that a calendar was read from, so that it is stored again as it was.

use std::sync::Arc;

/// The stream that a calendar was read from. No part of what the calendar means: two calendars are
/// equal whatever they were read from.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin(pub(super) Option<Arc<[u8]>>);
