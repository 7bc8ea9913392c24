//! One run: its times, its chain of runs, and what it logged.

use crate::dashboard::components::{
    at, badge, card, facts, job_or_dash, node_link, outcome, run_link, table, text, trigger_link, when,
};
use crate::dashboard::layout::button;
use crate::dashboard::view::{Page, View};
use crate::error::Result;
use crate::history::{HistoryRow, LogLine, RunRecord};
use crate::report::ended_ms;
use crate::settings::scrub;
use crate::span::span;
use maud::{Markup, html};

pub(super) fn page(view: &View<'_>) -> Result<Option<Page>> {
    let Some(fire_id) = view.query.get("fire") else { return Ok(None) };
    let Some(record) = view.store.history().run_record(fire_id)? else { return Ok(None) };
    let run = &record.run;
    Ok(Some(Page::new(
        format!("Run {fire_id}"),
        html! {
            div.buttons {
                @if run.is_running() { (button(view, "run.stop", fire_id)) } @else { (button(view, "run.retry", fire_id)) }
            }
            div.grid {
                (card("facts", "Facts", &about(view, &record)))
                (card("timeline", "Timeline", &timeline(view, run)))
            }
            @if let Some(error) = &run.error { (card("error", "Error", &html! { pre { (scrub(error)) } })) }
            @if let (Some(result), true) = (&run.result, view.may_act()) { (card("result", "Result", &html! { pre { (scrub(result)) } })) }
            (card("chain", "The runs of this work", &chain(view, &record)))
            (card("log", "What it logged", &log(view, &record.log)))
        },
    )))
}

fn about(view: &View<'_>, record: &RunRecord) -> Markup {
    let run = &record.run;
    let is_there = view.store.catalogue().trigger_exists(&run.trigger).unwrap_or_default();
    let trigger = if is_there {
        trigger_link(&run.trigger)
    } else {
        html! { (run.trigger) }
    };
    let root = run.root_fire_id.as_deref().filter(|root| *root != run.fire_id);
    facts(&[
        ("Outcome", Some(outcome(run.outcome))),
        ("Job", Some(job_or_dash(run.job.as_ref()))),
        ("Type", text(run.job_type.as_deref())),
        ("Description", text(record.description.as_deref())),
        ("Trigger", Some(trigger)),
        ("Node", run.instance.as_deref().map(node_link)),
        ("Attempt", Some(html! { (run.attempt) })),
        ("Runs again", root.map(run_link)),
        ("Took", run.run_ms.map(|ms| html! { (span(ms)) })),
        ("Ended", ended_ms(run).map(|ms| when(Some(ms), view.now_ms))),
    ])
}

/// The moments of a run, each with the time since the one before.
fn timeline(view: &View<'_>, run: &HistoryRow) -> Markup {
    let started = run.start_time().map(|time| time.timestamp_millis());
    let end = if run.is_running() { ("Now", Some(view.now_ms)) } else { ("Ended", Some(run.ended_ms)) };
    let moments = [("Due", Some(run.scheduled_ms)), ("Fired", run.fired_ms), ("Began", started), end];
    let known: Vec<(&str, i64)> = moments.into_iter().filter_map(|(name, ms)| Some((name, ms?))).collect();
    let before = std::iter::once(None).chain(known.iter().map(|(_, ms)| Some(*ms)));
    html! {
        ol.timeline { @for ((name, ms), before) in known.iter().zip(before) {
            li {
                b { (name) } " " (at(Some(*ms)))
                @if let Some(before) = before { span.dim { " +" (span((ms - before).max(0))) } }
            }
        } }
    }
}

fn chain(view: &View<'_>, record: &RunRecord) -> Markup {
    let runs = record.chain.iter().map(|run| {
        let is_this = run.fire_id == record.run.fire_id;
        html! {
            tr aria-current=[is_this.then_some("true")] {
                td { (run_link(&run.fire_id)) @if is_this { " " (badge("calm", "this")) } }
                td.n { (run.attempt) }
                td { (outcome(run.outcome)) }
                td { (run.instance.as_deref().unwrap_or("–")) }
                td { (when(run.fired_ms, view.now_ms)) }
            }
        }
    });
    let waiting = record.waiting.iter().map(|(trigger, next)| html! {
        tr { td { (trigger_link(trigger)) } td {} td { (badge("busy", "to come")) } td {} td { (when(next.map(|time| time.timestamp_millis()), view.now_ms)) } }
    });
    table(
        &["Run", "Attempt", "Outcome", "Node", "Fired"],
        &runs.chain(waiting).collect::<Vec<_>>(),
        "Nothing is known of others.",
    )
}

fn log(view: &View<'_>, lines: &[LogLine]) -> Markup {
    if lines.is_empty() {
        return html! { p.none { "No lines were kept." } };
    }
    if !view.may_act() {
        return html! { p.none { "Operators see the lines." } };
    }
    let rows: Vec<Markup> = lines
        .iter()
        .map(|line| {
            html! {
                tr {
                    td { (at(Some(line.at.timestamp_millis()))) }
                    td { (badge(tone(line.level), line.level.as_str())) }
                    td { (line.target) }
                    td.wide.mono { (scrub(&line.message)) }
                }
            }
        })
        .collect();
    table(&["Time", "Level", "Target", "Message"], &rows, "")
}

fn tone(level: log::Level) -> &'static str {
    match level {
        log::Level::Error => "bad",
        log::Level::Warn => "warn",
        _ => "calm",
    }
}
