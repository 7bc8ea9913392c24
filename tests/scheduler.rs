//! The engine: runs, listeners, life, cluster; on the memory store, but for what says otherwise.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

#[path = "scheduler/cluster.rs"]
mod cluster;
#[path = "scheduler/continuations.rs"]
mod continuations;
#[path = "scheduler/definitions.rs"]
mod definitions;
#[path = "scheduler/fixture.rs"]
mod fixture;
#[path = "scheduler/history.rs"]
mod history;
#[path = "scheduler/in_code.rs"]
mod in_code;
#[path = "scheduler/job_files.rs"]
mod job_files;
#[path = "scheduler/life.rs"]
mod life;
#[cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql"))]
#[path = "scheduler/outages.rs"]
mod outages;
#[path = "scheduler/placement.rs"]
mod placement;
#[path = "scheduler/policies.rs"]
mod policies;
#[path = "scheduler/reports.rs"]
mod reports;
#[path = "scheduler/reservations.rs"]
mod reservations;
#[path = "scheduler/retries.rs"]
mod retries;
#[path = "scheduler/running.rs"]
mod running;
#[cfg(feature = "sqlite")]
#[path = "scheduler/sqlite.rs"]
mod sqlite;
#[path = "scheduler/stories.rs"]
mod stories;
#[path = "scheduler/strategies.rs"]
mod strategies;
mod support;
#[path = "scheduler/taking_ahead.rs"]
mod taking_ahead;
#[cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql"))]
#[path = "scheduler/total_outage.rs"]
mod total_outage;
