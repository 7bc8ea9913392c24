//! The stories of taking triggers, on this database, where due triggers are taken by locking their
//! rows.

use super::databases::mysql_claiming as open;

#[path = "taking.rs"]
mod suite;
