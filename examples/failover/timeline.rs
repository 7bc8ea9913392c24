//! The timeline: reads the event log as the nodes write it, prints it, and waits for what is to
//! happen.

use carnelian::clock::{Clock, SystemClock};
use serde_json::Value;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(20);

/// One line of the event log.
#[derive(Clone, Debug)]
pub struct Event {
    name: String,
    pub wall_ms: i64,
    pub instance: String,
    pub fire_id: String,
    pub origin_fire_id: Option<String>,
    pub job: String,
    pub scheduled_ms: i64,
    pub recovering: bool,
    pub outcome: Option<String>,
    pub data: BTreeMap<String, String>,
}

impl Event {
    fn read(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let number = |key: &str| value.get(key).and_then(Value::as_i64);
        let entries = value.get("data").and_then(Value::as_object);
        Some(Self {
            name: text("event")?,
            wall_ms: number("wall_ms")?,
            instance: text("instance")?,
            fire_id: text("fire_id")?,
            origin_fire_id: text("origin_fire_id"),
            job: text("job")?,
            scheduled_ms: number("scheduled_ms")?,
            recovering: value.get("recovering")?.as_bool()?,
            outcome: text("outcome"),
            data: entries
                .into_iter()
                .flatten()
                .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
                .collect(),
        })
    }

    /// True if the event is of this kind: `START`, `END` …
    pub fn is(&self, name: &str) -> bool {
        self.name == name
    }

    /// True if the event is of the job that fires every second.
    pub fn is_grid(&self) -> bool {
        self.job == "grid.tick"
    }

    fn words(&self) -> Option<String> {
        let again = if self.recovering { " AGAIN, recovered from node-a" } else { "" };
        match self.name.as_str() {
            "START" if self.is_grid() => {
                let late = self.wall_ms - self.scheduled_ms;
                Some(format!(
                    "fires {}{}",
                    self.job,
                    if late > 100 { format!(", {late} ms late") } else { String::new() }
                ))
            }
            "START" => Some(format!("begins {}{again}", self.job)),
            "END" if !self.is_grid() => {
                Some(format!("ends {}{again}: {}", self.job, self.outcome.as_deref().unwrap_or("?")))
            }
            "LOST" => Some(format!("sees that its fire of {} is lost", self.job)),
            _ => None,
        }
    }
}

/// Events so far, and the time that is left.
pub struct Timeline {
    log: PathBuf,
    clock: SystemClock,
    begun_ms: i64,
    end: Instant,
    printed: usize,
}

impl Timeline {
    /// Begins now, and gives up after `limit`.
    pub fn new(log: &Path, limit: Duration) -> Self {
        let clock = SystemClock::default();
        Self {
            log: log.to_owned(),
            begun_ms: clock.wall_time().timestamp_millis(),
            clock,
            end: Instant::now() + limit,
            printed: 0,
        }
    }

    /// The time, in epoch milliseconds.
    pub fn now_ms(&self) -> i64 {
        self.clock.wall_time().timestamp_millis()
    }

    /// The time that is left.
    pub fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// Prints a line of the story, after what the nodes have logged so far.
    pub fn say(&mut self, who: &str, what: &str) {
        if let Err(problem) = self.print_new() {
            eprintln!("failover: {problem}");
        }
        self.line(self.now_ms(), who, what);
    }

    /// All events so far.
    pub fn events(&self) -> Result<Vec<Event>, Box<dyn Error>> {
        let text = std::fs::read_to_string(&self.log)?;
        // The last line may be half written.
        let whole = text.rfind('\n').and_then(|end| text.get(..end)).unwrap_or("");
        whole.lines().map(|line| Event::read(line).ok_or_else(|| format!("not an event: {line}").into())).collect()
    }

    /// Prints events as they come until they are as wanted.
    pub fn until(&mut self, what: &str, mut reached: impl FnMut(&[Event]) -> bool) -> Result<(), Box<dyn Error>> {
        let mut reached_at_last = false;
        while !reached_at_last {
            self.pause(what)?;
            reached_at_last = reached(&self.print_new()?);
        }
        Ok(())
    }

    /// Prints events as they come until something else has happened.
    pub fn until_true(
        &mut self,
        what: &str,
        mut reached: impl FnMut() -> Result<bool, Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        loop {
            // Before the events that follow from it are printed.
            if reached()? {
                return Ok(());
            }
            self.print_new()?;
            self.pause(what)?;
        }
    }

    /// Prints events as they come until this moment.
    pub fn rest_until(&mut self, moment_ms: i64) -> Result<(), Box<dyn Error>> {
        let clock = SystemClock::default();
        self.until_true("time passes", || Ok(clock.wall_time().timestamp_millis() >= moment_ms))
    }

    /// Waits for something without printing.
    pub fn wait(
        &self,
        what: &str,
        mut reached: impl FnMut() -> Result<bool, Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        while !reached()? {
            self.pause(what)?;
        }
        Ok(())
    }

    fn pause(&self, what: &str) -> Result<(), Box<dyn Error>> {
        if self.left().is_zero() {
            return Err(format!("out of time before {what}").into());
        }
        std::thread::sleep(POLL);
        Ok(())
    }

    fn print_new(&mut self) -> Result<Vec<Event>, Box<dyn Error>> {
        let events = self.events()?;
        for event in events.iter().skip(self.printed) {
            if let Some(words) = event.words() {
                self.line(event.wall_ms, &event.instance, &words);
            }
        }
        self.printed = events.len();
        Ok(events)
    }

    fn line(&self, at_ms: i64, who: &str, what: &str) {
        let ms = at_ms - self.begun_ms;
        println!("{:>3}.{:03} s  {who:<7}  {what}", ms / 1_000, ms % 1_000);
    }
}
