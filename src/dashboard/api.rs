//! The API: the reads of the command line and its actions, as JSON.

use super::actions::{self, MOST_SUBJECTS, Order};
use super::errors::{answer, of_store};
use super::form::Fields;
use super::hosts;
use super::keys::{Subject, told};
use super::login::Login;
use super::new_schedule::NewSchedule;
use super::one_by_one::one_by_one;
use super::openapi;
use super::pages::{actions as log_of_actions, history, jobs, masked, parked, running, triggers};
use super::reading::{Reading, reading};
use super::request::Request;
use super::response::Response;
use super::search::Cursor;
use super::view::View;
use crate::error::{Error, Result};
use crate::job::{Continuation, JobDetail};
use crate::key::{JobKey, TriggerKey};
use crate::listing::TriggerQuery;
use crate::report;
use crate::settings::scrub;
use crate::store::JobStore;
use serde_json::{Value, json};

/// Every read. Lists are objects with `items`, and `next` where there is more.
const READINGS: &[Reading] = &[
    reading("overview", "The load of the cluster", &[], |view| Ok(Some(overview(view)))),
    reading("cluster", "The nodes", &[], |view| items(view.cluster()?.nodes.iter().map(report::node))),
    reading("running", "The fires that run", &["node", "after"], |view| {
        let found = running::executing(view)?;
        paged(found.rows.iter().map(report::fire), found.next)
    }),
    reading("triggers", "Triggers, in order of name", &["q", "job", "state", "type", "after"], |view| {
        let found = triggers::find(view.store, &view.query)?;
        paged(found.rows.iter().map(report::trigger_summary), found.next.map(|cursor| cursor.to_field()))
    }),
    reading("trigger", "A trigger", &["key", "group", "name"], trigger),
    reading("explain", "Why a trigger is not running", &["key", "group", "name"], |view| {
        let Some(key) = trigger_key(&view.query)? else { return Ok(None) };
        Ok(Some(report::explanation(&view.store.diagnosis().explain(&key)?)))
    }),
    reading("jobs", "Jobs, in order of name", &["q", "tag", "owner", "biz_key", "after"], |view| {
        let found = jobs::find(view.store, &view.query)?;
        let job = |job: &JobDetail| Value::Object(report::job(job));
        paged(found.rows.iter().map(job), found.next.map(|cursor| Cursor::to_field(&cursor)))
    }),
    reading("job", "A job", &["key", "group", "name"], job),
    reading(
        "history",
        "Runs that have ended, the newest first",
        &["job", "group", "name", "trigger_group", "trigger_name", "outcome", "node", "error", "since", "after"],
        |view| {
            let found = history::find(view.store, &view.query, view.now_ms)?;
            paged(found.rows.iter().map(report::run), found.next)
        },
    ),
    reading("run", "A run", &["fire"], |view| {
        let record = view.query.get("fire").map(|fire| view.store.history().run_record(fire)).transpose()?.flatten();
        Ok(record.map(|record| report::run_record(&record)))
    }),
    reading("calendars", "The calendars", &[], |view| {
        items(report::calendars(view.store, view.store.catalogue().calendar_names()?)?.iter().map(report::calendar))
    }),
    reading("continuations", "Which jobs follow which", &[], |view| {
        items(view.store.catalogue().continuations()?.iter().map(continuation))
    }),
    reading("parked", "Parked work", &["after"], |view| {
        let found = parked::find(view)?;
        paged(found.rows.iter().map(report::parked), found.next)
    }),
    reading("outages", "The times in which no node took work", &[], |view| {
        items(view.store.outages().list()?.iter().map(report::outage))
    }),
    reading(
        "actions",
        "The log of actions, the newest first",
        &["subject", "kind", "actor", "action", "since", "after"],
        |view| {
            let found = log_of_actions::find(view.store, &view.query, view.now_ms)?;
            paged(found.rows.iter().map(report::action), found.next)
        },
    ),
    reading("locks", "The locks that are held", &[], |view| {
        items(view.store.locks().held()?.1.iter().map(report::lock))
    }),
];

/// The answer to a read.
pub(super) fn read(view: &View<'_>, request: &Request, name: &str) -> Response {
    if name == "openapi.json" {
        return Response::json(200, &openapi::document(READINGS));
    }
    let Some(reading) = READINGS.iter().find(|reading| reading.name == name) else {
        return answer(request, 404, "there is no such read: see /api/openapi.json");
    };
    if let Some(other) = view.query.names().find(|name| !reading.parameters.contains(name)) {
        let expected = match reading.parameters {
            [] => "this read has no parameters".to_owned(),
            names => format!("expected one of {}", names.join(", ")),
        };
        return answer(request, 400, &format!("parameter `{other}`: {expected}"));
    }
    let (subject, key) = (reading.subject(), told(&view.query));
    if let (Some((what, fields)), None) = (subject, &key) {
        return answer(request, 400, &format!("the query names no {what}: expected {fields}"));
    }
    match (reading.read)(view) {
        Ok(Some(mut document)) => {
            veil(&mut document, view.may_act());
            Response::json(200, &document)
        }
        Ok(None) | Err(Error::NotFound { .. }) if subject.is_some() => {
            let what = subject.map_or("", |(what, _)| what);
            answer(request, 404, &report::missing(view.store, what, &key.unwrap_or_default()))
        }
        Ok(None) => answer(request, 404, "what is asked for does not exist"),
        Err(error) => of_store(request, &error),
    }
}

/// Does what a document `{"do": …, "keys": […]}` says.
pub(super) fn act(store: &JobStore, request: &Request, login: &Login) -> Response {
    if !login.may_act() {
        return answer(request, 403, "only operators may do that");
    }
    // A page of another server can send a form in the visitor's name, but no JSON.
    let is_json = request.get("content-type").is_some_and(|kind| kind.starts_with("application/json"));
    if !is_json || !hosts::is_same_origin(request) {
        return answer(request, 415, "send a document with `Content-Type: application/json`");
    }
    let document: Value = match serde_json::from_slice(&request.body) {
        Ok(document) => document,
        Err(error) => return answer(request, 400, &format!("the body is no JSON document: {error}")),
    };
    let Some(action) = document.get("do").and_then(Value::as_str).and_then(actions::find) else {
        let words: Vec<&str> = actions::ACTIONS.iter().map(|action| action.word).collect();
        return answer(request, 400, &format!("`do`: expected one of {}", words.join(", ")));
    };
    let keys = document.get("keys").and_then(Value::as_array);
    let Some(subjects) = keys.and_then(|keys| keys.iter().map(Subject::of).collect::<Option<Vec<_>>>()) else {
        return answer(request, 400, "`keys`: expected a list of names, `group.name`, or [group, name]");
    };
    let new_schedule = NewSchedule::read(|name| document.get(name).and_then(Value::as_str));
    let order = Order { subjects: &subjects, actor: login.name(), new_schedule: new_schedule.as_ref() };
    let (done, reasons) = match one_by_one(store, action, &order) {
        Ok(done) => done,
        Err(error) => return of_store(request, &error),
    };
    let Some((_, first)) = reasons.first() else {
        return Response::json(200, &json!({"do": action.word, "done": done}));
    };
    let (asked, left) = (subjects.len(), reasons.len());
    let error = if asked == 1 { first.text.clone() } else { format!("{left} of {asked} not done: {}", first.text) };
    let statuses = || reasons.iter().map(|(_, reason)| reason.status);
    let status = statuses().find(|status| *status >= 500).or_else(|| statuses().find(|status| *status == 404));
    let key = |at: &usize| keys.and_then(|keys| keys.get(*at));
    let not_done: Vec<Value> =
        reasons.iter().map(|(at, reason)| json!({"key": key(at), "error": reason.text})).collect();
    let document = json!({"error": error, "do": action.word, "done": done, "not_done": not_done});
    Response::json(status.unwrap_or(first.status), &document)
}

fn items(items: impl Iterator<Item = Value>) -> Result<Option<Value>> {
    paged(items, None)
}

fn paged(items: impl Iterator<Item = Value>, next: Option<String>) -> Result<Option<Value>> {
    Ok(Some(json!({"items": items.collect::<Vec<_>>(), "next": next})))
}

fn overview(view: &View<'_>) -> Value {
    let load = &view.load;
    json!({
        "now_ms": view.now_ms,
        "overdue": load.overdue,
        "oldest_overdue_ms": load.oldest_overdue_ms,
        "parked": load.parked,
        "recovery_since_ms": load.recovery_since_ms,
        "nodes": load.instances.iter().filter(|node| node.alive).count(),
        "working_nodes": load.instances.iter().filter(|node| node.is_working()).count(),
        "silent_nodes": load.instances.iter().filter(|node| !node.alive).count(),
    })
}

/// The key that a query names: whole, or in its two parts.
fn trigger_key(query: &Fields) -> Result<Option<TriggerKey>> {
    match (query.get("key"), query.get("group"), query.get("name")) {
        (Some(key), ..) => key.parse().map(Some),
        (None, Some(group), Some(name)) => Ok(Some(TriggerKey::new(group, name))),
        _ => Ok(None),
    }
}

fn trigger(view: &View<'_>) -> Result<Option<Value>> {
    let Some(key) = trigger_key(&view.query)? else { return Ok(None) };
    let catalogue = view.store.catalogue();
    let (Some(trigger), Some(state)) = (catalogue.trigger(&key)?, catalogue.trigger_state(&key)?) else {
        return Ok(None);
    };
    Ok(Some(report::trigger(&trigger, state)))
}

fn job(view: &View<'_>) -> Result<Option<Value>> {
    let Some(key) = trigger_key(&view.query)? else { return Ok(None) };
    let key = JobKey::new(key.group(), key.name());
    let Some(job) = view.store.catalogue().job(&key)? else { return Ok(None) };
    let mut document = report::job(&job);
    document.insert("data".to_owned(), report::job_data(job.data()));
    let its = view.store.catalogue().list_triggers(&TriggerQuery::new().job(key).limit(MOST_SUBJECTS))?;
    let last = its.items.last().filter(|_| its.has_more);
    document.insert("triggers_next".to_owned(), json!(last.map(|trigger| triggers::cursor(trigger).to_field())));
    let mut keys: Vec<&TriggerKey> = its.items.iter().map(|trigger| &trigger.key).collect();
    keys.sort_by_key(|key| (key.group(), key.name()));
    document.insert("triggers".to_owned(), keys.into_iter().map(ToString::to_string).collect());
    Ok(Some(Value::Object(document)))
}

fn continuation(one: &Continuation) -> Value {
    json!({"parent": one.parent().to_string(), "child": one.child().to_string(), "on": one.follows_on().name()})
}

/// Takes from a document what its reader may not see: data, results and logs are for operators, and
/// what looks like a secret is masked in them and in errors.
fn veil(document: &mut Value, is_operator: bool) {
    match document {
        Value::Array(items) => items.iter_mut().for_each(|item| veil(item, is_operator)),
        Value::Object(entries) => {
            for (name, value) in entries.iter_mut() {
                match (name.as_str(), value) {
                    ("data" | "result" | "log", value) if !is_operator => *value = Value::Null,
                    ("data", Value::Object(data)) => {
                        for (name, value) in data.iter_mut() {
                            *value = Value::String(masked(name, value.as_str().unwrap_or_default()));
                        }
                    }
                    ("result" | "error" | "message", Value::String(text)) => *text = scrub(text),
                    (_, value) => veil(value, is_operator),
                }
            }
        }
        _ => {}
    }
}
