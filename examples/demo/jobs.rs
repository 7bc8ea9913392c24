//! The demo job types: each logs its START and END, and does one thing that a drill needs.

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
use super::effects::{Entry, write};
use super::log::{EventLog, Events, attempt};
use carnelian::settings::DataSourceUrl;
use carnelian::{DataValue, Job, JobContext, JobError, Outcome};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// The end of a run that did not fail.
enum End {
    Succeeded,
    /// The run was told to stop.
    Interrupted,
    /// The fire belongs to another node.
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

/// The things that a run has beside its context.
struct Tools<'a> {
    events: &'a Events,
    /// The database that holds the jobs; none if they are in memory.
    #[cfg_attr(not(any(feature = "sqlite", feature = "postgres", feature = "mysql")), expect(dead_code))]
    url: Option<&'a DataSourceUrl>,
}

type Run = fn(&mut JobContext, &Tools<'_>) -> Result<End, JobError>;

/// Every demo job type, by its name.
const TYPES: [(&str, Run); 12] = [
    ("demo.append", append),
    ("demo.sleep", sleep),
    ("demo.stubborn", stubborn),
    ("demo.panic", panic),
    ("demo.fail", fail),
    ("demo.forever", forever),
    ("demo.silent", silent),
    ("demo.counter", counter),
    ("demo.checkpoint", checkpoint),
    ("demo.effect", effect),
    ("demo.fenced", fenced),
    ("demo.guarded", guarded),
];

/// The demo jobs with the names they are registered under.
pub fn all(log: &EventLog, url: Option<&DataSourceUrl>) -> Vec<(&'static str, impl Job + use<>)> {
    TYPES.into_iter().map(|(name, run)| (name, Logged { name, run, log: log.clone(), url: url.cloned() })).collect()
}

/// A job whose START and END are logged, whatever it does.
struct Logged {
    name: &'static str,
    run: Run,
    log: EventLog,
    url: Option<DataSourceUrl>,
}

impl Job for Logged {
    fn execute(&self, ctx: &mut JobContext) -> Result<Outcome, JobError> {
        let events = self.log.of(self.name, ctx);
        events.start(ctx);
        ctx.log(log::Level::Info, format!("{} begins, attempt {}", self.name, ctx.attempt()));
        let tools = Tools { events: &events, url: self.url.as_ref() };
        let ended = catch_unwind(AssertUnwindSafe(|| (self.run)(ctx, &tools)));
        events.end(match &ended {
            Ok(Ok(end)) => end.outcome(),
            Ok(Err(_)) | Err(_) => "failed",
        });
        match ended {
            Ok(Ok(End::Succeeded)) => Ok(Outcome::Succeeded),
            Ok(Ok(End::Interrupted | End::Lost)) => Ok(Outcome::Stopped),
            Ok(Err(error)) => Err(error),
            Err(panic) => resume_unwind(panic),
        }
    }
}

fn append(_: &mut JobContext, _: &Tools<'_>) -> Result<End, JobError> {
    Ok(End::Succeeded)
}

fn sleep(ctx: &mut JobContext, tools: &Tools<'_>) -> Result<End, JobError> {
    doze(&*ctx, tools.events, || ctx.holds_fire())
}

fn stubborn(ctx: &mut JobContext, tools: &Tools<'_>) -> Result<End, JobError> {
    doze(&*ctx, tools.events, || true)
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

fn panic(_: &mut JobContext, _: &Tools<'_>) -> Result<End, JobError> {
    #[allow(clippy::panic, reason = "what this job is for")]
    {
        panic!("demo.panic panics, as it should")
    }
}

fn fail(ctx: &mut JobContext, _: &Tools<'_>) -> Result<End, JobError> {
    let times = ctx.data().integer("times").unwrap_or(1);
    match attempt(ctx) {
        attempt if attempt < times => {
            log::warn!("demo.fail is about to fail attempt={attempt}");
            let problem = JobError::new(format!("demo.fail fails, attempt {attempt} of {times} to fail"));
            // A job is tried again where its policy says how.
            match ctx.job().policy().retry_policy() {
                Some(_) => Err(problem),
                None => Err(problem.refire_immediately()),
            }
        }
        _ => Ok(End::Succeeded),
    }
}

fn forever(ctx: &mut JobContext, tools: &Tools<'_>) -> Result<End, JobError> {
    let step = millis(ctx, "poll_ms", 50).max(Duration::from_millis(1));
    while ctx.wait(step) {
        tools.events.tick();
    }
    if ctx.holds_fire() {
        return Ok(End::Interrupted);
    }
    tools.events.lost();
    Ok(End::Lost)
}

fn silent(_: &mut JobContext, _: &Tools<'_>) -> Result<End, JobError> {
    loop {
        std::thread::park();
    }
}

fn counter(ctx: &mut JobContext, _: &Tools<'_>) -> Result<End, JobError> {
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

/// Does `steps` steps of `ms` each and keeps how far it has come; goes on from there if it is
/// interrupted.
fn checkpoint(ctx: &mut JobContext, tools: &Tools<'_>) -> Result<End, JobError> {
    let steps = ctx.data().integer("steps").unwrap_or(10);
    for step in ctx.resume::<i64>()?.unwrap_or(0)..steps {
        std::thread::sleep(millis(ctx, "ms", 100));
        tools.events.step(step);
        match ctx.checkpoint(&(step + 1)) {
            Ok(()) => {}
            Err(error) if error.is_fenced() => {
                tools.events.lost();
                return Ok(End::Lost);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(End::Succeeded)
}

/// Sleeps `ms` whatever happens, and then writes its row in one transaction with the end of its
/// fire.
fn effect(ctx: &mut JobContext, tools: &Tools<'_>) -> Result<End, JobError> {
    doze(&*ctx, tools.events, || true)?;
    let job = ctx.job().key().to_string();
    let scheduled_ms = ctx.scheduled_fire_time().timestamp_millis();
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    if let Some(url) = tools.url {
        return match write(url, Entry::Effect(&job, scheduled_ms), Some(ctx)) {
            Ok(_) => Ok(End::Succeeded),
            Err(_) if !ctx.holds_fire() => {
                tools.events.lost();
                Ok(End::Lost)
            }
            Err(error) => Err(error),
        };
    }
    Err(JobError::new(format!("{job} at {scheduled_ms}: there is no database to write to")))
}

/// Sleeps `ms` whatever happens, and then writes its fence where only the largest is kept.
fn fenced(ctx: &mut JobContext, tools: &Tools<'_>) -> Result<End, JobError> {
    doze(&*ctx, tools.events, || true)?;
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    if let Some(url) = tools.url {
        if write(url, Entry::Fence(ctx.fence()), None)? {
            return Ok(End::Succeeded);
        }
        log::warn!("demo.fenced: refused, a larger fence was there first fence={}", ctx.fence());
        tools.events.lost();
        return Ok(End::Lost);
    }
    Err(JobError::new(format!("fence {}: there is no database to write to", ctx.fence())))
}

/// Sleeps `ms` whatever happens, in a transaction that guards its fire.
#[cfg_attr(
    not(any(feature = "sqlite", feature = "postgres", feature = "mysql")),
    expect(unused_variables, reason = "there is no database to guard it in")
)]
fn guarded(ctx: &mut JobContext, tools: &Tools<'_>) -> Result<End, JobError> {
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    if let Some(url) = tools.url {
        let wait = |ctx: &JobContext| doze(ctx, tools.events, || true).map(|_| ());
        return write(url, Entry::Guarded(&wait), Some(ctx)).map(|_| End::Succeeded);
    }
    Err(JobError::new(format!("fence {}: there is no database to guard it in", ctx.fence())))
}

fn millis(ctx: &JobContext, key: &str, default: u64) -> Duration {
    let given = ctx.data().integer(key).and_then(|ms| u64::try_from(ms).ok());
    Duration::from_millis(given.unwrap_or(default))
}
