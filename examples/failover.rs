//! A cluster of three processes on one SQLite file: one is killed in mid-job, the others recover
//! its work.
//!
//! `cargo run --example failover` needs nothing but a Rust toolchain and a C compiler. The program
//! starts three nodes (itself again, with a hidden argument), gives them work, kills one with
//! SIGKILL, prints what happens, and ends with exit code 0 only if every expectation held. The
//! check-in interval is 1 s instead of 15 s, for the show; the tolerance is the real one, 7.5 s.

#[path = "failover/cluster.rs"]
mod cluster;
mod demo;
#[path = "failover/expectations.rs"]
mod expectations;
#[path = "failover/timeline.rs"]
mod timeline;

use carnelian::settings::Settings;
use carnelian::{
    FiredTrigger, GroupMatcher, IfExists, JobDetail, JobKey, Scheduler, SimpleSchedule, Trigger, TriggerKey,
};
use chrono::DateTime;
use cluster::Node;
use expectations::Facts;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use timeline::Timeline;

const CHECKIN_MS: i64 = 1_000;
const TOLERANCE_MS: i64 = 7_500;
/// The time that the two long jobs take.
const LONG_MS: i64 = 8_000;
const GRID_MS: i64 = 1_000;
const GRID_FIRES: i64 = 24;
/// A fire that no dead node was executing begins so soon after its time, whatever was reserved.
const GRID_LATEST_MS: i64 = 500;
/// The victim is killed when it has reserved the next fire of the grid, but after so much of it at
/// the latest.
const LAST_KILL_MS: i64 = 5_000;
/// The show ends by itself, whatever happens.
const LIMIT: Duration = Duration::from_secs(55);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, argument, config] = arguments.as_slice()
        && argument == "--node"
    {
        return node(config);
    }
    match show() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("failover: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// The hidden half: one node of the cluster, until it is stopped or killed.
fn node(config: &str) -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("error")).init();
    match Settings::from_file(config) {
        Ok(settings) => demo::node::run(settings, &[]),
        Err(errors) => demo::node::fail(2, &errors),
    }
}

/// Plays the story; says whether every expectation held.
fn show() -> Result<bool, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (config, log) = write_config(folder.path())?;
    // A scheduler that is never started: it stores jobs and looks at the cluster.
    let scheduler = Scheduler::builder().settings_file(&config).build()?;
    scheduler.migrate()?;
    let mut timeline = Timeline::new(&log, LIMIT);
    println!("Three nodes on one SQLite file, check-in every {CHECKIN_MS} ms.\n");

    let mut victim = Node::start("node-a", &config, &timeline)?;
    timeline.say("node-a", "is up, and gets two long jobs: `work.report` asks for recovery, `work.mail` does not");
    scheduler.schedule_jobs(vec![long_job("report", true)?, long_job("mail", false)?], IfExists::Refuse)?;
    timeline.until("both long jobs run", |events| events.iter().filter(|event| event.is("START")).count() == 2)?;

    let mut survivors = [Node::start("node-b", &config, &timeline)?, Node::start("node-c", &config, &timeline)?];
    timeline.say("node-b", "and node-c are up; a job begins that fires every second, the grid");
    let first_grid_ms = schedule_grid(&scheduler, &timeline)?;
    // Half-way between two fires of the grid, so that none is in progress, and while the victim has
    // reserved the next one.
    let mut grid_ms = first_grid_ms + 2 * GRID_MS;
    loop {
        timeline.rest_until(grid_ms + GRID_MS / 2)?;
        let is_its = |fire: &FiredTrigger| fire.instance == "node-a" && fire.trigger.group() == "grid";
        if grid_ms >= first_grid_ms + LAST_KILL_MS || scheduler.running_fires()?.iter().any(is_its) {
            break;
        }
        grid_ms += GRID_MS;
    }

    victim.kill()?;
    let killed_ms = timeline.now_ms();
    let last_checkin_ms = scheduler
        .instances()?
        .iter()
        .find(|node| node.instance == "node-a")
        .map(|node| node.last_checkin.timestamp_millis())
        .ok_or("node-a is not registered")?;
    let before = killed_ms - last_checkin_ms;
    timeline.say("node-a", &format!("is KILLED with SIGKILL in mid-job, {before} ms after its last check-in"));

    timeline.until_true("node-a is declared dead", || {
        Ok(scheduler.instances()?.iter().all(|node| node.instance != "node-a"))
    })?;
    let noticed = timeline.now_ms() - last_checkin_ms;
    timeline.say("cluster", &format!("node-a is declared dead, {noticed} ms after its last check-in"));

    timeline.until("the work is done", |events| {
        let again = events.iter().any(|event| event.recovering && event.is("END"));
        let grid = events.iter().filter(|event| event.is_grid() && event.is("END")).count();
        again && i64::try_from(grid).is_ok_and(|grid| grid >= GRID_FIRES)
    })?;
    for node in &mut survivors {
        node.stop(&timeline)?;
    }
    timeline.say("cluster", "node-b and node-c have stopped");
    Ok(expectations::check(&Facts {
        events: timeline.events()?,
        first_grid_ms,
        last_checkin_ms,
        killed_ms,
        triggers_left: scheduler.triggers(&GroupMatcher::any())?,
        fires_left: scheduler.running_fires()?.len(),
    }))
}

fn write_config(folder: &Path) -> Result<(PathBuf, PathBuf), Box<dyn Error>> {
    let (config, log) = (folder.join("failover.properties"), folder.join("events.jsonl"));
    let text = format!(
        "scheduler.instanceName = failover\n\
         scheduler.instanceId = ${{env:FAILOVER_NODE:AUTO}}\n\
         threadPool.threadCount = 4\n\
         jobStore.class = JobStoreTX\n\
         jobStore.isClustered = true\n\
         jobStore.clusterCheckinInterval = {CHECKIN_MS}\n\
         jobStore.clusterCheckinMisfireThreshold = {TOLERANCE_MS}\n\
         jobStore.dataSource = file\n\
         dataSource.file.URL = jdbc:sqlite:{}\n\
         carnelian.shutdown.deadline = 5s\n\
         demo.log.file = {}\n",
        folder.join("jobs.db").display(),
        log.display()
    );
    std::fs::write(&config, text)?;
    std::fs::write(&log, "")?;
    Ok((config, log))
}

fn long_job(name: &str, requests_recovery: bool) -> carnelian::Result<(JobDetail, Vec<Trigger>)> {
    let job = JobDetail::builder(JobKey::new("work", name), "demo.sleep")
        .requests_recovery(requests_recovery)
        .data("ms", LONG_MS)
        .data("poll_ms", 250)
        .build()?;
    let trigger = Trigger::builder(TriggerKey::new("work", name), job.key().clone()).build()?;
    Ok((job, vec![trigger]))
}

/// Schedules the grid from the next full second but one; gives its first time.
fn schedule_grid(scheduler: &Scheduler, timeline: &Timeline) -> Result<i64, Box<dyn Error>> {
    let first_ms = (timeline.now_ms() / 1_000 + 2) * 1_000;
    let job = JobDetail::builder(JobKey::new("grid", "tick"), "demo.append").build()?;
    let interval = Duration::from_millis(GRID_MS.unsigned_abs());
    let trigger = Trigger::builder(TriggerKey::new("grid", "tick"), job.key().clone())
        .start_at(DateTime::from_timestamp_millis(first_ms).ok_or("no such time")?)
        .schedule(SimpleSchedule::every(interval).repeat(u32::try_from(GRID_FIRES - 1)?))
        .build()?;
    scheduler.schedule_jobs(vec![(job, vec![trigger])], IfExists::Refuse)?;
    Ok(first_ms)
}
