//! Pruning: rows of the history are deleted by age, by number and by job, a batch in each
//! transaction (LT-86).

use super::History;
use crate::epoch::millis;
use crate::error::Result;
use crate::job::JobPolicy;
use crate::key::JobKey;
use crate::setters::setters;
use crate::settings::StoreKind;
use crate::signal::Signal;
use crate::span::span;
use crate::store::action_log::Action;
use crate::store::row::{EndedFire, HistoryOf, JobSelection, LogRow};
use crate::store::{Rows, Session, TxMode};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// The most rows that one transaction deletes of those that are too old.
const AT_A_TIME: usize = 2_000;

/// The most rows that one transaction deletes of a job, each by its key.
const OF_JOB_AT_A_TIME: usize = 500;

/// The most rows that a store in memory keeps, unless the settings say otherwise.
const IN_MEMORY: u32 = 100_000;

/// The most jobs without a limit of their own that one plan has; the next plan has the others.
const MOST_JOBS: usize = 1_000;

/// The word by which policies with a number of kept rows are found.
const KEEP_HISTORY: &str = "\"keepHistory\"";

/// The rows of the history that are to be deleted. By default by the settings: older than
/// `carnelian.history.retention`, beyond `carnelian.history.maxRows`, and of each job beyond
/// `carnelian.history.maxRowsPerJob` or [`JobPolicy::keep_history`].
///
/// ```
/// use carnelian::JobKey;
/// use carnelian::history::HistoryPruning;
/// use std::time::Duration;
///
/// let pruning = HistoryPruning::new().job(JobKey::named("nightly")).older_than(Duration::from_secs(3600));
/// # let _ = pruning;
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "it does nothing until a store does it"]
pub struct HistoryPruning {
    job: Option<JobKey>,
    older_than: Option<Duration>,
}

impl HistoryPruning {
    /// A pruning by the settings.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Only rows of this job.
        pub fn job(key: JobKey) { self.job = Some(key) }

        /// Rows that are older than this, and no others, whatever the settings say.
        pub fn older_than(age: Duration) { self.older_than = Some(age) }
    }
}

/// The remaining work of a pruning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruningPlan {
    job: Option<JobKey>,
    /// The milliseconds in which fires ended whose rows go; none when that is done.
    ended_ms: Option<Range<i64>>,
    /// Jobs with the number of rows that stay, and the number of rows that are too many.
    jobs: Vec<(JobKey, u64, u64)>,
    /// The words by which the log of actions is told, with the first rows that are deleted.
    action: Option<String>,
}

impl PruningPlan {
    /// True if all is done.
    pub fn is_done(&self) -> bool {
        self.ended_ms.is_none() && self.jobs.is_empty()
    }
}

impl History<'_> {
    /// Deletes rows of the history, with the logs of their runs, and returns how many there were.
    /// Some two thousand go in a transaction, with a pause as long after it: the whole may take a
    /// while, and nobody waits long for it.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries; rows that were deleted before stay
    /// deleted.
    pub fn prune(&self, pruning: &HistoryPruning) -> Result<u64> {
        let mut plan = self.plan_pruning(pruning)?;
        plan.action = Some(
            pruning.older_than.map_or("by the settings".to_owned(), |age| format!("older than {}", span(millis(age)))),
        );
        self.prune_by(plan)
    }

    /// The end of the pause after a batch that began then, in which others get at the database: as
    /// long as the batch has taken, since it takes longer while others are at work.
    pub(crate) fn end_of_pause(&self, begun: Duration) -> Duration {
        let now = self.store.clock.ticks();
        now.saturating_add(now.saturating_sub(begun))
    }

    /// Waits for the end of the pause after a batch that began then.
    pub(in crate::store) fn pause(&self, begun: Duration) {
        self.store.clock.wait(&Signal::default(), Some(self.end_of_pause(begun)));
    }

    /// Does a plan to its end.
    pub(in crate::store) fn prune_by(&self, mut plan: PruningPlan) -> Result<u64> {
        let mut forgotten = 0;
        while !plan.is_done() {
            let begun = self.store.clock.ticks();
            let gone = self.prune_batch(&mut plan)?;
            forgotten += gone as u64;
            if gone > 0 && !plan.is_done() {
                self.pause(begun);
            }
        }
        Ok(forgotten)
    }

    /// The number of rows that a pruning would delete now.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn count_prunable(&self, pruning: &HistoryPruning) -> Result<u64> {
        let plan = self.plan_pruning(pruning)?;
        let old = match plan.ended_ms {
            Some(Range { end, .. }) => {
                self.store.read("count old history", |s| ended_before(s, plan.job.as_ref(), end).count())?
            }
            None => 0,
        };
        Ok(plan.jobs.iter().fold(old, |sum, (_, _, surplus)| sum.saturating_add(*surplus)))
    }

    /// The work of a pruning.
    pub(crate) fn plan_pruning(&self, pruning: &HistoryPruning) -> Result<PruningPlan> {
        let retention = millis(pruning.older_than.unwrap_or(self.store.settings.history.retention));
        let mut plan = PruningPlan { job: pruning.job.clone(), ..PruningPlan::default() };
        self.store.read("look for old history", |s| {
            let mut before_ms = s.now_ms()?.saturating_sub(retention);
            plan.jobs.clear();
            if pruning.older_than.is_some() {
                plan.ended_ms = Some(i64::MIN..before_ms);
                return Ok(());
            }
            let kept = match (self.store.settings.history.max_rows, self.store.settings.job_store.kind) {
                (0, StoreKind::Memory) => IN_MEMORY,
                (kept, _) => kept,
            };
            if pruning.job.is_none() && kept > 0 {
                // Fires that ended in the same millisecond as the first surplus fire go with it.
                let kept = kept as usize;
                let last: Option<EndedFire> = s.rows().latest_by(&["ended_ms"]).limit(1).skip(kept).first()?;
                let by_count = last.map(|fire| fire.ended_ms);
                before_ms = by_count.map_or(before_ms, |by_count| before_ms.max(by_count.saturating_add(1)));
            }
            plan.ended_ms = Some(i64::MIN..before_ms);
            let mut own: BTreeMap<JobKey, u64> = BTreeMap::new();
            for row in s.jobs(JobSelection::WithPolicyWord(KEEP_HISTORY))? {
                let policy = row.policy.as_deref().and_then(|text| JobPolicy::decode(text).ok());
                own.extend(policy.and_then(|policy| policy.kept_history()).map(|rows| (row.key, u64::from(rows))));
            }
            let of_all = Some(u64::from(self.store.settings.history.max_rows_per_job)).filter(|rows| *rows > 0);
            let mut counts = Vec::new();
            if !own.is_empty() {
                let jobs: Vec<JobKey> = own.keys().cloned().collect();
                counts.extend(s.history_by_job(before_ms, HistoryOf::Jobs(&jobs))?);
            }
            if let Some(rows) = of_all {
                // Jobs with limits of their own take no place of another.
                let most = HistoryOf::MoreThan { rows, limit: MOST_JOBS + own.len() };
                counts.extend(s.history_by_job(before_ms, most)?.into_iter().filter(|(job, _)| !own.contains_key(job)));
            }
            for (job, rows) in counts {
                let Some(kept) = own.get(&job).copied().or(of_all) else { continue };
                if rows > kept && pruning.job.as_ref().is_none_or(|only| *only == job) {
                    plan.jobs.push((job, kept, rows - kept));
                }
            }
            Ok(())
        })?;
        Ok(plan)
    }

    /// Deletes one batch, and takes finished work from the plan; returns how many rows there were.
    pub(crate) fn prune_batch(&self, plan: &mut PruningPlan) -> Result<usize> {
        // The next batch deletes remaining rows.
        let (gone, left) = self.store.at_most_once("forget old history", TxMode::OwnRows, |s| {
            // Another node may delete the same rows: fewer are found then, and the remaining
            // rows come next.
            let (gone, left) = match (&plan.ended_ms, &plan.job, plan.jobs.last()) {
                (Some(ended_ms), None, _) => {
                    let (gone, left_ms) = s.delete_ended(ended_ms.clone(), AT_A_TIME)?;
                    (gone, left_ms..ended_ms.end)
                }
                (Some(ended_ms), Some(job), _) => {
                    let gone = delete(s, |s| ended_before(s, Some(job), ended_ms.end).by(&["ended_ms"]))?;
                    (gone, if gone < OF_JOB_AT_A_TIME { 0..0 } else { ended_ms.clone() })
                }
                (None, _, Some((job, kept, _))) => {
                    let kept = usize::try_from(*kept).unwrap_or(usize::MAX);
                    let newest = ["ended_ms", "fire_id"];
                    (delete(s, |s| s.rows().with("job", job).latest_by(&newest).skip(kept))?, 0..0)
                }
                (None, _, None) => (0, 0..0),
            };
            if let Some(words) = plan.action.as_ref().filter(|_| gone > 0) {
                let subject = plan.job.as_ref().map_or("all".to_owned(), JobKey::to_string);
                self.store.note_action(s, Action::new("prune", "history").detail(words), [subject])?;
            }
            Ok((gone, left))
        })?;
        if gone > 0 {
            plan.action = None;
        }
        if plan.ended_ms.is_some() {
            plan.ended_ms = Some(left).filter(|left| !left.is_empty());
        } else if gone < OF_JOB_AT_A_TIME {
            plan.jobs.pop();
        }
        Ok(gone)
    }
}

/// Deletes the first of some rows, by their keys; returns how many there were.
fn delete(
    s: &mut dyn Session,
    rows: impl for<'s> FnOnce(&'s mut (dyn Session + 's)) -> Rows<'s, EndedFire>,
) -> Result<usize> {
    let first = rows(s).limit(OF_JOB_AT_A_TIME).list()?;
    let fires: Vec<String> = first.into_iter().map(|fire| fire.fire_id).collect();
    if !fires.is_empty() {
        s.rows::<LogRow>().any_of(&["fire_id"], &fires).delete()?;
        s.rows::<EndedFire>().any_of(&["fire_id"], &fires).delete()?;
    }
    Ok(fires.len())
}

/// The fires that ended before a moment, of one job or of all.
fn ended_before<'s>(s: &'s mut dyn Session, job: Option<&JobKey>, before_ms: i64) -> Rows<'s, EndedFire> {
    let rows = s.rows::<EndedFire>().below("ended_ms", before_ms);
    match job {
        Some(job) => rows.with("job", job),
        None => rows,
    }
}
