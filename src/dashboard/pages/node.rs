//! One node: what it says of itself, and what it runs.

use crate::dashboard::components::{at, badge, card, facts, job_or_dash, run_link, table, text, trigger_link, when};
use crate::dashboard::form::link;
use crate::dashboard::layout::button;
use crate::dashboard::pages::nodes::window;
use crate::dashboard::pages::running;
use crate::dashboard::view::{Page, View};
use crate::epoch::millis;
use crate::error::Result;
use crate::monitoring::{FiredState, InstanceStatus};
use crate::report::{alarms_in_words, memory_in_use, memory_in_words, node_state, percent};
use crate::span::span;
use maud::{Markup, html};

pub(super) fn page(view: &View<'_>) -> Result<Option<Page>> {
    let Some(name) = view.query.get("name") else { return Ok(None) };
    let cluster = view.cluster()?;
    let Some(node) = cluster.nodes.iter().find(|node| node.instance == name) else { return Ok(None) };
    let fires = running::find(view, FiredState::Executing, Some(name), None)?;
    let rows: Vec<Markup> = fires
        .rows
        .iter()
        .map(|fire| {
            html! {
                tr {
                    td { (job_or_dash(fire.job.as_ref())) }
                    td { (trigger_link(&fire.trigger)) }
                    td { (when(Some(fire.fire_time.timestamp_millis()), view.now_ms)) }
                    td { (run_link(&fire.fire_id)) }
                }
            }
        })
        .collect();
    Ok(Some(Page::at_work(
        format!("Node {name}"),
        html! {
            div.buttons { (button(view, "node.drain", name)) " " (button(view, "node.undrain", name)) }
            div.grid { (card("state", "State", &state(view, node))) (card("load", "Machine", &machine(node))) }
            (card("runs", "What it runs", &html! {
                (table(&["Job", "Trigger", "Fired", "Run"], &rows, "Nothing."))
                @if fires.next.is_some() { p { a href=(link("running", [("node", name)])) { "All that it runs" } } }
            }))
            p { a href=(link("history", [("node", name)])) { "What it ran" } }
        },
    )))
}

fn state(view: &View<'_>, node: &InstanceStatus) -> Markup {
    let row = node.node.as_ref();
    let info = row.map(|row| &row.info);
    facts(&[
        ("State", text(Some(&node_state(node)))),
        ("Alarms", info.and_then(alarms_in_words).map(|alarms| badge("bad", &alarms))),
        ("Check-in", Some(when(Some(node.last_checkin.timestamp_millis()), view.now_ms))),
        ("Interval", Some(html! { (span(millis(node.checkin_interval))) })),
        ("Window", Some(window(view, node))),
        ("Display name", text(info.map(|info| info.display_name.as_str()))),
        ("Name of the machine", text(info.map(|info| info.node_name.as_str()))),
        ("Role", text(info.map(|info| info.role.name()))),
        ("Labels", text(info.map(|info| info.labels.to_string()).as_deref())),
        ("Workers", info.map(|info| html! { (info.pool_size) ", " (info.free_workers) " of them free" })),
        ("Started", row.map(|row| at(Some(row.started_ms)))),
    ])
}

fn machine(node: &InstanceStatus) -> Markup {
    let Some(info) = node.node.as_ref().map(|row| &row.info) else {
        return html! { p.none { "A node of Quartz says nothing of itself." } };
    };
    let load = &info.load;
    facts(&[
        ("Application", text(Some(&info.application))),
        ("Version", text(info.application_version.as_deref())),
        ("Library", Some(html! { "carnelian " (info.library_version) })),
        ("Host", text(info.host.as_deref())),
        ("Address", text(info.ip.as_deref())),
        ("Process", Some(html! { (info.pid) })),
        ("Cores", load.cores.map(|cores| html! { (cores) })),
        ("CPU of the machine", text(percent(load.host_cpu_permille).as_deref())),
        ("CPU of the process", text(percent(load.process_cpu_permille).as_deref())),
        ("Memory of the machine", text(memory_in_use(info).as_deref())),
        ("Memory of the process", text(load.process_memory.map(memory_in_words).as_deref())),
        ("Threads", load.threads.map(|threads| html! { (threads) })),
    ])
}
