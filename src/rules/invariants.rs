//! Invariants: what must hold in every committed state of the store.

use crate::hash::HashMap;
use crate::key::{JobKey, TriggerKey};
use crate::store::row::{FiredState, JobRow, ScheduleRow, Snapshot, TriggerRow};
use crate::trigger::{Schedule, TriggerState};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// `I1` to `I14`, as `docs/architecture.md` lists them.
    pub invariant: &'static str,
    /// The row, by its key.
    pub subject: String,
    /// The violation in words.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.invariant, self.subject, self.detail)
    }
}

/// Checks everything that can be checked from one state; an empty answer is what should be.
pub fn violations(snapshot: &Snapshot) -> Vec<Violation> {
    let mut check = Check::new(snapshot);
    check.triggers();
    check.fires();
    check.jobs();
    check.cluster();
    check.found
}

struct Check<'a> {
    snapshot: &'a Snapshot,
    jobs: HashMap<&'a JobKey, &'a JobRow>,
    triggers: HashMap<&'a TriggerKey, &'a TriggerRow>,
    acquired: HashMap<&'a TriggerKey, usize>,
    /// Nodes of Quartz, and the triggers they have reserved, or believe they have.
    foreign: BTreeSet<&'a str>,
    reserved_by_quartz: BTreeSet<&'a TriggerKey>,
    executing: BTreeMap<&'a JobKey, usize>,
    executing_alone: BTreeMap<&'a JobKey, usize>,
    fired: BTreeSet<&'a TriggerKey>,
    found: Vec<Violation>,
}

impl<'a> Check<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let mut check = Check {
            snapshot,
            jobs: snapshot.jobs.iter().map(|j| (&j.key, j)).collect(),
            triggers: snapshot.triggers.iter().map(|t| (&t.key, t)).collect(),
            acquired: HashMap::default(),
            foreign: snapshot.instances.iter().filter(|i| i.incarnation.is_none()).map(|i| i.name.as_str()).collect(),
            reserved_by_quartz: BTreeSet::new(),
            executing: BTreeMap::new(),
            executing_alone: BTreeMap::new(),
            fired: snapshot.fired.iter().map(|f| &f.trigger).collect(),
            found: Vec::new(),
        };
        for fire in &snapshot.fired {
            match (fire.state, &fire.job) {
                (FiredState::Acquired, _) if check.foreign.contains(fire.instance.as_str()) => {
                    check.reserved_by_quartz.insert(&fire.trigger);
                }
                (FiredState::Acquired, _) => *check.acquired.entry(&fire.trigger).or_default() += 1,
                (FiredState::Executing, Some(job)) => {
                    *check.executing.entry(job).or_default() += 1;
                    *check.executing_alone.entry(job).or_default() += usize::from(fire.nonconcurrent);
                }
                (FiredState::Executing, None) => {}
            }
        }
        check
    }

    fn fail(&mut self, invariant: &'static str, subject: impl fmt::Display, detail: impl Into<String>) {
        self.found.push(Violation { invariant, subject: subject.to_string(), detail: detail.into() });
    }

    fn triggers(&mut self) {
        use TriggerState::*;
        for t in &self.snapshot.triggers {
            let subject = format!("trigger {}", t.key);
            let state = TriggerState::from_name(&t.state);
            let acquired = self.acquired.get(&t.key).copied().unwrap_or(0);
            let by_quartz = self.reserved_by_quartz.contains(&t.key);
            if state == Some(Acquired) && acquired != 1 && !(by_quartz && acquired == 0) {
                self.fail("I1", &subject, format!("is ACQUIRED and has {acquired} acquired fired rows instead of 1"));
            }
            if matches!(state, Some(Blocked | PausedBlocked)) && !self.executing.contains_key(&t.job) {
                self.fail("I2", &subject, format!("is {} but job {} executes nowhere", t.state, t.job));
            }
            if matches!(state, Some(Waiting | Acquired)) && self.executing_alone.get(&t.job).is_some_and(|n| *n > 0) {
                self.fail("I3", &subject, format!("may be taken while non-concurrent job {} executes", t.job));
            }
            if state == Some(Complete) && !self.fired.contains(&t.key) {
                self.fail("I6", &subject, "is COMPLETE and no fire refers to it");
            }
            // As in Quartz a trigger whose calendar leaves it no time waits for another calendar.
            let waits_for_calendar = t.calendar.is_some() && state != Some(Acquired);
            if matches!(state, Some(Waiting | Acquired | Blocked)) && t.next_ms.is_none() && !waits_for_calendar {
                self.fail("I7", &subject, format!("is {} without a next fire time", t.state));
            }
            if t.previous_ms.zip(t.next_ms).is_some_and(|(previous, next)| previous > next) {
                self.fail("I7", &subject, "has its previous fire time after its next");
            }
            if Schedule::KINDS.contains(&t.kind.as_str()) && t.schedule == ScheduleRow::Missing {
                self.fail("I8", &subject, format!("is of kind {} and has no row in its table", t.kind));
            }
            if !self.jobs.contains_key(&t.job) {
                self.fail("I8", &subject, format!("belongs to job {}, which does not exist", t.job));
            }
        }
        for (table, key) in &self.snapshot.stray_schedules {
            self.fail("I8", format!("{table} row {key}"), "has no trigger");
        }
    }

    fn fires(&mut self) {
        let mut ids = BTreeSet::new();
        let instances: BTreeSet<&str> = self.snapshot.instances.iter().map(|i| i.name.as_str()).collect();
        for fire in &self.snapshot.fired {
            let subject = format!("fire {}", fire.fire_id);
            let trigger = self.triggers.get(&fire.trigger).and_then(|t| TriggerState::from_name(&t.state));
            let reserved = fire.state == FiredState::Acquired;
            // A node of Quartz keeps the row of a reservation it has lost until it would have fired
            // it, and leaves the rows of those from whom it takes a reservation.
            let is_excused = !self.foreign.is_empty();
            if reserved && trigger != Some(TriggerState::Acquired) && !is_excused {
                self.fail("I1", &subject, format!("has reserved trigger {}, which is not acquired", fire.trigger));
            }
            if !instances.contains(fire.instance.as_str()) {
                self.fail("I5", &subject, format!("belongs to instance {}, which is not registered", fire.instance));
            }
            if !ids.insert(&fire.fire_id) {
                self.fail("I13", &subject, "occurs twice");
            }
        }
        let overlapping: Vec<_> = self.executing_alone.iter().filter(|(_, n)| **n > 1).map(|(k, n)| (*k, *n)).collect();
        for (job, n) in overlapping {
            self.fail("I4", format!("job {job}"), format!("is non-concurrent and executes {n} times"));
        }
        let mut origins = BTreeSet::new();
        for recovery in &self.snapshot.recoveries {
            if !origins.insert(&recovery.origin_fire_id) {
                self.fail("I10", format!("fire {}", recovery.origin_fire_id), "has more than one recovery trigger");
            }
        }
    }

    fn jobs(&mut self) {
        let with_triggers: BTreeSet<&JobKey> = self.snapshot.triggers.iter().map(|t| &t.job).collect();
        let with_fires: BTreeSet<&JobKey> = self.snapshot.fired.iter().filter_map(|f| f.job.as_ref()).collect();
        for job in &self.snapshot.jobs {
            if !job.durable && !with_triggers.contains(&job.key) && !with_fires.contains(&job.key) {
                self.fail("I14", format!("job {}", job.key), "is not durable and has neither trigger nor fire");
            }
        }
    }

    fn cluster(&mut self) {
        let locks: BTreeSet<&str> = self.snapshot.locks.iter().map(String::as_str).collect();
        for lock in ["STATE_ACCESS", "TRIGGER_ACCESS"] {
            if !locks.contains(lock) {
                self.fail("I9", format!("lock {lock}"), "has no row in LOCKS");
            }
        }
    }
}
