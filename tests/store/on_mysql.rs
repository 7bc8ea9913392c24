//! The suite on this database.

use super::databases::mysql as open;

#[path = "suite/mod.rs"]
mod suite;
