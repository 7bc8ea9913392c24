//! The simulator: the real services of several nodes in one thread, under clocks of its own and
//! faults that a seed draws.
//!
//! `tests/simulator/run --seed N` repeats a run to the letter and shows its history; `--seconds N`
//! and `--crashes N` run new seeds.
#![warn(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

#[path = "simulator/clocks.rs"]
mod clocks;
#[path = "simulator/cut.rs"]
mod cut;
#[path = "simulator/dice.rs"]
mod dice;
#[path = "simulator/events.rs"]
mod events;
#[path = "support/history.rs"]
mod history;
#[path = "simulator/java.rs"]
mod java;
#[path = "simulator/jobs.rs"]
mod jobs;
#[path = "simulator/link.rs"]
mod link;
#[path = "simulator/misfires.rs"]
mod misfires;
#[path = "simulator/node.rs"]
mod node;
#[path = "simulator/operators.rs"]
mod operators;
#[path = "simulator/plan.rs"]
mod plan;
#[path = "simulator/program.rs"]
mod program;
#[path = "simulator/quartz.rs"]
mod quartz;
#[path = "simulator/replica.rs"]
mod replica;
#[path = "simulator/run.rs"]
mod run;
#[path = "simulator/shrink.rs"]
mod shrink;
#[path = "simulator/unrecovered.rs"]
mod unrecovered;
#[path = "simulator/world.rs"]
mod world;

use carnelian::clock::{Clock, SystemClock};
use cut::Cut;
use plan::{Place, Plan};
use run::{Report, run};
use shrink::shrink;
use std::collections::BTreeSet;
use std::time::Duration;

/// The seeds of a short run.
const SEEDS: u64 = 4;

/// The cut that leaves out what a plan has had since these seeds failed.
const OLD: &str = "no-shut-down,no-short,no-sleep,no-versions";

/// Seeds that have failed, each with its cut: by a fault of the product, or of the simulator. The
/// classes of faults that came later are cut off: the runs are the same as then.
const FAILED_ONCE: &[(u64, &str)] = &[
    (4, OLD),
    (6, OLD),
    (581, OLD),
    (100_157, "calm=21750,no-pause,no-slow,no-shut-down,no-short,no-sleep,no-versions"),
    (10_002_546, OLD),
    (10_003_567, OLD),
    (10_003_632, OLD),
    (110_003_775, OLD),
    (300_002_762, OLD),
    (300_005_000, OLD),
    (500_008_967, OLD),
    (500_010_849, OLD),
    (600_012_152, "no-shut-down,no-sleep"),
    (600_027_195, "no-shut-down"),
    (610_008_669, ""),
    (630_010_610, ""),
    (800_009_090, ""),
    (800_011_001, ""),
    (900_001_845, ""),
    (900_002_161, ""),
    (902_002_453, ""),
    (951_001_433, ""),
    (951_002_829, ""),
    (1_100_101_169, ""),
    (1_101_501_152, ""),
    (1_102_701_570, ""),
    (1_200_101_085, "calm=5163,no-crash,no-statement"),
    (1_200_800_183, ""),
    (1_200_900_571, ""),
    (1_300_000_961, "calm=39825,no-crash"),
    (1_301_500_183, "calm=52200,no-pause"),
    (1_400_100_383, "calm=26500,no-crash"),
    (1_400_301_320, "calm=43200,no-crash,no-drift,no-store-drift"),
    (1_400_900_600, "calm=21750,no-crash,no-pause,no-same-names"),
    (1_500_900_064, "no-drift"),
    (1_800_400_335, "calm=703,no-crash"),
    (1_800_501_470, "calm=28350,no-crash"),
    (1_804_101_511, "calm=30375,no-answer"),
    (40_622, ""),
    (251_900_102_350, ""),
    (251_900_106_551, ""),
    (251_900_205_278, ""),
    (252_400_102_921, ""),
    (199_429_492_732_496, ""),
];

/// Puts what the nodes log into the history.
struct Whisper;

impl log::Log for Whisper {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        world::has_world()
    }

    fn log(&self, record: &log::Record<'_>) {
        if world::has_world() {
            world::world().whisper(format!("{} {}", record.level(), record.args()));
        }
    }

    fn flush(&self) {}
}

/// Job panics are part of the game, and say nothing.
fn quiet_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if info.payload().downcast_ref::<&str>() != Some(&"of the simulation") {
            usual(info);
        }
    }));
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().filter(|text| !text.is_empty()).map(|text| text.parse().expect("a number"))
}

fn assert_clean(report: &Report, cut: &Cut, place: Place) {
    if report.problems.is_empty() {
        return;
    }
    let tail = report.lines.len().saturating_sub(60);
    panic!(
        "seed {} on {place:?}: {} problems; the last lines of the history:\n{}\n{}\nthe whole: {}",
        report.seed,
        report.problems.len(),
        report.lines[tail..].join("\n"),
        report.problems.join("\n"),
        command(report.seed, cut, place),
    );
}

/// The command that repeats a run.
fn command(seed: u64, cut: &Cut, place: Place) -> String {
    let cut = if *cut == Cut::default() { String::new() } else { format!(" --cut {cut}") };
    let store = if place == Place::Sqlite { " --store sqlite" } else { "" };
    format!("tests/simulator/run --seed {seed}{cut}{store}")
}

/// Each seed twice: the second run must be the first to the letter.
fn each_seed_twice(place: Place, seeds: impl Iterator<Item = u64>) {
    quiet_panics();
    for seed in seeds {
        let cut = Cut::default();
        let (first, second) = (run(seed, &cut, place), run(seed, &cut, place));
        assert_clean(&first, &cut, place);
        let differs = first.lines.iter().zip(&second.lines).find(|(one, other)| one != other);
        assert_eq!(first.hash, second.hash, "seed {seed} on {place:?} runs otherwise the second time: {differs:?}");
        assert!(first.starts > 0, "seed {seed}: a quiet run proves nothing");
    }
}

#[test]
fn a_seed_runs_twice_alike_and_clean_in_memory() {
    each_seed_twice(Place::Memory, 1..=SEEDS);
}

#[test]
fn a_seed_runs_twice_alike_and_clean_on_sqlite() {
    each_seed_twice(Place::Sqlite, 1..=1);
}

#[test]
fn seeds_that_failed_once_are_clean() {
    quiet_panics();
    for &(seed, cut) in FAILED_ONCE {
        let cut: Cut = cut.parse().expect("a cut");
        assert_clean(&run(seed, &cut, Place::Memory), &cut, Place::Memory);
    }
}

/// By hand: one seed with its history, or new seeds for a time or for a number of crashes. Without
/// any of these it does nothing.
#[test]
fn seeds_that_were_asked_for() {
    quiet_panics();
    let place = match std::env::var("CARNELIAN_SIMULATOR_STORE").as_deref() {
        Ok("sqlite") => Place::Sqlite,
        _ => Place::Memory,
    };
    let cut: Cut = std::env::var("CARNELIAN_SIMULATOR_CUT").unwrap_or_default().parse().expect("a cut");
    let shrinks = number("CARNELIAN_SIMULATOR_SHRINK").is_some();
    if let Some(seed) = number("CARNELIAN_SIMULATOR_SEED") {
        one_seed(seed, cut, place, shrinks);
        return;
    }
    let time = number("CARNELIAN_SIMULATOR_SECONDS").map(Duration::from_secs);
    let crashes = number("CARNELIAN_SIMULATOR_CRASHES");
    if time.is_some() || crashes.is_some() {
        new_seeds(time.unwrap_or(Duration::MAX), crashes.unwrap_or(u64::MAX), &cut, place, shrinks);
    }
}

/// The history of one run; of the smallest that fails alike, if it shrinks.
fn one_seed(seed: u64, cut: Cut, place: Place, shrinks: bool) {
    let mut report = run(seed, &cut, place);
    let mut shown = cut.clone();
    if shrinks && !report.problems.is_empty() {
        (report, shown) = shrink(report, cut, place);
        println!("smaller: {}", command(seed, &shown, place));
    }
    log::set_boxed_logger(Box::new(Whisper)).expect("the first logger");
    log::set_max_level(log::LevelFilter::Debug);
    let hash = report.hash;
    report = run(seed, &shown, place);
    println!("{}", report.lines.join("\n"));
    println!("hash {:016x}", report.hash);
    assert_eq!(report.hash, hash, "the run is another when the nodes log");
    assert_clean(&report, &shown, place);
}

/// New seeds until the time is over, or until nodes have died so many times.
fn new_seeds(time: Duration, crashes: u64, cut: &Cut, place: Place, shrinks: bool) {
    let mut seed = number("CARNELIAN_SIMULATOR_FIRST").unwrap_or_else(|| getrandom::u64().expect("a seed") >> 16);
    let with = std::env::var("CARNELIAN_SIMULATOR_WITH").unwrap_or_default();
    let with: BTreeSet<String> = with.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let (clock, mut total, mut failed) = (SystemClock::default(), Total::default(), Vec::new());
    while clock.ticks() < time && total.crashes < crashes {
        if !cut.apply(Plan::draw(seed)).parts().is_superset(&with) {
            seed += 1;
            continue;
        }
        let report = run(seed, cut, place);
        total.add(&report);
        if let Some(problem) = report.problems.first() {
            println!("after {:.1} s seed {seed}: {problem}", clock.ticks().as_secs_f64());
            failed.push(seed);
            if shrinks {
                let (_, smaller) = shrink(report, cut.clone(), place);
                println!("smaller: {}", command(seed, &smaller, place));
            }
            if number("CARNELIAN_SIMULATOR_UNTIL_FOUND").is_some() {
                break;
            }
        }
        seed += 1;
    }
    total.print(clock.ticks(), failed.len());
    assert!(failed.is_empty(), "seeds with problems: {failed:?}");
}

/// The sum of many runs.
#[derive(Debug, Default)]
struct Total {
    runs: usize,
    crashes: u64,
    ends: usize,
    starts: usize,
    recoveries: usize,
    steps: u64,
    node_seconds: f64,
}

impl Total {
    fn add(&mut self, report: &Report) {
        self.runs += 1;
        self.crashes += report.crashes as u64;
        self.ends += report.ends;
        self.starts += report.starts;
        self.recoveries += report.recoveries;
        self.steps += report.steps;
        self.node_seconds += report.time as f64 / 1e6 * report.nodes as f64;
    }

    /// The last line is for scripts.
    fn print(&self, took: Duration, failures: usize) {
        let an_hour = 3600.0 / took.as_secs_f64();
        println!(
            "simulated runs={} crashes={} ends={} starts={} recoveries={} steps={} node_hours={:.1}; an hour: crashes={:.0} node_hours={:.0}",
            self.runs,
            self.crashes,
            self.ends,
            self.starts,
            self.recoveries,
            self.steps,
            self.node_seconds / 3600.0,
            self.crashes as f64 * an_hour,
            self.node_seconds / 3600.0 * an_hour,
        );
        let seconds = took.as_secs_f64();
        println!("crashes={} runs={} failures={failures} seconds={seconds:.1}", self.crashes, self.runs);
    }
}
