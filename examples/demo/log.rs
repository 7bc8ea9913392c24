//! The event log: one JSON line per event, each a single write on an `O_APPEND` descriptor.

use carnelian::JobContext;
use carnelian::clock::{Clock, SystemClock};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value, json};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::Arc;

/// The place where events go; clones write to the same place.
#[derive(Clone)]
pub struct EventLog {
    file: Option<Arc<File>>,
    clock: Arc<SystemClock>,
}

impl EventLog {
    /// The log of this file, which other processes may write to as well; standard output if none is
    /// named.
    pub fn open(path: Option<&str>) -> std::io::Result<Self> {
        let file = match path {
            Some(path) => Some(Arc::new(OpenOptions::new().append(true).create(true).open(path)?)),
            None => None,
        };
        Ok(Self { file, clock: Arc::new(SystemClock::default()) })
    }

    /// The events of one run. `root_fire_id` is the first fire of a chain of reruns: of recoveries,
    /// and also of retries, interrupted work and work that asked to go on; `origin_fire_id` is the
    /// same, of recoveries only.
    pub fn of(&self, job_type: &str, ctx: &JobContext) -> Events {
        let scheduled_ms = ctx.scheduled_fire_time().timestamp_millis();
        let recovering = ctx.recovering();
        let root = ctx.rerun().and_then(|rerun| rerun.root_fire_id.as_deref());
        let Value::Object(facts) = json!({
            "pid": std::process::id(),
            "instance": ctx.instance_id(),
            "fire_id": ctx.fire_id(),
            "fence": ctx.fence(),
            "origin_fire_id": root.filter(|_| recovering.is_some()),
            "root_fire_id": root,
            "trigger": ctx.trigger().key().to_string(),
            "job": ctx.job().key().to_string(),
            "type": job_type,
            "scheduled_ms": scheduled_ms,
            "original_scheduled_ms": ctx.rerun().map_or(scheduled_ms, |rerun| rerun.scheduled_fire_time.timestamp_millis()),
            "recovering": recovering.is_some(),
            "attempt": attempt(ctx),
        }) else {
            unreachable!("an object literal is an object")
        };
        Events { log: self.clone(), facts }
    }

    fn write(&self, event: &Map<String, Value>) {
        let mut line = Value::Object(event.clone()).to_string();
        line.push('\n');
        // One write per line, so that lines of several processes never mix.
        let written = match &self.file {
            Some(file) => (&**file).write_all(line.as_bytes()),
            None => std::io::stdout().lock().write_all(line.as_bytes()),
        };
        if let Err(error) = written {
            log::error!("an event cannot be logged error={error}");
        }
    }
}

/// The number of runs before this one, interrupted or failed.
pub fn attempt(ctx: &JobContext) -> i64 {
    ctx.attempt() + i64::from(ctx.refire_count())
}

/// The events of one run.
pub struct Events {
    log: EventLog,
    facts: Map<String, Value>,
}

impl Events {
    /// The run begins, with the data it sees.
    pub fn start(&self, ctx: &JobContext) {
        let data: Map<String, Value> =
            ctx.data().iter().map(|(key, value)| (key.to_owned(), value.to_string().into())).collect();
        self.write("START", Some(("data", Value::Object(data))));
    }

    /// The run goes on.
    pub fn tick(&self) {
        self.write("TICK", None);
    }

    /// The run has done a step of its work.
    pub fn step(&self, step: i64) {
        self.write("TICK", Some(("step", step.into())));
    }

    /// The run has noticed that its fire belongs to another node.
    pub fn lost(&self) {
        self.write("LOST", None);
    }

    /// The run has ended.
    pub fn end(&self, outcome: &str) {
        self.write("END", Some(("outcome", outcome.into())));
    }

    fn write(&self, name: &str, more: Option<(&str, Value)>) {
        let mut event = self.facts.clone();
        let now = clock_gettime(ClockId::Monotonic);
        event.insert("event".to_owned(), name.into());
        event.insert("mono_ns".to_owned(), (now.tv_sec * 1_000_000_000 + now.tv_nsec).into());
        event.insert("wall_ms".to_owned(), self.log.clock.wall_time().timestamp_millis().into());
        if let Some((key, value)) = more {
            event.insert(key.to_owned(), value);
        }
        self.log.write(&event);
    }
}
