//! The acquisition rule: ordering due candidates, and picking a batch of them.

use carnelian::store::row::{Candidate, JobRow, ScheduleRow, TriggerRow};
use carnelian::{JobKey, TriggerKey, measured};
use criterion::{BatchSize, Criterion};
use std::sync::Arc;

const NOW_MS: i64 = 1_772_368_496_000;

/// Candidates as a look finds them, nearly in order; `nonconcurrent` jobs have four triggers each.
fn candidates(count: usize, nonconcurrent: bool) -> Vec<Candidate> {
    (0..count)
        .map(|number| {
            let job = JobKey::new("bench", format!("job-{}", number / 4));
            Candidate {
                trigger: Arc::new(TriggerRow {
                    key: TriggerKey::new("bench", format!("trigger-{number}")),
                    job: job.clone(),
                    description: None,
                    next_ms: Some(NOW_MS + (number as i64 / 8) - (number as i64 % 3)),
                    previous_ms: None,
                    priority: 5 + (number % 2) as i32,
                    state: "WAITING".to_owned(),
                    kind: "SIMPLE".to_owned(),
                    start_ms: NOW_MS,
                    end_ms: None,
                    calendar: None,
                    misfire: -1,
                    data: None,
                    schedule: ScheduleRow::Simple { repeat_count: 0, interval_ms: 0, times_triggered: 0 },
                    options: None,
                }),
                job: Arc::new(JobRow {
                    key: job,
                    description: None,
                    job_type: "bench".into(),
                    durable: true,
                    nonconcurrent,
                    update_data: false,
                    requests_recovery: false,
                    data: None,
                    policy: None,
                    marks: None,
                }),
                job_is_executing: nonconcurrent && number % 16 == 0,
                trigger_is_executing: false,
                job_is_followed: false,
                recovery: None,
            }
        })
        .collect()
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("acquisition rule");
    for count in [20, 500] {
        for (name, nonconcurrent) in [("concurrent", false), ("non-concurrent", true)] {
            let found = candidates(count, nonconcurrent);
            assert!(measured::acquisition(&mut found.clone(), NOW_MS, count) > 0, "something is picked");
            group.bench_function(format!("{count} {name} candidates"), |b| {
                b.iter_batched_ref(
                    || found.clone(),
                    |found| measured::acquisition(found, NOW_MS, count),
                    BatchSize::SmallInput,
                )
            });
        }
    }
    group.finish();
    criterion.final_summary();
}
