//! Outages: the times in which no node took work, and what was missed.

use crate::dashboard::components::{at, card, facts, table, when};
use crate::dashboard::view::{Page, View};
use crate::error::Result;
use crate::span::span;
use maud::{Markup, html};

pub(super) fn page(view: &View<'_>) -> Result<Option<Page>> {
    let rows: Vec<Markup> = view
        .store
        .outages()
        .list()?
        .iter()
        .map(|outage| {
            html! {
                tr {
                    td { (at(Some(outage.began_ms))) }
                    td { (at(Some(outage.ended_ms))) }
                    td.n { (span(outage.ended_ms - outage.began_ms)) }
                    td { (outage.instance) }
                    td.n { (outage.overdue) @if outage.uncounted { "+" } }
                    td.n { (outage.fire_now) }
                    td.n { (outage.fire_each) }
                    td.n { (outage.skipped) }
                    td.n { (outage.interrupted) }
                }
            }
        })
        .collect();
    let heads = ["From", "To", "For", "Ended by", "Overdue", "Fire now", "Fire each", "Skipped", "Interrupted"];
    let mode = view.store.outages().recovery_mode()?;
    Ok(Some(Page::new(
        "Outages",
        html! {
            (card("outages", "Times in which no node took work", &table(&heads, &rows, "No total outage is known.")))
            (card("recovery", "Recovery mode", &html! {
                @match &mode {
                    None => { p.none { "The recovery mode is off." } }
                    Some(mode) => { (facts(&[
                        ("Since", Some(when(mode.since_ms, view.now_ms))),
                        ("Begun by", Some(html! { (mode.begun_by) })),
                        ("Overdue then", Some(html! { (mode.backlog) })),
                        ("Overdue now", Some(html! { (view.load.overdue) })),
                    ])) }
                }
            }))
        },
    )))
}
