//! A node in a process of its own: started, heard, signalled, and killed when the test is over.
#![allow(dead_code, reason = "no test file uses all of it")]

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

pub struct NodeProcess {
    child: Child,
    instance: Option<String>,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// The file of what it says of itself.
    errors: PathBuf,
}

impl NodeProcess {
    /// Starts it; what it says of itself goes to the file `errors`.
    pub fn start(command: &mut Command, errors: &Path) -> Self {
        let stderr = File::create(errors).unwrap();
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).spawn();
        let mut child = spawned.unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}"));
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { input: child.stdin.take(), child, instance: None, output, errors: errors.to_owned() }
    }

    /// Starts a `demo_node`.
    pub fn demo(config: &Path, errors: &Path) -> Self {
        Self::start(&mut Self::command(config), errors)
    }

    /// The command that starts a `demo_node`.
    pub fn command(config: &Path) -> Command {
        let mut command = Command::new(demo_node());
        let level = std::env::var("RUST_LOG").unwrap_or_else(|_| "info".to_owned());
        command.arg("--config").arg(config).env("RUST_LOG", level);
        command
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The instance's name, from the line `READY <instance>`, for which this waits.
    pub fn ready(&mut self) -> String {
        if self.instance.is_none() {
            let line = self.line();
            let wrote = || std::fs::read_to_string(&self.errors).unwrap_or_default();
            let instance =
                line.strip_prefix("READY ").unwrap_or_else(|| panic!("expected READY, got {line:?}: {}", wrote()));
            self.instance = Some(instance.to_owned());
        }
        self.instance.clone().unwrap()
    }

    /// Writes a line to its input and waits for the line that answers it.
    pub fn ask(&mut self, line: &str) -> String {
        self.ready();
        let input = self.input.as_mut().expect("its input is open");
        writeln!(input, "{line}").and_then(|()| input.flush()).unwrap();
        self.line()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Stops it with SIGSTOP until `Signal::CONT`, and waits until all its threads stand still: one
    /// that is inside the kernel first ends its call there, by which it may take a lock.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
        waitpid(Some(Pid::from_child(&self.child)), WaitOptions::UNTRACED).unwrap();
    }

    /// Ends its input.
    pub fn end_input(&mut self) {
        self.input = None;
    }

    /// Waits for its end; panics unless its exit code is 0.
    pub fn expect_success(&mut self) {
        let status = self.child.wait().unwrap();
        assert!(status.success(), "the node {} ended with {status}", self.instance.as_deref().unwrap_or("(not ready)"));
    }

    /// The exit status of the process, if it has ended.
    pub fn end(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// True if the process has not ended.
    pub fn is_alive(&mut self) -> bool {
        self.end().is_none()
    }

    /// Kills it with SIGKILL.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

fn demo_node() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let binary = test.parent().and_then(Path::parent).unwrap().join("examples/demo_node");
    assert!(binary.exists(), "{} is missing: run `cargo build --all-features --examples`", binary.display());
    binary
}
