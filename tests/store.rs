//! The conformance suite of a store, asked of every database.
//!
//! After each test the invariants are checked (`Cluster`'s drop). PostgreSQL and MySQL need a
//! server: run `./tests/run`.
#![warn(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

#[path = "store/databases.rs"]
mod databases;
#[path = "store/kit.rs"]
mod kit;

#[path = "store/stories.rs"]
mod stories;
#[path = "store/suite/mod.rs"]
mod suite;
