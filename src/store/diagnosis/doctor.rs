//! The doctor: looks for missing parts, unreadable rows, stuck states, dead nodes and broken
//! invariants.

use super::finding::Finding;
use super::rows::MISSING_TABLE;
use super::sieve::Sieve;
use super::{nodes, rows, states, work};
use crate::error::{Error, Result};
use crate::rules::invariants::violations;
use crate::span::span;
use crate::store::{Diagnosis, InstanceStatus};
use std::collections::BTreeSet;

/// The number of reads that must agree.
const LOOKS: usize = 3;

/// The largest difference between this machine's clock and the database's.
const SKEW_LIMIT_MS: u64 = 1_000;

impl Diagnosis<'_> {
    /// Everything that is not as it should be; with `invariants` also what breaks an invariant of
    /// the store.
    ///
    /// Reads without the locks and in pages, so that no node waits for it, and keeps of them what
    /// is not as it should be; with `invariants` everything is kept in memory. A row that is on its
    /// way from one state to another looks broken for a moment: a finding is what several reads
    /// agree on.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries. Missing tables are a
    /// finding.
    pub fn doctor(&self, invariants: bool) -> Result<Vec<Finding>> {
        let parts = match self.store.database.examine_schema() {
            Ok(parts) => parts,
            Err(Error::Schema(text)) => return Ok(vec![Finding::new("tables", self.store.database.describe(), text)]),
            Err(error) => return Err(error),
        };
        let mut findings: Vec<Finding> = parts.iter().map(rows::missing_part).collect();
        match self.what_stays(invariants) {
            // Nothing more can be found without the table.
            Err(Error::Schema(_)) if findings.iter().any(|finding| finding.kind == MISSING_TABLE) => {}
            stays => findings.extend(stays?),
        }
        Ok(findings)
    }

    /// The names of other schedulers, in words, if only they have jobs in these tables: the name of
    /// this one may be a wrong one.
    ///
    /// # Errors
    /// Errors of the database.
    pub(crate) fn other_names(&self) -> Result<Option<String>> {
        rows::other_names(self.store)
    }

    /// The findings that several looks agree on, as the last look has them.
    fn what_stays(&self, invariants: bool) -> Result<Vec<Finding>> {
        let mut findings = self.look(invariants)?;
        for _ in 1..LOOKS {
            if findings.is_empty() {
                break;
            }
            let before: BTreeSet<(&str, String)> = findings.iter().map(|f| (f.kind, f.subject.clone())).collect();
            let mut again = self.look(invariants)?;
            again.retain(|f| before.contains(&(f.kind, f.subject.clone())));
            findings = again;
        }
        Ok(findings)
    }

    fn look(&self, invariants: bool) -> Result<Vec<Finding>> {
        let store = self.store;
        let here_ms = store.clock.wall_time().timestamp_millis();
        let now_ms = store.now_ms()?;
        let mut sieve = Sieve::new(store, invariants, now_ms, work::UNTAKEN_AFTER_MS)?;
        let snapshot = store.upkeep().look_through(|snapshot| sieve.sift(snapshot))?;
        let Sieve { mut late, damaged, .. } = sieve;
        // Damaged jobs are named as such, and not for their lateness.
        late.jobs.retain(|job, _| !damaged.contains_key(job));
        let members = nodes::Members::of(store, &snapshot, now_ms);
        let parked = store.catalogue().parked()?;
        let orphans = store.job_types().orphans()?;
        let unplaceable = store.placement().unplaceable_jobs()?;
        let mut findings = rows::unreadable(store, &snapshot);
        findings.extend(rows::damaged_jobs(&damaged));
        findings.extend(parked.iter().map(work::parked));
        findings.extend(states::stuck(&snapshot, &parked.into_iter().map(|work| work.key).collect()));
        findings.extend(states::overdue_reservations(&snapshot, now_ms));
        findings.extend(members.silent());
        findings.extend(members.none_alive(store, &late));
        findings.extend(store.upkeep().fence_behind()?.map(|lost| rows::fence_behind(store, lost)));
        findings.extend(work::unknown_types(&orphans));
        findings.extend(unplaceable.iter().map(work::no_place));
        match members.is_any_alive() && !store.upkeep().instances()?.iter().any(InstanceStatus::is_working) {
            true => findings.extend(work::nobody_works(store, &late.jobs)),
            false => {
                findings.extend(work::untaken(&snapshot, members.is_any_alive(), late.jobs, &orphans, &unplaceable));
            }
        }
        findings.extend(work::ignored_placements(store, &snapshot)?);
        findings.extend(members.foreign_clocks(now_ms));
        findings.extend(work::beside_quartz(&snapshot));
        if here_ms.abs_diff(now_ms) > SKEW_LIMIT_MS {
            let skew = span(here_ms.saturating_sub(now_ms));
            findings.push(Finding::new(
                "clock_skew",
                "this machine",
                format!("its clock is {skew} off the database's"),
            ));
        }
        if invariants {
            let violations = violations(&snapshot).into_iter();
            findings.extend(violations.map(|violation| {
                Finding::new("invariant", &violation.subject, format!("{}: {}", violation.invariant, violation.detail))
            }));
        }
        Ok(findings)
    }
}
