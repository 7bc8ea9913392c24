//! The node processes: started, killed, stopped, and never left behind.

use super::timeline::Timeline;
use rustix::process::{Pid, Signal, kill_process};
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A process of this program that is a node; it is killed when this is dropped.
pub struct Node {
    name: &'static str,
    child: Child,
}

impl Node {
    /// Starts a node, and waits for its READY.
    pub fn start(name: &'static str, config: &Path, timeline: &Timeline) -> Result<Self, Box<dyn Error>> {
        let child = Command::new(std::env::current_exe()?)
            .arg("--node")
            .arg(config)
            .env("FAILOVER_NODE", name)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut node = Self { name, child };
        let output = node.child.stdout.take().ok_or("a node without output")?;
        let (ready, readiness) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let _ = ready.send(line);
            }
        });
        match readiness.recv_timeout(timeline.left().min(Duration::from_secs(15))) {
            Ok(line) if line == format!("READY {name}") => Ok(node),
            Ok(line) => Err(format!("{name} says `{line}` instead of READY").into()),
            Err(_) => Err(format!("{name} does not get ready").into()),
        }
    }

    /// SIGKILL: no last words.
    pub fn kill(&mut self) -> Result<(), Box<dyn Error>> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// SIGTERM, and waits for the end.
    pub fn stop(&mut self, timeline: &Timeline) -> Result<(), Box<dyn Error>> {
        let pid = Pid::from_raw(i32::try_from(self.child.id())?).ok_or("a process without an id")?;
        kill_process(pid, Signal::TERM)?;
        let name = self.name;
        let mut status = None;
        timeline.wait(&format!("{name} stops"), || {
            status = self.child.try_wait()?;
            Ok(status.is_some())
        })?;
        match status {
            Some(status) if status.success() => Ok(()),
            status => Err(format!("{name} ended with {status:?}").into()),
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
