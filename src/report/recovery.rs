//! Parked work and outages as surfaces show them.

use crate::store::row::{Outage, Parked};
use serde_json::{Value, json};

/// The JSON form of parked work.
pub fn parked(work: &Parked) -> Value {
    json!({
        "key": work.key.to_string(),
        "trigger": work.key.to_string(),
        "job": work.job.to_string(),
        "fire_id": work.fire_id,
        "reason": work.reason,
        "takeovers": work.takeovers,
        "since_ms": work.since.timestamp_millis(),
    })
}

/// The JSON form of an outage.
pub fn outage(outage: &Outage) -> Value {
    json!({
        "began_ms": outage.began_ms,
        "ended_ms": outage.ended_ms,
        "instance": outage.instance,
        "overdue": outage.overdue,
        "uncounted": outage.uncounted,
        "fire_now": outage.fire_now,
        "fire_each": outage.fire_each,
        "skipped": outage.skipped,
        "unreadable": outage.unreadable,
        "interrupted": outage.interrupted,
    })
}
