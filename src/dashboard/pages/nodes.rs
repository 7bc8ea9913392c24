//! Nodes: their check-ins against their windows, their load, and who takes no work.

use crate::dashboard::components::{at, badge, card, node_link, table, when};
use crate::dashboard::layout::{checkbox, selection, with_tick};
use crate::dashboard::view::{Page, View};
use crate::epoch::millis;
use crate::error::Result;
use crate::monitoring::InstanceStatus;
use crate::report::{alarms_in_words, memory_in_use, node_state, percent};
use crate::span::span;
use maud::{Markup, html};

pub(super) fn page(view: &View<'_>) -> Result<Option<Page>> {
    let cluster = view.cluster()?;
    let heads = with_tick(
        view,
        &["Node", "State", "Check-in", "Window", "Running", "Workers", "CPU", "Memory", "Labels", "Version"],
    );
    let rows: Vec<Markup> = cluster.nodes.iter().map(|node| row(view, node)).collect();
    let list = table(&heads, &rows, "No node has ever checked in.");
    Ok(Some(Page::at_work(
        "Nodes",
        html! {
            (card("nodes", "In order of name", &selection(view, &["node.drain", "node.undrain"], &list)))
            (card("bars", "Who takes no work", &bars(view)?))
            (card("limits", "Limits of groups", &limits(view)?))
        },
    )))
}

fn row(view: &View<'_>, node: &InstanceStatus) -> Markup {
    let info = node.node.as_ref().map(|row| &row.info);
    html! {
        tr {
            (checkbox(view, node.instance.as_str()))
            td { (node_link(&node.instance)) }
            td { (badge(tone(node), &node_state(node))) @if let Some(alarms) = info.and_then(alarms_in_words) { " " (badge("bad", &alarms)) } }
            td { (when(Some(node.last_checkin.timestamp_millis()), view.now_ms)) }
            td { (window(view, node)) }
            td.n { (node.running) }
            td.n { @if let Some(info) = info { (info.busy_workers()) " of " (info.pool_size) } }
            td.n { (info.and_then(|info| percent(info.load.host_cpu_permille)).unwrap_or_default()) }
            td.n { (info.and_then(memory_in_use).unwrap_or_default()) }
            td { (info.map(|info| info.labels.to_string()).unwrap_or_default()) }
            td { @if node.foreign { "Quartz" } @else { (info.map_or("", |info| info.library_version.as_str())) } }
        }
    }
}

/// The colour of a node's state.
pub(super) fn tone(node: &InstanceStatus) -> &'static str {
    match (node.alive, node.takes_work) {
        (false, _) => "bad",
        (_, true) => "good",
        _ => "warn",
    }
}

/// The part that has gone by of the time after which the node is declared dead.
pub(super) fn window(view: &View<'_>, node: &InstanceStatus) -> Markup {
    let store = &view.store.settings().job_store;
    let all_ms = millis(node.checkin_interval) + millis(store.checkin_misfire_threshold);
    let gone_ms = (view.now_ms - node.last_checkin.timestamp_millis()).clamp(0, all_ms);
    html! { meter aria-label="Silence against the window" min="0" max=(all_ms) high=(all_ms / 2) optimum="0" value=(gone_ms) title=(format!("{} of {}", span(gone_ms), span(all_ms))) {} }
}

fn bars(view: &View<'_>) -> Result<Markup> {
    let rows: Vec<Markup> = view
        .store
        .placement()
        .blacklist_rows()?
        .iter()
        .map(|bar| {
            html! {
                tr {
                    td { (bar.node) }
                    td { (bar.kind.name()) }
                    td { (bar.who) }
                    td { (at(Some(bar.made_ms))) }
                    td { (when(bar.until_ms, view.now_ms)) }
                    td.wide { (bar.reason.as_deref().unwrap_or_default()) }
                }
            }
        })
        .collect();
    Ok(table(&["Node", "Kind", "By", "Since", "Until", "Reason"], &rows, "Every node takes work."))
}

fn limits(view: &View<'_>) -> Result<Markup> {
    let most = |limit: Option<u32>| limit.map_or_else(|| "–".to_owned(), |limit| limit.to_string());
    let rows: Vec<Markup> = view.store.placement().group_limits()?.iter().map(|limit| html! {
        tr { td { (limit.group) } td.n { (most(limit.per_node)) } td.n { (most(limit.per_cluster)) } td { (limit.who) } td { (at(Some(limit.made_ms))) } }
    }).collect();
    Ok(table(&["Group of jobs", "On each node", "In the cluster", "By", "Since"], &rows, "No group is limited."))
}
