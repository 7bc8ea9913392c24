//! Times where clocks change, otherwise than Quartz has them: at the end of a gap, and in both
//! passes of an hour that comes twice.
//!
//! Quartz's search goes along the clock of the zone and stumbles at its changes. The search here
//! goes along a clock that never changes, and asks of each time found when the clock of the zone
//! shows that time: once, twice or not at all.

use chrono::{DateTime, NaiveDateTime, TimeDelta};
use chrono_tz::Tz;

use super::next;
use super::parse::Plan;
use super::zone::{Meaning, to_local, to_utc};

/// The treatment of times that the clock jumps over or shows twice. The default is that of Quartz:
/// no fire in a gap, and one fire in an hour that comes twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimeChange {
    /// Times that the clock jumps over fire once, at the end of the gap.
    pub(crate) at_gap_end: bool,
    /// Times that the clock shows twice fire twice.
    pub(crate) both_passes: bool,
}

impl TimeChange {
    /// True if the treatment is that of Quartz.
    pub(crate) fn is_quartz(self) -> bool {
        self == Self::default()
    }
}

/// More times than any search rejects that ends well: it leaves a gap at once.
const MAX_STEPS: usize = 1_000;

/// The first fire time after an instant, both in epoch milliseconds.
pub(super) fn next_after(plan: &Plan, after_ms: i64, zone: Tz, now_year: i32, change: TimeChange) -> Option<i64> {
    let search = Search { plan, zone, now_year, change };
    let from = DateTime::from_timestamp(after_ms.div_euclid(1000).checked_add(1)?, 0)?.naive_utc();
    Some(search.at_or_after(from)?.and_utc().timestamp_millis())
}

struct Search<'a> {
    plan: &'a Plan,
    zone: Tz,
    now_year: i32,
    change: TimeChange,
}

impl Search<'_> {
    fn at_or_after(&self, from: NaiveDateTime) -> Option<NaiveDateTime> {
        let mut local = to_local(self.zone, from)?;
        if self.change.at_gap_end {
            // The end of a gap stands for all times in it.
            let second = TimeDelta::seconds(1);
            let unmoved = to_local(self.zone, from.checked_sub_signed(second)?)?.checked_add_signed(second)?;
            local = local.min(unmoved);
        }
        if !self.change.both_passes {
            return self.along(local, from);
        }
        let Some(second_pass) = self.end_of_first_pass(from)? else { return self.along(local, from) };
        // First what is left of the first pass, then all of the second, which shows the same times
        // again.
        let in_first = self.on_clock(local).and_then(|found| from.checked_add_signed(found - local));
        match in_first.filter(|found| *found < second_pass) {
            Some(found) => Some(found),
            None => self.along(to_local(self.zone, second_pass)?, second_pass),
        }
    }

    /// The first instant from `from` on of a time from `local` on.
    fn along(&self, mut local: NaiveDateTime, from: NaiveDateTime) -> Option<NaiveDateTime> {
        for _ in 0..MAX_STEPS {
            let found = self.on_clock(local)?;
            let instant = match to_utc(self.zone, found)? {
                Meaning::Twice { first, .. } if self.change.both_passes && first >= from => first,
                Meaning::InGap { end, .. } if self.change.at_gap_end => end,
                Meaning::InGap { end, .. } => {
                    local = to_local(self.zone, end)?;
                    continue;
                }
                meaning => meaning.in_java(),
            };
            if instant >= from {
                return Some(instant);
            }
            local = found.checked_add_signed(TimeDelta::seconds(1))?;
        }
        None
    }

    /// The first time from this one on, on a clock that never changes.
    fn on_clock(&self, local: NaiveDateTime) -> Option<NaiveDateTime> {
        let before = local.and_utc().timestamp_millis().checked_sub(1)?;
        let found = next::next_after(self.plan, before, Tz::UTC, self.now_year)?;
        Some(DateTime::from_timestamp_millis(found)?.naive_utc())
    }

    /// The time at which the clock is set back, for an instant in the first pass of times that come
    /// twice.
    fn end_of_first_pass(&self, instant: NaiveDateTime) -> Option<Option<NaiveDateTime>> {
        let ahead = |utc: NaiveDateTime| Some(to_local(self.zone, utc)?.signed_duration_since(utc));
        let (mut first, mut second) = match to_utc(self.zone, to_local(self.zone, instant)?)? {
            Meaning::Twice { first, second } if first == instant => (first, second),
            _ => return Some(None),
        };
        let summer = ahead(first)?;
        while second - first > TimeDelta::seconds(1) {
            let middle = first.checked_add_signed(TimeDelta::seconds((second - first).num_seconds() / 2))?;
            if ahead(middle)? == summer { first = middle } else { second = middle }
        }
        Some(Some(second))
    }
}
