//! One job: its definition, its triggers, its last runs and how long they took.

use crate::dashboard::chart::{Axis, Series, lines};
use crate::dashboard::components::{card, facts, job_link, table, text};
use crate::dashboard::form::link;
use crate::dashboard::keys::{Subject, named};
use crate::dashboard::layout::{button, selection, with_tick};
use crate::dashboard::pages::{history, jobs, triggers};
use crate::dashboard::view::{Page, View};
use crate::data_map::JobDataMap;
use crate::error::{Error, Result};
use crate::history::{HistoryQuery, HistoryRow};
use crate::job::JobDetail;
use crate::key::JobKey;
use crate::listing::TriggerQuery;
use crate::report::job_flags;
use crate::settings::{looks_secret, scrub};
use crate::span::span;
use maud::{Markup, html};

/// The number of runs that are shown and measured.
const RUNS: usize = 60;
/// The number of triggers that are shown.
const TRIGGERS: usize = 50;
/// The number of runs in the list.
const LISTED: usize = 15;

pub(super) fn page(view: &View<'_>) -> Result<Option<Page>> {
    let is_there = |group: &str, name: &str| view.store.catalogue().job_exists(&JobKey::new(group, name));
    let Some((group, name)) = named(&view.query, is_there)? else { return Ok(None) };
    let key = JobKey::new(group, name);
    let job = match view.store.catalogue().job(&key) {
        Err(Error::Unreadable { reason, .. }) => {
            return Ok(Some(Page::new(
                format!("Job {key}"),
                html! { p.none { "This job cannot be read: " (reason) } },
            )));
        }
        other => other?,
    };
    let Some(job) = job else { return Ok(None) };
    let runs = view.store.history().find(&HistoryQuery::new().job(key.clone()).running(true).limit(RUNS))?;
    let its = view.store.catalogue().list_triggers(&TriggerQuery::new().job(key.clone()).limit(TRIGGERS))?;
    let rows: Vec<Markup> = its.items.iter().map(|trigger| triggers::row(view, trigger, false)).collect();
    let heads = with_tick(view, &["Trigger", "State", "Next", "Last", "Type", "Priority", "Misfire"]);
    let list = table(&heads, &rows, "No trigger fires this job.");
    Ok(Some(Page::new(
        format!("Job {key}"),
        html! {
            div.buttons { @for word in ["job.run", "job.pause", "job.resume", "job.delete"] { (button(view, word, &key)) " " } }
            div.grid {
                (card("facts", "Facts", &about(view, &job)?))
                (durations(&runs))
                (card("data", "Data", &data(view, job.data())))
            }
            (card("triggers", "Triggers", &html! {
                (selection(view, &["trigger.pause", "trigger.resume", "trigger.delete"], &list))
                @if its.has_more { p { a href=(link("triggers", [("job", &*Subject::from(&key).to_field())])) { "All triggers of this job" } } }
            }))
            (card("runs", "Last runs", &html! {
                (history::list(view, runs.get(..LISTED.min(runs.len())).unwrap_or_default(), false))
                p { a href=(link("history", [("group", key.group()), ("name", key.name())])) { "All runs of this job" } }
            }))
        },
    )))
}

fn about(view: &View<'_>, job: &JobDetail) -> Result<Markup> {
    let marks = job.marks();
    // Continuations that cannot be read are named on their own page.
    let followers = |found: Result<Vec<crate::Continuation>>| match found {
        Err(Error::Unreadable { .. }) => Ok(Vec::new()),
        other => other,
    };
    let children = followers(view.store.catalogue().children_of(job.key()))?;
    let parents = followers(view.store.catalogue().parents_of(job.key()))?;
    let policy = (!job.policy().is_default()).then(|| serde_json::to_string(job.policy()).unwrap_or_default());
    Ok(facts(&[
        ("Type", text(Some(job.job_type()))),
        ("Name", text(marks.get_name())),
        ("Description", text(job.description())),
        ("Owner", text(marks.get_owner())),
        ("Business key", text(marks.get_biz_key())),
        ("Tags", (marks.tags().len() > 0).then(|| jobs::tags(job))),
        ("Flags", text(Some(&job_flags(job)))),
        ("Policy", policy.map(|policy| html! { code { (policy) } })),
        (
            "Followed by",
            (!children.is_empty()).then(
                || html! { @for one in &children { (job_link(one.child())) " on " (one.follows_on().name()) " " } },
            ),
        ),
        (
            "Follows",
            (!parents.is_empty()).then(
                || html! { @for one in &parents { (job_link(one.parent())) " on " (one.follows_on().name()) " " } },
            ),
        ),
    ]))
}

/// The durations of the last runs, the oldest first.
fn durations(runs: &[HistoryRow]) -> Markup {
    let ended: Vec<&HistoryRow> = runs.iter().filter(|run| run.run_ms.is_some()).collect();
    let values: Vec<f64> = ended.iter().rev().filter_map(|run| run.run_ms).map(|ms| ms as f64).collect();
    let (first, last) = (ended.last().map_or(0, |run| run.ended_ms), ended.first().map_or(0, |run| run.ended_ms));
    let steps = i64::try_from(values.len()).unwrap_or(1).max(1);
    let axis = Axis { end_ms: last, step_ms: (last - first) / steps, unknown: 0, is_open: false };
    if values.len() < 2 {
        return card("durations", "Durations", &html! { p.none { "There are too few runs to compare." } });
    }
    lines("durations", "Durations", axis, &[Series { name: "last", class: "busy", values }], |ms| {
        span(ms.round() as i64)
    })
}

/// The data of a job or trigger, for operators, with what looks like a secret masked.
pub(super) fn data(view: &View<'_>, data: &JobDataMap) -> Markup {
    if data.is_empty() {
        return html! { p.none { "There are none." } };
    }
    if !view.may_act() {
        return html! { p.none { "Operators see the data." } };
    }
    html! {
        dl.facts { @for (name, value) in data.iter() { div { dt { (name) } dd.mono { (masked(name, &value.to_string())) } } } }
    }
}

/// A value as a page may show it.
pub(in crate::dashboard) fn masked(name: &str, value: &str) -> String {
    if looks_secret(name) { "***".to_owned() } else { scrub(value) }
}
