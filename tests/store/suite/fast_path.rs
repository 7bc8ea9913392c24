//! The fast path held against the statements: the same generated work, given to a store with the
//! fast path and to a store without it, leaves the same rows and answers.

use super::beside_quartz::java_joins;
use super::*;
use carnelian::calendar::Weekdays;
use carnelian::store::row::{FiredRow, Snapshot, TriggerRow};
use carnelian::store::{CompletionInstruction, FireBundle, JobStore};
use carnelian::{
    Calendar, CronSchedule, DailyTimeIntervalSchedule, GroupMatcher, IntervalUnit, JobDetail, JobKey, JobPolicy,
    MisfireInstruction, Overlap, Schedule, SimpleSchedule, Trigger, TriggerKey,
};
use std::time::Duration;

/// Each round has a pair of schedulers of its own.
const ROUNDS: u64 = 12;
const STEPS: usize = 60;
const GROUPS: [&str; 3] = ["triggers", "other", "third"];

/// Random numbers that a seed repeats: SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// Once in so many times.
    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.below(choices.len() as u64)).unwrap()].clone()
    }
}

/// A scheduler with a node; only the node fires.
struct Side {
    cluster: Cluster,
    node: Node,
    /// The store that schedules.
    store: JobStore,
    running: Vec<FireBundle>,
}

impl Side {
    fn new(has_fast_path: bool) -> Self {
        let cluster = Cluster::new(open());
        let node = cluster.node("A");
        let mut scheduling = cluster.stranger("S");
        if !has_fast_path {
            // A database with something between has no fast path.
            cluster.before_each(&mut scheduling, |_| {});
        }
        cluster.store.catalogue().add_calendar("workdays", &Calendar::new(Weekdays::weekend()), false, false).unwrap();
        Self { cluster, node, store: scheduling.store, running: Vec::new() }
    }

    /// Everything that scheduling writes, without the names that differ by chance.
    fn rows(&self) -> String {
        let Snapshot { jobs, mut triggers, fired, paused_groups, .. } = self.cluster.snapshot();
        let mut fired: Vec<FiredRow> =
            fired.into_iter().map(|row| FiredRow { fire_id: String::new(), ..row }).collect();
        fired.sort_by(|a, b| a.trigger.cmp(&b.trigger));
        triggers.sort_by(|a: &TriggerRow, b| a.key.cmp(&b.key));
        format!("{jobs:#?}\n{triggers:#?}\n{fired:#?}\n{paused_groups:#?}")
    }
}

/// Generated work, the same for both sides.
enum Step {
    Schedule(Vec<(JobDetail, Vec<Trigger>)>, bool),
    AddJob(JobDetail, bool),
    AddTrigger(Trigger, bool),
    Unschedule(TriggerKey),
    DeleteJob(JobKey),
    Pause(String),
    Resume(String),
    PauseAll,
    ResumeAll,
    /// The node fires what is due.
    Fire,
    /// The number of runs that end.
    Complete(u64),
}

impl Step {
    /// Does the step, and tells what the caller is told.
    fn take(&self, side: &mut Side) -> String {
        let Side { cluster, node, store, running } = side;
        match self {
            Step::Schedule(work, replace) => told(store.catalogue().schedule(work.clone(), *replace)),
            Step::AddJob(job, replace) => told(store.catalogue().add_job(job, *replace)),
            Step::AddTrigger(trigger, replace) => told(store.catalogue().add_trigger(trigger.clone(), *replace)),
            Step::Unschedule(key) => told(store.catalogue().unschedule(std::slice::from_ref(key))),
            Step::DeleteJob(key) => told(store.catalogue().delete_jobs(std::slice::from_ref(key))),
            Step::Pause(group) => told(store.catalogue().pause_trigger_groups(&GroupMatcher::equals(group.as_str()))),
            Step::Resume(group) => {
                told(store.catalogue().resume_trigger_groups(&GroupMatcher::equals(group.as_str()), false))
            }
            Step::PauseAll => told(store.catalogue().pause_all()),
            Step::ResumeAll => told(store.catalogue().resume_all(false)),
            Step::Fire => {
                let acquisition = node.acquire_with(100, |request| request.look_ahead_ms = 0).unwrap();
                running.extend(acquisition.fired);
                running.sort_by(|a, b| a.trigger.key().cmp(b.trigger.key()));
                running.iter().map(|fire| format!("{} ", fire.trigger.key())).collect()
            }
            Step::Complete(count) => {
                let count = usize::try_from(*count).unwrap().min(running.len());
                let ended: Vec<FireBundle> = running.drain(..count).collect();
                let ended = ended.iter().map(|fire| fire.completion(CompletionInstruction::NoInstruction, None));
                let outcomes = node.complete_all(&ended.collect::<Vec<_>>());
                cluster.check();
                format!("{outcomes:?}")
            }
        }
    }
}

fn told<T: std::fmt::Debug>(answer: carnelian::Result<T>) -> String {
    match answer {
        Ok(answer) => format!("{answer:#?}"),
        Err(error) => format!("refused: {error}"),
    }
}

/// Makes the steps of a round.
struct Work {
    dice: Dice,
    /// Grows with each trigger, so that no two are due at the same time.
    starts: i64,
}

impl Work {
    fn step(&mut self) -> Step {
        match self.dice.below(24) {
            0..=8 => {
                let jobs = self.dice.of(&[0, 1, 1, 1, 1, 2, 3]);
                let mut can_start_now = true;
                let mut work: Vec<_> = (0..jobs).map(|_| self.job_with_triggers(&mut can_start_now)).collect();
                if work.len() > 1 && !self.dice.one_in(6) {
                    work.dedup_by(|a, b| a.0.key() == b.0.key()); // most work names each job once
                }
                Step::Schedule(work, self.dice.one_in(4))
            }
            9 => {
                let key = self.job_key();
                Step::AddJob(self.job(key), self.dice.one_in(4))
            }
            10..=15 => {
                let job = self.job_key();
                Step::AddTrigger(self.trigger(job, &mut true), self.dice.one_in(4))
            }
            16 => Step::Unschedule(self.trigger_key()),
            17 => Step::DeleteJob(self.job_key()),
            18 => Step::Pause(self.dice.of(&GROUPS).to_owned()),
            19 => Step::Resume(self.dice.of(&GROUPS).to_owned()),
            20 if self.dice.one_in(2) => Step::PauseAll,
            20 => Step::ResumeAll,
            21 | 22 => Step::Fire,
            _ => Step::Complete(1 + self.dice.below(2)),
        }
    }

    fn job_key(&mut self) -> JobKey {
        job_key(&format!("j{}", self.dice.below(12)))
    }

    fn trigger_key(&mut self) -> TriggerKey {
        TriggerKey::new(self.dice.of(&GROUPS), format!("t{}", self.dice.below(14)))
    }

    fn job(&mut self, key: JobKey) -> JobDetail {
        let dice = &mut self.dice;
        let mut job = JobDetail::builder(key, dice.of(&["work", "work", "com.acme.Work"]))
            .durable(!dice.one_in(3))
            .disallow_concurrent_execution(dice.one_in(2))
            .persist_job_data_after_execution(dice.one_in(4))
            .requests_recovery(dice.one_in(4));
        if dice.one_in(3) {
            job = job.description("ein Ding – 'a thing'").data("n", i64::try_from(dice.below(9)).unwrap());
        }
        if dice.one_in(8) {
            job = job.policy(JobPolicy::new().timeout(Duration::from_secs(60)));
        }
        job.build().unwrap()
    }

    fn job_with_triggers(&mut self, can_start_now: &mut bool) -> (JobDetail, Vec<Trigger>) {
        let key = self.job_key();
        let count = self.dice.of(&[0, 1, 1, 1, 2, 3]);
        let triggers = (0..count).map(|_| self.trigger(key.clone(), can_start_now)).collect();
        (self.job(key), triggers)
    }

    fn trigger(&mut self, job: JobKey, can_start_now: &mut bool) -> Trigger {
        let key = self.trigger_key();
        self.starts += 1;
        let dice = &mut self.dice;
        let mut trigger = Trigger::builder(key, job).priority(dice.of(&[5, 5, 1, 10]));
        // Past or soon; two that start now would be due at the same time.
        let start = NOW + self.starts + dice.of(&[-20, 0, 20, 40]) * SECOND;
        if !*can_start_now || !dice.one_in(3) {
            trigger = trigger.start_at(at(start));
        } else {
            *can_start_now = false;
        }
        if dice.one_in(5) {
            trigger = trigger.end_at(at(start + dice.of(&[HOUR, HOUR, 1])));
        }
        if dice.one_in(4) {
            trigger = trigger.description("note").data("key", "value");
        }
        if dice.one_in(10) {
            trigger = trigger.calendar(dice.of(&["workdays", "missing"]));
        }
        if dice.one_in(10) {
            trigger = trigger.overlap(dice.of(&[Overlap::BufferOne, Overlap::Skip, Overlap::CancelPrevious]));
        }
        if dice.one_in(4) {
            trigger = trigger.misfire(MisfireInstruction::Ignore);
        }
        let schedule: Schedule = match dice.below(12) {
            // Far from now, and so never due here.
            0 => CronSchedule::new("0 0 3 1 6 ?").unwrap().into(),
            1 => DailyTimeIntervalSchedule::every(7, IntervalUnit::Hour).into(),
            2..=5 => SimpleSchedule::every(Duration::from_secs(60)).into(),
            6 | 7 => SimpleSchedule::every(Duration::from_secs(90)).repeat(2).into(),
            _ => SimpleSchedule::once().into(),
        };
        trigger.schedule(schedule).build().unwrap()
    }
}

const HOUR: i64 = 60 * MINUTE;

on_each_database!(the_fast_path_and_the_statements_do_the_same);
fn the_fast_path_and_the_statements_do_the_same() {
    if !Cluster::new(open()).opened.database.has_fast_path() {
        return;
    }
    let given = std::env::var("CARNELIAN_SEED").ok().and_then(|seed| seed.parse().ok());
    let first = given.unwrap_or_else(|| getrandom::u64().unwrap() >> 1);
    let (mut calls, mut on_fast_path) = (0, 0);
    for seed in first..first + ROUNDS {
        println!("CARNELIAN_SEED={seed}");
        let mut sides = [Side::new(true), Side::new(false)];
        let mut work = Work { dice: Dice(seed), starts: 0 };
        if work.dice.one_in(4) {
            for Side { cluster, node, .. } in &mut sides {
                java_joins(cluster, node);
            }
        }
        for n in 0..STEPS {
            let step = work.step();
            let before = sides[0].cluster.opened.database.counts().statements;
            let answers = sides.each_mut().map(|side| step.take(side));
            if matches!(step, Step::Schedule(..) | Step::AddJob(..) | Step::AddTrigger(..)) {
                calls += 1;
                on_fast_path += u64::from(sides[0].cluster.opened.database.counts().statements == before + 1);
            }
            assert_eq!(answers[0], answers[1], "CARNELIAN_SEED={seed} step {n}: answers differ");
            let rows = sides.each_ref().map(Side::rows);
            assert!(rows[0] == rows[1], "CARNELIAN_SEED={seed} step {n}: rows differ\n{}", difference(&rows));
            let passes = i64::try_from(work.dice.below(600)).unwrap();
            sides.iter().for_each(|side| side.cluster.advance(passes));
        }
    }
    assert!(on_fast_path * 20 > calls, "only {on_fast_path} of {calls} calls took the fast path");
}

/// The first line that differs, with its surroundings.
fn difference(rows: &[String; 2]) -> String {
    let lines = rows.each_ref().map(|text| text.lines().collect::<Vec<_>>());
    let at = lines[0].iter().zip(&lines[1]).take_while(|(a, b)| a == b).count();
    let around = |side: &Vec<&str>| side[at.saturating_sub(12)..side.len().min(at + 12)].join("\n");
    format!("with the fast path:\n{}\nby statements:\n{}", around(&lines[0]), around(&lines[1]))
}
