//! Running: the fires that run in the cluster, with their progress and their silence.

use crate::dashboard::actions::MOST_SUBJECTS;
use crate::dashboard::components::{badge, card, job_or_dash, node_link, run_link, table, trigger_link, when};
use crate::dashboard::layout::{checkbox, more, selection, with_tick};
use crate::dashboard::search::{Found, all_of, place};
use crate::dashboard::view::{Page, View};
use crate::epoch::millis;
use crate::error::Result;
use crate::listing;
use crate::monitoring::{FiredState, Heartbeat};
use crate::report::progress_in_words;
use crate::span::span;
use crate::store::FiredTrigger;
use maud::{Markup, html};
use serde_json::json;

/// The fires in a state, of a node or of all, behind a place: as many as one action may be for.
pub(in crate::dashboard) fn find(
    view: &View<'_>,
    state: FiredState,
    node: Option<&str>,
    after: Option<&(i64, String)>,
) -> Result<Found<FiredTrigger, String>> {
    let cluster = view.cluster()?;
    let place = |fire: &FiredTrigger| (fire.fire_time.timestamp_millis(), fire.fire_id.clone());
    let of_node = |fire: &&FiredTrigger| fire.state == state && node.is_none_or(|node| fire.instance == node);
    let mut fires: Vec<&FiredTrigger> = cluster.fires.iter().filter(of_node).collect();
    fires.retain(|fire| after.is_none_or(|after| place(fire) > *after));
    fires.sort_by_cached_key(|fire| place(fire));
    let first = fires.into_iter().take(MOST_SUBJECTS + 1).cloned().collect();
    Ok(all_of(listing::Page::of(first, Some(MOST_SUBJECTS)), |fire| json!(place(fire))))
}

/// The fires that execute, as a query asks for them.
pub(in crate::dashboard) fn executing(view: &View<'_>) -> Result<Found<FiredTrigger, String>> {
    find(view, FiredState::Executing, view.query.get("node"), place(&view.query)?.as_ref())
}

pub(super) fn page(view: &View<'_>) -> Result<Option<Page>> {
    let running = executing(view)?;
    let node = view.query.get("node");
    let reserved = find(view, FiredState::Acquired, node, None)?;
    let heads = with_tick(view, &["Job", "Trigger", "Node", "Runs for", "Late by", "Progress", "Silent for", "Run"]);
    let rows: Vec<Markup> = running.rows.iter().map(|fire| row(view, fire)).collect();
    let list = table(&heads, &rows, "Nothing runs.");
    let rows: Vec<Markup> = reserved.rows.iter().map(|fire| html! {
        tr { td { (trigger_link(&fire.trigger)) } td { (node_link(&fire.instance)) } td { (when(Some(fire.scheduled_fire_time.timestamp_millis()), view.now_ms)) } }
    }).collect();
    Ok(Some(Page::at_work(
        "Running",
        html! {
            @if let Some(node) = node { p.lead { "On node " (node_link(node)) "; " a href="running" { "on all nodes" } "." } }
            (card("running", "Executing", &html! {
                (selection(view, &["run.stop"], &list))
                (more("running", view, "after", running.next.as_deref()))
            }))
            (card("reserved", "Reserved", &html! {
                (table(&["Trigger", "Node", "Fires"], &rows, "No trigger is reserved."))
                @if reserved.next.is_some() { p.dim { "There are more: " code { "carnelian running --reserved --all" } " shows all." } }
            }))
        },
    )))
}

fn row(view: &View<'_>, fire: &FiredTrigger) -> Markup {
    let runs_ms = view.now_ms - fire.fire_time.timestamp_millis();
    let late_ms = (fire.fire_time - fire.scheduled_fire_time).num_milliseconds().max(0);
    html! {
        tr {
            (checkbox(view, fire.fire_id.as_str()))
            td { (job_or_dash(fire.job.as_ref())) }
            td { (trigger_link(&fire.trigger)) }
            td { (node_link(&fire.instance)) }
            td.n { (span(runs_ms.max(0))) }
            td.n { (span(late_ms)) }
            td { (progress(fire)) }
            td { (silence(view, fire.heartbeat.as_ref())) }
            td { (run_link(&fire.fire_id)) }
        }
    }
}

fn progress(fire: &FiredTrigger) -> Markup {
    let told = fire.heartbeat.as_ref().and_then(|beat| beat.progress.as_ref());
    let share = told.and_then(|told| Some((told.done, told.total.filter(|total| *total > 0)?)));
    html! {
        @if let Some((done, total)) = share { progress aria-label="Progress" max=(total) value=(done) {} " " }
        (progress_in_words(fire).unwrap_or_default())
    }
}

/// The silence of a run, against how long it may be.
fn silence(view: &View<'_>, beat: Option<&Heartbeat>) -> Markup {
    let Some(beat) = beat else { return html! { span.dim { "–" } } };
    let silent = span((view.now_ms - beat.time.timestamp_millis()).max(0));
    let limit = span(millis(beat.limit));
    let is_overdue = beat.is_overdue(crate::epoch::moment(view.now_ms));
    html! { (silent) span.dim { " of " (limit) } @if is_overdue { " " (badge("bad", "stuck")) } }
}
