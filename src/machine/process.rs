//! `Process`: which process of which machine a node is, and whether another one is gone.

use crate::error::{Error, shorten};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A process, told apart from every other one: a pid alone is given again, and each container
/// counts its own.
///
/// As a text: pid, start, namespace of pids, boot, host, with a space between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pid: u32,
    /// The start of the process, in ticks of the system since the boot.
    start: u64,
    /// The namespace that its pid is of.
    namespace: u64,
    /// The id of the machine's boot.
    boot: String,
    host: String,
}

impl Process {
    /// The running process; none where the system does not tell: only Linux does.
    pub fn own() -> Option<Self> {
        let pid = std::process::id();
        let text = |path: &str| Some(std::fs::read_to_string(path).ok()?.trim().to_owned()).filter(|t| !t.is_empty());
        Some(Self {
            pid,
            start: Stat::of(pid)?.start,
            namespace: own_namespace()?,
            boot: text("/proc/sys/kernel/random/boot_id")?,
            host: text("/proc/sys/kernel/hostname")?,
        })
    }

    /// The pid in the process's own namespace.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The host name of its machine or container.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// True if the process is gone, as `own` can tell; none if the process runs elsewhere, which
    /// `own` cannot see.
    pub(crate) fn is_gone(&self, own: &Self) -> Option<bool> {
        // Machines that are copies of one running machine have one boot, not one host name.
        if (self.namespace, &self.boot, &self.host) != (own.namespace, &own.boot, &own.host) {
            return None;
        }
        if !exists(self.pid)? {
            return Some(true);
        }
        let stat = Stat::of(self.pid)?;
        Some(stat.start != self.start || stat.is_dead)
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, start, namespace, boot, host } = self;
        write!(f, "{pid} {start} {namespace} {boot} {host}")
    }
}

impl FromStr for Process {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut parts = text.splitn(5, ' ');
        let mut next = || parts.next();
        let read = (|| {
            let (pid, start, namespace) = (next()?.parse().ok()?, next()?.parse().ok()?, next()?.parse().ok()?);
            Some(Self { pid, start, namespace, boot: next()?.to_owned(), host: next()?.to_owned() })
        })();
        read.ok_or_else(|| Error::Invalid {
            what: "process",
            value: shorten(text, 80),
            expected: "expected pid, start, namespace, boot and host".to_owned(),
        })
    }
}

/// The contents of `/proc/PID/stat` for a process.
struct Stat {
    start: u64,
    is_dead: bool,
}

impl Stat {
    fn of(pid: u32) -> Option<Self> {
        Self::read(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The name of the program, in parentheses, may have any characters; the state follows it, the
    /// start 19 fields later.
    fn read(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(") ")?;
        let mut fields = rest.split(' ');
        let is_dead = matches!(fields.next()?, "Z" | "X" | "x");
        Some(Self { start: fields.nth(18)?.parse().ok()?, is_dead })
    }
}

/// The namespace of the pids of this process, by the number of its file.
#[cfg(target_os = "linux")]
fn own_namespace() -> Option<u64> {
    use std::os::linux::fs::MetadataExt;
    Some(std::fs::metadata("/proc/self/ns/pid").ok()?.st_ino())
}

#[cfg(not(target_os = "linux"))]
fn own_namespace() -> Option<u64> {
    None
}

/// True if there is a process of this pid, whoever's it is; none if that cannot be told.
#[cfg(target_os = "linux")]
fn exists(pid: u32) -> Option<bool> {
    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};
    match test_kill_process(Pid::from_raw(i32::try_from(pid).ok()?)?) {
        Ok(()) | Err(Errno::PERM) => Some(true),
        Err(Errno::SRCH) => Some(false),
        Err(_) => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn exists(_: u32) -> Option<bool> {
    None
}

/// The incarnations of nodes that live in this process.
static LIVING: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// True if the node of this incarnation lives in this process.
pub(crate) fn lives_here(incarnation: &str) -> bool {
    LIVING.lock().contains(incarnation)
}

/// A node of this process lives under an incarnation as long as this exists.
#[derive(Debug)]
pub(crate) struct Living(String);

impl Living {
    pub(crate) fn new(incarnation: &str) -> Arc<Self> {
        LIVING.lock().insert(incarnation.to_owned());
        Arc::new(Self(incarnation.to_owned()))
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        LIVING.lock().remove(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_system_is_read_whatever_the_program_is_called() {
        let stat = |state: &str| {
            format!(
                "42 (a) b (c) {state} 1 42 42 0 -1 4194560 9 0 0 0 1 2 0 0 20 0 3 0 987654 1000 200 18446744073709551615"
            )
        };
        let read = Stat::read(&stat("S")).unwrap();
        assert_eq!((read.start, read.is_dead), (987_654, false));
        assert!(Stat::read(&stat("Z")).unwrap().is_dead);
        assert!(Stat::read("42 (a").is_none());
    }

    #[test]
    fn a_process_comes_back_from_its_text() {
        let text = "42 987654 4026531836 6f1d0f54-77aa-4c8e-9d52-0f3c2d8a4a11 a host";
        let process: Process = text.parse().unwrap();
        assert_eq!((process.pid(), process.host(), process.to_string().as_str()), (42, "a host", text));
        assert!("42 987654".parse::<Process>().is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_has_ended_is_gone_and_so_is_one_whose_pid_was_given_again() {
        let own = Process::own().unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let other = Process { pid: child.id(), start: Stat::of(child.id()).unwrap().start, ..own.clone() };
        assert_eq!(other.is_gone(&own), Some(false));
        assert_eq!(Process { start: other.start + 1, ..other.clone() }.is_gone(&own), Some(true));
        for elsewhere in [
            Process { host: "another".to_owned(), ..other.clone() },
            Process { boot: "another".to_owned(), ..other.clone() },
            Process { namespace: 1, ..other.clone() },
        ] {
            assert_eq!(elsewhere.is_gone(&own), None);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(other.is_gone(&own), Some(true));
    }
}
