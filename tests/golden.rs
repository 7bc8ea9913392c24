//! Every record of the golden data from the real Quartz 2.3.2: one module for each kind of file.
//!
//! The data are beside this file, or in the folder that `CARNELIAN_GOLDEN` names. A rule in
//! `tests/golden/deviations` stands for each difference on purpose. To add a file: a module with a
//! test that calls [`report::check_file`] with a closure from record to outcome.
#![warn(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

#[path = "golden/calendars.rs"]
mod calendars;
#[path = "golden/cron.rs"]
mod cron;
#[cfg(feature = "sqlite")]
#[path = "golden/database.rs"]
mod database;
#[path = "golden/definitions.rs"]
mod definitions;
#[cfg(feature = "sqlite")]
#[path = "golden/frozen.rs"]
mod frozen;
#[path = "golden/jobdata.rs"]
mod jobdata;
#[path = "golden/report.rs"]
mod report;
#[cfg(feature = "sqlite")]
#[path = "golden/stored.rs"]
mod stored;
#[cfg(feature = "sqlite")]
#[path = "golden/tables.rs"]
mod tables;
#[cfg(feature = "sqlite")]
#[path = "golden/transitions.rs"]
mod transitions;
#[path = "golden/triggers.rs"]
mod triggers;
