//! The fast path: new work without special demands, stored by one statement that is a transaction
//! of its own, where the database can.

use super::Catalogue;
use super::foreign::is_class_in_a_package;
use crate::error::{FailureClass, Result};
use crate::job::JobDetail;
use crate::store::TxMode;
use crate::store::row::{FastPathWork, TriggerRow};
use crate::trigger::{START_WHEN_STORED, Schedule, Trigger, TriggerState};
use std::collections::HashSet;

/// The most triggers of one statement.
const MOST: usize = 10_000;

/// The outcome of the one statement.
pub(super) enum FastPathOutcome {
    /// All the work was stored at this time, in epoch milliseconds.
    Stored(i64),
    /// A condition of the fast path does not hold for a part of the work. Nothing was stored.
    Declined,
    /// The statement failed. Nothing was stored.
    Failed,
    /// The answer was lost: the work may be stored, or may still be stored later.
    Unknown,
}

impl Catalogue<'_> {
    /// Stores all of this work by one statement, or nothing.
    ///
    /// After [`FastPathOutcome::Unknown`] the statement may still be on its way. A transaction
    /// under the lock that finds no commit of `token`, and notes one, stops the statement.
    pub(super) fn store_on_fast_path(
        &self,
        purpose: &'static str,
        work: &FastPathWork,
        token: &str,
    ) -> FastPathOutcome {
        if work.jobs.is_empty() && work.triggers.is_empty() {
            return FastPathOutcome::Declined;
        }
        match self.store.once(purpose, TxMode::SingleStatement, |s| s.store_fast_path(work, token)) {
            Ok(Some(now_ms)) => FastPathOutcome::Stored(now_ms),
            Ok(None) => FastPathOutcome::Declined,
            Err(error) if error.failure_class() == Some(FailureClass::CommitUnknown) => FastPathOutcome::Unknown,
            Err(error) => {
                // The transaction that comes now finds a lasting failure again.
                log::debug!("{purpose}: not by one statement, but by a transaction error={error}");
                FastPathOutcome::Failed
            }
        }
    }

    /// The rows of jobs with their triggers, if the fast path can store all of them.
    pub(super) fn fast_path_work(&self, work: &[(JobDetail, Vec<Trigger>)]) -> Option<FastPathWork> {
        let triggers = work.iter().flat_map(|(_, triggers)| triggers);
        if !self.store.database.has_fast_path() || triggers.clone().nth(MOST).is_some() {
            return None;
        }
        let (mut job_keys, mut trigger_keys) = (HashSet::new(), HashSet::new());
        let are_distinct = work.iter().all(|(job, _)| job_keys.insert(&job.key))
            && triggers.clone().all(|trigger| trigger_keys.insert(&trigger.key));
        if !are_distinct {
            return None;
        }
        let row = |(job, _): &(JobDetail, Vec<Trigger>)| {
            let heeds_deprecation = !job.even_if_deprecated && self.node.types.read().has_deprecated();
            if heeds_deprecation || self.node.types.read().version_of(job) > 1 {
                return None;
            }
            self.store.job_row(job).ok().filter(|row| row.policy.is_none() && row.marks.is_none())
        };
        let jobs = work.iter().map(row).collect::<Option<Vec<_>>>()?;
        let not_beside_quartz = !self.store.settings.cluster.own_types_beside_quartz
            && jobs.iter().any(|job| !is_class_in_a_package(&job.job_type));
        Some(FastPathWork {
            jobs,
            triggers: triggers.map(|t| self.fast_path_trigger(t)).collect::<Option<_>>()?,
            not_beside_quartz,
        })
    }

    /// The row of a trigger that the fast path can store. The row of a trigger that starts when it
    /// is stored has no start yet.
    pub(super) fn fast_path_trigger(&self, trigger: &Trigger) -> Option<TriggerRow> {
        let Schedule::Simple(schedule) = &trigger.schedule else { return None };
        let start_ms = Some(trigger.start_ms).filter(|ms| *ms != START_WHEN_STORED);
        let is_in_time = trigger.end_ms.is_none_or(|end| start_ms.is_some_and(|start| start <= end));
        if trigger.calendar_name.is_some() || schedule.times_triggered > 0 || !is_in_time {
            return None;
        }
        self.store.trigger_row(trigger, TriggerState::Waiting).ok().filter(|row| row.options.is_none())
    }

    /// A trigger of the fast path as it was stored at `now_ms`.
    pub(super) fn as_stored(&self, mut trigger: Trigger, now_ms: i64) -> Result<Trigger> {
        self.set_first_fire_time(&mut trigger, None, now_ms)?;
        Ok(trigger)
    }
}
