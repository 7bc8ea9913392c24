//! The checker of mixed clusters: faults, told apart by the kind of node that is to blame.
//!
//! Each known fault of a node of Quartz has a name and the hazard that it comes from; the checker
//! counts and prints it. All other faults are ours, and fail the scene.

use super::cluster::{Cluster, Kind};
use super::history::{Problem, Run, Wrong};
use carnelian::Schedule;
use carnelian::store::violations;
use std::collections::BTreeMap;

/// Faults that nodes of Quartz are allowed, each only in scenes that name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Allowance {
    /// H1: without `acquireTriggersWithinLock` a node of Quartz takes a trigger by its state alone,
    /// and may fire a time again that another node has fired: the second run is Quartz's.
    H1FiredAgainByQuartz,
    /// H1, its consequence: Quartz read the trigger before the other's fire and its count after
    /// that fire, so that a fire is missing at the end of the grid.
    H1LostByQuartz,
    /// H4: a node of Quartz that finds its reserved trigger blocked makes it `WAITING`, takes it
    /// again and fires it while the job runs elsewhere: the run that begins second is Quartz's.
    H4OverlapBegunByQuartz,
    /// Quartz goes by the annotation of the job's class, not by `IS_NONCONCURRENT`: without the
    /// annotation the job overlaps; the run that begins second is Quartz's.
    NotAnnotated,
    /// The last trigger of a job that is not durable went while a node of Quartz ran the job. A
    /// node of ours leaves the job to that run, and Quartz does not look for it at the end.
    LeftByQuartz,
}

/// The findings in a scene.
pub struct Verdict {
    pub runs: BTreeMap<Kind, usize>,
    pub recoveries: BTreeMap<Kind, usize>,
    pub overlaps: usize,
    allowed: BTreeMap<Allowance, usize>,
    wrong: Vec<Problem>,
    problems: Vec<String>,
}

impl Verdict {
    /// Judges the log: every due fire once and to its end, the grids complete.
    pub fn of(cluster: &Cluster, expected: &[(String, Schedule)], allowances: &[Allowance]) -> Self {
        let history = cluster.history();
        let count = |recovering: bool| {
            let mut counts = BTreeMap::from([(Kind::Java, 0), (Kind::Rust, 0)]);
            for run in history.runs().filter(|run| !recovering || run.recovering) {
                *counts.entry(cluster.kind_of(run.pid)).or_default() += 1;
            }
            counts
        };
        let mut verdict = Self {
            runs: count(false),
            recoveries: count(true),
            overlaps: 0,
            allowed: allowances.iter().map(|allowance| (*allowance, 0)).collect(),
            wrong: Vec::new(),
            problems: Vec::new(),
        };
        let mut fired_again: BTreeMap<String, usize> = BTreeMap::new();
        for problem in history.problems(expected) {
            let again = fired_again.entry(problem.due.0.clone()).or_default();
            match problem.wrong {
                Wrong::FiredTwice if allowances.contains(&Allowance::H1FiredAgainByQuartz) => {
                    match fired_again_by_quartz(cluster, &problem) {
                        Some(times) => {
                            *again += times;
                            verdict.allow(Allowance::H1FiredAgainByQuartz, times);
                        }
                        None => verdict.wrong.push(problem),
                    }
                }
                // The problems of a grid as a whole come after those of its fires.
                Wrong::Lost if *again > 0 && allowances.contains(&Allowance::H1LostByQuartz) => {
                    *again -= 1;
                    verdict.allow(Allowance::H1LostByQuartz, 1);
                }
                _ => verdict.wrong.push(problem),
            }
        }
        verdict
    }

    /// Interrupted fires of these triggers are nobody's to run again: their jobs do not ask for it.
    pub fn may_be_lost(&mut self, triggers: &[&str]) {
        let expected = |problem: &Problem| {
            problem.wrong == Wrong::NeverEnded && triggers.iter().any(|trigger| problem.due.0 == *trigger)
        };
        self.wrong.retain(|problem| !expected(problem));
    }

    /// Judges whether runs of these jobs overlap. With an allowance, an overlap that a node of
    /// Quartz began is allowed.
    pub fn one_at_a_time(&mut self, cluster: &Cluster, jobs: &[String], allowance: Option<Allowance>) {
        let history = cluster.history();
        for job in jobs {
            let mut runs: Vec<&Run> = history.runs().filter(|run| run.job == *job).collect();
            runs.sort_by_key(|run| run.started_ns);
            let end = |run: &Run| run.ended.as_ref().map_or(i64::MAX, |(at, _)| *at);
            let mut latest: Option<&Run> = None;
            for run in runs {
                if let Some(before) = latest.filter(|before| run.started_ns < end(before)) {
                    self.overlaps += 1;
                    match allowance.filter(|_| cluster.kind_of(run.pid) == Kind::Java) {
                        Some(allowance) => self.allow(allowance, 1),
                        None => self.problems.push(format!("overlap: {job}, {run:?} began within {before:?}")),
                    }
                }
                latest = latest.filter(|before| end(before) > end(run)).or(Some(run));
            }
        }
    }

    /// Adds a fact that must hold.
    pub fn expect(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.problems.push(otherwise());
        }
    }

    /// Judges the tables: the invariants, and no row of ours left behind.
    pub fn tables(&mut self, cluster: &Cluster) {
        let snapshot = cluster.store.upkeep().snapshot().unwrap();
        let (left, others): (Vec<_>, Vec<_>) = violations(&snapshot).into_iter().partition(|v| v.invariant == "I14");
        self.problems.extend(others.iter().map(ToString::to_string));
        match self.runs[&Kind::Java] {
            0 => self.problems.extend(left.iter().map(ToString::to_string)),
            _ if left.is_empty() => {}
            _ => self.allow(Allowance::LeftByQuartz, left.len()),
        }
        let unreadable = snapshot.unreadable.iter().map(|row| format!("unreadable: {row:?}"));
        self.problems.extend(unreadable);
        // Quartz leaves its state row when it stops; a node of ours does not.
        let ours = snapshot.instances.iter().filter(|i| i.incarnation.is_some());
        let gone = |name: &str| cluster.nodes.iter().all(|node| node.instance != name);
        let left = ours.filter(|i| gone(&i.name)).map(|i| format!("{} stopped and left its row", i.name));
        self.problems.extend(left);
    }

    fn allow(&mut self, allowance: Allowance, times: usize) {
        *self.allowed.entry(allowance).or_default() += times;
    }

    /// Prints the scene's line and panics with everything that is wrong.
    pub fn conclude(mut self, scene: &str, server: super::tables::Server, cluster: Cluster, figures: &str) {
        self.problems.splice(0..0, self.wrong.iter().map(ToString::to_string));
        let by_kind =
            |counts: &BTreeMap<Kind, usize>| format!("java={} rust={}", counts[&Kind::Java], counts[&Kind::Rust]);
        let mut line = format!("interop scene={scene} database={} runs: {}", server.name(), by_kind(&self.runs));
        if self.recoveries.values().any(|count| *count > 0) {
            line += &format!(" recoveries: {}", by_kind(&self.recoveries));
        }
        line += figures;
        for (allowance, times) in &self.allowed {
            line += &format!(" allowed {allowance:?}={times}");
        }
        line += if self.problems.is_empty() { " ok" } else { " FAILED" };
        println!("{line}");
        super::summary(&line);
        let shown = self.problems.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
        assert!(self.problems.is_empty(), "{} problems, folder {}:\n{shown}", self.problems.len(), cluster.folder());
        cluster.succeeded();
    }
}

/// The number of times that a due fire was fired again, if Quartz did so each time.
fn fired_again_by_quartz(cluster: &Cluster, problem: &Problem) -> Option<usize> {
    let mut runs: Vec<&Run> = problem.runs.iter().collect();
    runs.sort_by_key(|run| run.started_ns);
    let again = runs.get(1..)?;
    again.iter().all(|run| cluster.kind_of(run.pid) == Kind::Java).then_some(again.len())
}
