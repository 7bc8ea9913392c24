//! Parked work: what is set aside until a person has looked at it.

use crate::dashboard::components::{card, job_link, run_link, table, trigger_link, when};
use crate::dashboard::layout::{checkbox, selection, with_tick};
use crate::dashboard::view::{Page, View};
use crate::error::Result;
use maud::{Markup, html};

pub(super) fn page(view: &View<'_>) -> Result<Option<Page>> {
    let rows: Vec<Markup> = view
        .store
        .catalogue()
        .parked()?
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
            (card("parked", "The oldest first", &selection(view, &["parked.retry", "parked.delete"], &list)))
        },
    )))
}
