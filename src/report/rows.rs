//! Rows as surfaces show them, as JSON: actions, locks, outages, and parked work.

use crate::history::ActionRow;
use crate::store::row::{LockRow, Outage, Parked};
use serde_json::{Value, json};

/// The JSON form of an action.
pub fn action(row: &ActionRow) -> Value {
    json!({
        "action_id": row.action_id,
        "ms": row.made_ms,
        "actor": row.actor,
        "node": row.node,
        "action": row.action,
        "kind": row.kind,
        "subject": row.subject,
        "detail": row.detail,
    })
}

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
