//! The library in one process, through its public interface: the engine, whole nodes, sessions on
//! real servers, settings, job files. A module is a suite: `./tests/run --test census`.
#![warn(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

#[path = "../support/mod.rs"]
mod support;

mod api_mistakes;
mod census;
mod dashboard;
mod executions;
mod first_day;
mod foreign_keys;
mod foreign_kinds;
mod full_disk;
mod fuzz;
mod hazards;
mod heartbeat_log;
mod job_file;
mod just_changed;
mod languages;
mod locks;
mod lost_answers;
mod monitoring;
mod nodes;
mod outage;
mod pages;
mod plans;
mod plugins;
mod pool;
mod pooler;
mod remote;
mod rights;
mod scenes;
mod scheduler;
mod settings;
mod silent_sessions;
mod submission;
mod tables;
mod testing;
mod views;
mod within;
