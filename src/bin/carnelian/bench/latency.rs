//! The time from a scheduling call to the start of the job, on the node that stored it and on
//! another.

use super::scratch::{Scratch, trigger};
use super::spread::Spread;
use super::{Bench, Figures};
use crate::failure::{Failure, Outcome};
use crate::output::fields;
use carnelian::clock::Clock;
use carnelian::clock::Signal;
use carnelian::{JobContext, JobKey, Scheduler, SimpleSchedule};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The time after which a job will not start any more.
const STALLED: Duration = Duration::from_secs(60);
/// The interval of checks for an interrupt.
const POLL: Duration = Duration::from_millis(100);

/// The start that is waited for.
#[derive(Default)]
struct Start {
    /// The time since the origin of the clock, in nanoseconds; 0 before.
    at_ns: AtomicU64,
    signal: Signal,
}

/// Microseconds of one sample.
struct Sample {
    call_us: i64,
    start_us: i64,
}

pub fn measure(scratch: &Scratch, options: &Bench) -> Outcome<Figures> {
    let start = Arc::new(Start::default());
    let (noted, clock) = (Arc::clone(&start), Arc::clone(&scratch.clock));
    let job = scratch.job("timed")?;
    scratch.store.catalogue().add_job(&job, false)?;
    let node = scratch.node("bench-1", move |_: &mut JobContext| {
        noted.at_ns.store(u64::try_from(clock.ticks().as_nanos()).unwrap_or(u64::MAX), Ordering::Release);
        noted.signal.raise();
        Ok(())
    })?;
    // Never started: it only stores.
    let other = match scratch.is_in_memory() {
        true => None,
        false => Some(scratch.node("bench-2", |_: &mut JobContext| Ok(()))?),
    };
    node.start()?;
    let samples = options.triggers();
    let same = samples_of(scratch, &start, &node, job.key(), "same", samples);
    let apart = same.and_then(|same| {
        let other = other.as_ref().map(|other| samples_of(scratch, &start, other, job.key(), "other", samples));
        Ok((same, other.transpose()?))
    });
    node.shutdown_and_wait();
    if let Some(other) = &other {
        other.shutdown_and_wait();
    }
    let (same, other) = apart?;
    Ok(figures(scratch, options, samples, &same, other.as_deref()))
}

/// Schedules one trigger after the other through `caller`, each when the one before has started.
fn samples_of(
    scratch: &Scratch,
    start: &Start,
    caller: &Scheduler,
    job: &JobKey,
    name: &str,
    samples: u32,
) -> Outcome<Vec<Sample>> {
    let warm_up = 10;
    let mut timed = Vec::new();
    scratch.bar.begin("timing calls", Some((warm_up + samples).into()));
    for number in 0..warm_up + samples {
        // The node has gone to sleep again, and not always at the same phase of anything.
        scratch.pause(Duration::from_millis(5 + u64::from(number * 7 % 20)));
        let trigger = trigger(&format!("{name}-{number}"), job, None, SimpleSchedule::once())?;
        start.at_ns.store(0, Ordering::Release);
        let begun = scratch.now();
        caller.schedule_trigger(trigger)?;
        let called = scratch.now();
        let started = wait(scratch, start)?;
        scratch.bar.add_one();
        if number >= warm_up {
            timed.push(Sample { call_us: micros(called - begun), start_us: micros(started.saturating_sub(begun)) });
        }
    }
    Ok(timed)
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

fn wait(scratch: &Scratch, start: &Start) -> Outcome<Duration> {
    let until = scratch.now() + STALLED;
    loop {
        match start.at_ns.load(Ordering::Acquire) {
            0 => {}
            ns => return Ok(Duration::from_nanos(ns)),
        }
        scratch.check_interrupted()?;
        if scratch.now() > until {
            return Err(Failure::Refused(format!(
                "given up: a trigger that was due at once has not fired for {STALLED:?}"
            )));
        }
        scratch.clock.wait(&start.signal, Some(scratch.now() + POLL));
    }
}

/// Milliseconds, with their fraction.
fn ms(micros: i64) -> f64 {
    micros as f64 / 1_000.0
}

fn figures(scratch: &Scratch, options: &Bench, samples: u32, same: &[Sample], other: Option<&[Sample]>) -> Figures {
    let spreads = |samples: &[Sample]| {
        let starts = Spread::of(samples.iter().map(|sample| sample.start_us).collect());
        let calls = Spread::of(samples.iter().map(|sample| sample.call_us).collect());
        [starts.at(500), starts.at(900), starts.at(990), starts.max(), calls.at(500)].map(ms)
    };
    let document = |samples: &[Sample]| -> Value {
        let [p50, p90, p99, max, call] = spreads(samples);
        json!({"p50": p50, "p90": p90, "p99": p99, "max": max, "call_p50": call})
    };
    let line = |samples: &[Sample]| {
        let [p50, p90, p99, max, call] = spreads(samples);
        format!("p50 {p50:.2} ms, p90 {p90:.2} ms, p99 {p99:.2} ms, max {max:.2} ms; the call itself p50 {call:.2} ms")
    };
    let json = json!({
        "samples": samples,
        "same_node_ms": document(same),
        "other_node_ms": other.map(document),
        "history": scratch.history(),
        "stored_beside": options.stored,
    });
    let text = fields(&[
        ("samples", Some(samples.to_string())),
        ("same node", Some(line(same))),
        ("stored by another", other.map(line)),
        ("history", Some(scratch.history().to_owned())),
        ("stored beside", (options.stored > 0).then(|| options.stored.to_string())),
    ]);
    Figures { json, text }
}
