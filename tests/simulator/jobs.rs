//! The jobs of a simulation: each logs its START and END as the demo jobs do, and ends as the dice
//! said at its START.

use super::plan::{Grid, MS};
use super::world::{World, world};
use carnelian::{JobContext, JobError};
use serde_json::{Map, Value, json};

/// The type of all jobs.
pub const WORK: &str = "sim.work";

/// The group of the triggers and jobs with strict grids.
pub const GRID: &str = "grid";

/// The end that a run will have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Succeeds,
    Fails,
    Panics,
}

/// The work that a run does, whichever fire it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    grid: String,
    scheduled: String,
}

/// A run that has begun and not ended.
#[derive(Clone, Debug)]
pub struct Running {
    pub node: usize,
    pub job: String,
    pub due: Due,
    pub ending: Ending,
    facts: Map<String, Value>,
}

/// Logs the START of a run, and returns its length.
pub fn start(world: &World, node: usize, ctx: &JobContext) -> u64 {
    let scheduled_ms = ctx.scheduled_fire_time().timestamp_millis();
    let Value::Object(facts) = json!({
        "pid": node,
        "fire_id": ctx.fire_id(),
        "origin_fire_id": ctx.rerun().and_then(|rerun| rerun.root_fire_id.as_deref()),
        "trigger": ctx.trigger().key().to_string(),
        // Work that was interrupted goes on under another trigger: the data tell whose it is.
        "job": ctx.data().text(GRID).map_or(ctx.job().key().to_string(), |name| format!("{GRID}.{name}")),
        "original_scheduled_ms": ctx.rerun().map_or(scheduled_ms, |rerun| rerun.scheduled_fire_time.timestamp_millis()),
        "recovering": ctx.recovering().is_some(),
        "attempt": ctx.attempt() + i64::from(ctx.refire_count()),
    }) else {
        unreachable!("an object literal is an object")
    };
    let data: Map<String, Value> =
        ctx.data().iter().map(|(key, value)| (key.to_owned(), value.to_string().into())).collect();
    let grid = world.plan.grids.iter().find(|grid| grid.name == ctx.job().key().name());
    let job = ctx.job().key().to_string();
    let due = Due { grid: facts["job"].to_string(), scheduled: facts["original_scheduled_ms"].to_string() };
    world.check_others(&job, &due, ctx.job().disallows_concurrent_execution(), ctx.fire_id());
    if !ctx.holds_fire() {
        world.problem(format!("fire {} begins, and its node may have lost it", ctx.fire_id()));
    }
    world.check_time(scheduled_ms, ctx.fire_id());
    let series = world.plan.series.iter().find(|series| series.name == ctx.job().key().name());
    let (length, ending) = drawn(world, grid, series.map_or(500 * MS, |series| series.length));
    world.log(&facts, "START", ("data", Value::Object(data)));
    world.running.borrow_mut().insert(ctx.fire_id().to_owned(), Running { node, job, due, ending, facts });
    length
}

fn drawn(world: &World, grid: Option<&Grid>, longest: u64) -> (u64, Ending) {
    let mut dice = world.dice.borrow_mut();
    let Some(grid) = grid else { return (dice.below(longest + 1), Ending::Succeeds) };
    let length = if dice.chance(500) { grid.long } else { dice.below(grid.length + 1) };
    let ending = match dice.chance(grid.fails) {
        false => Ending::Succeeds,
        true if dice.chance(5_000) => Ending::Fails,
        true => Ending::Panics,
    };
    (length, ending)
}

/// The code of the jobs, called at the end of the run.
pub fn run(ctx: &mut JobContext) -> Result<(), JobError> {
    let world = world();
    let Some(running) = world.running.borrow_mut().remove(ctx.fire_id()) else {
        world.problem(format!("fire {} runs its job and has not begun", ctx.fire_id()));
        return Ok(());
    };
    if world.is_dead(running.node) {
        return Ok(());
    }
    let outcome = match running.ending {
        Ending::Succeeds => "succeeded",
        // The store takes it for work that was interrupted, and has it go on elsewhere.
        _ if !ctx.holds_fire() => "lost",
        Ending::Fails => "failed",
        Ending::Panics => "panicked",
    };
    world.log(&running.facts, "END", ("outcome", outcome.into()));
    if let Some(n) = ctx.data().integer("n") {
        ctx.job_data_mut().put("n", n + 1);
    }
    match running.ending {
        Ending::Succeeds => Ok(()),
        Ending::Fails => Err(JobError::new("of the simulation")),
        Ending::Panics => std::panic::panic_any("of the simulation"),
    }
}
