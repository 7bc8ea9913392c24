//! Outages: whether there was one, what its missed fires come to, and when the recovery mode begins
//! and ends.

use crate::calendar::Calendar;
use crate::rules::misfire;
use crate::rules::passing_over::leave_out_old;
use crate::trigger::{MisfireInstruction, Trigger};

/// The fate of the missed times of an overdue trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The trigger fires once, now.
    FireNow,
    /// A fire for each.
    FireEach,
    /// None: it waits for its next time, or ends.
    Skip,
}

/// The fate of a trigger's missed times by its misfire instruction and policies.
pub(crate) fn fate(mut trigger: Trigger, calendar: Option<&Calendar>, now_ms: i64, threshold_ms: i64) -> Fate {
    leave_out_old(&mut trigger, calendar, now_ms);
    if misfire::is_misfired(&trigger, now_ms, threshold_ms) {
        misfire::apply(&mut trigger, calendar, now_ms);
    }
    if trigger.next_ms.is_none_or(|next_ms| next_ms > now_ms) {
        return Fate::Skip;
    }
    let ignores = trigger.misfire == MisfireInstruction::Ignore;
    trigger.move_on(calendar, now_ms);
    match trigger.next_ms.is_some_and(|next_ms| next_ms <= now_ms) {
        true => Fate::FireEach,
        // A trigger with one time has no other to leave out.
        false if ignores => Fate::FireEach,
        false => Fate::FireNow,
    }
}

/// Since when nobody ran, if that is an outage: longer than the silence by which a node counts as
/// dead.
pub(crate) fn began(last_seen_ms: Option<i64>, now_ms: i64, window_ms: i64) -> Option<i64> {
    last_seen_ms.filter(|seen_ms| *seen_ms > 0 && now_ms.saturating_sub(*seen_ms) > window_ms)
}

/// Looks without progress after which what is left of a backlog below the threshold is left to the
/// normal mode: nobody can run it.
const LOOKS_WITHOUT_PROGRESS: u32 = 4;

/// True if a backlog asks for the recovery mode.
pub(crate) fn asks_for_recovery(overdue: usize, threshold: u32) -> bool {
    threshold > 0 && overdue >= usize::try_from(threshold).unwrap_or(usize::MAX)
}

/// A node's view of the backlog while it is drained.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draining {
    least: Option<usize>,
    idle_looks: u32,
}

impl Draining {
    /// Records a reading; true if the backlog is drained.
    pub(crate) fn is_over(&mut self, overdue: usize, threshold: u32) -> bool {
        if self.least.is_none_or(|least| overdue < least) {
            self.least = Some(overdue);
            self.idle_looks = 0;
        } else {
            self.idle_looks = self.idle_looks.saturating_add(1);
        }
        overdue == 0 || (self.idle_looks >= LOOKS_WITHOUT_PROGRESS && !asks_for_recovery(overdue, threshold))
    }
}

/// A limit of the fires that may begin in a second: a second's worth at most at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pace {
    /// Thousandths of a fire that may begin.
    credit: u64,
    at_ms: u64,
}

impl Pace {
    /// The number of fires that may begin at this time.
    pub(crate) fn allows(&mut self, at_ms: u64, per_second: u32) -> usize {
        let rate = u64::from(per_second.max(1));
        let passed = at_ms.saturating_sub(self.at_ms).min(1_000);
        self.at_ms = at_ms;
        self.credit = self.credit.saturating_add(passed.saturating_mul(rate)).min(rate.saturating_mul(1_000));
        usize::try_from(self.credit / 1_000).unwrap_or(usize::MAX)
    }

    /// Counts fires that have begun.
    pub(crate) fn spend(&mut self, fires: usize) {
        let fires = u64::try_from(fires).unwrap_or(u64::MAX);
        self.credit = self.credit.saturating_sub(fires.saturating_mul(1_000));
    }

    /// The time until another fire may begin, in milliseconds.
    pub(crate) fn wait_ms(&self, per_second: u32) -> u64 {
        1_000u64.saturating_sub(self.credit).div_ceil(u64::from(per_second.max(1))).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DS-82: never more than the rate in a second, nor more than a second's worth after a pause.
    #[test]
    fn a_pace_is_kept() {
        let mut pace = Pace::default();
        assert_eq!(pace.allows(0, 10), 0);
        assert_eq!(pace.wait_ms(10), 100);
        assert_eq!(pace.allows(100, 10), 1);
        pace.spend(1);
        assert_eq!((pace.allows(150, 10), pace.wait_ms(10)), (0, 50));
        assert_eq!(pace.allows(60_000, 10), 10);
        pace.spend(10);
        assert_eq!(pace.allows(60_000, 10), 0);
    }

    /// DS-84: it ends when nothing is left, or when what is left of a small backlog does not get
    /// less.
    #[test]
    fn a_backlog_is_drained_or_stays() {
        let looks = |overdue: &[usize]| {
            let mut draining = Draining::default();
            overdue.iter().map(|n| draining.is_over(*n, 100)).collect::<Vec<_>>()
        };
        assert_eq!(looks(&[500, 20, 0]), [false, false, true]);
        assert_eq!(looks(&[500, 3, 3, 3, 3, 3]), [false, false, false, false, false, true]);
        assert_eq!(looks(&[500, 500, 500, 500, 500, 500]), [false; 6]);
    }

    /// DS-80: a silence within the window is none, nor is a first start.
    #[test]
    fn an_outage_is_longer_than_the_window() {
        assert_eq!(began(None, 100_000, 22_500), None);
        assert_eq!(began(Some(77_500), 100_000, 22_500), None);
        assert_eq!(began(Some(77_499), 100_000, 22_500), Some(77_499));
    }
}
