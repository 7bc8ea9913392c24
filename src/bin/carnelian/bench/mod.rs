//! `bench`: measures a database with no-op jobs in a scratch scheduler name, and cleans up.

mod fires;
mod firing;
mod latency;
mod scheduling;
mod scratch;
mod spread;

use crate::bar::Bar;
use crate::config::Config;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::value;
use carnelian::settings::StoreKind;
use clap::{Args, ValueEnum};
use scratch::Scratch;
use std::time::Duration;

#[derive(Args)]
pub struct Bench {
    /// The number of one-shot triggers that are drained; with --repeat of those that are paced,
    /// with --schedule of the calls in each way, with --latency of those that are timed in each way
    /// [default: 10000, with --latency 200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub triggers: Option<u32>,
    /// The number of nodes that drain them, all in this process
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub nodes: u32,
    /// The number of schedulers, each with locks of its own, among which the triggers and the nodes
    /// are divided
    #[arg(long, value_name = "S", default_value_t = 1, conflicts_with_all = ["repeat", "schedule", "latency"])]
    pub schedulers: u32,
    /// Worker threads of each node; with --schedule the threads that make calls at the same time
    #[arg(long, value_name = "T", default_value_t = 10)]
    pub threads: u32,
    /// Most triggers acquired in one transaction [default: as the settings say]
    #[arg(long, value_name = "B")]
    pub batch: Option<u32>,
    /// The number of triggers that are stored beside, due tomorrow
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub stored: u32,
    /// The history is written, or not [default: as the settings say]
    #[arg(long, value_name = "WHETHER", value_enum)]
    pub history: Option<History>,
    /// The jobs request recovery: what a fire was is kept until its job has ended
    #[arg(long)]
    pub recovery: bool,
    /// Paced instead of drained: each trigger fires so many times more after its first
    #[arg(long, value_name = "N")]
    pub repeat: Option<u32>,
    /// The time between two fires of a paced trigger
    #[arg(long, value_name = "DUR", default_value = "1s", requires = "repeat", value_parser = value::duration)]
    pub every: Duration,
    /// Scheduling calls instead of fires: one trigger a call on one thread and on several, and up
    /// to 10,000 a call
    #[arg(long, conflicts_with_all = ["repeat", "latency", "nodes", "batch"])]
    pub schedule: bool,
    /// Calls of this way only
    #[arg(long, value_name = "WAY", requires = "schedule", value_parser = scheduling::WAYS)]
    pub only: Option<String>,
    /// The time from a scheduling call to the job's start instead, on the same node and stored by
    /// another one
    #[arg(long, conflicts_with_all = ["repeat", "nodes"])]
    pub latency: bool,
}

/// True if the history is written while it is measured.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum History {
    /// Every fire.
    On,
    /// None.
    Off,
}

impl Bench {
    /// The number of triggers that are measured.
    fn triggers(&self) -> u32 {
        self.triggers.unwrap_or(if self.latency { 200 } else { 10_000 })
    }
}

/// Measures what the options ask for in a scratch scheduler, which is gone afterwards, whatever
/// happened.
pub fn run(config: &Config, output: Output, options: &Bench) -> Outcome {
    let memory = config.settings.job_store.kind == StoreKind::Memory;
    if memory && options.nodes > 1 {
        return Err(Failure::Usage(format!(
            "--nodes {}: expected 1 with a store in memory, which no other node can see",
            options.nodes
        )));
    }
    if !memory {
        config.open()?;
    }
    let schedulers = 1..=options.schedulers.max(1);
    let scratches: Vec<Scratch> =
        schedulers.map(|_| Scratch::make(config, options, Bar::new(output))).collect::<Outcome<_>>()?;
    let measured = measure(&scratches, options);
    let cleaned = scratches.iter().try_for_each(|scratch| {
        scratch.bar.begin("deleting what was stored", None);
        scratch.clean()
    });
    drop(scratches);
    let figures = measured?;
    cleaned?;
    output.answer(figures.json, || figures.text)
}

/// The measured figures, for programs and for people.
struct Figures {
    json: serde_json::Value,
    text: String,
}

fn measure(scratches: &[Scratch], options: &Bench) -> Outcome<Figures> {
    let [scratch, ..] = scratches else { return Err(Failure::Usage("--schedulers 0: expected at least 1".to_owned())) };
    scratch.store_beside(options.stored)?;
    if options.schedule {
        scheduling::measure(scratch, options)
    } else if options.latency {
        latency::measure(scratch, options)
    } else {
        firing::measure(scratches, scratch, options)
    }
}
