//! Locks of applications: who holds which, and for how long.

use crate::dashboard::components::{at, card, node_link, table};
use crate::dashboard::layout::{checkbox, selection, with_tick};
use crate::dashboard::view::{Page, View};
use crate::error::Result;
use crate::span::span;
use maud::{Markup, html};

pub(super) fn page(view: &View<'_>) -> Result<Option<Page>> {
    let (now_ms, locks) = view.store.locks().held()?;
    let rows: Vec<Markup> = locks
        .iter()
        .map(|lock| {
            html! {
                tr {
                    (checkbox(view, lock.name.as_str()))
                    td { (lock.name) }
                    td { (node_link(&lock.instance)) }
                    td.n { (lock.fence) }
                    td { (at(Some(lock.taken_ms))) }
                    td.n { (span(lock.expires_ms - now_ms)) }
                }
            }
        })
        .collect();
    let heads = with_tick(view, &["Lock", "Node", "Fence", "Taken", "Left"]);
    let list = table(&heads, &rows, "No lock is held.");
    Ok(Some(Page::new("Locks", card("locks", "Locks that are held", &selection(view, &["lock.release"], &list)))))
}
