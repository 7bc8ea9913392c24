//! The history of fires that ended without their jobs: lost with their node, or never begun in
//! time.

use super::{Surroundings, jobs_of, recovered_by};
use crate::error::Result;
use crate::hash::HashMap;
use crate::job::{FireOutcome, RunMarks};
use crate::store::row::{FiredRow, HistoryRow};
use crate::store::stop_orders::StopOrders;
use crate::store::transaction::random_hex;
use crate::store::{History, Session};
use crate::trigger::Trigger;

/// The reason for which a fire ended without its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum LostReason {
    /// A node was declared dead, or registered anew.
    Dead,
    /// A node that lives does not know the fire: an answer of the database was lost, or a commit.
    Forgotten,
    /// The fire was silent for too long, or its node gave it up.
    GivenUp,
    /// A node takes no work any longer.
    Withdrawn,
}

impl LostReason {
    fn told(self, instance: &str) -> String {
        match self {
            Self::Dead => format!("its node `{instance}` was declared dead, or started again"),
            Self::Forgotten => format!("its node `{instance}` did not know of it: an answer or a commit was lost"),
            Self::GivenUp => format!("it was silent for too long, or its node `{instance}` gave it up"),
            Self::Withdrawn => format!("its node `{instance}` takes no work any longer"),
        }
    }
}

impl History<'_> {
    /// Writes down that these executing fires were lost, and why, whether they are run again or
    /// not, with their traces by their ids. A fire that has an order was cancelled. To be done
    /// before their triggers go.
    pub(in crate::store) fn record_lost(
        &self,
        s: &mut dyn Session,
        fires: &[FiredRow],
        why: LostReason,
        traces: &HashMap<String, String>,
        orders: &StopOrders,
        now_ms: i64,
    ) -> Result<()> {
        if fires.is_empty() {
            return Ok(());
        }
        let jobs = jobs_of(s, fires)?;
        self.put_lost_last_runs(s, fires, &jobs, orders, now_ms)?;
        // All that is not well is recorded alike.
        if !self.store.settings.history.records(FireOutcome::Lost) {
            return Ok(());
        }
        let around = Surroundings { jobs: &jobs, chain: recovered_by(s, fires)?, traces, now_ms };
        let row = |fire: &FiredRow| {
            let why = why.told(&fire.instance);
            let ordered = orders.told(&fire.fire_id).map(|told| format!("{told}; {why}"));
            let outcome = orders.outcome_of_lost(&fire.fire_id);
            HistoryRow { error: Some(ordered.unwrap_or(why)), ..around.row(fire.clone(), outcome) }
        };
        s.put_all(&fires.iter().map(row).collect::<Vec<_>>())
    }

    /// Writes down that these triggers, as they were before, could not fire in time.
    pub(in crate::store) fn record_misfired(
        &self,
        s: &mut dyn Session,
        triggers: &[Trigger],
        now_ms: i64,
    ) -> Result<()> {
        if triggers.is_empty() || !self.store.settings.history.records(FireOutcome::Misfired) {
            return Ok(());
        }
        let pass = random_hex()?;
        let row = |(i, trigger): (usize, &Trigger)| HistoryRow {
            fire_id: format!("misfire-{pass}-{i}"),
            trigger: trigger.key.clone(),
            job: Some(trigger.job_key.clone()),
            job_type: None,
            instance: None,
            scheduled_ms: trigger.next_ms.unwrap_or(now_ms),
            fired_ms: None,
            ended_ms: now_ms,
            run_ms: None,
            outcome: FireOutcome::Misfired,
            attempt: 0,
            root_fire_id: None,
            error: None,
            result: None,
            marks: RunMarks::default(),
            address: None,
        };
        s.put_all(&triggers.iter().enumerate().map(row).collect::<Vec<_>>())
    }
}
