//! One run of a simulation: its work, its faults, the time after them, and what must be true at the
//! end.

use super::clocks::SimClock;
use super::cut::Cut;
use super::history::{History, Run, Wrong, text};
use super::jobs::{GRID, WORK};
use super::link::{CONSOLE, Faulty, Link};
use super::node;
use super::operators::{PATIENCE, manual};
use super::plan::{Event, Grid, Place, Plan, SECOND, Series};
use super::program::{CALENDAR, ONCE, every_day};
use super::quartz::QUARTZ_ATTEMPTS;
use super::unrecovered;
use super::world::{World, set_world};
use carnelian::history::{FireOutcome, HistoryRow};
use carnelian::settings::{ClockSource, Settings, Synchronous};
use carnelian::store::{MemoryDatabase, SqlDatabase};
use carnelian::{IfExists, JobDetail, JobKey, MisfireInstruction, Schedule, SimpleSchedule, Trigger, TriggerKey};
use chrono::{DateTime, TimeDelta, Utc};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use tempfile::TempDir;

/// The result of a run.
#[derive(Debug, Default)]
pub struct Report {
    pub seed: u64,
    pub hash: u64,
    pub steps: u64,
    pub crashes: usize,
    /// The nodes that were told to end, and have.
    pub ends: usize,
    /// Microseconds of true time.
    pub time: u64,
    pub nodes: usize,
    pub starts: usize,
    pub recoveries: usize,
    pub problems: Vec<String>,
    pub lines: Vec<String>,
}

/// A fire may begin so much before its delay is over: clocks are a thousandth off, and in whole
/// milliseconds.
const EARLY_NS: i64 = 12_000_000;

/// Nodes that stand still in the middle of a step have the others' steps above them on the stack.
const STACK: usize = 256 << 20;

/// Runs the plan of a seed, as far as it is not cut, with every choice drawn from the seed.
pub fn run(seed: u64, cut: &Cut, place: Place) -> Report {
    let (plan, throw) = (cut.apply(Plan::draw(seed)), cut.throw);
    let simulate = move || simulate(seed, throw, plan, place);
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(simulate).expect("a thread");
    thread.join().unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        let problems = vec![format!("the simulation panicked: {}", text.unwrap_or("without a text"))];
        Report { seed, problems, ..Report::default() }
    })
}

fn simulate(seed: u64, throw: u64, plan: Plan, place: Place) -> Report {
    carnelian::stepped::seed_random_numbers(Some(seed));
    let store_clock = Arc::new(SimClock::of_store(plan.store_drift));
    let folder = folder();
    let database = database(place, &store_clock, folder.path());
    let console_clock = Arc::new(SimClock::of_node(CONSOLE, 0, 0, 0));
    let link = Arc::new(Link::new(CONSOLE, Arc::clone(&database)));
    let settings = node::settings(&plan);
    let console = node::scheduler(&settings, ("console", false), &console_clock, link).expect("a console");
    let file = (place == Place::Sqlite).then(|| folder.path().join(FILE));
    let world = World::new(seed ^ (throw << 32), plan, settings, (database, file), store_clock, console);
    let world = Rc::new(world);
    set_world(Some(Rc::clone(&world)));
    world.console.migrate().expect("the tables are made");
    world.say(format_args!("seed {seed} {:?}", world.plan));
    let start = store_work(&world);
    let calm = world.plan.calm;
    while !world.has_problem() && world.step(calm) {}
    world.advance_to(calm);
    if !world.has_problem() {
        world.become_calm();
        await_quiet(&world);
    }
    if !world.has_problem() {
        judge(&world, start.timestamp_millis());
    }
    world.end();
    let report = report(seed, &world);
    set_world(None);
    carnelian::stepped::seed_random_numbers(None);
    report
}

/// The name of SQLite's file.
const FILE: &str = "sim.db";

/// A folder in the memory of the machine, where it has one.
fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder")
}

/// The tables. SQLite's are in a file, since a connection that is lost takes a database in memory
/// with it.
fn database(place: Place, clock: &Arc<SimClock>, folder: &Path) -> Arc<dyn Faulty> {
    let clock: Arc<SimClock> = Arc::clone(clock);
    match place {
        Place::Memory => Arc::new(MemoryDatabase::new(clock)),
        Place::Sqlite => {
            let url = format!("sqlite:{}", folder.join(FILE).display());
            let mut settings = Settings::in_database("sim", url.parse().expect("a URL"));
            settings.job_store.clock = ClockSource::Node;
            let source = settings.data_source.as_mut().expect("the source of the URL");
            source.synchronous = Synchronous::Normal;
            Arc::new(SqlDatabase::open(&settings, clock).expect("a database"))
        }
    }
}

/// Stores the work of the plan, and returns the first due time of its grids.
fn store_work(world: &World) -> DateTime<Utc> {
    let start = DateTime::from_timestamp_millis(world.store_ms() + 1_000).expect("a time");
    let mut work: Vec<(JobDetail, Vec<Trigger>)> = Vec::new();
    let beside_java = world.plan.has(Event::Visit);
    if beside_java {
        world.console.add_calendar(CALENDAR, &every_day(), IfExists::Refuse).expect("the calendar is stored");
    }
    for (at, grid) in world.plan.grids.iter().enumerate() {
        let mut job = JobDetail::builder(JobKey::new(GRID, &*grid.name), WORK)
            .requests_recovery(grid.recovers)
            .disallow_concurrent_execution(grid.alone);
        if grid.counts {
            job = job.persist_job_data_after_execution(true).durable(true).data("n", 0_i64);
        }
        let priority = i32::try_from(at).expect("few grids");
        let trigger = |(name, later_ms): (String, i64)| {
            let trigger = Trigger::builder(TriggerKey::new(GRID, &*name), JobKey::new(GRID, &*grid.name))
                .start_at(start + TimeDelta::milliseconds(later_ms))
                .schedule(schedule(grid))
                .data(GRID, name)
                .misfire(MisfireInstruction::Ignore);
            let trigger = if world.plan.priorities { trigger.priority(priority) } else { trigger };
            let trigger = if beside_java && at == 0 { trigger.calendar(CALENDAR) } else { trigger };
            trigger.build().expect("a trigger")
        };
        work.push((job.build().expect("a job"), grid.triggers().into_iter().map(trigger).collect()));
    }
    work.extend(world.plan.series.iter().map(|series| counted_from_ends(series, start)));
    world.console.schedule_jobs(work, IfExists::Refuse).expect("the work is stored");
    let job = JobDetail::builder(manual(), WORK).requests_recovery(true).durable(true);
    let job = job.disallow_concurrent_execution(world.plan.manual_alone).build().expect("a job");
    world.console.add_job(&job, IfExists::Refuse).expect("the job is stored");
    start
}

fn counted_from_ends(series: &Series, start: DateTime<Utc>) -> (JobDetail, Vec<Trigger>) {
    let job = JobDetail::builder(JobKey::new(GRID, &*series.name), WORK).requests_recovery(true);
    let trigger = Trigger::builder(TriggerKey::new(GRID, &*series.name), JobKey::new(GRID, &*series.name))
        .start_at(start)
        .schedule(SimpleSchedule::fixed_delay(series.delay).repeat(series.fires - 1))
        .data(GRID, &*series.name)
        .misfire(MisfireInstruction::Ignore);
    (job.build().expect("a job"), vec![trigger.build().expect("a trigger")])
}

fn schedule(grid: &Grid) -> SimpleSchedule {
    SimpleSchedule::every(grid.every).repeat(grid.fires - 1)
}

/// Liveness: after the last fault everything that is due runs within a bound, and within the time
/// that the fewest workers take for all of it.
fn await_quiet(world: &World) {
    let end = world.now() + PATIENCE + world.plan.work() / u64::from(world.plan.workers);
    while !world.has_problem() {
        let until = world.now() + SECOND;
        while world.step(until) {}
        world.advance_to(until);
        world.give_up();
        let snapshot = world.snapshot();
        if snapshot.triggers.is_empty() && snapshot.fired.is_empty() {
            return;
        }
        if world.now() > end {
            let triggers: Vec<_> = snapshot
                .triggers
                .iter()
                .map(|trigger| format!("{} {} {:?}", trigger.key, trigger.state, trigger.next_ms))
                .collect();
            let fired: Vec<_> = snapshot
                .fired
                .iter()
                .map(|fire| format!("{} {} {:?}", fire.fire_id, fire.trigger, fire.state))
                .collect();
            world.problem(format!("not quiet in time: triggers {triggers:?}, fires {fired:?}"));
        }
    }
}

/// The fires that the store has as ended by their own jobs.
fn recorded(rows: &[HistoryRow]) -> BTreeSet<String> {
    let is_own_end = |row: &&HistoryRow| matches!(row.outcome, FireOutcome::Succeeded | FireOutcome::Failed);
    rows.iter().filter(is_own_end).map(|row| row.fire_id.clone()).collect()
}

/// The log of the jobs; an end that the store did not take is none.
fn told(world: &World, recorded: &BTreeSet<String>) -> History {
    let mut log = world.log.borrow().clone();
    for event in log.iter_mut().filter(|event| text(event, "event") == "END") {
        if text(event, "outcome") != "lost" && !recorded.contains(text(event, "fire_id")) {
            event["outcome"] = "fenced".into();
        }
    }
    let mut history = History::of(&log);
    for (node, at) in world.gone.borrow().iter() {
        let at = i64::try_from(at * 1_000).expect("a short time");
        history.end_at_death(u64::try_from(*node).expect("few nodes"), at);
    }
    history
}

/// Safety: what the jobs logged is what was due.
fn judge(world: &World, start_ms: i64) {
    world.check();
    let rows = world.history();
    let mut recorded = recorded(&rows);
    recorded.extend(world.java.borrow().known.recorded.iter().cloned());
    let history = told(world, &recorded);
    // A loose trigger that was replaced may be due in the same millisecond as the one before.
    for (due, runs) in history.chains.iter().filter(|((trigger, _), _)| !trigger.starts_with("loose.")) {
        let is_twice = runs.iter().filter(|run| recorded.contains(&run.fire_id)).count() > 1;
        if is_twice && !is_lost(world, runs) && !world.java.borrow().known.is_rewound(&due.0, due.1) {
            world.problem(format!("the end of {due:?} is recorded more than once: {runs:?}"));
        }
    }
    judge_series(world, &history);
    judge_once(world, &history);
    unrecovered::judge(world, &history, &rows, start_ms);
    judge_runs(world, history, start_ms);
    judge_work(world);
}

/// Each series has all its fires, and none begins before its delay after the run before it.
fn judge_series(world: &World, history: &History) {
    // Beside a node of Quartz a series is a grid, which ends when its last time has gone by.
    let is_judged = !world.has_lost_commits() && !world.java.borrow().has_been;
    let is_resumed = |key: &TriggerKey| world.java.borrow().known.resumed.contains(key);
    for series in world.plan.series.iter().filter(|_| is_judged) {
        let key = TriggerKey::new(GRID, &*series.name);
        if is_resumed(&key) {
            continue;
        }
        let key = key.to_string();
        let chains: Vec<&[Run]> =
            history.chains.iter().filter(|((trigger, _), _)| *trigger == key).map(|(_, runs)| &**runs).collect();
        if chains.len() != usize::try_from(series.fires).expect("few fires") {
            world.problem(format!("{} of {} fires of {key} have run", chains.len(), series.fires));
        }
        for pair in chains.windows(2) {
            // Of a run that died the verdict is the end, and work that goes on has a trigger of its
            // own.
            let ([run], [next, ..]) = (pair[0], pair[1]) else { continue };
            let Some((ended_ns, outcome)) = &run.ended else { continue };
            let waited = next.started_ns - ended_ns;
            let delay = i64::try_from(series.delay.as_nanos()).expect("a short time") - EARLY_NS;
            let is_own = outcome == "succeeded" && !run.resuming && !run.recovering;
            if is_own && waited < delay && !world.was_store_clock_set() {
                world.problem(format!("{next:?} begins {waited} ns after the end of the run before it"));
            }
        }
    }
}

/// A trigger that fires once does so at one time.
fn judge_once(world: &World, history: &History) {
    let known = &world.java.borrow().known;
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for ((trigger, _), runs) in &history.chains {
        let is_fired = runs.iter().any(|run| !run.recovering && !run.resuming);
        if is_fired && trigger.starts_with(ONCE) && !world.has_lost_commits() {
            *times.entry(trigger).or_default() += 1;
        }
    }
    let is_excused = |key: &TriggerKey| known.again.contains(key) || known.dropped.iter().any(|(of, _)| of == key);
    for (trigger, times) in times.into_iter().filter(|(_, times)| *times > 1) {
        let (group, name) = trigger.split_once('.').expect("a key");
        if !is_excused(&TriggerKey::new(group, name)) {
            world.problem(format!("{trigger} has fired at {times} times"));
        }
    }
}

fn judge_runs(world: &World, history: History, start_ms: i64) {
    let end_of = |grid: &Grid| -> Vec<(String, i64)> {
        let last_ms = i64::try_from(grid.every.as_millis()).expect("short") * i64::from(grid.fires - 1);
        let end = |(name, later_ms)| (format!("{GRID}.{name}"), start_ms + later_ms + last_ms);
        grid.triggers().into_iter().map(end).collect()
    };
    let ends: BTreeMap<String, i64> = world.plan.grids.iter().flat_map(end_of).collect();
    let of = |grid: &Grid| -> Vec<(String, Schedule)> {
        let key = |(name, _)| TriggerKey::new(GRID, String::as_str(&name)).to_string();
        grid.triggers().into_iter().map(|trigger| (key(trigger), schedule(grid).into())).collect()
    };
    let expected: Vec<(String, Schedule)> = world.plan.grids.iter().filter(|grid| grid.recovers).flat_map(of).collect();
    let known = &world.java.borrow().known;
    let dropped = &known.dropped;
    for problem in history.problems(&expected) {
        if world.plan.grids.iter().any(|grid| !grid.recovers && grid.is_of(&problem.due.0)) {
            // The missing fires of such a grid are judged beside this.
            continue;
        }
        let has_ended =
            |outcome: &str| problem.runs.iter().any(|run| run.ended.as_ref().is_some_and(|(_, of)| of == outcome));
        let is_loose = problem.runs.first().is_some_and(|run| run.job.starts_with("loose."));
        let is_excused = has_ended("failed")
            || has_ended("panicked")
            || is_loose && ["killed", "fenced", "lost"].into_iter().any(has_ended);
        // Runs that a store has forgotten are done again, those of a series at other times;
        // forgotten work is never done.
        let is_lost = is_lost(world, &problem.runs);
        let comes_again = expected.iter().any(|(trigger, _)| *trigger == problem.due.0);
        let is_dropped =
            dropped.iter().any(|(trigger, at)| trigger.to_string() == problem.due.0 && *at == problem.due.1);
        let is_excused = match problem.wrong {
            Wrong::NeverEnded => is_excused || is_lost && !comes_again || is_dropped,
            // The grid is compared from the first fire that it had.
            Wrong::Lost if problem.runs.is_empty() && problem.due.1 == 0 => {
                known.without_time.iter().any(|trigger| trigger.to_string() == problem.due.0)
            }
            Wrong::Lost => is_dropped || ends.get(&problem.due.0).is_some_and(|end_ms| problem.due.1 > *end_ms),
            Wrong::FiredTwice => {
                is_loose || world.is_repeated(&problem.runs) || known.is_rewound(&problem.due.0, problem.due.1)
            }
            // Each of its fires may be interrupted.
            Wrong::RecoveredTwice => {
                is_lost
                    || known.is_rewound(&problem.due.0, problem.due.1)
                    || problem.runs.iter().any(|run| run.attempt > QUARTZ_ATTEMPTS)
                    || most_of_an_attempt(&problem.runs) <= known.recoveries_of(&problem.runs) + 1
            }
            _ => false,
        };
        if !is_excused {
            world.problem(problem.to_string());
        }
    }
}

/// The most recoveries that have had one attempt. After each of Quartz the count begins anew.
fn most_of_an_attempt(runs: &[Run]) -> usize {
    let attempts = || runs.iter().filter(|run| run.recovering).map(|run| run.attempt);
    attempts().map(|attempt| attempts().filter(|other| *other == attempt).count()).max().unwrap_or(0)
}

/// True if the store may have forgotten something of these runs.
fn is_lost(world: &World, runs: &[Run]) -> bool {
    let times = runs.iter().flat_map(|run| [Some(run.started_ns), run.ended.as_ref().map(|(at, _)| *at)]);
    world.are_lost(times.flatten().map(|ns| u64::try_from(ns / 1_000).expect("after the beginning")))
}

fn judge_work(world: &World) {
    let log = world.log.borrow();
    let began: BTreeSet<&str> = log.iter().map(|event| text(&event["data"], "ticket")).collect();
    let operators = world.operators.borrow();
    let has_run = |ticket: &str, at: u64| began.contains(ticket) || world.are_lost(std::iter::once(at));
    let missing: Vec<&str> =
        operators.taken.iter().filter(|(ticket, at)| !has_run(ticket, **at)).map(|(ticket, _)| &**ticket).collect();
    if missing.len() > world.java.borrow().known.without_data {
        world.problem(format!("work by hand was taken and never ran, of the tickets {missing:?}"));
    }
    for grid in world.plan.grids.iter().filter(|grid| grid.counts && !world.has_lost_commits()) {
        let known = &world.java.borrow().known;
        let is_of = |(trigger, _): &(TriggerKey, i64)| grid.is_of(&trigger.to_string());
        let counts_otherwise = known.dropped.iter().chain(&known.rewound).any(is_of);
        if counts_otherwise || known.overlapping.contains(&JobKey::new(GRID, &*grid.name)) {
            continue;
        }
        let job = world.console.job(&JobKey::new(GRID, &*grid.name)).expect("an answer").expect("a durable job");
        let counted = job.data().integer("n");
        let fires = i64::from(grid.fires) * i64::try_from(grid.triggers().len()).expect("few");
        if counted != Some(fires) {
            world.problem(format!("{fires} fires of {} have counted to {counted:?}", grid.name));
        }
    }
}

fn report(seed: u64, world: &World) -> Report {
    let log = world.log.borrow();
    let starts = log.iter().filter(|event| text(event, "event") == "START");
    let mut by_kind: BTreeMap<bool, usize> = BTreeMap::new();
    for start in starts {
        *by_kind.entry(start["recovering"].as_bool().unwrap_or_default()).or_default() += 1;
    }
    let of = |recovering| by_kind.get(&recovering).copied().unwrap_or_default();
    Report {
        seed,
        hash: world.hash(),
        steps: world.steps(),
        crashes: world.crashes.get(),
        ends: world.ends.get(),
        time: world.now(),
        nodes: world.plan.nodes,
        starts: of(false) + of(true),
        recoveries: of(true),
        problems: world.problems(),
        lines: world.lines(),
    }
}
