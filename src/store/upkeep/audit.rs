//! Audit: what no living node is responsible for is set right, and said.

use super::AuditPass;
use crate::error::Result;
use crate::key::{JobKey, TriggerKey};
use crate::rules::overlap::may_wait;
use crate::store::database::Strays;
use crate::store::firing::delete_idle;
use crate::store::row::{FiredSelection, FiredState, Notification, Selection, TriggerSelection};
use crate::store::schedule_row::stored_policies;
use crate::store::{Lock, Session, TxMode, Upkeep};
use crate::trigger::{Transition, TriggerState};
use std::collections::BTreeSet;

/// The number of triggers of these states one audit looks at.
const LIMIT: usize = 10_000;

impl Upkeep<'_> {
    /// Everything that an audit does: [`Upkeep::mend`], [`Upkeep::sweep`], and the search for ticks
    /// whose children were not stored since their last parts ended at the same moment.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn audit(&self) -> Result<AuditPass> {
        let swept = self.sweep()?;
        let following = self.store.firing().settle_ticks()?;
        self.mend().map(|found| AuditPass { swept, following, ..found })
    }

    /// Looks for triggers acquired or blocked by nobody, and complete ones nobody removed, and
    /// mends them.
    ///
    /// Nothing of ours makes such rows: every change is one transaction. The rows come from edits
    /// by hand, restored backups and peers (H11: Quartz users found triggers frozen for ten
    /// months). The audit looks without the lock first, by one statement where no trigger is in
    /// such a state.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn mend(&self) -> Result<AuditPass> {
        let found = self.store.glance("audit", |s| find(s))?;
        if found == AuditPass::default() {
            return Ok(found);
        }
        self.store.at_least_once("audit", TxMode::Exclusive(Lock::TriggerAccess), |s| {
            let found = find(s)?;
            s.change_states(Selection::Triggers(&found.released), Transition::Release.moves(), false)?;
            // Under the lock nothing has changed since they were found.
            s.change_states(Selection::Triggers(&found.unblocked), Transition::Unblock.moves(), false)?;
            let jobs: Vec<JobKey> =
                s.triggers(TriggerSelection::Keys(&found.finished))?.into_iter().map(|t| t.job).collect();
            s.delete_finished_triggers(&found.finished)?;
            delete_idle(s, &jobs)?;
            s.notify(Notification::Change)?;
            Ok(found)
        })
    }

    /// Deletes rows of the kinds of triggers that belong to no trigger; returns their keys. Edits
    /// by hand leave such rows, and no trigger can be stored under their keys.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn delete_stray_schedules(&self) -> Result<Vec<TriggerKey>> {
        self.store.write("delete stray rows of triggers", |s| s.delete_stray_schedules())
    }

    /// Deletes side rows that stand for nothing any longer; returns how many of these there were. A
    /// node of Quartz that recovers one of ours, or completes a recovery trigger, knows nothing of
    /// side rows.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn sweep(&self) -> Result<usize> {
        let found = self.store.glance("look for stray side rows", |s| s.stray_side_rows(Strays::Count))?;
        if found.is_empty() {
            return Ok(0);
        }
        let tables: Vec<String> = found.into_iter().map(|(table, _)| table).collect();
        // A node registers, and makes recovery triggers, under these locks: half of either is never
        // seen here.
        self.store.at_least_once("sweep stray side rows", TxMode::Exclusive(Lock::StateAccess), |s| {
            s.lock(Lock::TriggerAccess)?;
            Ok(s.stray_side_rows(Strays::Delete(&tables))?.iter().map(|(_, rows)| rows).sum())
        })
    }
}

fn find(s: &mut dyn Session) -> Result<AuditPass> {
    use TriggerState::*;
    let rows = s.triggers(TriggerSelection::InStates(&[Acquired, Blocked, PausedBlocked, Complete], LIMIT))?;
    if rows.is_empty() {
        return Ok(AuditPass::default());
    }
    // The fires are read after the triggers: without the lock, a fire that began in between excuses
    // its trigger.
    let fired = s.fired(FiredSelection::All)?;
    let acquired: BTreeSet<&TriggerKey> =
        fired.iter().filter(|f| f.state == FiredState::Acquired).map(|f| &f.trigger).collect();
    let runs = || fired.iter().filter(|f| f.state == FiredState::Executing);
    let executing: BTreeSet<&JobKey> = runs().filter_map(|f| f.job.as_ref()).collect();
    let alone: BTreeSet<&JobKey> = runs().filter(|f| f.nonconcurrent).filter_map(|f| f.job.as_ref()).collect();
    let of_trigger: BTreeSet<_> = runs().map(|f| (&f.trigger, f.job.as_ref())).collect();
    let any: BTreeSet<&TriggerKey> = fired.iter().map(|f| &f.trigger).collect();

    let mut pass = AuditPass::default();
    for row in rows {
        match TriggerState::from_name(&row.state) {
            Some(Acquired) if !acquired.contains(&row.key) => pass.released.push(row.key),
            Some(Blocked | PausedBlocked) if !executing.contains(&row.job) => pass.unblocked.push(row.key),
            // The trigger waits for runs of its own, which other runs of the job are not.
            Some(Blocked | PausedBlocked)
                if stored_policies(&row).is_ok_and(|policies| may_wait(policies.overlap))
                    && !alone.contains(&row.job)
                    && !of_trigger.contains(&(&row.key, Some(&row.job))) =>
            {
                pass.unblocked.push(row.key);
            }
            Some(Complete) if !any.contains(&row.key) => pass.finished.push(row.key),
            _ => {}
        }
    }
    Ok(pass)
}
