//! The demo job types: each logs its START and END, and does one thing that a drill needs.

use super::log::{EventLog, Events, attempt};
use carnelian::{DataValue, Job, JobContext, JobError};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// How a run came to its end, if it did not fail.
enum End {
    Succeeded,
    /// It was told to stop.
    Interrupted,
    /// Its fire belongs to another node.
    Lost,
}

impl End {
    fn outcome(&self) -> &'static str {
        match self {
            End::Succeeded => "succeeded",
            End::Interrupted => "interrupted",
            End::Lost => "lost",
        }
    }
}

type Run = fn(&mut JobContext, &Events) -> Result<End, JobError>;

/// Every demo job type, by its name.
const TYPES: [(&str, Run); 8] = [
    ("demo.append", append),
    ("demo.sleep", sleep),
    ("demo.stubborn", stubborn),
    ("demo.panic", panic),
    ("demo.fail", fail),
    ("demo.forever", forever),
    ("demo.silent", silent),
    ("demo.counter", counter),
];

/// The demo jobs with the names they are registered under.
pub fn all(log: &EventLog) -> Vec<(&'static str, impl Job + use<>)> {
    TYPES.into_iter().map(|(name, run)| (name, Logged { name, run, log: log.clone() })).collect()
}

/// A job whose START and END are logged, whatever it does.
struct Logged {
    name: &'static str,
    run: Run,
    log: EventLog,
}

impl Job for Logged {
    fn execute(&self, ctx: &mut JobContext) -> Result<(), JobError> {
        let events = self.log.of(self.name, ctx);
        events.start(ctx);
        let ended = catch_unwind(AssertUnwindSafe(|| (self.run)(ctx, &events)));
        events.end(match &ended {
            Ok(Ok(end)) => end.outcome(),
            Ok(Err(_)) | Err(_) => "failed",
        });
        match ended {
            Ok(ended) => ended.map(drop),
            Err(panic) => resume_unwind(panic),
        }
    }
}

fn append(_: &mut JobContext, _: &Events) -> Result<End, JobError> {
    Ok(End::Succeeded)
}

fn sleep(ctx: &mut JobContext, events: &Events) -> Result<End, JobError> {
    doze(&*ctx, events, || ctx.holds_fire())
}

fn stubborn(ctx: &mut JobContext, events: &Events) -> Result<End, JobError> {
    doze(&*ctx, events, || true)
}

/// Sleeps `ms` in steps of `poll_ms`, as long as the fire is held.
fn doze(ctx: &JobContext, events: &Events, holds_fire: impl Fn() -> bool) -> Result<End, JobError> {
    let end = Instant::now() + millis(ctx, "ms", 1_000);
    let step = millis(ctx, "poll_ms", 50).max(Duration::from_millis(1));
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(End::Succeeded);
        }
        std::thread::sleep(step.min(left));
        if !holds_fire() {
            events.lost();
            return Ok(End::Lost);
        }
        events.tick();
    }
}

fn panic(_: &mut JobContext, _: &Events) -> Result<End, JobError> {
    panic!("demo.panic panics, as it should")
}

fn fail(ctx: &mut JobContext, _: &Events) -> Result<End, JobError> {
    let times = ctx.data().integer("times").unwrap_or(1);
    match attempt(ctx) {
        attempt if attempt < times => {
            let problem = JobError::new(format!("demo.fail fails, attempt {attempt} of {times} to fail"));
            Err(problem.refire_immediately())
        }
        _ => Ok(End::Succeeded),
    }
}

fn forever(ctx: &mut JobContext, events: &Events) -> Result<End, JobError> {
    let step = millis(ctx, "poll_ms", 50).max(Duration::from_millis(1));
    while ctx.wait(step) {
        events.tick();
    }
    if ctx.holds_fire() {
        return Ok(End::Interrupted);
    }
    events.lost();
    Ok(End::Lost)
}

fn silent(_: &mut JobContext, _: &Events) -> Result<End, JobError> {
    loop {
        std::thread::park();
    }
}

fn counter(ctx: &mut JobContext, _: &Events) -> Result<End, JobError> {
    let next = ctx.job_data().integer("n").unwrap_or(0) + 1;
    // In the form it has: `useProperties` stores nothing but texts.
    let value = match ctx.job_data().value("n") {
        Some(DataValue::Int(_)) => match i32::try_from(next) {
            Ok(next) => DataValue::Int(next),
            Err(_) => DataValue::Long(next),
        },
        Some(DataValue::Long(_)) => DataValue::Long(next),
        _ => DataValue::String(next.to_string()),
    };
    ctx.job_data_mut().put("n", value);
    Ok(End::Succeeded)
}

fn millis(ctx: &JobContext, key: &str, default: u64) -> Duration {
    let given = ctx.data().integer(key).and_then(|ms| u64::try_from(ms).ok());
    Duration::from_millis(given.unwrap_or(default))
}
