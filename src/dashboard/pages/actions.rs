//! The log of actions: who did what to what, and when, in pages.

use crate::dashboard::components::{at, card, job_link, node_link, run_link, table, trigger_link};
use crate::dashboard::form::{Fields, link};
use crate::dashboard::layout::{more, within};
use crate::dashboard::search::{Found, no_place, rows_to_read, sift, since};
use crate::dashboard::view::{Page, View};
use crate::error::Result;
use crate::history::{ActionQuery, ActionRow};
use crate::listing::Page as Listed;
use crate::store::JobStore;
use maud::{Markup, html};

/// The actions that a query asks for. The subject has an index; what else is asked for is looked
/// for among a bounded number of actions.
pub(in crate::dashboard) fn find(store: &JobStore, query: &Fields, now_ms: i64) -> Result<Found<ActionRow, String>> {
    let wanted = ["kind", "actor", "action"].map(|name| query.get(name));
    let limit = rows_to_read(wanted.iter().any(Option::is_some));
    let mut asked = ActionQuery::new().limit(limit + 1);
    asked = query.get("subject").into_iter().fold(asked, ActionQuery::subject);
    if let Some(after) = query.get("after") {
        // Ids are written in hexadecimal digits, the time first.
        let is_id = after.bytes().all(|byte| byte.is_ascii_hexdigit());
        asked = asked.after(is_id.then_some(after).ok_or_else(|| no_place(after))?);
    }
    asked = since(query, now_ms)?.into_iter().fold(asked, ActionQuery::since);
    let is_wanted = |row: &ActionRow| {
        let its = [&row.kind, &row.actor, &row.action];
        wanted.iter().zip(its).all(|(wanted, its)| wanted.is_none_or(|wanted| wanted == its))
    };
    let read = Listed::of(store.history().actions(&asked)?, Some(limit));
    Ok(sift(read, |row| row.action_id.clone(), is_wanted))
}

pub(super) fn page(view: &View<'_>) -> Result<Option<Page>> {
    let part = find(view.store, &view.query, view.now_ms)?;
    let cluster = view.cluster()?;
    let is_node = |name: &str| cluster.nodes.iter().any(|node| node.instance == name);
    let rows: Vec<Markup> = part.rows.iter().map(|action| row(action, is_node)).collect();
    let heads = ["Time", "Who", "Through", "Action", "On", "Detail"];
    Ok(Some(Page::new(
        "Actions",
        html! {
            (filter(view))
            (card("actions", "The newest first", &html! {
                (table(&heads, &rows, "No action here is as you asked for."))
                (more("actions", view, "after", part.next.as_deref()))
            }))
        },
    )))
}

fn row(action: &ActionRow, is_node: impl Fn(&str) -> bool) -> Markup {
    html! {
        tr {
            td { (at(Some(action.made_ms))) }
            td { (action.actor) }
            td { (action.node) }
            td { (action.action) }
            td { (action.kind) " " (subject(action, is_node)) }
            td.wide { (action.detail.as_deref().unwrap_or_default()) }
        }
    }
}

/// The subject, with the way to it where it has a page.
fn subject(action: &ActionRow, is_node: impl Fn(&str) -> bool) -> Markup {
    let name = action.subject.as_str();
    let way = match action.kind.as_str() {
        // The dot between group and name is found when somebody follows the link.
        "trigger" | "parked" | "job" if name.matches('.').count() > 1 => {
            let page = if action.kind == "job" { "job" } else { "trigger" };
            Some(html! { a href=(link(page, [("key", name)])) { (name) } })
        }
        "trigger" | "parked" => name.parse().ok().map(|key| trigger_link(&key)),
        "job" => name.parse().ok().map(|key| job_link(&key)),
        "node" if is_node(name) => Some(node_link(name)),
        "fire" => Some(run_link(name)),
        _ => None,
    };
    way.unwrap_or_else(|| html! { (name) })
}

fn filter(view: &View<'_>) -> Markup {
    let field = |label: &str, name: &str| html! { label { (label) input name=(name) value=[view.query.get(name)]; } };
    html! {
        form.filter method="get" action="actions" role="search" {
            (field("On, as group.name or a name", "subject"))
            (field("Kind, such as trigger", "kind"))
            (field("Who", "actor"))
            (field("Action, such as pause", "action"))
            (within(view))
            button.plain { "Search" }
        }
    }
}
