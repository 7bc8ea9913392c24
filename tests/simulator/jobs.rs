//! The jobs of a simulation: each logs its START and END as the demo jobs do, and ends as the dice
//! said at its START.

use super::java::first_trigger;
use super::node::SimNode;
use super::plan::{Event, Grid, MS, SECOND};
use super::program::ONCE;
use super::world::{World, world};
use carnelian::{JobContext, JobDataMap, JobError, JobKey, TriggerKey};
use serde_json::{Map, Value, json};

/// The type of all jobs.
pub const WORK: &str = "sim.work";

/// The group of the triggers and jobs with strict grids.
pub const GRID: &str = "grid";

/// The entry of data in the form of the second version.
const FORM: &str = "form";

/// Brings data to the form of the second version.
pub fn upgrade(data: &mut JobDataMap) -> Result<(), JobError> {
    data.put(FORM, 2);
    Ok(())
}

/// The end that a run will have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Succeeds,
    Fails,
    Panics,
}

impl Ending {
    /// The outcome in the log.
    pub fn name(self) -> &'static str {
        match self {
            Ending::Succeeds => "succeeded",
            Ending::Fails => "failed",
            Ending::Panics => "panicked",
        }
    }
}

/// The work that a run does, whichever fire it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    grid: String,
    scheduled: String,
}

impl Due {
    /// True if it is so of its trigger and time.
    pub fn is_of(&self, is_so: impl Fn(&str, i64) -> bool) -> bool {
        is_so(self.grid.trim_matches('"'), self.scheduled.parse().expect("milliseconds"))
    }
}

/// A run that has begun and not ended.
#[derive(Clone, Debug)]
pub struct Running {
    pub node: usize,
    pub job: String,
    pub due: Due,
    pub ending: Ending,
    /// True if its job ends when it is asked to stop.
    looks: bool,
    facts: Map<String, Value>,
}

/// A run that begins, on a node of either kind.
pub struct Beginning<'a> {
    pub node: usize,
    pub fire_id: &'a str,
    pub trigger: &'a TriggerKey,
    pub job: &'a JobKey,
    /// No other run of its job may be there.
    pub is_alone: bool,
    /// The trigger's data over the job's.
    pub data: &'a JobDataMap,
    /// The scheduled time of the first fire of its chain, and that fire.
    pub original_ms: i64,
    pub origin: Option<String>,
    pub recovering: bool,
    pub attempt: i64,
}

/// A run that has begun: its length, its end, and whether its job looks if it is to stop.
pub struct Begun {
    pub length: u64,
    pub ending: Ending,
    pub looks: bool,
}

/// Logs the START of a run of one of our nodes.
pub fn start(world: &World, node: &SimNode, ctx: &JobContext) -> Begun {
    let (form, is_grid) = (ctx.data().integer(FORM), ctx.job().key().group() == GRID);
    if form.is_some() && !node.is_new || form.is_none() && node.is_new && is_grid {
        let code = if node.is_new { "new" } else { "old" };
        world.problem(format!("{code} code runs {} with data of form {form:?}", ctx.fire_id()));
    }
    let scheduled_ms = ctx.scheduled_fire_time().timestamp_millis();
    // A recovery trigger that a node of Quartz has made does not name the first fire.
    let made = world.java.borrow().known.made.get(ctx.trigger().key()).cloned();
    if !ctx.holds_fire() {
        world.problem(format!("fire {} begins, and its node may have lost it", ctx.fire_id()));
    }
    world.check_time(scheduled_ms, ctx.fire_id());
    let root = ctx.rerun().and_then(|rerun| rerun.root_fire_id.clone());
    begin(
        world,
        &Beginning {
            node: node.number,
            fire_id: ctx.fire_id(),
            trigger: ctx.trigger().key(),
            job: ctx.job().key(),
            is_alone: ctx.job().disallows_concurrent_execution(),
            data: ctx.data(),
            original_ms: ctx.rerun().map_or(scheduled_ms, |rerun| rerun.scheduled_fire_time.timestamp_millis()),
            origin: made.as_ref().map_or(root, |made| Some(made.root.clone())),
            recovering: ctx.recovering().is_some(),
            attempt: made.map_or(ctx.attempt() + i64::from(ctx.refire_count()), |made| made.attempt),
        },
    )
}

/// Logs the START of a run.
pub fn begin(world: &World, run: &Beginning<'_>) -> Begun {
    let (origin, first) = beginning_of_chain(world, run);
    let Value::Object(facts) = json!({
        "pid": run.node,
        "fire_id": run.fire_id,
        "root_fire_id": origin,
        "trigger": run.trigger.to_string(),
        // Work that was interrupted goes on under another trigger: the data tell whose it is.
        "job": run.data.text(GRID).map_or(run.job.to_string(), |name| format!("{GRID}.{name}")),
        "original_scheduled_ms": run.original_ms,
        "recovering": run.recovering,
        "attempt": run.attempt,
    }) else {
        unreachable!("an object literal is an object")
    };
    let mut data: Map<String, Value> =
        run.data.iter().map(|(key, value)| (key.to_owned(), value.to_string().into())).collect();
    if let Some(first) = first {
        data.insert("QRTZ_FAILED_JOB_ORIG_TRIGGER_NAME".to_owned(), first.name().into());
        data.insert("QRTZ_FAILED_JOB_ORIG_TRIGGER_GROUP".to_owned(), first.group().into());
    }
    let grid = world.plan.grids.iter().find(|grid| grid.name == run.job.name());
    let (job, node) = (run.job.to_string(), run.node);
    let due = Due { grid: facts["job"].to_string(), scheduled: facts["original_scheduled_ms"].to_string() };
    world.check_others(&job, &due, run.is_alone, run.fire_id);
    let series = world.plan.series.iter().find(|series| series.name == run.job.name());
    let length = if run.job.group() == ONCE { 4 * SECOND } else { 500 * MS };
    let (length, ending) = drawn(world, grid, series.map_or(length, |series| series.length));
    let looks = world.plan.has(Event::ShutDown) && world.dice.borrow_mut().chance(5_000);
    world.log(&facts, "START", ("data", Value::Object(data)));
    world.running.borrow_mut().insert(run.fire_id.to_owned(), Running { node, job, due, ending, looks, facts });
    Begun { length, ending, looks }
}

/// The first fire of the chain of a run, and its trigger. A recovery of one of our nodes that comes
/// after a recovery of Quartz names the trigger that Quartz has recovered for the first.
fn beginning_of_chain(world: &World, run: &Beginning<'_>) -> (Option<String>, Option<TriggerKey>) {
    let known = &mut world.java.borrow_mut().known;
    let named = first_trigger(run.data);
    let made = known.made.get(run.trigger).map(|made| (Some(made.root.clone()), Some(made.first.clone())));
    let earlier = named.as_ref().and_then(|named| known.chains.get(named).cloned());
    let beginning = made.or(earlier).unwrap_or((run.origin.clone(), named));
    if run.recovering {
        known.chains.insert(run.trigger.clone(), beginning.clone());
    }
    beginning
}

/// Logs the END of a run.
pub fn log_end(world: &World, running: &Running, outcome: &str) {
    world.log(&running.facts, "END", ("outcome", outcome.into()));
}

fn drawn(world: &World, grid: Option<&Grid>, longest: u64) -> (u64, Ending) {
    let mut dice = world.dice.borrow_mut();
    let Some(grid) = grid else { return (dice.below(longest + 1), Ending::Succeeds) };
    let sleeps = world.plan.has(Event::Sleep) && !grid.alone && dice.chance(1_500);
    let length = if sleeps {
        dice.between(18, 30) * SECOND
    } else if dice.chance(500) {
        grid.long
    } else {
        dice.below(grid.length + 1)
    };
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
    let stops = running.looks && ctx.should_stop();
    let outcome = match running.ending {
        _ if stops => "lost",
        Ending::Succeeds => running.ending.name(),
        // The store takes it for work that was interrupted, and has it go on elsewhere.
        _ if ctx.should_stop() => "lost",
        ending => ending.name(),
    };
    log_end(&world, &running, outcome);
    if stops {
        return Err(JobError::stopped());
    }
    if let Some(n) = ctx.data().integer("n") {
        ctx.job_data_mut().put("n", n + 1);
    }
    match running.ending {
        Ending::Succeeds => Ok(()),
        Ending::Fails => Err(JobError::new("of the simulation")),
        Ending::Panics => std::panic::panic_any("of the simulation"),
    }
}
