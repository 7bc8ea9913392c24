//! Real processes: the command line, and nodes that are stopped, killed and cut off. A module is a
//! suite: `./tests/run --test drills`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "processes happen in real time, and clocks of nodes are the system's")]

#[path = "../support/mod.rs"]
mod support;

mod cli;
mod continuations_process;
mod doctor;
mod drills;
mod first_day;
mod killed_caller;
mod packaging;
