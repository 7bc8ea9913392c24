//! A lock of the application as surfaces show it.

use crate::store::row::LockRow;
use serde_json::{Value, json};

/// The JSON form of a lock that is held.
pub fn lock(row: &LockRow) -> Value {
    json!({
        "name": row.name,
        "instance": row.instance,
        "fence": row.fence,
        "taken_ms": row.taken_ms,
        "ttl_ms": row.ttl_ms,
        "expires_ms": row.expires_ms,
    })
}
