//! The suite on this database.

use super::databases::postgres as open;

#[path = "suite/mod.rs"]
mod suite;
