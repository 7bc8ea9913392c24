//! The history: the runs that have ended, filtered, in pages.

use crate::dashboard::components::{card, first_line, job_or_dash, outcome, run_link, table, trigger_link, when};
use crate::dashboard::form::Fields;
use crate::dashboard::layout::{checkbox, more, selection, with_tick};
use crate::dashboard::search::PAGE;
use crate::dashboard::view::{Page, View};
use crate::dashboard::words::span;
use crate::epoch::moment;
use crate::error::Result;
use crate::history::{FireOutcome, HistoryQuery, HistoryRow};
use crate::key::{JobKey, TriggerKey};
use crate::store::JobStore;
use maud::{Markup, html};

/// The spans of time back from now that can be chosen.
const SINCE: [(&str, i64); 5] =
    [("15m", 900_000), ("1h", 3_600_000), ("6h", 21_600_000), ("1d", 86_400_000), ("7d", 604_800_000)];

/// The runs that a query asks for, one more than a page has if there are more.
pub(in crate::dashboard) fn find(store: &JobStore, query: &Fields, now_ms: i64) -> Result<(Vec<HistoryRow>, bool)> {
    let mut asked = HistoryQuery::new().limit(PAGE + 1);
    if let (Some(group), Some(name)) = (query.get("group"), query.get("name")) {
        asked = asked.job(JobKey::new(group, name));
    }
    if let Some(key) = query.get("job") {
        asked = asked.job(key.parse()?);
    }
    if let (Some(group), Some(name)) = (query.get("trigger_group"), query.get("trigger_name")) {
        asked = asked.trigger(TriggerKey::new(group, name));
    }
    if let Some(name) = query.get("outcome").and_then(FireOutcome::from_name) {
        asked = asked.outcome(name);
    }
    if let Some(instance) = query.get("node") {
        asked = asked.instance(instance);
    }
    if let Some(error) = query.get("error") {
        asked = asked.error(error);
    }
    if let Some((_, back_ms)) = SINCE.iter().find(|(name, _)| query.get("since") == Some(name)) {
        asked = asked.since(moment(now_ms - back_ms));
    }
    if let Some(fire) = query.get("after") {
        match store.history().find(&HistoryQuery::new().fire(fire))?.first() {
            Some(last) => asked = asked.after(last),
            // The row is forgotten, and all before it with it.
            None => return Ok((Vec::new(), false)),
        }
    }
    let mut rows = store.history().find(&asked)?;
    let is_cut = rows.len() > PAGE;
    rows.truncate(PAGE);
    Ok((rows, is_cut))
}

pub(super) fn page(view: &View<'_>) -> Result<Option<Page>> {
    let (rows, is_cut) = find(view.store, &view.query, view.now_ms)?;
    let next = rows.last().filter(|_| is_cut).map(|row| row.fire_id.as_str());
    Ok(Some(Page::new(
        "History",
        html! {
            (filter(view))
            (card("history", "The newest first", &html! {
                (selection(view, &["run.retry"], &list(view, &rows, true)))
                (more("history", view, "after", next))
            }))
        },
    )))
}

/// A table of runs, with boxes to tick if it is a selection.
pub(super) fn list(view: &View<'_>, rows: &[HistoryRow], is_selection: bool) -> Markup {
    let heads = ["Ended", "Outcome", "Job", "Trigger", "Node", "Took", "Attempt", "Error", "Run"];
    let heads = if is_selection { with_tick(view, &heads) } else { heads.to_vec() };
    let rows: Vec<Markup> = rows
        .iter()
        .map(|row| {
            html! {
                tr {
                    @if is_selection { (checkbox(view, row.fire_id.as_str())) }
                    td { @if row.is_running() { "runs" } @else { (when(Some(row.ended_ms), view.now_ms)) } }
                    td { (outcome(row.outcome)) }
                    td { (job_or_dash(row.job.as_ref())) }
                    td { (trigger_link(&row.trigger)) }
                    td { (row.instance.as_deref().unwrap_or("–")) }
                    td.n { (row.run_ms.map(span).unwrap_or_default()) }
                    td.n { (row.attempt) }
                    td.wide { (first_line(row.error.as_deref().unwrap_or_default())) }
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
            label { "Text of the error" input name="error" value=[view.query.get("error")]; }
            label { "Within" select name="since" {
                option value="" { "all time" }
                @for (name, _) in SINCE { option value=(name) selected[chosen("since", name)] { (name) } }
            } }
            button.plain { "Search" }
        }
    }
}
