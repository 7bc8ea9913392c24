//! A summary of the times of many runs.

use crate::job::FireOutcome;
use crate::key::JobKey;
use std::collections::BTreeMap;
use std::time::Duration;

/// The number of fires of a job with one outcome, and their run times; none if no run of them is
/// known.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SummaryRow {
    /// The job.
    pub job: Option<JobKey>,
    /// The outcome of the fires.
    pub outcome: FireOutcome,
    /// The number of fires.
    pub fires: usize,
    /// The shortest run.
    pub min: Option<Duration>,
    /// The longest run time of the faster half of the runs.
    pub p50: Option<Duration>,
    /// The longest run time of the fastest nine of ten runs.
    pub p90: Option<Duration>,
    /// The longest run time of the fastest 99 of a hundred runs.
    pub p99: Option<Duration>,
    /// The longest run.
    pub max: Option<Duration>,
}

/// Sums up fires of jobs by their outcomes; in order of jobs and outcomes.
pub(crate) fn summarise(
    runs: impl Iterator<Item = (Option<JobKey>, FireOutcome, Option<Duration>)>,
) -> Vec<SummaryRow> {
    let mut groups: BTreeMap<(Option<JobKey>, FireOutcome), (usize, Vec<Duration>)> = BTreeMap::new();
    for (job, outcome, run_time) in runs {
        let (fires, times) = groups.entry((job, outcome)).or_default();
        *fires += 1;
        times.extend(run_time);
    }
    let row = |((job, outcome), (fires, mut times)): ((Option<JobKey>, FireOutcome), (usize, Vec<Duration>))| {
        times.sort_unstable();
        SummaryRow {
            job,
            outcome,
            fires,
            min: times.first().copied(),
            p50: percentile(&times, 50),
            p90: percentile(&times, 90),
            p99: percentile(&times, 99),
            max: times.last().copied(),
        }
    };
    groups.into_iter().map(row).collect()
}

/// The least of these sorted times that so many percent of them do not exceed.
pub(crate) fn percentile<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    let rank = sorted.len().saturating_mul(percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_time_that_was_measured() {
        let times: Vec<i64> = (1..=100).collect();
        assert_eq!([1, 50, 90, 99, 100].map(|p| percentile(&times, p)), [1, 50, 90, 99, 100].map(Some));
        assert_eq!([50, 90, 99].map(|p| percentile(&[7], p)), [Some(7); 3]);
        assert_eq!([50, 90].map(|p| percentile(&[1, 9], p)), [Some(1), Some(9)]);
        assert_eq!(percentile::<i64>(&[], 50), None);
    }

    #[test]
    fn fires_are_summed_up_by_job_and_outcome() {
        let job = |name: &str| Some(JobKey::named(name));
        let ms = |ms| Some(Duration::from_millis(ms));
        let runs = [
            (job("b"), FireOutcome::Failed, ms(5)),
            (job("a"), FireOutcome::Succeeded, ms(30)),
            (job("a"), FireOutcome::Succeeded, ms(10)),
            (job("a"), FireOutcome::Misfired, None),
        ];
        let rows = summarise(runs.into_iter());
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (row.job.as_ref().map(JobKey::name), row.outcome.name(), row.fires, row.min, row.max))
            .collect();
        assert_eq!(
            shown,
            [
                (Some("a"), "succeeded", 2, ms(10), ms(30)),
                (Some("a"), "misfired", 1, None, None),
                (Some("b"), "failed", 1, ms(5), ms(5)),
            ]
        );
        assert_eq!((rows[0].p50, rows[0].p99), (ms(10), ms(30)));
    }
}
