//! Trends: how many fires ended, how late they began and how many waited, minute by minute, from
//! the history.

use crate::error::Result;
use crate::history::FireOutcome;
use crate::rules::run_times::percentile;
use crate::store::JobStore;
use crate::store::row::TrendSample;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::Duration;

/// The length of a step.
pub(super) const STEP_MS: i64 = 60_000;
/// The number of steps that are shown.
pub(super) const STEPS: i64 = 120;
/// The most rows that one look reads, the newest. Of a busier cluster the minutes are estimated.
const MOST_ROWS: usize = 5_000;
/// The time for which a look serves every page.
const FRESH: Duration = Duration::from_secs(5);

/// One minute of the history.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Step {
    pub(super) succeeded: f64,
    /// The fires that did not end well.
    pub(super) failed: f64,
    /// The delay that half of the fires did not exceed, in milliseconds; without those that were
    /// late by intention, as below.
    pub(super) typical_ms: i64,
    /// The delay that all fires but one of a hundred did not exceed, in milliseconds.
    pub(super) slow_ms: i64,
    /// The number of due fires that waited at a time, on average: the sum of their delays by the
    /// length of the minute.
    pub(super) waiting: f64,
}

impl Step {
    /// The step of these fires, each of which stands for so many.
    fn of(samples: &[&TrendSample], each: f64) -> Self {
        let mut late_ms: Vec<i64> = samples.iter().filter_map(|row| row.late_ms()).collect();
        late_ms.sort_unstable();
        let count = |is_counted: fn(FireOutcome) -> bool| {
            samples.iter().filter(|row| is_counted(row.outcome)).count() as f64 * each
        };
        Self {
            succeeded: count(|outcome| outcome == FireOutcome::Succeeded),
            failed: count(|outcome| FireOutcome::BAD.contains(&outcome)),
            typical_ms: percentile(&late_ms, 50).unwrap_or(0),
            slow_ms: percentile(&late_ms, 99).unwrap_or(0),
            waiting: late_ms.iter().sum::<i64>() as f64 * each / STEP_MS as f64,
        }
    }
}

/// The minutes that are known, and when the history was read last.
#[derive(Default)]
pub(super) struct Trends(Mutex<Known>);

#[derive(Default)]
struct Known {
    read: Option<Duration>,
    /// By the minute's number since the epoch.
    minutes: BTreeMap<i64, Step>,
    /// The first minute about which anything is known.
    since: Option<i64>,
}

/// The minutes that a chart shows.
pub(super) struct Shown {
    /// The minutes, the oldest first.
    pub(super) steps: Vec<Step>,
    /// The time at which the last of them ends, epoch milliseconds.
    pub(super) end_ms: i64,
    /// The number of minutes at the beginning of which nothing is known.
    pub(super) unknown: usize,
}

impl Trends {
    /// The last two hours.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub(super) fn look(&self, store: &JobStore, now: Duration, now_ms: i64) -> Result<Shown> {
        let mut known = self.0.lock();
        let last = now_ms.div_euclid(STEP_MS);
        let first = last - STEPS + 1;
        if known.read.is_none_or(|read| now.saturating_sub(read) >= FRESH) {
            known.minutes.retain(|minute, _| *minute >= first);
            // The minute before the last one once more: a row may be committed later than it says.
            let newest = known.minutes.last_key_value().map_or(first, |(minute, _)| *minute - 1);
            let from = newest.clamp(first, last);
            known.read_on(&store.history().samples_since(from * STEP_MS, MOST_ROWS)?, from, now_ms);
            known.read = Some(now);
        }
        let steps = (first..=last).map(|minute| known.minutes.get(&minute).copied().unwrap_or_default()).collect();
        let unknown = known.since.map_or(0, |since| (since - first).clamp(0, STEPS));
        Ok(Shown { steps, end_ms: (last + 1) * STEP_MS, unknown: usize::try_from(unknown).unwrap_or(0) })
    }
}

impl Known {
    /// Takes in the rows from this minute on, the newest first; the oldest minute is estimated if
    /// there were more, and if minutes before it were not read, nothing is known before it.
    fn read_on(&mut self, samples: &[TrendSample], from: i64, now_ms: i64) {
        let cut_ms = samples.last().filter(|_| samples.len() == MOST_ROWS).map(|row| row.ended_ms);
        let cut = cut_ms.map(|ms| ms.div_euclid(STEP_MS));
        let newest = self.minutes.last_key_value().map(|(minute, _)| *minute);
        let gap = cut.filter(|cut| newest.is_none_or(|newest| newest + 1 < *cut));
        self.since = gap.or(self.since).or(Some(from));
        self.minutes.retain(|minute, _| gap.is_none_or(|gap| gap <= *minute));
        let mut minutes: BTreeMap<i64, Vec<&TrendSample>> = BTreeMap::new();
        for sample in samples {
            minutes.entry(sample.ended_ms.div_euclid(STEP_MS)).or_default().push(sample);
        }
        for (minute, rows) in minutes {
            if Some(minute) != cut {
                self.minutes.insert(minute, Step::of(&rows, 1.0));
                continue;
            }
            let (begin_ms, end_ms) = (minute * STEP_MS, ((minute + 1) * STEP_MS).min(now_ms.max(minute * STEP_MS + 1)));
            let seen_ms = (end_ms - cut_ms.unwrap_or(begin_ms)).max(1);
            let is_present = end_ms == now_ms;
            let step = Step::of(&rows, (end_ms - begin_ms) as f64 / seen_ms as f64);
            if is_present || !self.minutes.contains_key(&minute) {
                self.minutes.insert(minute, step);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{BACKFILL_GROUP, RERUN_GROUPS};

    fn sample(scheduled_ms: i64, late_ms: i64, ended_ms: i64, outcome: FireOutcome) -> TrendSample {
        let trigger_group = "g".to_owned();
        TrendSample { trigger_group, scheduled_ms, fired_ms: Some(scheduled_ms + late_ms), ended_ms, outcome }
    }

    /// A backfill of last week is no backlog of this week's work.
    #[test]
    fn fires_that_are_late_by_intention_count_but_are_not_late() {
        let week = 7 * 24 * 3_600_000;
        for group in RERUN_GROUPS.into_iter().chain([BACKFILL_GROUP]) {
            let late = TrendSample {
                trigger_group: group.to_owned(),
                ..sample(1_000 - week, week, 2_000, FireOutcome::Succeeded)
            };
            let mut known = Known::default();
            known.read_on(&[late, sample(0, 30, 20, FireOutcome::Succeeded)], 0, 60_000);
            let step = known.minutes[&0];
            assert_eq!((step.succeeded, step.slow_ms, step.waiting), (2.0, 30, 0.000_5), "{group}");
        }
    }

    #[test]
    fn minutes_tell_ends_and_delays() {
        let rows = [
            sample(90_000, 30_000, 120_500, FireOutcome::Succeeded),
            sample(5, 0, 59_999, FireOutcome::Failed),
            sample(0, 10, 40, FireOutcome::Succeeded),
            sample(0, 30, 20, FireOutcome::Succeeded),
        ];
        let mut known = Known::default();
        known.read_on(&rows, 0, 130_000);
        let step = known.minutes[&0];
        assert_eq!((step.succeeded, step.failed), (2.0, 1.0));
        assert_eq!((step.typical_ms, step.slow_ms), (10, 30));
        assert_eq!(known.minutes[&2].waiting, 0.5, "one fire waited for half a minute");
        assert_eq!((known.minutes.len(), known.since), (2, Some(0)));
    }

    #[test]
    fn minutes_that_were_not_read_are_unknown() {
        let mut known = Known::default();
        known.read_on(&[sample(0, 0, 30, FireOutcome::Succeeded)], 0, 60_000);
        // An hour later more has ended than one look reads: the oldest row is of minute 60.
        let rows: Vec<_> = (0..MOST_ROWS).map(|_| sample(0, 0, 3_630_000, FireOutcome::Succeeded)).collect();
        known.read_on(&rows, 0, 3_650_000);
        assert_eq!((known.since, known.minutes.keys().copied().collect::<Vec<_>>()), (Some(60), vec![60]));
    }

    #[test]
    fn a_minute_with_too_many_fires_is_estimated() {
        // The newest come first; all of them ended in the last quarter of the minute.
        let row =
            |n: usize| sample(0, 0, 59_999 - i64::try_from(n * 15_000 / MOST_ROWS).unwrap(), FireOutcome::Succeeded);
        let rows: Vec<_> = (0..MOST_ROWS).map(row).collect();
        let mut known = Known::default();
        known.read_on(&rows, 0, 70_000);
        let estimate = known.minutes[&0].succeeded / MOST_ROWS as f64;
        assert!((3.9..4.1).contains(&estimate), "{estimate}");
        known.read_on(&rows[..], 0, 80_000);
        assert_eq!(known.minutes[&0].succeeded / MOST_ROWS as f64, estimate, "it stays");
    }
}
