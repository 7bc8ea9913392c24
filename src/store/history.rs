//! The history: what became of fires, asked for, written down and forgotten.

use super::row::{HistoryFilter, HistoryRow};
use super::{Begin, JobStore};
use crate::error::Result;
use crate::job::FireOutcome;
use crate::key::{JobKey, TriggerKey};
use crate::settings::HistoryRecord;
use chrono::{DateTime, Utc};
use std::time::Duration;

/// The most rows that one query returns.
const MAX_LIMIT: usize = 10_000;

/// How many rows are forgotten in one transaction.
const FORGOTTEN_AT_A_TIME: usize = 1_000;

/// An audit forgets no longer than this, and the next one goes on: the check-in waits for it.
const LONGEST_FORGETTING: Duration = Duration::from_secs(1);

/// In how many transactions an audit forgets at most.
const MOST_TRANSACTIONS: usize = 200;

/// Which fires of the history are asked for. The newest 100 of all, by default.
///
/// ```
/// use carnelian::{FireOutcome, HistoryQuery, JobKey, Scheduler};
///
/// let scheduler = Scheduler::builder().build()?;
/// let query = HistoryQuery::new().job(JobKey::new("billing", "nightly")).outcome(FireOutcome::Failed).limit(10);
/// for fire in scheduler.history(&query)? {
///     println!("{} {}: {}", fire.fire_id, fire.outcome, fire.error.unwrap_or_default());
/// }
/// # Ok::<(), carnelian::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "it does nothing until it is asked"]
pub struct HistoryQuery {
    fire_id: Option<String>,
    job: Option<JobKey>,
    trigger: Option<TriggerKey>,
    outcomes: Vec<FireOutcome>,
    since: Option<DateTime<Utc>>,
    limit: Option<usize>,
}

impl HistoryQuery {
    /// The newest 100 fires of all.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only this fire.
    pub fn fire(mut self, id: impl Into<String>) -> Self {
        self.fire_id = Some(id.into());
        self
    }

    /// Only fires of this job.
    pub fn job(mut self, key: JobKey) -> Self {
        self.job = Some(key);
        self
    }

    /// Only fires of this trigger. Runs again after a failure or a failover have triggers of their own.
    pub fn trigger(mut self, key: TriggerKey) -> Self {
        self.trigger = Some(key);
        self
    }

    /// Only fires of this outcome; may be repeated.
    pub fn outcome(mut self, outcome: FireOutcome) -> Self {
        self.outcomes.push(outcome);
        self
    }

    /// Only fires that ended at this time or later.
    pub fn since(mut self, time: DateTime<Utc>) -> Self {
        self.since = Some(time);
        self
    }

    /// At most so many, and never more than 10000. Default: 100.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }
}

impl JobStore {
    /// The fires of the history that are asked for, the newest first.
    ///
    /// # Errors
    /// What the database reports after the bounded retries.
    pub fn history(&self, query: &HistoryQuery) -> Result<Vec<HistoryRow>> {
        self.read("read the history", |s| {
            // Fires are found by their jobs; that of a trigger is known while the trigger is there.
            let job = match (&query.job, &query.trigger) {
                (None, Some(trigger)) => s.triggers(std::slice::from_ref(trigger))?.into_iter().next().map(|t| t.job),
                (job, _) => job.clone(),
            };
            s.history(&HistoryFilter {
                fire_id: query.fire_id.as_deref(),
                job: job.as_ref(),
                trigger: query.trigger.as_ref(),
                outcomes: &query.outcomes,
                since_ms: query.since.map_or(i64::MIN, |time| time.timestamp_millis()),
                limit: query.limit.unwrap_or(100).min(MAX_LIMIT),
            })
        })
    }

    /// Whether a fire of this outcome is written down.
    pub(in crate::store) fn records(&self, outcome: FireOutcome) -> bool {
        match self.settings.history_record {
            HistoryRecord::All => true,
            HistoryRecord::Problems => outcome != FireOutcome::Succeeded,
            HistoryRecord::None => false,
        }
    }

    /// Forgets what is too old, or too much, a batch in each transaction (LT-86). Returns how many rows there were.
    ///
    /// # Errors
    /// What the database reports after the bounded retries; what was forgotten before stays so.
    pub(in crate::store) fn forget_history(&self) -> Result<usize> {
        let retention = i64::try_from(self.settings.history_retention.as_millis()).unwrap_or(i64::MAX);
        let end = self.clock.ticks().saturating_add(LONGEST_FORGETTING);
        let oldest = self.glance("look for old history", |s| {
            let by_age = s.now_ms()?.saturating_sub(retention);
            // What ended in the same millisecond as the first that is too many goes with it.
            let by_count = s.history_end_after(u64::from(self.settings.history_max_rows))?;
            Ok(by_count.map_or(by_age, |by_count| by_age.max(by_count.saturating_add(1))))
        })?;
        let mut forgotten = 0;
        for _ in 0..MOST_TRANSACTIONS {
            let gone = self.retrying(
                "forget old history",
                Begin::Writing,
                |s| s.forget_history(oldest, FORGOTTEN_AT_A_TIME),
                &mut |_, _| Ok(true), // what is left is forgotten by the next
            )?;
            forgotten += gone;
            if gone < FORGOTTEN_AT_A_TIME || self.clock.ticks() > end {
                break;
            }
        }
        Ok(forgotten)
    }
}
