//! Triggers: searched, in pages by their keys.

use crate::dashboard::components::{card, job_link, state, table, trigger_link, when};
use crate::dashboard::form::Fields;
use crate::dashboard::layout::{checkbox, more, selection, with_tick};
use crate::dashboard::search::{Cursor, Found, has_words, one_of, rows_to_read, sift};
use crate::dashboard::view::{Page, View};
use crate::error::Result;
use crate::key::TriggerKey;
use crate::listing::TriggerQuery;
use crate::report::misfire_in_words;
use crate::store::{JobStore, TriggerSummary};
use crate::trigger::{Schedule, TriggerState};
use maud::{Markup, html};

/// The triggers that a query asks for.
pub(in crate::dashboard) fn find(store: &JobStore, query: &Fields) -> Result<Found<TriggerSummary>> {
    let words = query.get("q");
    let wanted = one_of(query, "state", &TriggerState::ALL.map(TriggerState::name))?;
    let kind = one_of(query, "type", &Schedule::KINDS)?;
    let limit = rows_to_read(words.or(wanted).or(kind).is_some());
    let mut asked = TriggerQuery::new().limit(limit);
    if let Some(job) = query.get("job") {
        asked = asked.job(job.parse()?);
    }
    if let Some(after) = Cursor::read(query)? {
        asked = asked.after(TriggerKey::new(after.group, after.name), None);
    }
    Ok(sift(store.catalogue().list_triggers(&asked)?, cursor, |trigger| {
        wanted.is_none_or(|wanted| trigger.state == wanted)
            && kind.is_none_or(|kind| trigger.kind == kind)
            && has_words(&format!("{} {}", trigger.key, trigger.job), words)
    }))
}

/// The place of a trigger in a list.
pub(in crate::dashboard) fn cursor(trigger: &TriggerSummary) -> Cursor {
    Cursor { name: trigger.key.name().to_owned(), group: trigger.key.group().to_owned() }
}

pub(super) fn page(view: &View<'_>) -> Result<Option<Page>> {
    let found = find(view.store, &view.query)?;
    let rows: Vec<Markup> = found.rows.iter().map(|trigger| row(view, trigger, true)).collect();
    let heads = with_tick(view, &["Trigger", "Job", "State", "Next", "Last", "Type", "Priority", "Misfire"]);
    let list = table(&heads, &rows, "No trigger here is as you asked for.");
    let next = found.next.as_ref().map(Cursor::to_field);
    let actions = ["trigger.pause", "trigger.resume", "trigger.reset", "trigger.delete"];
    Ok(Some(Page::new(
        "Triggers",
        html! {
            (filter(view))
            (card("triggers", "In order of name", &html! {
                (selection(view, &actions, &list))
                (more("triggers", view, "after", next.as_deref()))
                @if next.is_some() && found.read > found.rows.len() { p.dim { (found.read) " triggers were looked at." } }
            }))
        },
    )))
}

/// The row of a trigger, with or without its job.
pub(super) fn row(view: &View<'_>, trigger: &TriggerSummary, with_job: bool) -> Markup {
    html! {
        tr {
            (checkbox(view, &trigger.key))
            td { (trigger_link(&trigger.key)) }
            @if with_job { td { (job_link(&trigger.job)) } }
            td { (state(&trigger.state)) }
            td { (when(trigger.next_fire_time.map(|time| time.timestamp_millis()), view.now_ms)) }
            td { (when(trigger.previous_fire_time.map(|time| time.timestamp_millis()), view.now_ms)) }
            td { (trigger.kind.to_lowercase()) }
            td.n { (trigger.priority) }
            td { (misfire_in_words(trigger)) }
        }
    }
}

fn filter(view: &View<'_>) -> Markup {
    let chosen = |field: &str, value: &str| view.query.get(field) == Some(value);
    html! {
        form.filter method="get" action="triggers" role="search" {
            @if let Some(job) = view.query.get("job") { input type="hidden" name="job" value=(job); }
            label { "Words of key or job" input type="search" name="q" value=[view.query.get("q")]; }
            label { "State" select name="state" {
                option value="" { "any" }
                @for one in TriggerState::ALL { option value=(one.name()) selected[chosen("state", one.name())] { (one.name().to_lowercase()) } }
            } }
            label { "Type" select name="type" {
                option value="" { "any" }
                @for kind in Schedule::KINDS { option value=(kind) selected[chosen("type", kind)] { (kind.to_lowercase()) } }
            } }
            button.plain { "Search" }
        }
    }
}
