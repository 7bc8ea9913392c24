//! New work that asks for nothing special, stored by one statement that is a transaction of its own, where the database can.

use super::foreign::is_class_in_a_package;
use crate::error::{FailureClass, Result};
use crate::job::JobDetail;
use crate::store::row::{JobRow, PlainWork, TriggerRow};
use crate::store::{JobStore, TxMode};
use crate::trigger::{START_WHEN_STORED, Schedule, Trigger, TriggerState};
use std::collections::BTreeSet;

/// How many triggers one statement stores at most.
const MOST: usize = 10_000;

/// What became of work that was to be stored by one statement.
pub(super) enum AtOnce {
    /// It was stored then.
    Stored(i64),
    /// Something stood in the way of some of it, and none was.
    Not,
    /// It failed.
    Failed,
    /// Nobody knows: it may have been, and may still be.
    Unknown,
}

impl JobStore {
    /// Stores all of this work by one statement, or nothing.
    ///
    /// After [`AtOnce::Unknown`] the statement may still be on its way. A transaction under the lock that finds no commit of
    /// `token` and notes one stops it.
    pub(super) fn store_at_once(&self, purpose: &'static str, work: &PlainWork, token: &str) -> AtOnce {
        if work.jobs.is_empty() && work.triggers.is_empty() {
            return AtOnce::Not;
        }
        let mut stored_ms = None;
        let tried = self.once(purpose, TxMode::SingleStatement, &mut |s| {
            stored_ms = s.store_plain(work, token)?;
            Ok(())
        });
        match (tried, stored_ms) {
            (Ok(()), Some(now_ms)) => AtOnce::Stored(now_ms),
            (Err(error), _) if error.failure_class() == Some(FailureClass::CommitUnknown) => AtOnce::Unknown,
            (Err(error), _) => {
                // Whatever it was, the transaction that comes now finds it again, or it is over.
                log::debug!("{purpose}: not by one statement, but by a transaction error={error}");
                AtOnce::Failed
            }
            (Ok(()), None) => AtOnce::Not,
        }
    }

    /// The rows of jobs with their triggers, if none asks for anything special.
    pub(super) fn plain_work(&self, work: &[(JobDetail, Vec<Trigger>)]) -> Option<PlainWork> {
        let triggers = work.iter().flat_map(|(_, triggers)| triggers);
        if !self.database.stores_at_once() || triggers.clone().nth(MOST).is_some() {
            return None;
        }
        let (mut job_keys, mut trigger_keys) = (BTreeSet::new(), BTreeSet::new());
        let are_distinct = work.iter().all(|(job, _)| job_keys.insert(&job.key))
            && triggers.clone().all(|trigger| trigger_keys.insert(&trigger.key));
        if !are_distinct {
            return None;
        }
        let jobs = work.iter().map(|(job, _)| self.plain_job(job)).collect::<Option<Vec<_>>>()?;
        let not_beside_quartz =
            !self.settings.own_types_beside_quartz && jobs.iter().any(|job| !is_class_in_a_package(&job.job_type));
        Some(PlainWork {
            jobs,
            triggers: triggers.map(|t| self.plain_trigger(t)).collect::<Option<_>>()?,
            not_beside_quartz,
        })
    }

    fn plain_job(&self, job: &JobDetail) -> Option<JobRow> {
        let heeds_deprecation = !job.even_if_deprecated && self.knows_deprecated_types();
        if heeds_deprecation || self.version_of(job) > 1 {
            return None;
        }
        self.job_row(job).ok().filter(|row| row.policy.is_none() && row.marks.is_none())
    }

    /// The row of a trigger that asks for nothing special; one that starts when it is stored has no start yet.
    pub(super) fn plain_trigger(&self, trigger: &Trigger) -> Option<TriggerRow> {
        let Schedule::Simple(schedule) = &trigger.schedule else { return None };
        let start_ms = Some(trigger.start_ms).filter(|ms| *ms != START_WHEN_STORED);
        let is_in_time = trigger.end_ms.is_none_or(|end| start_ms.is_some_and(|start| start <= end));
        if trigger.calendar_name.is_some() || schedule.times_triggered > 0 || !is_in_time {
            return None;
        }
        self.trigger_row(trigger, TriggerState::Waiting).ok().filter(|row| row.options.is_none())
    }

    /// A plain trigger as it was stored at `now_ms`.
    pub(super) fn as_stored(&self, trigger: &Trigger, now_ms: i64) -> Result<Trigger> {
        let mut trigger = trigger.clone();
        self.set_first_fire_time(&mut trigger, None, now_ms)?;
        Ok(trigger)
    }
}
