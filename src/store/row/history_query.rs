//! `HistoryQuery`: a selection of the history's rows.

use super::HistoryRow;
use crate::job::FireOutcome;
use crate::key::{JobKey, TriggerKey};
use crate::setters::setters;
use chrono::{DateTime, Utc};

/// A query for fires of the history. By default the newest 100 of all.
///
/// ```
/// use carnelian::{JobKey, Scheduler};
/// use carnelian::history::{FireOutcome, HistoryQuery};
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
    pub(in crate::store) fire_id: Option<String>,
    pub(in crate::store) job: Option<JobKey>,
    pub(in crate::store) job_type: Option<String>,
    pub(in crate::store) trigger: Option<TriggerKey>,
    pub(in crate::store) instance: Option<String>,
    pub(in crate::store) biz_key: Option<String>,
    pub(in crate::store) trace_id: Option<String>,
    pub(in crate::store) attempt: Option<i64>,
    pub(in crate::store) error: Option<String>,
    pub(in crate::store) chain: Option<String>,
    pub(in crate::store) outcomes: Vec<FireOutcome>,
    pub(in crate::store) running: bool,
    pub(in crate::store) since_ms: Option<i64>,
    pub(in crate::store) until_ms: Option<i64>,
    pub(in crate::store) after: Option<(i64, String)>,
    /// The place among the running fires, which come first.
    pub(in crate::store) after_running: Option<(Option<i64>, String)>,
    pub(in crate::store) limit: Option<usize>,
}

impl HistoryQuery {
    /// All fires: of the scheduler's history the newest 100.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Only this fire.
        pub fn fire(id: impl Into<String>) { self.fire_id = Some(id.into()) }

        /// Only fires of this job.
        pub fn job(key: JobKey) { self.job = Some(key) }

        /// Only fires of jobs that were of this type then.
        pub fn job_type(name: impl Into<String>) { self.job_type = Some(name.into()) }

        /// Only fires of this trigger. Runs again after a failure or a failover have triggers of
        /// their own.
        pub fn trigger(key: TriggerKey) { self.trigger = Some(key) }

        /// Only fires that belonged to this instance.
        pub fn instance(name: impl Into<String>) { self.instance = Some(name.into()) }

        /// Only fires whose job had this [business key](crate::JobMarks::biz_key) when they ran.
        pub fn biz_key(key: impl Into<String>) { self.biz_key = Some(key.into()) }

        /// Only fires of this trace: 32 hexadecimal digits, see
        /// [`Submission::traceparent`](crate::Submission::traceparent).
        pub fn trace(id: impl Into<String>) { self.trace_id = Some(id.into()) }

        /// Only fires before which so many runs of the same work went; 0 for the first.
        pub fn attempt(attempt: i64) { self.attempt = Some(attempt) }

        /// Only fires whose error has this text in it, letter by letter.
        pub fn error(text: impl Into<String>) { self.error = Some(text.into()) }

        /// Only the fire of this id and those that ran its work again.
        pub fn chain(root_fire_id: impl Into<String>) { self.chain = Some(root_fire_id.into()) }

        /// Also fires that run now, before all others, with the outcome [`FireOutcome::Running`].
        /// Asking for that outcome does the same. Default: only fires that have ended.
        pub fn running(also: bool) { self.running = also }
    }

    /// Only fires of this outcome; may be repeated.
    pub fn outcome(mut self, outcome: FireOutcome) -> Self {
        self.outcomes.push(outcome);
        self
    }

    setters! {
        /// Only fires that ended at this time or later.
        pub fn since(time: DateTime<Utc>) { self.since_ms = Some(time.timestamp_millis()) }

        /// Only fires that ended before this time.
        pub fn until(time: DateTime<Utc>) { self.until_ms = Some(time.timestamp_millis()) }
    }

    /// Only fires after this row: the last row of a page asks for the next page. Fires that end
    /// meanwhile move nothing.
    pub fn after(mut self, row: &HistoryRow) -> Self {
        match row.outcome {
            FireOutcome::Running => self.after_running = Some((row.fired_ms, row.fire_id.clone())),
            _ => self.after = Some((row.ended_ms, row.fire_id.clone())),
        }
        self
    }

    /// At most so many. Of the scheduler's history never more than 10000; default: 100.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Tells whether a row is asked for, whatever the limit.
    pub(in crate::store) fn accepts(&self, row: &HistoryRow) -> bool {
        let in_chain = |root: &str| row.fire_id == root || row.root_fire_id.as_deref() == Some(root);
        let has_text = |text: &str| row.error.as_deref().is_some_and(|error| error.contains(text));
        self.fire_id.as_ref().is_none_or(|id| row.fire_id == *id)
            && self.chain.as_deref().is_none_or(in_chain)
            && self.job.as_ref().is_none_or(|job| row.job.as_ref() == Some(job))
            && self.job_type.as_ref().is_none_or(|job_type| row.job_type.as_ref() == Some(job_type))
            && self.trigger.as_ref().is_none_or(|trigger| row.trigger == *trigger)
            && (self.outcomes.is_empty() || self.outcomes.contains(&row.outcome))
            && self.instance.as_ref().is_none_or(|instance| row.instance.as_ref() == Some(instance))
            && self.biz_key.as_ref().is_none_or(|key| row.marks.biz_key.as_ref() == Some(key))
            && self.trace_id.as_ref().is_none_or(|id| row.marks.trace_id.as_ref() == Some(id))
            && self.attempt.is_none_or(|attempt| row.attempt == attempt)
            && self.error.as_deref().is_none_or(has_text)
            && self.since_ms.is_none_or(|since| row.ended_ms >= since)
            && self.until_ms.is_none_or(|until| row.ended_ms < until)
            && self.after.as_ref().is_none_or(|(ended_ms, fire_id)| (row.ended_ms, &row.fire_id) < (*ended_ms, fire_id))
    }
}
