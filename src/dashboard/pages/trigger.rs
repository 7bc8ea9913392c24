//! One trigger: its schedule, its next times, and why it is not running.

use crate::calendar::Calendar;
use crate::dashboard::components::{at, badge, card, facts, job_link, node_link, run_link, state, text, when};
use crate::dashboard::form::link;
use crate::dashboard::keys::named;
use crate::dashboard::layout::button;
use crate::dashboard::pages::job::data;
use crate::dashboard::rescheduling::{form, in_zone, zone};
use crate::dashboard::view::{Page, View};
use crate::epoch::millis;
use crate::error::{Error, Result};
use crate::key::TriggerKey;
use crate::report::misfire_in_words;
use crate::span::span;
use crate::store::Explanation;
use crate::trigger::{Overlap, Trigger};
use maud::{Markup, html};

/// The number of times to come that are shown.
const TIMES: usize = 10;

pub(super) fn page(view: &View<'_>) -> Result<Option<Page>> {
    let is_there = |group: &str, name: &str| view.store.catalogue().trigger_exists(&TriggerKey::new(group, name));
    let Some((group, name)) = named(&view.query, is_there)? else { return Ok(None) };
    let key = TriggerKey::new(group, name);
    let explained = match view.store.diagnosis().explain(&key) {
        Err(Error::NotFound { .. }) => return Ok(None),
        other => other?,
    };
    // A trigger that cannot be read is explained all the same.
    let trigger = match view.store.catalogue().trigger(&key) {
        Err(Error::Unreadable { .. }) => None,
        other => other?,
    };
    let calendar = trigger
        .as_ref()
        .and_then(Trigger::calendar_name)
        .and_then(|name| view.store.catalogue().calendar(name).ok()?);
    Ok(Some(Page::new(
        format!("Trigger {key}"),
        html! {
            div.buttons {
                @for word in actions(&explained) { (button(view, word, &key)) " " }
                @for word in ["group.pause", "group.resume"] { (button(view, word, key.group())) " " }
            }
            div.grid {
                (why(&explained))
                (card("facts", "Facts", &about(view, &explained, trigger.as_ref())))
                @if let Some(trigger) = &trigger { (times(view, trigger, calendar.as_ref())) }
                @if let Some(trigger) = &trigger { (card("data", "Data of the trigger", &data(view, trigger.data()))) }
                @if let (Some(trigger), true) = (&trigger, view.may_act()) { (card("schedule", "Another schedule", &form(view, trigger))) }
            }
            p {
                a href=(link("history", [("trigger_group", key.group()), ("trigger_name", key.name())])) { "Runs of this trigger" } " · "
                a href=(link("actions", [("subject", &*key.to_string())])) { "What was done to it" }
            }
        },
    )))
}

/// The actions that make sense in its state.
fn actions(explained: &Explanation) -> Vec<&'static str> {
    let mut words = match explained.trigger.state.as_str() {
        "PAUSED" | "PAUSED_BLOCKED" => vec!["trigger.resume"],
        "ERROR" => vec!["trigger.reset"],
        _ => vec!["trigger.pause"],
    };
    words.push("trigger.delete");
    words
}

/// The checklist, and below it what the command line says.
fn why(explained: &Explanation) -> Markup {
    let is_running = explained.is_running;
    let title = if is_running { "This is running" } else { "Why is this not running?" };
    card(
        "why",
        title,
        &html! {
            ul.checks {
                @for check in &explained.checks {
                    li.(if check.is_fine { "fine" } else { "not" }) {
                        span.mark aria-hidden="true" { (if check.is_fine { "✓" } else { "✗" }) }
                        span.spoken { (if check.is_fine { "Holds: " } else { "Does not hold: " }) }
                        (check.text)
                    }
                }
            }
            h3 { "In short" }
            ul.reasons { @for reason in &explained.reasons { li { (prose(reason)) } } }
            @if !explained.nodes.is_empty() {
                h3 { "Which nodes may run it" }
                ul.reasons { @for node in &explained.nodes { li {
                    (node_link(&node.instance)) ": "
                    @match &node.refusal {
                        None => { (badge("good", "may")) }
                        Some(refusal) => { (badge("warn", "may not")) " " (prose(&refusal.to_string())) }
                    }
                } } }
            }
        },
    )
}

fn about(view: &View<'_>, explained: &Explanation, trigger: Option<&Trigger>) -> Markup {
    let summary = &explained.trigger;
    let next_ms = summary.next_fire_time.map(|time| time.timestamp_millis());
    let previous_ms = summary.previous_fire_time.map(|time| time.timestamp_millis());
    facts(&[
        ("Job", Some(job_link(&summary.job))),
        ("Type of the job", text(explained.job_type.as_deref())),
        ("State", Some(state(&summary.state))),
        ("Schedule", text(explained.schedule.as_deref())),
        ("Description", text(trigger.and_then(Trigger::description))),
        ("Next", Some(when(next_ms, view.now_ms))),
        ("Last", Some(when(previous_ms, view.now_ms))),
        ("Start", trigger.map(|trigger| at(Some(trigger.start_time().timestamp_millis())))),
        ("End", trigger.and_then(Trigger::end_time).map(|end| at(Some(end.timestamp_millis())))),
        ("Priority", Some(html! { (summary.priority) })),
        ("Misfire", text(Some(&misfire_in_words(summary)))),
        (
            "Overlap",
            trigger
                .filter(|trigger| trigger.overlap() != Overlap::AllowAll)
                .map(|trigger| html! { (trigger.overlap().name()) }),
        ),
        (
            "Catches up",
            trigger
                .and_then(Trigger::catch_up_window)
                .map(|window| html! { "what is at most " (span(millis(window))) " late" }),
        ),
        ("Calendar", text(trigger.and_then(Trigger::calendar_name))),
        (
            "Follows",
            explained
                .follows
                .as_ref()
                .map(|parent| html! { (job_link(&parent.job)) ", run " (run_link(&parent.fire_id)) }),
        ),
    ])
}

/// The next times, in the zone of the schedule.
fn times(view: &View<'_>, trigger: &Trigger, calendar: Option<&Calendar>) -> Markup {
    let zone = zone(trigger.schedule());
    let upcoming = trigger.upcoming(calendar, crate::epoch::moment(view.now_ms)).take(TIMES);
    let times: Vec<_> = upcoming.collect();
    card(
        "times",
        "Next times",
        &html! {
            @if times.is_empty() { p.none { "There are none." } }
            ol.times { @for moment in &times {
                li { (in_zone(*moment, zone)) }
            } }
        },
    )
}

/// A sentence in which commands stand between backticks.
fn prose(sentence: &str) -> Markup {
    html! {
        @for (at, part) in sentence.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}
