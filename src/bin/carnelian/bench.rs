//! `bench`: measures a database with no-op jobs in a scratch scheduler name, and cleans up.

use crate::args::Bench;
use crate::config::{Config, open};
use crate::failure::{Failure, Outcome};
use crate::output::{Output, fields};
use carnelian::clock::{Clock, SystemClock};
use carnelian::settings::{InstanceIdSetting, PluginSettings, Settings};
use carnelian::store::{JobStore, StatementCounts};
use carnelian::{
    GroupMatcher, JobContext, JobDetail, JobError, JobKey, MisfireInstruction, Scheduler, Signal, SimpleSchedule,
    Trigger, TriggerKey,
};
use chrono::DateTime;
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const TYPE: &str = "carnelian.bench";
const GROUP: &str = "bench";
/// How many triggers are stored in one transaction.
const CHUNK: u32 = 500;
/// How often the progress is looked at.
const POLL: Duration = Duration::from_millis(5);
/// A run without a fire for so long is given up.
const STALLED: Duration = Duration::from_secs(60);

/// How late each fire began, in milliseconds.
#[derive(Clone, Default)]
struct Fires(Arc<Mutex<Vec<i64>>>);

impl Fires {
    fn note(&self, late_ms: i64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(late_ms);
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn sorted(&self) -> Vec<i64> {
        let mut late = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        late.sort_unstable();
        late
    }
}

/// Fills the scratch scheduler, lets the nodes loose, measures, and cleans up whatever happened.
pub fn run(config: &Config, output: Output, options: &Bench) -> Outcome {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))
            .map_err(|error| Failure::Refused(format!("signals cannot be handled: {error}")))?;
    }
    config.open()?;
    let mut settings = config.settings.clone();
    let started_ms = SystemClock::default().wall_ms();
    settings.scheduler.instance_name = format!("CARNELIAN_BENCH_{}_{started_ms}", std::process::id());
    settings.thread_pool.thread_count = options.threads.max(1);
    settings.scheduler.batch_max_count = options.batch.unwrap_or(options.threads).max(1);
    settings.job_store.clustered = true;
    // Job files and history are not what is measured.
    settings.plugins = PluginSettings::default();

    let store = open(&settings)?;
    store.database().check_schema()?; // makes the rows of the scratch name
    let measured = fill(&store, options, &interrupted).and_then(|()| measure(&store, &settings, options, &interrupted));
    let cleaned = store.database().forget_scheduler();
    let figures = measured?;
    cleaned?;
    figures.show(output)
}

/// Stores the triggers, all due at once, or spread over a second if they are paced.
fn fill(store: &JobStore, options: &Bench, interrupted: &AtomicBool) -> Outcome {
    let now_ms = store.earliest_due(&[])?.0;
    let mut stored = 0;
    while stored < options.triggers {
        if interrupted.load(Ordering::Relaxed) {
            return Err(Failure::Refused("interrupted".to_owned()));
        }
        let chunk = CHUNK.min(options.triggers - stored);
        let job = JobDetail::builder(JobKey::new(GROUP, format!("from-{stored}")), TYPE).durable(true).build()?;
        let mut triggers = Vec::new();
        for number in stored..stored + chunk {
            let builder = Trigger::builder(TriggerKey::new(GROUP, number.to_string()), job.key().clone())
                .misfire(MisfireInstruction::Ignore);
            let (start_ms, schedule) = match options.repeat {
                None => (now_ms, SimpleSchedule::once()),
                Some(count) => (
                    now_ms + 2_000 + i64::from(options.triggers / 2) + i64::from(number % 1_000),
                    SimpleSchedule::every(options.every).repeat(count),
                ),
            };
            let start = DateTime::from_timestamp_millis(start_ms).unwrap_or_default();
            triggers.push(builder.start_at(start).schedule(schedule).build()?);
        }
        store.schedule(vec![(job, triggers)], false)?;
        stored += chunk;
    }
    Ok(())
}

/// Runs the nodes until every fire is done and recorded.
fn measure(store: &JobStore, settings: &Settings, options: &Bench, interrupted: &AtomicBool) -> Outcome<Figures> {
    let fires = Fires::default();
    let mut nodes = Vec::new();
    for number in 1..=options.nodes.max(1) {
        let mut settings = settings.clone();
        settings.scheduler.instance_id = InstanceIdSetting::Fixed(format!("bench-{number}"));
        let (fires, clock) = (fires.clone(), SystemClock::default());
        let no_op = move |ctx: &mut JobContext| -> Result<(), JobError> {
            fires.note(clock.wall_ms() - ctx.scheduled_fire_time().timestamp_millis());
            Ok(())
        };
        nodes.push(Scheduler::builder().store(open(&settings)?).settings(settings).job(TYPE, no_op).build()?);
    }
    let expected = options.triggers as usize * (options.repeat.unwrap_or(0) as usize + 1);
    let (clock, before) = (SystemClock::default(), counts(&nodes));
    let outcome = nodes
        .iter()
        .try_for_each(Scheduler::start)
        .map_err(Failure::from)
        .and_then(|()| drain(store, &fires, expected, &clock, interrupted));
    let after = counts(&nodes);
    for node in &nodes {
        node.shutdown(true);
    }
    let elapsed = outcome?;
    let per_fire = |count: u64| count as f64 / expected.max(1) as f64;
    Ok(Figures {
        fires: expected,
        elapsed,
        statements_per_fire: per_fire(after.statements - before.statements),
        commits_per_fire: per_fire(after.commits - before.commits),
        late_ms: fires.sorted(),
    })
}

fn counts(nodes: &[Scheduler]) -> StatementCounts {
    nodes.iter().map(|node| node.store().database().counts()).fold(StatementCounts::default(), |sum, count| {
        StatementCounts { statements: sum.statements + count.statements, commits: sum.commits + count.commits }
    })
}

/// Waits for the last fire, and then for its completion to be recorded; gives the time to the last fire's begin.
fn drain(
    store: &JobStore,
    fires: &Fires,
    expected: usize,
    clock: &SystemClock,
    interrupted: &AtomicBool,
) -> Outcome<Duration> {
    let nobody = Signal::default();
    let (mut seen, mut last_news) = (0, clock.ticks());
    while seen < expected {
        clock.wait(&nobody, Some(clock.ticks() + POLL));
        let count = fires.count();
        if count > seen {
            (seen, last_news) = (count, clock.ticks());
        }
        if interrupted.load(Ordering::Relaxed) || clock.ticks() > last_news + STALLED {
            return Err(Failure::Refused(format!("given up after {seen} of {expected} fires")));
        }
    }
    let elapsed = clock.ticks();
    while clock.ticks() < elapsed + STALLED {
        if store.fired_triggers()?.is_empty() && store.trigger_summaries(&GroupMatcher::any())?.is_empty() {
            break;
        }
        clock.wait(&nobody, Some(clock.ticks() + 20 * POLL));
    }
    Ok(elapsed)
}

/// What was measured.
struct Figures {
    fires: usize,
    elapsed: Duration,
    statements_per_fire: f64,
    commits_per_fire: f64,
    late_ms: Vec<i64>,
}

impl Figures {
    /// The lateness that so many of a thousand fires kept to.
    fn late(&self, per_mille: usize) -> i64 {
        let at = (self.late_ms.len() * per_mille).div_ceil(1_000).saturating_sub(1);
        self.late_ms.get(at).copied().unwrap_or(0)
    }

    fn show(&self, output: Output) -> Outcome {
        let seconds = self.elapsed.as_secs_f64();
        let per_second = if seconds > 0.0 { self.fires as f64 / seconds } else { 0.0 };
        let (p50, p99, max) = (self.late(500), self.late(990), self.late(1_000));
        let document = json!({
            "fires": self.fires,
            "seconds": seconds,
            "fires_per_second": per_second,
            "statements_per_fire": self.statements_per_fire,
            "commits_per_fire": self.commits_per_fire,
            "lateness_ms": {"p50": p50, "p99": p99, "max": max},
        });
        output.answer(document, || {
            fields(&[
                ("fires", Some(self.fires.to_string())),
                ("seconds", Some(format!("{seconds:.3}"))),
                ("fires per second", Some(format!("{per_second:.0}"))),
                ("statements per fire", Some(format!("{:.3}", self.statements_per_fire))),
                ("commits per fire", Some(format!("{:.4}", self.commits_per_fire))),
                ("lateness", Some(format!("p50 {p50} ms, p99 {p99} ms, max {max} ms"))),
            ])
        })
    }
}
