//! The job type `command`: runs a program, keeps what it writes, and never outlives its fire.

use crate::value;
use carnelian::clock::Signal as Wakeup;
use carnelian::clock::{Clock, SystemClock};
use carnelian::{Job, JobContext, JobDataMap, JobError, Outcome, StopReason};
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, test_kill_process_group, waitpgid};
use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The name under which it is registered.
pub const TYPE: &str = "command";

/// The interval of checks of a running program.
const POLL: Duration = Duration::from_millis(50);
/// The time that a program has to end after SIGTERM, before SIGKILL.
const GRACE: Duration = Duration::from_secs(5);
/// The time for which a program goes on while its node doubts its lease: most doubts end with a
/// check-in that is on its way, such as after a step of the clock.
const DOUBT: Duration = Duration::from_secs(1);
/// The longest wait for the last of the output.
const READERS_GRACE: Duration = Duration::from_secs(1);
/// The part of the output that is kept: as much as fits into the result of a run.
const OUTPUT_LIMIT: usize = 64 * 1024 - 1;
/// The part of it that is left for the note about cut output.
const NOTE_BYTES: usize = 64;
/// The part of the output that an error repeats.
const QUOTED_CHARS: usize = 500;

/// The mistake in these data: that a run fails before it begins, or that an entry has no effect.
pub fn mistake(data: &JobDataMap) -> Option<String> {
    match Plan::read(data) {
        Err(error) => Some(format!("its runs will fail: {}", error.message())),
        Ok(_) => data
            .value("env")
            .map(|_| "data `env` has no effect: a variable of the program is written `env.NAME`".to_owned()),
    }
}

/// Runs the program that its data describe: `argv`, `env.NAME`, `cwd`, `timeout`.
#[derive(Clone, Default)]
pub struct Command {
    /// The process groups of the programs that run.
    running: Arc<Mutex<BTreeSet<u32>>>,
}

impl Command {
    /// Kills the programs that still run, with all they have started; returns how many there were.
    pub fn kill_all(&self) -> usize {
        let running = std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
        running.iter().for_each(|group| signal_group(*group, Signal::KILL));
        running.len()
    }

    fn note(&self, child: &Child, runs: bool) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = if runs { running.insert(child.id()) } else { running.remove(&child.id()) };
    }
}

/// A program that runs, which is killed, with all it has started, and waited for when this is
/// dropped.
struct Running<'a> {
    child: Child,
    command: &'a Command,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // A program that left children behind still holds the pipes: the group goes as well.
        signal_group(self.child.id(), Signal::KILL);
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.command.note(&self.child, false);
    }
}

impl Job for Command {
    fn execute(&self, ctx: &mut JobContext) -> Result<Outcome, JobError> {
        let plan = Plan::read(ctx.data())?;
        let mut running = Running { child: plan.start()?, command: self };
        self.note(&running.child, true);
        let output = Captured::default();
        let (stdout, stderr) = (running.child.stdout.take(), running.child.stderr.take());
        let readers =
            [stdout.map(|pipe| output.follow(pipe)).transpose()?, stderr.map(|pipe| output.follow(pipe)).transpose()?];
        let mut told = 0;
        let ended = attend(&mut running.child, plan.timeout, ctx, || told = output.tell(ctx, told, false));
        drop(running);
        for reader in readers.into_iter().flatten() {
            patiently(READERS_GRACE, || reader.is_finished());
        }
        output.tell(ctx, told, true);
        let text = output.text();
        ctx.set_result(text.clone());
        match ended {
            Ended::ByItself(status) if status.success() => Ok(Outcome::Succeeded),
            Ended::ByItself(status) => Err(failed(&format!("{}: {status}", plan.program), &text)),
            Ended::TimedOut(limit) => {
                let what = format!("{}: stopped after its timeout of {} ms", plan.program, limit.as_millis());
                Err(failed(&what, &text).class("timeout"))
            }
            Ended::Stopped => {
                let error = failed(&format!("{}: stopped before its end", plan.program), &text);
                Err(JobError::stopped().with_message(error.message()))
            }
            Ended::Unknown(error) => Err(failed(&format!("{}: cannot be waited for: {error}", plan.program), &text)),
        }
    }
}

/// A program to run.
struct Plan {
    program: String,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    folder: Option<String>,
    timeout: Option<Duration>,
}

impl Plan {
    fn read(data: &JobDataMap) -> Result<Self, JobError> {
        let text = data.value("argv").ok_or_else(|| JobError::new("data `argv` is missing: name a program"))?;
        let mut words = words(&text.to_string())?.into_iter();
        let program = words.next().ok_or_else(|| JobError::new("data `argv` is empty: name a program"))?;
        let timeout = match data.value("timeout").map(ToString::to_string) {
            Some(text) => {
                Some(value::duration(&text).map_err(|reason| JobError::new(format!("data `timeout`: {reason}")))?)
            }
            None => None,
        };
        let variable = |(key, value): (&str, &carnelian::DataValue)| {
            Some((key.strip_prefix("env.")?.to_owned(), value.to_string()))
        };
        Ok(Self {
            program,
            arguments: words.collect(),
            environment: data.iter().filter_map(variable).collect(),
            folder: data.value("cwd").map(ToString::to_string),
            timeout,
        })
    }

    fn start(&self) -> Result<Child, JobError> {
        let mut command = std::process::Command::new(&self.program);
        command
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command.spawn().map_err(|error| match self.folder.as_deref().filter(|folder| !Path::new(folder).is_dir()) {
            Some(folder) => JobError::new(format!("data `cwd`: {folder} is no folder here")),
            None => JobError::new(format!("{}: cannot be started: {error}", self.program)),
        })
    }
}

/// A JSON array of texts, or words as a shell splits them.
fn words(text: &str) -> Result<Vec<String>, JobError> {
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text)
            .map_err(|error| JobError::new(format!("data `argv` is not a JSON array of texts: {error}")));
    }
    shlex::split(text).ok_or_else(|| JobError::new("data `argv` has an open quote"))
}

/// The end of a program.
enum Ended {
    ByItself(ExitStatus),
    TimedOut(Duration),
    Stopped,
    Unknown(std::io::Error),
}

/// Waits for the end; brings it about at the timeout, and when the job has to stop.
fn attend(child: &mut Child, timeout: Option<Duration>, ctx: &JobContext, mut look: impl FnMut()) -> Ended {
    let clock = SystemClock::default();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ended::ByItself(status),
            Ok(None) => {}
            Err(error) => return Ended::Unknown(error),
        }
        match timeout {
            Some(limit) if clock.ticks() >= limit => {
                end(child);
                return Ended::TimedOut(limit);
            }
            _ => {}
        }
        look();
        if !ctx.wait(POLL) {
            let doubts = || ctx.stop_reason() == Some(StopReason::OwnershipLost);
            patiently(DOUBT, || !doubts() || !matches!(child.try_wait(), Ok(None)));
            if ctx.should_stop() && matches!(child.try_wait(), Ok(None)) {
                end(child);
                return Ended::Stopped;
            }
        }
    }
}

/// Asks the program and all it started to end, and after a grace makes them. A shell ends at once,
/// before what it has started.
fn end(child: &mut Child) {
    signal_group(child.id(), Signal::TERM);
    patiently(GRACE, || !matches!(child.try_wait(), Ok(None)) && is_group_gone(child.id()));
    signal_group(child.id(), Signal::KILL);
    if let Err(error) = child.wait() {
        log::warn!("a stopped program cannot be waited for pid={} error={error}", child.id());
    }
}

/// Waits until `done`, but not longer than `limit`.
fn patiently(limit: Duration, mut done: impl FnMut() -> bool) {
    let (clock, nobody) = (SystemClock::default(), Wakeup::default());
    let end = clock.ticks() + limit;
    while clock.ticks() < end && !done() {
        clock.wait(&nobody, Some((clock.ticks() + POLL).min(end)));
    }
}

/// True if no process of the group is left, of which the leader was waited for.
fn is_group_gone(group: u32) -> bool {
    let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) else { return true };
    // The first process of a container inherits children, and nobody else waits for them.
    while let Ok(Some(_)) = waitpgid(group, WaitOptions::NOHANG) {}
    test_kill_process_group(group).is_err()
}

fn signal_group(group: u32, signal: Signal) {
    if let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) {
        // The group is gone when all its processes are: nothing is left to be done then.
        let _ = kill_process_group(group, signal);
    }
}

fn failed(what: &str, output: &str) -> JobError {
    let skipped = output.chars().count().saturating_sub(QUOTED_CHARS);
    let end: String = output.chars().skip(skipped).collect();
    match end.trim() {
        "" => JobError::new(what.to_owned()),
        end => JobError::new(format!("{what}; it wrote: {end}")),
    }
}

/// The beginning of what a program writes, and how much there was.
#[derive(Clone, Default)]
struct Captured(Arc<Mutex<(Vec<u8>, usize)>>);

impl Captured {
    /// Reads a pipe to its end, so that the program never waits for a reader.
    fn follow(&self, mut pipe: impl Read + Send + 'static) -> Result<JoinHandle<()>, JobError> {
        let kept = self.clone();
        let reader = move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                kept.add(buffer.get(..count).unwrap_or_default());
            }
        };
        let failed = |error| JobError::new(format!("a thread that reads the output cannot be started: {error}"));
        std::thread::Builder::new().spawn(reader).map_err(failed)
    }

    fn add(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = OUTPUT_LIMIT.saturating_sub(kept.0.len()).min(bytes.len());
        kept.0.extend_from_slice(bytes.get(..room).unwrap_or_default());
        kept.1 += bytes.len();
    }

    /// Has the lines that came after the first `told` bytes kept with the run, where it is asked
    /// for, and says up to where they were; `is_all` that nothing follows the last.
    fn tell(&self, ctx: &JobContext, told: usize, is_all: bool) -> usize {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = kept.0.get(told..).unwrap_or_default();
        let whole = new.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let end = if is_all { new.len() } else { whole };
        for line in String::from_utf8_lossy(new.get(..end).unwrap_or_default()).lines() {
            ctx.log(log::Level::Info, line);
        }
        told + end
    }

    fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::from_utf8_lossy(&kept.0).into_owned();
        // Bytes that are no UTF-8 have become longer.
        if kept.1 > kept.0.len() || text.len() > OUTPUT_LIMIT {
            let most = text.len().min(OUTPUT_LIMIT - NOTE_BYTES);
            text.truncate((0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0));
            let cut = kept.1.saturating_sub(text.len());
            text.push_str(&format!("\n… {cut} bytes more\n"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argv_is_an_array_or_words() {
        assert_eq!(words("sh -c 'exit 3'").unwrap(), ["sh", "-c", "exit 3"]);
        assert_eq!(words(r#"["a b", "c"]"#).unwrap(), ["a b", "c"]);
        assert!(words("[1]").is_err());
        assert!(words("echo 'x").is_err());
    }

    #[test]
    fn output_is_kept_to_its_limit() {
        let output = Captured::default();
        output.add(&[b'x'; OUTPUT_LIMIT]);
        assert_eq!(output.text().len(), OUTPUT_LIMIT);
        output.add(&[b'x'; 7]);
        let more = format!("x\n… {} bytes more\n", NOTE_BYTES + 7);
        assert!(output.text().ends_with(&more) && output.text().len() <= OUTPUT_LIMIT);
        let binary = Captured::default();
        binary.add(&[0xff; OUTPUT_LIMIT]);
        assert!(binary.text().len() <= OUTPUT_LIMIT);
    }
}
