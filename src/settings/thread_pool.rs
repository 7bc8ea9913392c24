//! Thread pool settings: how many jobs run at the same time.

use super::keys::find;
use super::nearest::nearest;
use super::reader::{Reader, is_class};

const SIMPLE: &str = "org.quartz.simpl.SimpleThreadPool";
const ZERO_SIZE: &str = "org.quartz.simpl.ZeroSizeThreadPool";

/// Worker threads (`org.quartz.threadPool.*`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadPoolSettings {
    /// The number of jobs that run at the same time on this node, 1 to 1000; 10.
    /// A node that runs no jobs has 0, by `threadPool.class = org.quartz.simpl.ZeroSizeThreadPool`.
    /// Property `threadPool.threadCount`.
    pub thread_count: u32,
    /// Beginning of the names of worker threads, if not the scheduler's name.
    /// Property `threadPool.threadNamePrefix`.
    pub thread_name_prefix: Option<String>,
}

impl ThreadPoolSettings {
    pub(crate) fn read(reader: &mut Reader) -> Self {
        let mut thread_count = reader.count("threadPool.threadCount");
        match reader.given("threadPool.class").map(str::to_owned) {
            None => {}
            Some(class) if is_class(&class, SIMPLE) => {}
            Some(class) if is_class(&class, ZERO_SIZE) => {
                if reader.given("threadPool.threadCount").is_some() {
                    reader.warn("threadPool.threadCount", "no effect: a ZeroSizeThreadPool has no threads");
                }
                thread_count = 0;
            }
            Some(class) => misnamed(
                reader,
                "threadPool.class",
                &class,
                &[SIMPLE, ZERO_SIZE],
                &format!("Java classes are not loaded here: a fixed pool of {thread_count} threads is used"),
            ),
        }
        Self { thread_count, thread_name_prefix: reader.text("threadPool.threadNamePrefix") }
    }
}

/// A class that is not known: an error if it looks like a known one misspelt, else a warning.
pub(crate) fn misnamed(reader: &mut Reader, key: &str, class: &str, known: &[&str], instead: &str) {
    debug_assert!(find(key).is_some());
    match nearest(class, known.iter().map(|name| (*name).to_owned())) {
        Some(name) => reader.refuse(key, "unknown class", Some(name)),
        None => reader.warn(key, instead),
    }
}
