//! Queries for lists of triggers and jobs in pages: a page begins behind a key, wherever that is.

use super::TriggerRow;
use crate::epoch::moment;
use crate::job::JobFilter;
use crate::key::{JobKey, TriggerKey};
use crate::setters::setters;
use crate::trigger::TriggerState;
use chrono::{DateTime, Utc};

/// A query whose rows are counted.
#[derive(Clone, Copy, Debug)]
pub enum Listed<'a> {
    /// For triggers.
    Triggers(&'a TriggerQuery),
    /// For jobs.
    Jobs(&'a JobQuery),
}

/// The order of a list of triggers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListOrder {
    /// By name and group, as the database compares texts: the order of its index.
    #[default]
    Key,
    /// By the next fire time, the earliest first, those without one last; by key among equals.
    NextFireTime,
}

/// A query for a page of the stored triggers. By default all of them, in order of their keys.
///
/// ```
/// use carnelian::listing::{ListOrder, TriggerQuery};
/// use carnelian::{Scheduler, TriggerState};
///
/// let scheduler = Scheduler::builder().build()?;
/// let mut query = TriggerQuery::new().state(TriggerState::Waiting).order(ListOrder::NextFireTime).limit(50);
/// loop {
///     let page = scheduler.list_triggers(&query)?;
///     for trigger in &page.items {
///         println!("{} {:?}", trigger.key, trigger.next_fire_time);
///     }
///     match page.items.last() {
///         Some(last) if page.has_more => query = query.after(last.key.clone(), last.next_fire_time),
///         _ => break,
///     }
/// }
/// # Ok::<(), carnelian::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "it does nothing until it is asked"]
pub struct TriggerQuery {
    pub(crate) filter: JobFilter,
    pub(crate) job: Option<JobKey>,
    pub(crate) kind: Option<String>,
    pub(crate) state: Option<TriggerState>,
    pub(crate) order: ListOrder,
    pub(crate) after: Option<(TriggerKey, Option<i64>)>,
    pub(crate) limit: Option<usize>,
}

impl TriggerQuery {
    /// All triggers.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Only triggers of the filter's groups whose jobs have its marks.
        pub fn filter(filter: JobFilter) { self.filter = filter }

        /// Only triggers of this job.
        pub fn job(key: JobKey) { self.job = Some(key) }

        /// Only triggers of this kind: `SIMPLE`, `CRON`, `CAL_INT`, `DAILY_I` or `RRULE`.
        pub fn kind(kind: impl Into<String>) { self.kind = Some(kind.into()) }

        /// Only triggers in this state.
        pub fn state(state: TriggerState) { self.state = Some(state) }

        /// The order. Default: [`ListOrder::Key`].
        pub fn order(order: ListOrder) { self.order = order }

        /// Only triggers behind this one, which need not be there any more: the key and the next
        /// fire time of the last trigger of a page ask for the next page.
        pub fn after(key: TriggerKey, next_fire_time: Option<DateTime<Utc>>) {
            self.after = Some((key, next_fire_time.map(|time| time.timestamp_millis())))
        }

        /// The most triggers of the page. Default: no limit.
        pub fn limit(triggers: usize) { self.limit = Some(triggers) }
    }
}

/// A query for a page of the stored jobs, in order of name and group. By default all of them.
#[derive(Clone, Debug, Default)]
#[must_use = "it does nothing until it is asked"]
pub struct JobQuery {
    pub(crate) filter: JobFilter,
    pub(crate) job_type: Option<String>,
    pub(crate) after: Option<JobKey>,
    pub(crate) limit: Option<usize>,
}

impl JobQuery {
    /// All jobs.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Only jobs of the filter's groups with its marks.
        pub fn filter(filter: JobFilter) { self.filter = filter }

        /// Only jobs of this type.
        pub fn job_type(name: impl Into<String>) { self.job_type = Some(name.into()) }

        /// Only jobs behind this key: the last of a page asks for the next page.
        pub fn after(key: JobKey) { self.after = Some(key) }

        /// The most jobs of the page. Default: no limit.
        pub fn limit(jobs: usize) { self.limit = Some(jobs) }
    }
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page<T> {
    /// The entries of the page, in order.
    pub items: Vec<T>,
    /// True if there are more behind them.
    pub has_more: bool,
}

impl<T> Page<T> {
    /// The page of so many entries at most, of entries that were read with one more than that.
    pub(crate) fn of(mut items: Vec<T>, limit: Option<usize>) -> Self {
        let has_more = limit.is_some_and(|limit| items.len() > limit);
        items.truncate(limit.unwrap_or(usize::MAX));
        Self { items, has_more }
    }
}

/// A trigger as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerSummary {
    /// The key of the trigger.
    pub key: TriggerKey,
    /// The job of the trigger.
    pub job: JobKey,
    /// `TRIGGER_TYPE`.
    pub kind: String,
    /// `TRIGGER_STATE`.
    pub state: String,
    /// The next fire time.
    pub next_fire_time: Option<DateTime<Utc>>,
    /// The last fire time.
    pub previous_fire_time: Option<DateTime<Utc>>,
    /// Higher fires first.
    pub priority: i32,
    /// The number of its misfire instruction.
    pub misfire: i32,
}

impl From<TriggerRow> for TriggerSummary {
    fn from(row: TriggerRow) -> Self {
        Self {
            key: row.key,
            job: row.job,
            kind: row.kind,
            state: row.state,
            next_fire_time: row.next_ms.map(moment),
            previous_fire_time: row.previous_ms.map(moment),
            priority: row.priority,
            misfire: row.misfire,
        }
    }
}
