//! `MachineFiles`: the machine as Linux shows it in `/proc` and `/sys/fs/cgroup`; elsewhere most of
//! it is unknown.

use super::{Machine, MachineReading, own_address};
use std::io::Read;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// The most that is read of a file; `/proc/stat` of a large machine has its sums in the first line.
const MOST_BYTES: u64 = 16 * 1024;

/// The number of groups above the process's own that are asked for a limit of memory.
const MOST_GROUPS: usize = 32;

/// The machine as its files show it.
#[derive(Clone, Debug)]
pub struct MachineFiles {
    root: PathBuf,
}

impl Default for MachineFiles {
    fn default() -> Self {
        Self::below("/")
    }
}

impl MachineFiles {
    /// As if `root` were the root of the file system.
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    fn text(&self, path: &str) -> Option<String> {
        let mut bytes = Vec::new();
        std::fs::File::open(self.root.join(path)).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The least limit of the group of this process and of those above it: version 2 has one tree,
    /// version 1 one for memory alone.
    fn memory_limit(&self) -> Option<u64> {
        let groups = self.text("proc/self/cgroup")?;
        let limits = groups.lines().filter_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, group) = rest.split_once(':')?;
            let (tree, file) = if controllers.is_empty() {
                ("sys/fs/cgroup", "memory.max")
            } else if controllers.split(',').any(|controller| controller == "memory") {
                ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
            } else {
                return None;
            };
            let group = Path::new(group.trim_start_matches('/'));
            // In a container the own group may be shown by its name outside; its files are then at
            // the top.
            let groups = group.ancestors().take(MOST_GROUPS);
            let limit = |group: &Path| {
                let file = Path::new(tree).join(group).join(file);
                self.text(file.to_str()?)?.trim().parse::<u64>().ok()
            };
            groups.filter_map(limit).min()
        });
        limits.min()
    }
}

impl Machine for MachineFiles {
    fn read(&self) -> MachineReading {
        let mut reading = MachineReading {
            cores: std::thread::available_parallelism().ok().and_then(|cores| u32::try_from(cores.get()).ok()),
            memory_limit: self.memory_limit(),
            ..MachineReading::default()
        };
        if let Some((busy, all)) = self.text("proc/stat").as_deref().and_then(host_ticks) {
            (reading.host_busy_ticks, reading.host_all_ticks) = (Some(busy), Some(all));
        }
        reading.process_ticks = self.text("proc/self/stat").as_deref().and_then(process_ticks);
        if let Some(memory) = self.text("proc/meminfo") {
            reading.memory_total = kibibytes(&memory, "MemTotal:");
            reading.memory_available = kibibytes(&memory, "MemAvailable:");
        }
        if let Some(status) = self.text("proc/self/status") {
            reading.process_memory = kibibytes(&status, "VmRSS:");
            reading.threads = field(&status, "Threads:").and_then(|threads| threads.parse().ok());
        }
        reading
    }

    fn host(&self) -> Option<String> {
        let host = self.text("proc/sys/kernel/hostname").or_else(|| std::env::var("HOSTNAME").ok())?;
        Some(host.trim().chars().filter(|c| !c.is_control()).collect()).filter(|host: &String| !host.is_empty())
    }

    fn address(&self) -> Option<IpAddr> {
        own_address()
    }
}

/// `cpu user nice system idle iowait irq softirq steal guest guest_nice`: busy is what is neither
/// idle nor waiting for a disk; the time of guests is in that of users already.
fn host_ticks(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().take(8).filter_map(|ticks| ticks.parse().ok()).collect();
    let idle: u64 = ticks.iter().skip(3).take(2).sum();
    let all: u64 = ticks.iter().sum();
    (ticks.len() >= 4).then(|| (all.saturating_sub(idle), all))
}

/// `pid (name) state …`: the 14th and 15th fields are the time in the program and in the system.
/// The name may hold anything.
fn process_ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let (user, system) = (fields.next()?.parse::<u64>().ok()?, fields.next()?.parse::<u64>().ok()?);
    Some(user.saturating_add(system))
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let kibibytes: u64 = field(text, name)?.strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, MachineFiles) {
        let root = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        let files = MachineFiles::below(root.path());
        (root, files)
    }

    /// LT-31…34: what a machine of today shows.
    #[test]
    fn a_machine_is_read_from_its_files() {
        let (_root, files) = machine(&[
            ("proc/stat", "cpu  100 10 40 800 50 1 2 3 60 7\ncpu0 1 2 3 4\n"),
            ("proc/self/stat", "12 (odd) name) S 1 2 3 4 5 6 7 8 9 10 70 30 0 0 20 0 5 0 99\n"),
            ("proc/meminfo", "MemTotal:       2048 kB\nMemFree:  1 kB\nMemAvailable:    512 kB\n"),
            ("proc/self/status", "Name:\tx\nVmRSS:\t     96 kB\nThreads:\t17\n"),
            ("proc/self/cgroup", "0::/jobs/node\n"),
            ("sys/fs/cgroup/jobs/node/memory.max", "max\n"),
            ("sys/fs/cgroup/jobs/memory.max", "1048576\n"),
            ("proc/sys/kernel/hostname", "web7\n"),
        ]);
        let reading = files.read();
        assert_eq!((reading.host_busy_ticks, reading.host_all_ticks), (Some(156), Some(1006)));
        assert_eq!(reading.process_ticks, Some(100));
        assert_eq!((reading.memory_total, reading.memory_available), (Some(2_097_152), Some(524_288)));
        assert_eq!((reading.process_memory, reading.threads), (Some(98_304), Some(17)));
        assert_eq!(reading.memory_limit, Some(1_048_576), "that of the group above");
        assert!(reading.cores.is_some_and(|cores| cores > 0));
        assert_eq!(files.host().as_deref(), Some("web7"));
    }

    #[test]
    fn limits_of_both_versions_of_groups_are_found() {
        let limit = |files: &[(&str, &str)]| machine(files).1.memory_limit();
        let of_memory = "11:cpu,cpuacct:/a\n4:memory:/docker/abc\n1:name=systemd:/a\n";
        let seen_from_outside = [("proc/self/cgroup", of_memory), ("sys/fs/cgroup/memory/memory.limit_in_bytes", "7")];
        let (_root, files) = machine(&seen_from_outside);
        assert_eq!(files.memory_limit(), Some(7));
        let (_root, files) = machine(&[("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/memory.max", "9\n")]);
        assert_eq!(files.memory_limit(), Some(9));
        assert_eq!(limit(&[("proc/self/cgroup", "0::/\n")]), None);
        assert_eq!(limit(&[]), None);
    }

    #[test]
    fn what_cannot_be_read_is_unknown() {
        let odd = [
            ("proc/stat", "cpu"),
            ("proc/self/stat", "1 (x"),
            ("proc/meminfo", "MemTotal: much kB"),
            ("proc/self/status", ""),
        ];
        for files in [&odd[..], &[]] {
            let (_root, files) = machine(files);
            let reading = files.read();
            assert_eq!(MachineReading { cores: None, ..reading }, MachineReading::default());
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_can_be_read() {
        let reading = MachineFiles::default().read();
        assert!(reading.process_memory.is_some_and(|bytes| bytes > 100_000), "{reading:?}");
        assert!(reading.host_all_ticks > reading.host_busy_ticks && reading.threads > Some(0), "{reading:?}");
    }
}
