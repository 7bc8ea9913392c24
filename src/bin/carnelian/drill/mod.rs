//! `drill`: loses a whole cluster of scratch nodes on purpose, and checks what becomes of its work;
//! cleans up.

use crate::bar::Bar;
use crate::config::{Config, open};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::value::epoch_ms;
use carnelian::clock::Signal;
use carnelian::clock::{Clock, SystemClock};
use carnelian::listener::SchedulerListener;
use carnelian::recovery::Outage;
use carnelian::settings::{InstanceIdSetting, NodeRole, PluginSettings, Settings};
use carnelian::store::JobStore;
use carnelian::{
    GroupMatcher, JobContext, JobDetail, JobKey, MisfireInstruction, Scheduler, SimpleSchedule, Trigger, TriggerKey,
};
use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const TYPE: &str = "carnelian.drill";
const GROUP: &str = "drill";
/// The number of triggers that are stored in one transaction.
const CHUNK: u32 = 500;
/// The interval of checks of the progress.
const POLL: Duration = Duration::from_millis(50);
/// The time after which an expected event will not happen any more.
const STALLED: Duration = Duration::from_secs(120);
/// The check-in interval of the drill's nodes, and their tolerance.
const CHECKIN: Duration = Duration::from_secs(1);
const WORKERS: u32 = 10;
/// Repeating triggers, half of which make up for what was missed.
const REPEATING: u32 = 4;

#[derive(Args)]
pub struct Drill {
    /// The number of one-shot triggers that come due while no node is left
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub triggers: u32,
    /// The number of node processes that are started and killed
    #[arg(long, value_name = "K", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub nodes: u32,
    /// The scheduler whose node to be; only for the processes that a drill starts
    #[arg(long, value_name = "NAME", hide = true)]
    pub node_of: Option<String>,
}

/// Runs in order: name of the trigger and its priority.
type Runs = Arc<Mutex<Vec<(String, i32)>>>;

#[derive(Clone, Default)]
struct Recorder {
    outages: Arc<Mutex<Vec<Outage>>>,
    ended: Arc<AtomicU32>,
}

impl SchedulerListener for Recorder {
    fn name(&self) -> &str {
        "drill"
    }
    fn outage_ended(&self, outage: &Outage) {
        self.outages.lock().unwrap_or_else(PoisonError::into_inner).push(outage.clone());
    }
    fn recovery_ended(&self) {
        self.ended.fetch_add(1, Ordering::SeqCst);
    }
}

/// Loses the cluster, and tells what came of it; or is one of its nodes.
pub fn run(config: &Config, output: Output, options: &Drill) -> Outcome {
    let name = match &options.node_of {
        Some(name) => name.clone(),
        None => {
            format!("CARNELIAN_DRILL_{}_{}", std::process::id(), SystemClock::default().wall_time().timestamp_millis())
        }
    };
    let settings = scratch(config, &name);
    if options.node_of.is_some() {
        return be_a_node(settings);
    }
    config.open()?;
    let store = open(&settings)?;
    store.database().check_schema()?; // makes the rows of the scratch name
    let mut nodes = Nodes(Vec::new());
    let bar = Bar::new(output);
    let done = lose_all(&store, &settings, options, &name, &mut nodes, &bar);
    drop(nodes);
    bar.begin("deleting what was stored", None);
    let cleaned = store.database().forget_scheduler();
    drop(bar);
    let checks = done?;
    cleaned?;
    show(output, &checks)
}

/// The settings of the drill: the same database, quick to notice, and nothing of what applications
/// want.
fn scratch(config: &Config, name: &str) -> Settings {
    let mut settings = config.settings.clone();
    settings.scheduler.instance_name = name.to_owned();
    settings.scheduler.instance_id = InstanceIdSetting::Auto;
    settings.thread_pool.thread_count = WORKERS;
    settings.job_store.clustered = true;
    settings.job_store.checkin_interval = CHECKIN;
    settings.job_store.checkin_misfire_threshold = CHECKIN;
    // The test of the rules covers misfires: here the backlog itself is what matters.
    settings.job_store.misfire_threshold = Duration::from_secs(1);
    settings.monitor.interval = Duration::from_millis(250);
    settings.monitor.overdue_after = Duration::from_millis(250);
    settings.recovery.threshold = 1;
    settings.recovery.rate = 0;
    settings.plugins = PluginSettings::default();
    // These nodes run jobs, whatever those of the file do.
    (settings.scheduler.enabled, settings.node.role) = (true, NodeRole::Worker);
    settings
}

/// A node that fires nothing of the drill in time: it is killed before anything is due.
fn be_a_node(settings: Settings) -> Outcome {
    let store = open(&settings)?;
    let nothing = |_: &mut JobContext| Ok(());
    let node = Scheduler::builder().settings(settings).store(store).job_fn(TYPE, nothing).build()?;
    node.start()?;
    crate::output::write(&format!("READY {}\n", node.instance_id()))?;
    // Until it is killed, or whoever started it is gone and closes the pipe.
    let _ = std::io::stdin().lines().next();
    node.shutdown_and_wait();
    Ok(())
}

/// Node processes; killed when they go.
struct Nodes(Vec<Child>);

impl Nodes {
    fn start(&mut self, name: &str) -> Outcome {
        let program = std::env::current_exe()?;
        // With the same configuration as this one: the file that was named, or what stands in for
        // it.
        let arguments = std::env::args_os().skip(1);
        let mut child = Command::new(program)
            .args(arguments)
            .args(["--node-of", name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take();
        self.0.push(child);
        let line = output.and_then(|output| BufReader::new(output).lines().next()).transpose()?;
        match line {
            Some(line) if line.starts_with("READY") => Ok(()),
            other => Err(Failure::Refused(format!("a node of the drill did not start: it said {other:?}"))),
        }
    }

    fn kill(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
        self.0.clear();
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A check: what was expected, whether it is so, and what was seen.
struct Check(&'static str, bool, String);

fn lose_all(
    store: &JobStore,
    settings: &Settings,
    options: &Drill,
    name: &str,
    nodes: &mut Nodes,
    bar: &Bar,
) -> Outcome<Vec<Check>> {
    bar.begin("starting nodes", Some(options.nodes.into()));
    for _ in 0..options.nodes {
        nodes.start(name)?;
        bar.add_one();
    }
    bar.begin("storing triggers", None);
    let alive = store.upkeep().instances()?.iter().filter(|node| node.alive).count();
    let due_ms = store.now_ms()? + 60_000;
    fill(store, options, due_ms)?;
    bar.begin("killing all nodes, and waiting until their work is late", None);
    nodes.kill();
    let began_ms = store.upkeep().instances()?.iter().map(|node| epoch_ms(node.last_checkin)).max().unwrap_or(0);
    // Triggers that were due in a minute are due now: nobody waits for that.
    let due_ms = store.now_ms()?;
    fill(store, options, due_ms)?;
    wait(store, "no node to be alive, and all to be late", |store| {
        let late = store.now_ms()? > due_ms + 1_500;
        Ok(late && store.upkeep().instances()?.iter().all(|node| !node.alive))
    })?;

    let (runs, recorder) = (Runs::default(), Recorder::default());
    let note = Arc::clone(&runs);
    let work = move |ctx: &mut JobContext| {
        let trigger = ctx.trigger();
        let run = (trigger.key().name().to_owned(), trigger.priority());
        note.lock().unwrap_or_else(PoisonError::into_inner).push(run);
        Ok(())
    };
    let builder = Scheduler::builder().settings(settings.clone()).store(open(settings)?);
    let node = builder.job_fn(TYPE, work).scheduler_listener(recorder.clone()).build()?;
    node.start()?;
    bar.begin("running what was missed", Some(options.triggers.into()));
    let drained = wait(store, "the backlog to be drained", |store| {
        bar.set(runs.lock().unwrap_or_else(PoisonError::into_inner).len());
        Ok(recorder.ended.load(Ordering::SeqCst) > 0
            && store.catalogue().trigger_summaries(&GroupMatcher::any())?.len() <= left())
    });
    let mode = store.outages().recovery_mode()?;
    node.shutdown_and_wait();
    drained?;
    let runs = runs.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let outages = recorder.outages.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(judge(options, alive, began_ms, &outages, &runs, mode.is_none()))
}

/// The number of triggers that go on for ever.
fn left() -> usize {
    usize::try_from(REPEATING).unwrap_or(usize::MAX)
}

/// Stores the triggers, or moves them to another time: one-shots of nine priorities, and some that
/// repeat each hour.
fn fill(store: &JobStore, options: &Drill, due_ms: i64) -> Outcome {
    let due: DateTime<Utc> = DateTime::from_timestamp_millis(due_ms).unwrap_or_default();
    let job = JobDetail::builder(JobKey::new(GROUP, "work"), TYPE).durable(true).build()?;
    let trigger = |name: String| Trigger::builder(TriggerKey::new(GROUP, name), job.key().clone()).start_at(due);
    let mut triggers = Vec::new();
    for number in 0..options.triggers {
        let priority = i32::try_from(1 + number % 9).unwrap_or(1);
        triggers.push(trigger(number.to_string()).priority(priority).build()?);
    }
    for number in 0..REPEATING {
        let misfire = match number % 2 {
            0 => MisfireInstruction::RescheduleNowWithRemainingCount,
            _ => MisfireInstruction::RescheduleNextWithRemainingCount,
        };
        let hourly = SimpleSchedule::every(Duration::from_secs(3_600));
        let name = format!("{}-{number}", if number % 2 == 0 { "now" } else { "next" });
        triggers.push(trigger(name).priority(10).misfire(misfire).schedule(hourly).build()?);
    }
    for chunk in triggers.chunks(usize::try_from(CHUNK).unwrap_or(1)) {
        store.catalogue().schedule(vec![(job.clone(), chunk.to_vec())], true)?;
    }
    Ok(())
}

/// The expected state after the drill.
fn judge(
    options: &Drill,
    alive: usize,
    began_ms: i64,
    outages: &[Outage],
    runs: &[(String, i32)],
    is_over: bool,
) -> Vec<Check> {
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, _) in runs {
        *times.entry(name).or_default() += 1;
    }
    let one_shots = (0..options.triggers).map(|number| number.to_string());
    let lost = one_shots.filter(|name| !times.contains_key(name.as_str())).count();
    let made_up = times.keys().filter(|name| name.starts_with("now")).count();
    let skipped = times.keys().filter(|name| name.starts_with("next")).count();
    let doubled = times.values().filter(|times| **times > 1).count();
    let half = left() / 2;
    let expected = i64::from(options.triggers + REPEATING);
    let next = i64::from(REPEATING / 2);
    let report = outages.first();
    let right = report.is_some_and(|outage| {
        let told = (outage.began_ms, outage.overdue, outage.fire_now, outage.skipped);
        // Of very many not all are counted, and it says so.
        let counted = outage.overdue == outage.fire_now + outage.skipped && outage.overdue < expected;
        told == (began_ms, expected, expected - next, next)
            || (outage.uncounted && outage.began_ms == began_ms && counted)
    });
    let overtaken = most_overtaken(runs);
    let room = 2 * usize::try_from(WORKERS).unwrap_or(usize::MAX);
    let told = report.map_or("no report".to_owned(), |outage| {
        format!(
            "from {} to {}, {} overdue: {} fire now, {} for each time, {} skipped",
            outage.began_ms, outage.ended_ms, outage.overdue, outage.fire_now, outage.fire_each, outage.skipped
        )
    });
    vec![
        Check("all nodes were alive, then none", alive as u64 == u64::from(options.nodes), format!("{alive} nodes")),
        Check("the outage is reported once, with what was missed", right && outages.len() == 1, told),
        Check("nothing is lost", lost == 0 && made_up == half, format!("{lost} of {} lost", options.triggers)),
        Check("nothing runs twice", doubled == 0, format!("{doubled} doubled")),
        Check("what waits for its next time is skipped", skipped == 0, format!("{skipped} ran")),
        Check("the important comes first", overtaken <= room, format!("overtaken by {overtaken} at most")),
        Check("everything is as before", is_over, "the recovery mode is left".to_owned()),
    ]
}

/// The largest number of less important runs that began before another.
fn most_overtaken(runs: &[(String, i32)]) -> usize {
    let mut before: BTreeMap<i32, usize> = BTreeMap::new();
    let mut most = 0;
    for (_, priority) in runs {
        most = most.max(before.range(..priority).map(|(_, count)| count).sum());
        *before.entry(*priority).or_default() += 1;
    }
    most
}

fn wait(store: &JobStore, what: &str, is_so: impl Fn(&JobStore) -> Outcome<bool>) -> Outcome {
    let (clock, nobody) = (SystemClock::default(), Signal::default());
    let until = clock.ticks() + STALLED;
    while !is_so(store)? {
        if clock.ticks() > until {
            return Err(Failure::Refused(format!("given up after waiting {STALLED:?} for {what}")));
        }
        clock.wait(&nobody, Some(clock.ticks() + POLL));
    }
    Ok(())
}

fn show(output: Output, checks: &[Check]) -> Outcome {
    let document = checks.iter().map(|Check(name, is_so, seen)| json!({"check": name, "ok": is_so, "seen": seen}));
    output.answer(Value::Array(document.collect()), || {
        let line =
            |Check(name, is_so, seen): &Check| format!("{} {name}: {seen}\n", if *is_so { "ok    " } else { "FAILED" });
        checks.iter().map(line).collect()
    })?;
    let failed = checks.iter().filter(|check| !check.1).count();
    if failed == 0 { Ok(()) } else { Err(Failure::Refused(format!("{failed} checks of the drill have failed"))) }
}
