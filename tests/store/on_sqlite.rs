//! The suite on this database.

use super::databases::sqlite as open;

#[path = "suite/mod.rs"]
mod suite;
