//! The description of the API, as OpenAPI has it, made from the reads and the actions themselves.

use super::actions::ACTIONS;
use super::reading::Reading;
use crate::history::FireOutcome;
use crate::trigger::{Schedule, TriggerState};
use serde_json::{Map, Value, json};

/// The description.
pub(super) fn document(readings: &[Reading]) -> Value {
    let mut paths: Map<String, Value> =
        readings.iter().map(|reading| (path(reading.name), json!({"get": read(reading)}))).collect();
    if let Some(Value::Object(actions)) = paths.get_mut(&path("actions")) {
        actions.insert("post".to_owned(), act());
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Carnelian",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "What the command line shows and does. Times are epoch milliseconds. Lists are objects with \
                `items`; `next` is the value of `after` for what follows, or null.",
        },
        "servers": [{"url": ".."}],
        "components": {"securitySchemes": {"basic": {"type": "http", "scheme": "basic"}}},
        "security": [{"basic": []}, {}],
        "paths": paths,
    })
}

fn path(name: &str) -> String {
    format!("/api/{name}")
}

fn read(reading: &Reading) -> Value {
    let parameter = |name: &&str| json!({"name": name, "in": "query", "required": false, "schema": values(name)});
    let parameters: Vec<Value> = reading.parameters.iter().map(parameter).collect();
    json!({
        "operationId": reading.name,
        "summary": reading.gives,
        "parameters": parameters,
        "responses": responses(
            json!({"description": reading.gives, "content": {"application/json": {"schema": {"type": "object"}}}}),
            &[
                ("400", "A parameter is unknown, a value is none of those that are accepted, or nothing is named"),
                ("404", "What is named does not exist"),
            ],
        ),
    })
}

/// The values that a field of a query may have.
fn values(name: &str) -> Value {
    match name {
        "outcome" => json!({"type": "string", "enum": FireOutcome::ALL.map(FireOutcome::name)}),
        "state" => json!({"type": "string", "enum": TriggerState::ALL.map(TriggerState::name)}),
        "type" => json!({"type": "string", "enum": Schedule::KINDS}),
        "since" => json!({"type": "string", "description": "A span back from now, such as 2h, or a moment"}),
        "after" => json!({"type": "string", "description": "The `next` of the part before"}),
        _ => json!({"type": "string"}),
    }
}

fn act() -> Value {
    let words: Vec<&str> = ACTIONS.iter().map(|action| action.word).collect();
    let meanings: Vec<String> =
        ACTIONS.iter().map(|action| format!("* `{}` ({}): {}", action.word, action.what[1], action.warning)).collect();
    json!({
        "operationId": "act",
        "summary": "Does something to jobs, triggers, runs or nodes",
        "description": meanings.join("\n"),
        "requestBody": {"required": true, "content": {"application/json": {"schema": {
            "type": "object",
            "required": ["do", "keys"],
            "properties": {
                "do": {"type": "string", "enum": words},
                "keys": {"type": "array", "items": {"oneOf": [
                    {"type": "string"},
                    {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
                ]}},
                "kind": {"type": "string", "description": "Of `trigger.reschedule`: cron, every, fixed-delay or at"},
                "when": {"type": "string", "description": "Of `trigger.reschedule`: an expression, a time such as 5m, a moment"},
                "zone": {"type": "string", "description": "Of `trigger.reschedule` with cron: the time zone"},
            },
        }}}},
        "responses": responses(
            json!({
                "description": "How many it changed; what was so before is not counted",
                "content": {"application/json": {"schema": {
                    "type": "object",
                    "properties": {"do": {"type": "string"}, "done": {"type": "integer"}},
                }}},
            }),
            &[
                ("400", "The document, its action or one of its values is not understood"),
                ("403", "The visitor is no operator"),
                ("404", "Something does not exist; `not_done` says for each such key why, `done` how many were changed"),
                ("409", "The scheduler refuses something; `not_done` and `done` as for 404"),
                ("413", "The document is too long"),
                ("415", "The document was not sent as JSON, or by a page of another server"),
            ],
        ),
    })
}

/// The answers of a path, with those that every path has.
fn responses(fine: Value, others: &[(&str, &str)]) -> Value {
    let everywhere = [
        ("401", "Nobody is logged in, or the password is wrong"),
        ("421", "The page is not served under this name of a host"),
        ("429", "Too many wrong passwords were tried"),
        ("503", "The database cannot be used"),
    ];
    let error = json!({"type": "object", "properties": {"error": {"type": "string"}}});
    let answer = |text: &str| json!({"description": text, "content": {"application/json": {"schema": error}}});
    let others = others.iter().chain(&everywhere).map(|(status, text)| ((*status).to_owned(), answer(text)));
    Value::Object(std::iter::once(("200".to_owned(), fine)).chain(others).collect())
}
