//! The `carnelian` command as a user meets it: each command on a SQLite file of its own, exit
//! codes, JSON shapes.

mod actions;
mod bench;
mod calendars;
mod check;
mod commands;
pub mod configuration;
mod dashboard;
mod definitions;
mod history;
mod import;
mod kubernetes;
mod lists;
mod locks;
mod marks;
mod mistakes;
pub mod node;
mod nodes;
mod outages;
mod parked;
mod placement;
mod strategies;
mod terminal;
mod top;
mod waiting;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A working directory with nothing in it but what its test puts there.
pub struct Place {
    folder: TempDir,
}

/// The result of a command.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Place {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The command with these words as arguments.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_carnelian"));
        command.current_dir(self.folder.path()).args(words).env_remove("CARNELIAN_CONFIG").env_remove("RUST_LOG");
        command.stdin(Stdio::null());
        command
    }

    pub fn run(&self, words: &[&str]) -> Ran {
        let output = self.command(words).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs a command line without quotes, which must succeed; gives its output.
    pub fn fine(&self, line: &str) -> String {
        self.run(&line.split_whitespace().collect::<Vec<_>>()).with(0, line).out
    }

    /// Runs a command line without quotes with `--json`; gives the one document it prints.
    pub fn json(&self, line: &str) -> Value {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        words.push("--json");
        serde_json::from_str(&self.run(&words).with(0, line).out).unwrap()
    }

    /// Runs a command line without quotes, which must end with this code; gives its complaint.
    pub fn refused(&self, code: i32, line: &str) -> String {
        self.run(&line.split_whitespace().collect::<Vec<_>>()).with(code, line).err
    }
}

impl Ran {
    #[track_caller]
    pub fn with(self, code: i32, line: &str) -> Self {
        assert_eq!(self.code, code, "{line}\nstdout: {}\nstderr: {}", self.out, self.err);
        assert!(!self.err.contains("panicked"), "{line}: {}", self.err);
        self
    }
}

/// The text under `key`.
pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("{key} is no text in {value}"))
}

/// Writes a properties file for a database file beside it.
pub fn write_config(path: &Path, more: &str) {
    let text = format!(
        "org.quartz.scheduler.instanceName = cli-test\n\
         org.quartz.jobStore.class = org.quartz.impl.jdbcjobstore.JobStoreTX\n\
         org.quartz.jobStore.isClustered = true\n\
         org.quartz.jobStore.dataSource = db\n\
         org.quartz.dataSource.db.URL = jdbc:sqlite:{}\n{more}",
        path.with_extension("db").display()
    );
    std::fs::write(path, text).unwrap();
}
