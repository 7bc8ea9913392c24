//! Helpers that integration tests share. A test file says `mod support;` and, since clippy's
//! allowances for tests do not reach helper functions outside of `#[test]`, begins with
//! `#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing,
//! reason = "a test")]`.
#![allow(dead_code, reason = "no test file uses all of it")]
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests wait for other processes in real time")]

pub mod cutting_proxy;
pub mod history;
pub mod kept_log;
pub mod node;
#[cfg(feature = "postgres")]
pub mod pgbouncer;
pub mod places;

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The PostgreSQL to test on, as a URL.
pub fn postgres_url() -> String {
    server_url("CARNELIAN_TEST_POSTGRES")
}

/// The MySQL or MariaDB to test on, as a URL.
pub fn mysql_url() -> String {
    server_url("CARNELIAN_TEST_MYSQL")
}

fn server_url(variable: &str) -> String {
    match std::env::var(variable) {
        Ok(url) if !url.is_empty() => url,
        _ => panic!("{variable} names no server: run the tests by ./tests/run, which starts one"),
    }
}

/// A name that no other test has, in this run or another on the same server: for schedulers, tables
/// and files. Lower case letters, digits and `_`, `prefix` and at most 27 bytes.
pub fn fresh_name(prefix: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let random = getrandom::u32().expect("the system has random numbers");
    format!("{prefix}_{:x}_{count:x}_{random:08x}", std::process::id())
}

/// A port of 127.0.0.1 on which nobody listens at the moment.
pub fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .expect("a port is free on 127.0.0.1")
        .port()
}

/// Waits for a fact, looking often, and panics with `what` should have come true when `limit` is
/// over.
#[track_caller]
pub fn wait_until(what: &str, limit: Duration, mut fact: impl FnMut() -> bool) {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    while !fact() {
        let waited = start.elapsed();
        assert!(waited < limit, "waited {waited:.1?} in vain until {what}");
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// True if the calling test has its process for itself, as a test needs that replaces the process's
/// logger: `is_alone(module_path!(), "name_of_the_test")`. If false, the test has just been run in
/// a process of its own, and has nothing more to do.
pub fn is_alone(module: &str, test: &str) -> bool {
    const MARK: &str = "CARNELIAN_TEST_ALONE";
    // nextest gives each test a process.
    if ["NEXTEST", MARK].iter().any(|variable| std::env::var_os(variable).is_some()) {
        return true;
    }
    let (_, module) = module.split_once("::").expect("the test is in a module");
    let mut command = std::process::Command::new(std::env::current_exe().expect("the test is a program"));
    let output = command.arg("--exact").arg(format!("{module}::{test}")).arg("--nocapture").env(MARK, "1").output();
    let output = output.expect("the test can be started");
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    print!("{said}");
    false
}

/// Ends the calling thread, and only it, in a way that nothing in the process notices: the kernel
/// takes it away.
#[cfg(target_os = "linux")]
pub fn end_this_thread() {
    use rustix::thread::{SecureComputingMode, set_secure_computing_mode};
    set_secure_computing_mode(SecureComputingMode::Strict).expect("the kernel has secure computing");
    // Any system call but a few is the end of the thread now.
    std::thread::sleep(Duration::from_secs(1));
}
