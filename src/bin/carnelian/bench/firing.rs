//! Fires a second: a store of due one-shots that is drained, or repeating triggers that keep a
//! pace.

use super::fires::Fires;
use super::scratch::Scratch;
use super::spread::{Spread, per_second};
use super::{Bench, Figures};
use crate::failure::{Failure, Outcome};
use crate::output::fields;
use carnelian::store::StatementCounts;
use carnelian::{Scheduler, SimpleSchedule};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The interval of checks for an interrupt, and for the last record.
const POLL: Duration = Duration::from_millis(100);
/// A run without a fire for so long is given up.
const STALLED: Duration = Duration::from_secs(60);
/// The time that must be left to start the nodes between the fill and the first fire of paced
/// triggers.
const START_MS: i64 = 1_000;

/// Stores the triggers, lets the nodes loose, and measures until every fire is done and recorded.
pub fn measure(scratches: &[Scratch], scratch: &Scratch, options: &Bench) -> Outcome<Figures> {
    fill(scratches, scratch, options)?;
    let expected = options.triggers() as usize * (options.repeat.unwrap_or(0) as usize + 1);
    let fires = Fires::expecting(expected);
    let mut nodes = Vec::new();
    for (number, scratch) in (1..=options.nodes.max(options.schedulers)).zip(scratches.iter().cycle()) {
        let here = Arc::new(AtomicUsize::new(0));
        nodes.push((scratch.node(&format!("bench-{number}"), fires.job(&here))?, here));
    }
    let log_before = scratch.store.database().log_position()?;
    let before = counts(&nodes);
    let begun = fires.begin();
    let outcome = nodes
        .iter()
        .try_for_each(|(node, _)| node.start())
        .map_err(Failure::from)
        .and_then(|()| drain(scratch, &fires))
        .and_then(|last| scratches.iter().try_for_each(wait_for_records).map(|()| last));
    let after = counts(&nodes);
    for (node, _) in &nodes {
        node.shutdown_and_wait();
    }
    let elapsed = outcome?.saturating_sub(begun);
    if fires.began() != expected {
        return Err(Failure::Refused(format!("{} fires have begun where {expected} were due", fires.began())));
    }
    let log_bytes = match (log_before, scratch.store.database().log_position()?) {
        (Some(before), Some(after)) => Some(after.saturating_sub(before)),
        _ => None,
    };
    let per_fire = |count: u64| count as f64 / expected.max(1) as f64;
    let shares = nodes.iter().map(|(node, here)| (node.instance_id().to_owned(), here.load(Ordering::Relaxed)));
    Ok(figures(
        scratch,
        options,
        &Measured {
            fires: expected,
            elapsed,
            statements_per_fire: per_fire(after.statements - before.statements),
            commits_per_fire: per_fire(after.commits - before.commits),
            log_bytes_per_fire: log_bytes.map(per_fire),
            late_ms: Spread::of(fires.late_ms()),
            shares: shares.collect(),
        },
    ))
}

/// Stores the triggers: all due at once, or a first time that is spread over a second if they are
/// paced, and not before the nodes are up.
fn fill(scratches: &[Scratch], scratch: &Scratch, options: &Bench) -> Outcome {
    let triggers = options.triggers();
    let Some(repeat) = options.repeat else {
        let now_ms = scratch.store.now_ms()?;
        return scratches.iter().zip(1..).try_for_each(|(scratch, number): (_, u32)| {
            let share = |number: u32| u64::from(triggers) * u64::from(number) / scratches.len() as u64;
            let its = u32::try_from(share(number) - share(number - 1)).unwrap_or(triggers);
            scratch.fill("due", its, |_| (now_ms, SimpleSchedule::once()))
        });
    };
    let mut room_ms = 2 * START_MS + i64::from(triggers / 20);
    loop {
        let first_ms = scratch.store.now_ms()? + room_ms;
        scratch.fill("paced", triggers, |number| {
            (first_ms + i64::from(number % 1_000), SimpleSchedule::every(options.every).repeat(repeat))
        })?;
        if scratch.store.now_ms()? + START_MS <= first_ms {
            return Ok(());
        }
        // This database takes longer: again, with more time.
        scratch.empty()?;
        scratch.store_beside(options.stored)?;
        room_ms *= 4;
    }
}

fn counts(nodes: &[(Scheduler, Arc<AtomicUsize>)]) -> StatementCounts {
    let all = nodes.iter().map(|(node, _)| node.store().database().counts());
    all.fold(StatementCounts::default(), |sum, count| StatementCounts {
        statements: sum.statements + count.statements,
        commits: sum.commits + count.commits,
    })
}

/// Waits for the last fire, and gives the moment at which it began.
fn drain(scratch: &Scratch, fires: &Fires) -> Outcome<Duration> {
    let (mut seen, mut last_news) = (0, fires.now());
    scratch.bar.begin("firing", Some(fires.expected() as u64));
    loop {
        if let Some(last) = fires.wait(POLL) {
            return Ok(last);
        }
        scratch.check_interrupted()?;
        let began = fires.began();
        if began > seen {
            scratch.bar.set(began);
            (seen, last_news) = (began, fires.now());
        }
        if fires.now() > last_news + STALLED {
            let expected = fires.expected();
            return Err(Failure::Refused(format!(
                "given up after {seen} of {expected} fires: none has begun for {STALLED:?}"
            )));
        }
    }
}

/// Waits until the ends of all fires are recorded: until then they are not done.
fn wait_for_records(scratch: &Scratch) -> Outcome {
    let until = scratch.now() + STALLED;
    loop {
        let left = scratch.store.upkeep().fired_triggers()?.len();
        if left == 0 {
            return Ok(());
        }
        scratch.check_interrupted()?;
        if scratch.now() > until {
            return Err(Failure::Refused(format!(
                "given up: the ends of {left} fires are not recorded after {STALLED:?}"
            )));
        }
        scratch.pause(POLL / 5);
    }
}

struct Measured {
    fires: usize,
    /// From the start of the nodes to the begin of the last fire.
    elapsed: Duration,
    statements_per_fire: f64,
    commits_per_fire: f64,
    log_bytes_per_fire: Option<f64>,
    late_ms: Spread,
    /// The number of fires that began on each node.
    shares: Vec<(String, usize)>,
}

fn figures(scratch: &Scratch, options: &Bench, measured: &Measured) -> Figures {
    let seconds = measured.elapsed.as_secs_f64();
    let rate = per_second(measured.fires, measured.elapsed);
    let (p50, p99, max) = (measured.late_ms.at(500), measured.late_ms.at(990), measured.late_ms.max());
    let since = match options.repeat {
        Some(_) => "the scheduled time",
        None => "the start of the nodes",
    };
    let nodes =
        |show: fn(&(String, usize)) -> serde_json::Value| -> Vec<_> { measured.shares.iter().map(show).collect() };
    let mut json = json!({
        "fires": measured.fires,
        "seconds": seconds,
        "fires_per_second": rate,
        "statements_per_fire": measured.statements_per_fire,
        "commits_per_fire": measured.commits_per_fire,
        "wal_bytes_per_fire": measured.log_bytes_per_fire,
        "lateness_ms": {"p50": p50, "p99": p99, "max": max},
        "lateness_since": since,
        "history": scratch.history(),
        "stored_beside": options.stored,
        "schedulers": options.schedulers,
    });
    let mut shares = None;
    if measured.shares.len() > 1 {
        if let Some(fields) = json.as_object_mut() {
            let nodes = nodes(|(name, fires)| json!({"instance": name, "fires": fires}));
            fields.insert("nodes".to_owned(), nodes.into());
        }
        let texts = measured.shares.iter().map(|(name, fires)| format!("{name} {fires}"));
        shares = Some(texts.collect::<Vec<_>>().join(", "));
    }
    let text = fields(&[
        ("fires", Some(measured.fires.to_string())),
        ("seconds", Some(format!("{seconds:.3}"))),
        ("fires per second", Some(format!("{rate:.0}"))),
        ("statements per fire", Some(format!("{:.3}", measured.statements_per_fire))),
        ("commits per fire", Some(format!("{:.4}", measured.commits_per_fire))),
        ("WAL bytes per fire", measured.log_bytes_per_fire.map(|bytes| format!("{bytes:.0}"))),
        ("lateness", Some(format!("p50 {p50} ms, p99 {p99} ms, max {max} ms, since {since}"))),
        ("fires of the nodes", shares),
        ("history", Some(scratch.history().to_owned())),
        ("stored beside", (options.stored > 0).then(|| options.stored.to_string())),
    ]);
    Figures { json, text }
}
