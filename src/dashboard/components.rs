//! Components: the pieces of which all pages are made.

use super::form::link;
use crate::history::FireOutcome;
use crate::key::{JobKey, TriggerKey};
use crate::settings::scrub;
use crate::span::span;
use chrono::{DateTime, Utc};
use maud::{Markup, html};

/// A titled part of a page, which is brought up to date by itself.
pub(super) fn card(id: &str, title: &str, body: &Markup) -> Markup {
    html! {
        section.card id=(id) data-live aria-labelledby=(format!("{id}-title")) {
            h2 id=(format!("{id}-title")) { (title) }
            (body)
        }
    }
}

/// A table in a frame that scrolls, or a sentence in the place of an empty one.
pub(super) fn table(head: &[&str], rows: &[Markup], none: &str) -> Markup {
    if rows.is_empty() {
        return html! { p.none { (none) } };
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="Table" {
            table {
                thead { tr { @for cell in head { th scope="col" { @if cell.is_empty() { span.spoken { "Tick" } } (cell) } } } }
                tbody { @for row in rows { (row) } }
            }
        }
    }
}

/// Names with their values; those without a value are left out.
pub(super) fn facts(facts: &[(&str, Option<Markup>)]) -> Markup {
    html! {
        dl.facts {
            @for (name, value) in facts.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

/// A text as markup; none for none.
pub(super) fn text(text: Option<&str>) -> Option<Markup> {
    text.filter(|text| !text.is_empty()).map(|text| html! { (text) })
}

/// A word in a colour: `good`, `bad`, `warn`, `busy` or `calm`.
pub(super) fn badge(tone: &str, word: &str) -> Markup {
    html! { span class=(format!("badge {tone}")) { (word) } }
}

/// The outcome of a fire.
pub(super) fn outcome(outcome: FireOutcome) -> Markup {
    let tone = match outcome {
        FireOutcome::Succeeded => "good",
        FireOutcome::Failed | FireOutcome::TimedOut | FireOutcome::Lost => "bad",
        FireOutcome::Interrupted | FireOutcome::Misfired => "warn",
        FireOutcome::Running => "busy",
        _ => "calm",
    };
    badge(tone, &outcome.name().replace('_', " "))
}

/// The state of a trigger.
pub(super) fn state(name: &str) -> Markup {
    let tone = match name {
        "WAITING" | "ACQUIRED" => "good",
        "EXECUTING" => "busy",
        "ERROR" => "bad",
        "BLOCKED" | "PAUSED" | "PAUSED_BLOCKED" => "warn",
        _ => "calm",
    };
    badge(tone, &name.to_lowercase().replace('_', " "))
}

/// A moment by its distance from now; the whole of it where the pointer rests.
pub(super) fn when(ms: Option<i64>, now_ms: i64) -> Markup {
    let Some((ms, time)) = ms.and_then(|ms| Some((ms, DateTime::from_timestamp_millis(ms)?))) else {
        return html! { span.dim { "–" } };
    };
    let distance = span(ms.saturating_sub(now_ms));
    let words = if ms > now_ms { format!("in {distance}") } else { format!("{distance} ago") };
    html! { time datetime=(iso(time)) title=(readable(time)) { (words) } }
}

/// A moment as date and time of day in UTC.
pub(super) fn at(ms: Option<i64>) -> Markup {
    match ms.and_then(DateTime::from_timestamp_millis) {
        Some(time) => html! { time datetime=(iso(time)) { (readable(time)) } },
        None => html! { span.dim { "–" } },
    }
}

fn iso(time: DateTime<Utc>) -> String {
    time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

fn readable(time: DateTime<Utc>) -> String {
    time.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// The way to a job.
pub(super) fn job_link(key: &JobKey) -> Markup {
    html! { a href=(job_page(key)) { span.group { (key.group()) "." } (key.name()) } }
}

/// The page of a job.
pub(super) fn job_page(key: &JobKey) -> String {
    link("job", [("group", key.group()), ("name", key.name())])
}

/// The way to a job that may be unknown.
pub(super) fn job_or_dash(key: Option<&JobKey>) -> Markup {
    key.map_or_else(|| html! { span.dim { "–" } }, job_link)
}

/// The way to a trigger.
pub(super) fn trigger_link(key: &TriggerKey) -> Markup {
    html! { a href=(trigger_page(key)) { span.group { (key.group()) "." } (key.name()) } }
}

/// The page of a trigger.
pub(super) fn trigger_page(key: &TriggerKey) -> String {
    link("trigger", [("group", key.group()), ("name", key.name())])
}

/// The way to a run.
pub(super) fn run_link(fire_id: &str) -> Markup {
    html! { a.mono href=(link("run", [("fire", fire_id)])) { (fire_id) } }
}

/// The way to a node.
pub(super) fn node_link(name: &str) -> Markup {
    html! { a href=(link("node", [("name", name)])) { (name) } }
}

/// The first line of an error that everybody may see.
pub(super) fn error_line(error: Option<&str>) -> String {
    first_line(&scrub(error.unwrap_or_default()))
}

/// The first line of a text, and not too much of it.
fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let shown: String = line.chars().take(100).collect();
    if shown.len() < text.trim_end().len() { format!("{shown} …") } else { shown }
}
