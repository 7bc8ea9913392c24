//! The suite on this database.

use super::databases::memory as open;

#[path = "suite/mod.rs"]
mod suite;
