//! `ZoneTable`: the table that the JVM keeps of a time zone and stores with every object that has
//! one.
//!
//! A JVM does not look up a stored zone by its name but believes the table in the stream. These
//! tables are therefore equal, value by value, to those that Java makes of the same rules.

mod rule;
mod spans;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use chrono_tz::Tz;
use parking_lot::Mutex;

pub(super) use rule::{Clock, DaylightRule, RuleDay};
use spans::{Span, milliseconds, spans};

/// The first instant of a table, in seconds: 1900-01-01T00:00Z.
const BEGIN: i64 = -2_208_988_800;
/// The first instant of the last year of a table, 2037.
const LAST_YEAR: i64 = 2_114_380_800;
/// The first instant after a table.
const END: i64 = 2_145_916_800;

/// The fields of a `sun.util.calendar.ZoneInfo`, without those that never differ. Offsets are
/// milliseconds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ZoneTable {
    pub(super) raw_offset: i32,
    pub(super) dst_savings: i32,
    pub(super) checksum: i32,
    /// Nothing for a zone whose clocks never changed since 1900.
    pub(super) transitions: Option<Transitions>,
    /// Rule by which clocks change after the table.
    pub(super) rule: Option<DaylightRule>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Transitions {
    /// The instant in milliseconds, shifted to make room for the numbers of the saving and of the
    /// offset.
    pub(super) coded: Vec<i64>,
    pub(super) offsets: Vec<i32>,
}

impl ZoneTable {
    /// The table of a zone, made once.
    pub(super) fn of(zone: Tz) -> Arc<ZoneTable> {
        static TABLES: LazyLock<Mutex<HashMap<Tz, Arc<ZoneTable>>>> = LazyLock::new(Mutex::default);
        Arc::clone(TABLES.lock().entry(zone).or_insert_with(|| Arc::new(ZoneTable::make(zone))))
    }

    fn make(zone: Tz) -> ZoneTable {
        let spans = spans(zone, BEGIN, END);
        let raw = spans.last().map_or(0, |span| span.standard);
        let rule = DaylightRule::of(zone);
        // Java takes these three for fixed offsets.
        let fixed = spans.len() < 2 || matches!(zone, Tz::EST | Tz::MST | Tz::HST);
        let transitions = (!fixed).then(|| Transitions::of(&spans, raw, rule.is_some()));
        ZoneTable {
            raw_offset: milliseconds(raw),
            dst_savings: rule.as_ref().map_or(0, |rule| rule.savings),
            checksum: transitions.as_ref().map_or(0, Transitions::checksum),
            transitions,
            rule,
        }
    }
}

impl Transitions {
    fn of(spans: &[Span], raw: i64, has_rule: bool) -> Self {
        let mut table = Self { coded: Vec::new(), offsets: vec![milliseconds(raw)] };
        let last_change = spans.windows(2).rev().find(|pair| matches!(pair, [a, b] if a.wall != b.wall));
        let last_change = last_change.and_then(|pair| pair.last()).map_or(BEGIN, |span| span.from);
        for span in spans {
            let offset = table.number_of(span.wall, 0);
            // A change of the standard time alone is not recorded after the last change of the
            // clocks.
            let saves = span.wall != span.standard && span.from <= last_change;
            let saving = if saves { table.number_of(span.wall - span.standard, 1) } else { 0 };
            table.push(span.from, saving, offset);
        }
        if !has_rule && last_change < LAST_YEAR - raw {
            table.push(LAST_YEAR - raw, 0, 0);
        }
        table
    }

    /// The number of an offset or a saving, not looking at the first `from`; a new one is added.
    fn number_of(&mut self, seconds: i64, from: usize) -> i64 {
        let wanted = milliseconds(seconds);
        let known = self.offsets.iter().skip(from).position(|offset| *offset == wanted).map(|at| at + from);
        let at = known.unwrap_or_else(|| {
            self.offsets.push(wanted);
            self.offsets.len() - 1
        });
        i64::try_from(at & 0xF).unwrap_or(0)
    }

    fn push(&mut self, from: i64, saving: i64, offset: i64) {
        self.coded.push((from * 1000) << 12 | saving << 4 | offset);
    }

    /// The CRC of instants and numbers.
    fn checksum(&self) -> i32 {
        let bytes = self.coded.iter().flat_map(|coded| {
            let (instant, saving, offset) = (coded >> 12, coded >> 4 & 0xF, coded & 0xF);
            let word = |number: i64| i32::try_from(number).unwrap_or(0).to_be_bytes();
            let saving = if saving == 0 { -1 } else { saving };
            (instant + offset).to_be_bytes().into_iter().chain(word(offset)).chain(word(saving))
        });
        crc32(bytes).cast_signed()
    }
}

/// `java.util.zip.CRC32`.
fn crc32(bytes: impl Iterator<Item = u8>) -> u32 {
    let shifted = |crc: u32| crc >> 1 ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 };
    !bytes.fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| shifted(crc)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Java: the `checksum` of these zones, of tzdata 2025a.
    #[test]
    fn checksums_are_those_of_java() {
        let checksum = |zone| ZoneTable::of(zone).checksum;
        assert_eq!(checksum(Tz::Europe__Berlin), -1_679_770_105);
        assert_eq!(checksum(Tz::America__New_York), -1_719_355_438);
        assert_eq!(checksum(Tz::Asia__Kolkata), -859_642_511);
        assert_eq!(checksum(Tz::Pacific__Chatham), 1_642_562_780);
        assert_eq!(checksum(Tz::Australia__Lord_Howe), -964_105_134);
        // Ireland's winter is a negative summer in the sources of the data.
        assert_eq!(checksum(Tz::Europe__Dublin), 26_623_827);
        assert_eq!(checksum(Tz::Africa__Casablanca), -462_638_179);
        assert_eq!(
            *ZoneTable::of(Tz::UTC),
            ZoneTable { raw_offset: 0, dst_savings: 0, checksum: 0, transitions: None, rule: None }
        );
    }

    #[test]
    fn zones_have_a_table_that_can_be_coded() {
        for zone in chrono_tz::TZ_VARIANTS.into_iter().step_by(20) {
            let table = ZoneTable::of(zone);
            if let Some(Transitions { coded, offsets }) = &table.transitions {
                assert!(coded.is_sorted() && offsets.len() <= 16, "{zone}: {} offsets", offsets.len());
            }
        }
    }
}
