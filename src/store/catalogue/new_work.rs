//! New work: jobs with their triggers, stored by one statement or by several, all or nothing.

use super::Catalogue;
use super::fast_path::FastPathOutcome;
use super::if_stored::IfStored;
use crate::error::{FailureClass, Result};
use crate::job::JobDetail;
use crate::store::transaction::random_hex;
use crate::trigger::Trigger;

/// The most jobs and triggers of a call whose keys are looked for.
const MOST_LOOKED_FOR: usize = 256;

impl Catalogue<'_> {
    /// Stores jobs, each with its triggers (any number, also none for a durable job), all in one
    /// transaction, and returns the triggers with their first fire times.
    ///
    /// With `replace`, jobs and triggers of the same keys are replaced; their fires in progress go
    /// on and are recovered as before (H16). A job that loses its last trigger to another job goes,
    /// unless it is durable or runs: Quartz leaves it.
    ///
    /// As in Quartz a trigger may name a calendar that is not stored. The trigger is not fired
    /// before its calendar is stored.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] without `replace`; [`Error::NeverFires`]; [`Error::Unreadable`] for
    /// a calendar that cannot be read; [`Error::Invalid`] for anything no table can hold;
    /// [`Error::Refused`] for what nodes of Quartz could not do as we do, while there is one: a job
    /// type that no Java class can have, a [`TriggerOption`](crate::trigger::TriggerOption), a
    /// [`RecurrenceSchedule`](crate::RecurrenceSchedule). Nothing is stored then.
    #[doc(alias = "scheduleJobs")]
    pub fn schedule(&self, work: Vec<(JobDetail, Vec<Trigger>)>, replace: bool) -> Result<Vec<Trigger>> {
        self.check_work(&work)?;
        let purpose = "schedule jobs";
        let by_statements = |stored| self.store.write(purpose, |s| self.schedule_in_session(s, &work, stored));
        if replace {
            return by_statements(IfStored::Replace);
        }
        let Some(fast) = self.fast_path_work(&work) else {
            // Of many, a look for each key takes longer than to be refused by a primary key once.
            let many = work.iter().map(|(_, triggers)| 1 + triggers.len()).sum::<usize>() > MOST_LOOKED_FOR;
            let collided = match many && !self.node.types.read().has_deprecated() {
                true => by_statements(IfStored::Collide),
                false => return by_statements(IfStored::Refuse),
            };
            return match collided {
                Err(error) if error.failure_class() == Some(FailureClass::UniqueViolation) => {
                    by_statements(IfStored::Refuse)
                }
                other => other,
            };
        };
        let token = random_hex()?;
        let triggers = || work.iter().flat_map(|(_, triggers)| triggers);
        match self.store_on_fast_path(purpose, &fast, &token) {
            FastPathOutcome::Stored(now_ms) => {
                drop(fast);
                let triggers = work.into_iter().flat_map(|(_, triggers)| triggers);
                triggers.map(|trigger| self.as_stored(trigger, now_ms)).collect()
            }
            FastPathOutcome::Declined | FastPathOutcome::Failed => by_statements(IfStored::Refuse),
            FastPathOutcome::Unknown => self.store.write_unless_done(
                purpose,
                &token,
                |now_ms| triggers().map(|trigger| self.as_stored(trigger.clone(), now_ms)).collect(),
                |s| self.schedule_in_session(s, &work, IfStored::Refuse),
            ),
        }
    }

    /// Stores a job without a trigger; it must be durable.
    ///
    /// # Errors
    /// [`Error::Refused`] if it is not durable, [`Error::AlreadyExists`] without `replace`.
    pub fn add_job(&self, job: &JobDetail, replace: bool) -> Result<()> {
        self.schedule(vec![(job.clone(), Vec::new())], replace).map(drop)
    }
}
