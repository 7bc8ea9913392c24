//! The history that the jobs themselves logged, without the store: every due fire with its runs.
#![allow(dead_code, reason = "no test file uses all of it")]

use carnelian::Schedule;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The events of a log, in the order of their lines.
pub fn read(log: &Path) -> Vec<Value> {
    let Ok(text) = std::fs::read_to_string(log) else { return Vec::new() };
    // A line that is being written may be seen in part.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

/// A text of an event.
pub fn text<'a>(event: &'a Value, field: &str) -> &'a str {
    event[field].as_str().unwrap_or_default()
}

/// A run of a job, from its START and END lines.
#[derive(Clone, Debug)]
pub struct Run {
    pub fire_id: String,
    pub pid: u64,
    pub job: String,
    pub attempt: i64,
    pub recovering: bool,
    /// True if the run goes on where one was given up, since its node was asked to stop that run or
    /// had stood still.
    pub resuming: bool,
    pub started_ns: i64,
    pub ended: Option<(i64, String)>,
}

impl Run {
    /// True if the other run was given up before this one resumed it.
    fn goes_on_from(&self, other: &Run) -> bool {
        let given_up = |(at, outcome): &(i64, String)| outcome == "lost" && *at < self.started_ns;
        self.resuming && other.ended.as_ref().is_some_and(given_up)
    }
}

/// A due fire: the trigger it was due for, and the time it was due, epoch milliseconds.
pub type Due = (String, i64);

/// A fault of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// One fire id was started twice.
    StartedTwice,
    /// A due fire was fired twice.
    FiredTwice,
    /// One interruption was recovered twice.
    RecoveredTwice,
    /// A due fire has no run that came to its end.
    NeverEnded,
    /// A due time of a grid without a run.
    Lost,
    /// A run at a time its trigger never was due.
    Alien,
    /// An END that belongs to no START.
    EndWithoutStart,
}

/// One thing that is wrong, with the runs of the due fire in the order they began.
#[derive(Clone, Debug)]
pub struct Problem {
    pub wrong: Wrong,
    pub due: Due,
    pub runs: Vec<Run>,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (trigger, due) = &self.due;
        write!(f, "{:?}: {trigger} due at {due}, runs {:?}", self.wrong, self.runs)
    }
}

/// All runs by the due fire they stand for; a recovery stands for the fire that was interrupted.
#[derive(Debug, Default)]
pub struct History {
    pub chains: BTreeMap<Due, Vec<Run>>,
    problems: Vec<Problem>,
}

impl History {
    pub fn of(events: &[Value]) -> Self {
        let mut history = Self::default();
        let mut place: BTreeMap<String, Due> = BTreeMap::new();
        for event in events {
            let fire_id = text(event, "fire_id").to_owned();
            match text(event, "event") {
                "START" => {
                    // The fire it goes back to, if that had begun.
                    let origin = place.get(text(event, "root_fire_id"));
                    let due = origin.cloned().unwrap_or_else(|| due_of(event));
                    let run = Run {
                        fire_id: fire_id.clone(),
                        pid: event["pid"].as_u64().unwrap_or_default(),
                        job: text(event, "job").to_owned(),
                        attempt: event["attempt"].as_i64().unwrap_or_default(),
                        recovering: event["recovering"].as_bool().unwrap_or_default(),
                        resuming: is_resuming(text(event, "trigger")),
                        started_ns: event["mono_ns"].as_i64().unwrap_or_default(),
                        ended: None,
                    };
                    if (run.recovering || run.resuming) && due_of(event).1 != due.1 {
                        history.problem(Wrong::Alien, &due, std::slice::from_ref(&run));
                    }
                    if place.insert(fire_id, due.clone()).is_some() {
                        history.problem(Wrong::StartedTwice, &due, std::slice::from_ref(&run));
                    }
                    history.chains.entry(due).or_default().push(run);
                }
                "END" => {
                    let runs = place.get(&fire_id).and_then(|due| history.chains.get_mut(due));
                    match runs.and_then(|runs| runs.iter_mut().rev().find(|run| run.fire_id == fire_id)) {
                        Some(run) => {
                            let at = event["mono_ns"].as_i64().unwrap_or_default();
                            run.ended = Some((at, text(event, "outcome").to_owned()));
                        }
                        None => history.problem(Wrong::EndWithoutStart, &(fire_id, 0), &[]),
                    }
                }
                _ => {}
            }
        }
        history
    }

    /// The runs of a process that was killed end then, with outcome `killed`.
    pub fn end_at_death(&mut self, pid: u64, at_ns: i64) {
        for run in self.chains.values_mut().flatten().filter(|run| run.pid == pid && run.ended.is_none()) {
            run.ended = Some((at_ns, "killed".to_owned()));
        }
    }

    /// Every run.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.chains.values().flatten()
    }

    /// Faults, of which a good history has none: every due fire runs once, once more for each
    /// interruption, and to its end; every due time of the expected simple schedules has a run, and
    /// no other time.
    pub fn problems(mut self, expected: &[(String, Schedule)]) -> Vec<Problem> {
        for (due, runs) in std::mem::take(&mut self.chains) {
            let fired = runs.iter().filter(|run| !run.recovering && !run.resuming).count();
            let is_resumed_wrongly = |pair: &[Run]| pair[1].resuming && !pair[1].goes_on_from(&pair[0]);
            if fired > 1 || runs.windows(2).any(is_resumed_wrongly) {
                self.problem(Wrong::FiredTwice, &due, &runs);
            }
            // An interruption without a START (killed between firing and starting) leaves a gap in
            // the attempts.
            let attempts: BTreeSet<_> = runs.iter().map(|run| (run.recovering, run.attempt)).collect();
            if runs.iter().filter(|run| run.recovering).count() > attempts.iter().filter(|(again, _)| *again).count() {
                self.problem(Wrong::RecoveredTwice, &due, &runs);
            }
            if !runs.iter().any(|run| run.ended.as_ref().is_some_and(|(_, outcome)| outcome == "succeeded")) {
                self.problem(Wrong::NeverEnded, &due, &runs);
            }
            self.chains.insert(due, runs);
        }
        for (trigger, schedule) in expected {
            self.compare(trigger, schedule);
        }
        self.problems
    }

    /// The due times of a simple schedule against those that have runs.
    fn compare(&mut self, trigger: &str, schedule: &Schedule) {
        let Schedule::Simple(simple) = schedule else { return };
        let seen: BTreeSet<i64> = self.chains.keys().filter(|(key, _)| key == trigger).map(|(_, due)| *due).collect();
        let Some(start) = seen.first().copied() else {
            return self.problem(Wrong::Lost, &(trigger.to_owned(), 0), &[]);
        };
        let step = i64::try_from(simple.interval().as_millis()).unwrap();
        let count = i64::try_from(simple.repeat_count().unwrap()).unwrap();
        let grid: BTreeSet<i64> = (0..=count).map(|k| start + k * step).collect();
        for lost in grid.difference(&seen) {
            self.problem(Wrong::Lost, &(trigger.to_owned(), *lost), &[]);
        }
        for alien in seen.difference(&grid) {
            let due = (trigger.to_owned(), *alien);
            let runs = self.chains.get(&due).cloned().unwrap_or_default();
            self.problem(Wrong::Alien, &due, &runs);
        }
    }

    fn problem(&mut self, wrong: Wrong, due: &Due, runs: &[Run]) {
        self.problems.push(Problem { wrong, due: due.clone(), runs: runs.to_vec() });
    }
}

/// The due fire that a START stands for, by its own word.
fn due_of(event: &Value) -> Due {
    let trigger = match event["recovering"].as_bool().unwrap_or_default() {
        true => {
            let part = |key: &str| text(&event["data"], &format!("QRTZ_FAILED_JOB_ORIG_TRIGGER_{key}")).to_owned();
            format!("{}.{}", part("GROUP"), part("NAME"))
        }
        false => text(event, "trigger").to_owned(),
    };
    // A trigger that resumes is one of ours, and jobs of storms have triggers of their names.
    let trigger = if is_resuming(&trigger) { text(event, "job").to_owned() } else { trigger };
    (trigger, event["original_scheduled_ms"].as_i64().unwrap_or_default())
}

fn is_resuming(trigger: &str) -> bool {
    trigger.starts_with("INTERRUPTED_JOBS.")
}
