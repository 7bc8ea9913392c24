//! The conformance suite of a store, asked of every database: [`store/suite`] is compiled for each.
//!
//! After each test the invariants are checked (`Cluster`'s drop). PostgreSQL and MySQL need a
//! server: run `./tests/run`.
#![warn(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::duplicate_mod, reason = "the suite is compiled for each database")]

mod support;

#[path = "store/databases.rs"]
mod databases;
#[path = "store/kit.rs"]
mod kit;

#[path = "store/on_memory.rs"]
mod memory;
#[cfg(feature = "mysql")]
#[path = "store/on_mysql.rs"]
mod mysql;
#[cfg(feature = "mysql")]
#[path = "store/on_mysql_claiming.rs"]
mod mysql_claiming;
#[cfg(feature = "postgres")]
#[path = "store/on_postgres.rs"]
mod postgres;
#[cfg(feature = "postgres")]
#[path = "store/on_postgres_claiming.rs"]
mod postgres_claiming;
#[cfg(feature = "sqlite")]
#[path = "store/on_sqlite.rs"]
mod sqlite;
