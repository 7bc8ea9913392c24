//! The observer of other nodes: its looks, whom it sees, and how long the store has answered it.

use crate::epoch::{length, millis};
use crate::store::row::{HeartbeatRow, InstanceRow};
use std::time::Duration;

/// The row of a peer, or of a running fire, by which the observer judges it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspect<'a> {
    /// The name of the peer, or the id of the fire.
    pub instance: &'a str,
    pub last_checkin_ms: i64,
    pub interval_ms: i64,
    /// A node of Quartz, whose check-ins are in the time of its own clock, not in the store's.
    pub foreign: bool,
}

impl<'a> From<&'a InstanceRow> for Suspect<'a> {
    fn from(row: &'a InstanceRow) -> Self {
        Self {
            instance: &row.name,
            last_checkin_ms: row.last_checkin_ms,
            interval_ms: row.checkin_interval_ms,
            foreign: row.incarnation.is_none(),
        }
    }
}

impl<'a> From<&'a HeartbeatRow> for Suspect<'a> {
    fn from(row: &'a HeartbeatRow) -> Self {
        Self { instance: &row.fire_id, last_checkin_ms: row.beat_ms, interval_ms: row.limit_ms, foreign: false }
    }
}

/// The observer at one check-in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observer {
    /// The store's time.
    pub now_ms: i64,
    /// The observer's monotonic clock before the statement that brought the store's time and the
    /// rows.
    pub ticks: Duration,
    /// The observer's clock when the answer was there. The store's time is from between the two
    /// readings, however long the answer took.
    pub answered: Duration,
    /// The time for which the observer had no answer of the store before this check-in.
    pub gap_ms: i64,
    pub tolerance_ms: i64,
    /// Nodes check in by clocks of their own: only silence that was seen convicts.
    pub has_several_clocks: bool,
}

impl Observer {
    /// The value of a return from an outage, and the wait for the next look at a peer that has not
    /// come back: soon enough to know how long the store has answered, should it go away again.
    pub(crate) fn quarter_of_tolerance(&self) -> Duration {
        length(self.tolerance_ms) / 4
    }

    /// True if the observer itself had no answer of the store for so long that its peers may have
    /// had none either: since the `last` one before it was stopped, or this check-in, begun at
    /// `begun`, was.
    pub(crate) fn was_away(&self, last: Duration, begun: Duration, own_interval_ms: i64) -> bool {
        let much_ms = self.tolerance_ms / 3 * 2;
        millis(self.answered.saturating_sub(begun)) > much_ms
            || millis(self.answered.saturating_sub(last)) > own_interval_ms.saturating_add(much_ms)
    }
}

/// The time in which the store has answered the observer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    pub total: Duration,
    /// The time of the last answer in it, in ticks.
    pub until: Duration,
    /// The total when the last outage ended.
    pub returned: Duration,
}

impl Reach {
    /// The reach if the store has answered from the last answer up to this one, in ticks.
    pub(super) fn at(self, answered: Duration) -> Duration {
        self.total.saturating_add(answered.saturating_sub(self.until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers that take three seconds are no outage, though the tolerance is twice that only.
    #[test]
    fn an_observer_was_away_that_was_two_thirds_of_the_tolerance_late() {
        let away = |gap_ms, waited_ms| {
            let (ticks, answered) = (Duration::from_millis(gap_ms), Duration::from_millis(gap_ms + waited_ms));
            let (now_ms, gap_ms, tolerance_ms, has_several_clocks) = (0, 0, 6_000, false);
            let look = Observer { now_ms, ticks, answered, gap_ms, tolerance_ms, has_several_clocks };
            look.was_away(Duration::ZERO, ticks, 3_000)
        };
        assert_eq!([away(4_000, 3_000), away(4_001, 3_000)], [false, true]);
        assert_eq!([away(0, 4_000), away(0, 4_001)], [false, true]);
    }
}
