//! Parked work: what is set aside until a person has looked at it.

use crate::dashboard::actions::MOST_SUBJECTS;
use crate::dashboard::components::{card, job_link, run_link, table, trigger_link, when};
use crate::dashboard::layout::{checkbox, more, selection, with_tick};
use crate::dashboard::search::{Found, all_of, place};
use crate::dashboard::view::{Page, View};
use crate::error::Result;
use crate::recovery::Parked;
use maud::{Markup, html};
use serde_json::json;

/// The parked work behind a place, as much as one action may be for.
pub(in crate::dashboard) fn find(view: &View<'_>) -> Result<Found<Parked, String>> {
    let (since_ms, group, name) = place(&view.query)?.unwrap_or((i64::MIN, String::new(), String::new()));
    let page = view.store.catalogue().parked_page(None, (since_ms, &group, &name), Some(MOST_SUBJECTS))?;
    Ok(all_of(page, |work| json!([work.since.timestamp_millis(), work.key.group(), work.key.name()])))
}

pub(super) fn page(view: &View<'_>) -> Result<Option<Page>> {
    let found = find(view)?;
    let rows: Vec<Markup> = found
        .rows
        .iter()
        .map(|work| {
            html! {
                tr {
                    (checkbox(view, &work.key))
                    td { (trigger_link(&work.key)) }
                    td { (job_link(&work.job)) }
                    td { (when(Some(work.since.timestamp_millis()), view.now_ms)) }
                    td.n { (work.takeovers) }
                    td.wide { (work.reason) }
                    td { @if let Some(fire) = &work.fire_id { (run_link(fire)) } }
                }
            }
        })
        .collect();
    let heads = with_tick(view, &["Trigger", "Job", "Since", "Take-overs", "Why", "Run"]);
    let list = table(&heads, &rows, "No work is parked.");
    Ok(Some(Page::new(
        "Parked work",
        html! {
            p.lead { "Work that was taken over too often from runs that died, and work that could not be stored." }
            (card("parked", "The oldest first", &html! {
                (selection(view, &["parked.retry", "parked.delete"], &list))
                (more("parked", view, "after", found.next.as_deref()))
            }))
        },
    )))
}
