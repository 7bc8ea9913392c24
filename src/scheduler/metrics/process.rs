//! The process: its memory and threads, where the operating system tells.

/// The memory and threads of the process.
pub(super) struct Process {
    pub(super) memory_bytes: u64,
    pub(super) threads: u64,
}

/// The memory and threads of the process now; none where there is no `/proc`.
pub(super) fn process() -> Option<Process> {
    read(&std::fs::read_to_string("/proc/self/status").ok()?)
}

fn read(status: &str) -> Option<Process> {
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').split_whitespace().next()?.parse::<u64>().ok()
    };
    // The unit is always kB, which here means 1024 bytes.
    Some(Process { memory_bytes: number("VmRSS")?.saturating_mul(1024), threads: number("Threads")? })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_status_file_is_read() {
        let status = "Name:\tnode\nVmSize:\t  99 kB\nVmRSS:\t    2048 kB\nThreads:\t17\n";
        let process = super::read(status).expect("both are there");
        assert_eq!((process.memory_bytes, process.threads), (2_097_152, 17));
        assert!(super::read("Name:\tnode\n").is_none());
    }
}
