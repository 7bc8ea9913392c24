//! `DecodedCalendars`: the calendars that a store has decoded.

use super::row::CalendarRow;
use crate::calendar::Calendar;
use crate::hash::HashMap;
use chrono_tz::Tz;
use parking_lot::Mutex;
use std::sync::Arc;

/// More decoded calendars than these are not kept.
const MAX_KEPT: usize = 256;

/// A calendar, or why it cannot be read.
pub(super) type Decoded = Result<Arc<Calendar>, String>;

/// Calendars that were decoded before: the same bytes are decoded once. The bytes are read in every
/// transaction: what is kept is never older than what is stored.
#[derive(Default)]
pub(super) struct DecodedCalendars {
    kept: Mutex<HashMap<String, (Vec<u8>, Decoded)>>,
}

impl DecodedCalendars {
    pub(super) fn decode(&self, row: CalendarRow, default_zone: Tz) -> Decoded {
        let mut kept = self.kept.lock();
        if let Some((bytes, decoded)) = kept.get(&row.name)
            && *bytes == row.bytes
        {
            return decoded.clone();
        }
        let decoded = Calendar::decode(&row.bytes).map(|calendar| Arc::new(calendar.with_default_zone(default_zone)));
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(row.name, (row.bytes, decoded.clone()));
        decoded
    }
}
