//! What touches the taking of triggers, on this database, where due triggers are looked for without the lock.

use super::databases::postgres_fetching as open;

#[path = "taking.rs"]
mod suite;
