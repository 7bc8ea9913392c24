//! An action as surfaces show it: its row of the log, as JSON.

use crate::history::ActionRow;
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
