//! The log of a test that has its process for itself, kept in memory.

use std::sync::Mutex;

struct KeptLog;

static LINES: Mutex<Vec<(log::Level, String)>> = Mutex::new(Vec::new());

impl log::Log for KeptLog {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        if record.level() <= log::max_level() {
            lock().push((record.level(), record.args().to_string()));
        }
    }

    fn flush(&self) {}
}

fn lock() -> std::sync::MutexGuard<'static, Vec<(log::Level, String)>> {
    LINES.lock().expect("nothing panics with the log in hand")
}

/// Keeps the lines from now on that are this serious or more. Once in a process: see
/// [`is_alone`](super::is_alone).
pub fn keep(least: log::LevelFilter) {
    log::set_logger(&KeptLog).expect("the test has its process for itself");
    log::set_max_level(least);
}

/// The lines so far.
pub fn lines() -> Vec<(log::Level, String)> {
    lock().clone()
}

/// The lines so far that have all these words, each behind its level.
pub fn lines_with(words: &[&str]) -> Vec<String> {
    let lines = lines().into_iter().map(|(level, text)| format!("{level} {text}"));
    lines.filter(|line| words.iter().all(|word| line.contains(word))).collect()
}
