//! The engine: runs, listeners, life, cluster; on the memory store, unless a module names another.

mod cluster;
mod continuations;
mod definitions;
pub(crate) mod fixture;
mod held_up;
mod history;
mod in_code;
mod job_files;
mod life;
#[cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod outages;
mod placement;
mod policies;
mod prefetch;
mod reports;
mod reservations;
mod retries;
mod running;
#[cfg(feature = "sqlite")]
mod sqlite;
mod stories;
mod strategies;
mod submitted;
#[cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod total_outage;
