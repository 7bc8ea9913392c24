//! Running: the fires that run in the cluster, with their progress and their silence.

use crate::dashboard::components::{badge, card, job_or_dash, node_link, run_link, table, trigger_link, when};
use crate::dashboard::layout::{checkbox, selection, with_tick};
use crate::dashboard::view::{Page, View};
use crate::epoch::millis;
use crate::error::Result;
use crate::monitoring::{FiredState, Heartbeat};
use crate::report::progress_in_words;
use crate::span::span;
use crate::store::FiredTrigger;
use maud::{Markup, html};

pub(super) fn page(view: &View<'_>) -> Result<Option<Page>> {
    let mut fires: Vec<FiredTrigger> = view.cluster()?.fires.clone();
    fires.sort_by(|a, b| (a.fire_time, &a.fire_id).cmp(&(b.fire_time, &b.fire_id)));
    let (running, reserved): (Vec<_>, Vec<_>) = fires.iter().partition(|fire| fire.state == FiredState::Executing);
    let heads = with_tick(view, &["Job", "Trigger", "Node", "Runs for", "Late by", "Progress", "Silent for", "Run"]);
    let rows: Vec<Markup> = running.iter().map(|fire| row(view, fire)).collect();
    let list = table(&heads, &rows, "Nothing runs.");
    let reserved: Vec<Markup> = reserved.iter().map(|fire| html! {
        tr { td { (trigger_link(&fire.trigger)) } td { (node_link(&fire.instance)) } td { (when(Some(fire.scheduled_fire_time.timestamp_millis()), view.now_ms)) } }
    }).collect();
    Ok(Some(Page::at_work(
        "Running",
        html! {
            (card("running", "Executing", &selection(view, &["run.stop"], &list)))
            (card("reserved", "Reserved", &table(&["Trigger", "Node", "Fires"], &reserved, "No trigger is reserved.")))
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
