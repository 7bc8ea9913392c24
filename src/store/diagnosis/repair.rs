//! The repair of what can be mended without harm: by the operations with which running nodes mend
//! the same.

use super::finding::{Finding, Repair};
use super::rows::MISSING_TABLE;
use crate::error::{Error, Result};
use crate::key::TriggerKey;
use crate::store::action_log::Action;
use crate::store::{Diagnosis, Recovered};
use std::collections::BTreeSet;

impl Diagnosis<'_> {
    /// Mends every finding that is repairable, and deletes side rows that stand for nothing any
    /// longer; says what was done, and writes it down in the log of actions. Each repair looks
    /// again under the lock: what has righted itself since the doctor looked is left alone.
    ///
    /// An index is made while nobody can write into its table.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries. Repairs that were done
    /// before it stay done.
    pub fn repair(&self) -> Result<Vec<Repair>> {
        let findings = self.doctor(false)?;
        let of =
            |kind: &'static str| findings.iter().filter(move |finding| finding.kind == kind && finding.is_repairable);
        let store = self.store;
        let mut done = Vec::new();
        if findings.iter().any(|finding| finding.kind.starts_with("missing_") && finding.is_repairable) {
            let made = store.database.mend_schema()?;
            done.extend(made.iter().map(|part| Repair::new(part.kind, &part.name, "made again")));
        }
        if of("overdue_reservation").next().is_some() {
            let freed = store.firing().take_back_abandoned()?;
            done.extend(freed.iter().map(|trigger| Repair::new("overdue_reservation", trigger, "free again")));
        }
        for finding in of("orphan_fires").chain(of("silent_instance")) {
            let recovered = store.upkeep().recover_dead_instance(&finding.subject)?;
            done.extend(recovered.iter().map(|recovered| taken_over(finding, recovered)));
        }
        if of("stuck").next().is_some() {
            let mended = store.upkeep().mend()?;
            let kinds = [
                (mended.released, "ACQUIRED by nobody: waits again"),
                (mended.unblocked, "blocked by nobody: waits again, or is paused"),
                (mended.finished, "COMPLETE with no fire left: deleted, with its job if that was there for it only"),
            ];
            for (keys, words) in kinds {
                done.extend(keys.iter().map(|key| Repair::new("stuck", key, words)));
            }
        }
        if of("stray_schedule").next().is_some() {
            let deleted = store.upkeep().delete_stray_schedules()?;
            let keys: BTreeSet<TriggerKey> = deleted.into_iter().collect();
            done.extend(keys.iter().map(|key| Repair::new("stray_schedule", key, "deleted")));
        }
        // A table that is gone keeps nothing from being mended that is in the others.
        let is_whole = !findings.iter().any(|finding| finding.kind == MISSING_TABLE);
        // Stray side rows harm nobody, and the next audit of a node deletes them: no finding.
        let swept = if is_whole { store.upkeep().sweep()? } else { 0 };
        if swept > 0 {
            let scheduler = &store.settings.scheduler.instance_name;
            done.push(Repair::new("stray_side_rows", scheduler, format!("{swept} rows of side tables deleted")));
        }
        for repair in &done {
            let detail = format!("{}: {}", repair.kind, repair.detail);
            match store.note_lone_action(Action::new("repair", "finding").detail(&detail), &repair.subject) {
                Err(Error::Schema(_)) if !is_whole => {}
                noted => noted?,
            }
        }
        Ok(done)
    }
}

/// The recovery of a node, in words.
fn taken_over(finding: &Finding, recovered: &Recovered) -> Repair {
    let again = recovered.recovery_triggers.len() + recovered.revived.len();
    let detail = format!(
        "taken over as after its death: {} reservations free again, {again} fires run again, {} end as lost, {} parked",
        recovered.freed,
        recovered.lost.len(),
        recovered.parked.len()
    );
    Repair::new(finding.kind, &finding.subject, detail)
}
