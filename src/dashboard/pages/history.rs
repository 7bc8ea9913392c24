//! The history: the runs that have ended, filtered, in pages.

use crate::dashboard::components::{card, error_line, job_or_dash, outcome, run_link, table, trigger_link, when};
use crate::dashboard::form::Fields;
use crate::dashboard::layout::{checkbox, more, selection, with_tick, within};
use crate::dashboard::search::{Found, has_words, one_of, rows_to_read, sift, since};
use crate::dashboard::view::{Page, View};
use crate::error::{Error, Result};
use crate::history::{FireOutcome, HistoryQuery, HistoryRow};
use crate::key::{JobKey, TriggerKey, distinct};
use crate::listing::Page as Listed;
use crate::settings::scrub;
use crate::span::span;
use crate::store::JobStore;
use maud::{Markup, html};

/// The runs that a query asks for. Job, trigger and time have an index; what else is asked for is
/// looked for among a bounded number of runs.
pub(in crate::dashboard) fn find(store: &JobStore, query: &Fields, now_ms: i64) -> Result<Found<HistoryRow, String>> {
    let outcome = one_of(query, "outcome", &FireOutcome::ALL.map(FireOutcome::name))?;
    let (node, error) = (query.get("node"), query.get("error"));
    let limit = rows_to_read(outcome.is_some() || node.or(error).is_some());
    let mut asked = HistoryQuery::new().limit(limit + 1);
    if let (Some(group), Some(name)) = (query.get("group"), query.get("name")) {
        asked = asked.job(JobKey::new(group, name));
    }
    if let Some(key) = query.get("job") {
        asked = asked.job(key.parse()?);
    }
    if let (Some(group), Some(name)) = (query.get("trigger_group"), query.get("trigger_name")) {
        asked = asked.trigger(TriggerKey::new(group, name));
    }
    if let Some(since) = since(query, now_ms)? {
        asked = asked.since(since);
    }
    if let Some(fire) = query.get("after") {
        let last = store.history().find(&HistoryQuery::new().fire(fire))?;
        asked = asked.after(last.first().ok_or_else(|| Error::not_found("fire in the history", fire))?);
    }
    let read = Listed::of(store.history().find(&asked)?, Some(limit));
    Ok(sift(
        read,
        |row| row.fire_id.clone(),
        |row| {
            outcome.is_none_or(|outcome| row.outcome.name() == outcome)
                && node.is_none_or(|node| row.instance.as_deref() == Some(node))
                && error
                    .is_none_or(|error| row.error.as_deref().is_some_and(|text| has_words(&scrub(text), Some(error))))
        },
    ))
}

pub(super) fn page(view: &View<'_>) -> Result<Option<Page>> {
    let found = find(view.store, &view.query, view.now_ms)?;
    Ok(Some(Page::new(
        "History",
        html! {
            (filter(view))
            (card("history", "The newest first", &html! {
                (selection(view, &["run.retry"], &list(view, &found.rows, true)))
                (more("history", view, "after", found.next.as_deref()))
                @if found.next.is_some() && found.read > found.rows.len() { p.dim { (found.read) " runs were looked at." } }
            }))
        },
    )))
}

/// A table of runs, with boxes to tick if it is a selection.
pub(super) fn list(view: &View<'_>, rows: &[HistoryRow], is_selection: bool) -> Markup {
    let heads = ["Ended", "Outcome", "Job", "Trigger", "Node", "Took", "Attempt", "Error", "Run"];
    let heads = if is_selection { with_tick(view, &heads) } else { heads.to_vec() };
    // Most one-shots are gone by now: a link would lead nowhere, as all do if nobody can say.
    let keys = distinct(rows.iter().map(|row| &row.trigger));
    let there = view.store.catalogue().existing_triggers(&keys).unwrap_or_default();
    let trigger = |key: &TriggerKey| {
        if there.contains(key) {
            trigger_link(key)
        } else {
            html! { (key) }
        }
    };
    let rows: Vec<Markup> = rows
        .iter()
        .map(|row| {
            html! {
                tr {
                    @if is_selection { (checkbox(view, row.fire_id.as_str())) }
                    td { @if row.is_running() { "runs" } @else { (when(Some(row.ended_ms), view.now_ms)) } }
                    td { (outcome(row.outcome)) }
                    td { (job_or_dash(row.job.as_ref())) }
                    td { (trigger(&row.trigger)) }
                    td { (row.instance.as_deref().unwrap_or("–")) }
                    td.n { (row.run_ms.map(span).unwrap_or_default()) }
                    td.n { (row.attempt) }
                    td.wide { (error_line(row.error.as_deref())) }
                    td { (run_link(&row.fire_id)) }
                }
            }
        })
        .collect();
    table(&heads, &rows, "No run is as you asked for.")
}

fn filter(view: &View<'_>) -> Markup {
    let chosen = |field: &str, value: &str| view.query.get(field) == Some(value);
    html! {
        form.filter method="get" action="history" role="search" {
            @for name in ["group", "name", "trigger_group", "trigger_name"] {
                @if let Some(value) = view.query.get(name) { input type="hidden" name=(name) value=(value); }
            }
            label { "Job, as group.name" input type="search" name="job" value=[view.query.get("job")]; }
            label { "Outcome" select name="outcome" {
                option value="" { "any" }
                @for one in FireOutcome::ALL { option value=(one.name()) selected[chosen("outcome", one.name())] { (one.name().replace('_', " ")) } }
            } }
            label { "Node" input name="node" value=[view.query.get("node")]; }
            label { "Words of the error" input name="error" value=[view.query.get("error")]; }
            (within(view))
            button.plain { "Search" }
        }
    }
}
