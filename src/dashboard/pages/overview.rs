//! The overview: how the cluster does, what needs attention, what comes next.

use super::nodes::tone;
use crate::dashboard::chart::{Axis, Series, bars, lines, short};
use crate::dashboard::components::{
    badge, card, error_line, job_or_dash, node_link, outcome, run_link, table, trigger_link, when,
};
use crate::dashboard::layout::button;
use crate::dashboard::reads::{LAST_FIRES, MOST_COUNTED};
use crate::dashboard::trends::{STEP_MS, Shown};
use crate::dashboard::view::{Page, View};
use crate::error::Result;
use crate::monitoring::{FiredState, InstanceStatus};
use crate::report::{alarms_in_words, node_state};
use crate::span::{ago, span};
use maud::{Markup, html};

pub(super) fn page(view: &View<'_>) -> Result<Option<Page>> {
    let trends = view.trends.look(view.store, view.ticks, view.now_ms)?;
    Ok(Some(Page::at_work(
        "Overview",
        html! {
            (attention(view, &view.cluster()?.nodes))
            div.grid.charts { (charts(&trends)) }
            div.grid { (due_next(view)?) (nodes(view)?) }
            (problems(view)?)
            (everything(view)?)
        },
    )))
}

/// The things that a person should look at, the worst first.
fn attention(view: &View<'_>, nodes: &[InstanceStatus]) -> Markup {
    let load = &view.load;
    let alarms = &view.store.settings().monitor.alarms;
    let mut found: Vec<(&str, Markup)> = Vec::new();
    let working = load.instances.iter().filter(|node| node.is_working()).count();
    if working == 0 {
        found.push(("bad", html! { "No living node takes work: nothing fires." }));
    } else if working < usize::try_from(alarms.min_nodes).unwrap_or(0) {
        found.push(("bad", html! { (working) " nodes take work, at least " (alarms.min_nodes) " should." }));
    }
    for node in load.instances.iter().filter(|node| !node.alive) {
        let last = ago(node.last_checkin.timestamp_millis(), view.now_ms);
        found.push((
            "bad",
            html! { "Node " (node_link(&node.instance)) " is silent: its last check-in was " (last) "." },
        ));
    }
    for node in nodes.iter().filter(|node| node.alive) {
        if let Some(raised) = node.node.as_ref().and_then(|row| alarms_in_words(&row.info)) {
            found.push(("bad", html! { "Node " (node_link(&node.instance)) " has raised: " (raised) "." }));
        }
    }
    if let (true, Some(oldest_ms)) = (load.overdue > 0, load.oldest_overdue_ms) {
        let many = if load.overdue == MOST_COUNTED { " or more" } else { "" };
        let late = span(view.now_ms.saturating_sub(oldest_ms));
        found.push(("warn", html! { (load.overdue) (many) (if load.overdue == 1 { " trigger is" } else { " triggers are" }) " overdue, the latest by " (late) "." }));
    }
    if load.parked > 0 {
        found.push((
            "warn",
            html! { a href="parked" { (load.parked) " parked" } ": work that waits for somebody to look at it." },
        ));
    }
    if let Some(since_ms) = load.recovery_since_ms {
        found.push((
            "warn",
            html! { "The cluster drains a backlog in recovery mode, since " (ago(since_ms, view.now_ms)) "." },
        ));
    }
    html! {
        section.attention #attention data-live aria-label="What needs attention" {
            @if found.is_empty() {
                p.calm { (badge("good", "all well")) " Nothing needs attention." }
            }
            ul { @for (tone, what) in &found { li.(tone) { (what) } } }
        }
    }
}

fn charts(trends: &Shown) -> Markup {
    let axis = Axis { end_ms: trends.end_ms, step_ms: STEP_MS, unknown: trends.unknown, is_open: true };
    let of = |value: fn(&crate::dashboard::trends::Step) -> f64| trends.steps.iter().map(value).collect::<Vec<_>>();
    let count = |value: f64| format!("{value:.0}");
    let time = |ms: f64| span(ms.round() as i64);
    html! {
        (bars("throughput", "Fires a minute", axis, &[
            Series { name: "succeeded", class: "good", values: of(|step| step.succeeded) },
            Series { name: "not", class: "bad", values: of(|step| step.failed) },
        ], count))
        (bars("failures", "Failures a minute", axis, &[
            Series { name: "failed, timed out, lost", class: "bad", values: of(|step| step.failed) },
        ], count))
        (lines("lateness", "Lateness", axis, &[
            Series { name: "typical", class: "busy", values: of(|step| step.typical_ms as f64) },
            Series { name: "slowest of 100", class: "warn", values: of(|step| step.slow_ms as f64) },
        ], time))
        (lines("backlog", "Backlog", axis, &[
            Series { name: "due and waiting", class: "warn", values: of(|step| step.waiting) },
        ], short))
    }
}

fn due_next(view: &View<'_>) -> Result<Markup> {
    let rows: Vec<Markup> = view.reads.due(view.store, view.ticks)?.iter().map(|trigger| {
        let next_ms = trigger.next_fire_time.map(|time| time.timestamp_millis());
        html! { tr { td { (trigger_link(&trigger.key)) } td { (job_or_dash(Some(&trigger.job))) } td { (when(next_ms, view.now_ms)) } } }
    }).collect();
    Ok(card("due", "Due next", &table(&["Trigger", "Job", "Fires"], &rows, "No trigger waits for a time.")))
}

fn nodes(view: &View<'_>) -> Result<Markup> {
    let rows: Vec<Markup> = view
        .cluster()?
        .nodes
        .iter()
        .map(|node| {
            let checked_in = when(Some(node.last_checkin.timestamp_millis()), view.now_ms);
            html! { tr { td { (node_link(&node.instance)) } td {
                (badge(tone(node), &node_state(node)))
                @if node.alive && !node.takes_work { " takes no work" }
            } td.n { (node.running) } td { (checked_in) } } }
        })
        .collect();
    Ok(card("nodes", "Nodes", &table(&["Node", "State", "Running", "Check-in"], &rows, "No node has ever checked in.")))
}

fn problems(view: &View<'_>) -> Result<Markup> {
    let rows: Vec<Markup> = view
        .reads
        .failures(view.store, view.ticks)?
        .iter()
        .map(|row| {
            html! {
                tr {
                    td { (when(Some(row.ended_ms), view.now_ms)) }
                    td { (outcome(row.outcome)) }
                    td { (job_or_dash(row.job.as_ref())) }
                    td.wide { (error_line(row.error.as_deref())) }
                    td { (run_link(&row.fire_id)) }
                }
            }
        })
        .collect();
    Ok(card(
        "problems",
        "Last failures",
        &table(
            &["Ended", "Outcome", "Job", "Error", "Run"],
            &rows,
            &format!("None of the last {LAST_FIRES} fires has failed."),
        ),
    ))
}

/// The actions on all triggers at once.
fn everything(view: &View<'_>) -> Result<Markup> {
    let cluster = view.cluster()?;
    let fires = &cluster.fires;
    let running = fires.iter().filter(|fire| fire.state == FiredState::Executing).count();
    let name = view.store.settings().scheduler.instance_name.as_str();
    Ok(html! {
        div.below {
            a href="running" { (running) " running" } ", " (fires.len() - running) " reserved. "
            (button(view, "all.pause", name)) " " (button(view, "all.resume", name))
        }
    })
}
