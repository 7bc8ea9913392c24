//! The layout: the frame of every page, with the way to the others and what needs attention.

use super::actions::find;
use super::form::link;
use super::keys::Subject;
use super::search::SINCE;
use super::undo::Undo;
use super::view::{Page, View};
use maud::{DOCTYPE, Markup, html};

/// The pages of the navigation: address, name.
const SECTIONS: [(&str, &str); 12] = [
    ("", "Overview"),
    ("running", "Running"),
    ("triggers", "Triggers"),
    ("jobs", "Jobs"),
    ("history", "History"),
    ("nodes", "Nodes"),
    ("parked", "Parked"),
    ("outages", "Outages"),
    ("calendars", "Calendars"),
    ("continuations", "Continuations"),
    ("locks", "Locks"),
    ("actions", "Actions"),
];

/// The result of an action, shown once on the page to which it comes back.
pub(super) struct Flash {
    pub(super) text: String,
    pub(super) is_error: bool,
    pub(super) undo: Option<Undo>,
}

/// The document of a page. All pages are in one folder, so that addresses are relative and the
/// dashboard can be mounted anywhere.
pub(super) fn page(view: &View<'_>, section: &str, page: &Page, flash: Option<&Flash>) -> Markup {
    let name = &view.store.settings().scheduler.instance_name;
    let parked = view.load.parked;
    document(
        &format!("{} · {name}", page.title),
        &html! {
            a.skip href="#main" { "To the contents" }
            header.top {
                a.brand href="./" aria-label="Carnelian, overview" { span.stone aria-hidden="true" {} "Carnelian" }
                span.scheduler title="The scheduler" { (name) }
                span.grow {}
                (status(view))
                (person(view))
            }
            nav.sections aria-label="Pages" {
                @for (address, name) in SECTIONS {
                    a href=(if address.is_empty() { "./" } else { address })
                        aria-current=[(address == section).then_some("page")] {
                        (name)
                        @if address == "parked" && parked > 0 { span.count { (parked) } }
                    }
                }
            }
            main #main tabindex="-1" data-every=(page.every_s) {
                @if let Some(flash) = flash { (flashed(view, flash)) }
                h1 { (page.title) }
                (page.body)
            }
            footer { "Carnelian " (env!("CARGO_PKG_VERSION")) " · times in UTC · " a href="api/openapi.json" { "API" }
                span #fresh role="status" {} }
        },
    )
}

/// The document around contents of whatever kind.
fn document(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="robots" content="noindex";
                title { (title) }
                link rel="icon" href="assets/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="assets/style.css";
                script src="assets/live.js" defer {}
            }
            body { (body) }
        }
    }
}

/// A page for people who see none yet: a login, an error.
pub(super) fn alone(title: &str, body: &Markup) -> Markup {
    document(
        &format!("{title} · Carnelian"),
        &html! {
            main #main.alone {
                p.brand { span.stone aria-hidden="true" {} "Carnelian" }
                h1 { (title) }
                (body)
            }
        },
    )
}

/// The state of the cluster in a few words.
fn status(view: &View<'_>) -> Markup {
    let load = &view.load;
    let working = load.instances.iter().filter(|node| node.is_working()).count();
    let silent = load.instances.iter().filter(|node| !node.alive).count();
    let tone = match (working, silent, load.overdue) {
        (0, ..) => "bad",
        (_, 0, 0) => "good",
        _ => "warn",
    };
    html! {
        span.status.(tone) #status data-live {
            span.dot aria-hidden="true" {}
            (working) " " (if working == 1 { "node" } else { "nodes" })
            @if silent > 0 { ", " (silent) " silent" }
            @if load.overdue > 0 { ", " (load.overdue) " overdue" }
        }
    }
}

fn person(view: &View<'_>) -> Markup {
    let user = view.user;
    html! {
        span.person title=(if view.may_act() { "operator" } else { "viewer" }) { (user.login.name()) }
        @if user.session.is_of_password {
            form method="post" action="logout" {
                input type="hidden" name="token" value=(user.token);
                button.quiet { "Log out" }
            }
        }
    }
}

fn flashed(view: &View<'_>, flash: &Flash) -> Markup {
    html! {
        div.flash.(if flash.is_error { "bad" } else { "good" }) role=(if flash.is_error { "alert" } else { "status" }) {
            span { (flash.text) }
            @if let Some(undo) = &flash.undo {
                form method="post" action="act" {
                    (hidden(view, undo.action.word, &undo.subjects))
                    @if let Some(new_schedule) = &undo.new_schedule { (new_schedule.hidden()) }
                    input type="hidden" name="sure" value="yes";
                    button.quiet { "Undo: " (undo.action.label.to_lowercase()) }
                }
            }
        }
    }
}

/// The fields of an action's form.
pub(super) fn hidden(view: &View<'_>, word: &str, subjects: &[Subject]) -> Markup {
    html! {
        input type="hidden" name="token" value=(view.user.token);
        input type="hidden" name="back" value=(view.here);
        input type="hidden" name="do" value=(word);
        @for subject in subjects { input type="hidden" name="key" value=(subject.to_field()); }
    }
}

/// A button for an action on one subject; nothing for a viewer.
pub(super) fn button(view: &View<'_>, word: &str, subject: impl Into<Subject>) -> Markup {
    let Some(action) = find(word).filter(|_| view.may_act()) else { return html! {} };
    html! {
        form.inline method="post" action="act" {
            (hidden(view, word, &[subject.into()]))
            button.(if action.is_grave { "grave" } else { "plain" }) { (action.label) }
        }
    }
}

/// A form around a list whose rows have [`checkbox`], with a button for each action on those that
/// are ticked; the list alone for a viewer.
pub(super) fn selection(view: &View<'_>, words: &[&str], list: &Markup) -> Markup {
    if !view.may_act() {
        return html! { (list) };
    }
    html! {
        form.selection method="post" action="act" {
            input type="hidden" name="token" value=(view.user.token);
            input type="hidden" name="back" value=(view.here);
            div.bar {
                label.all hidden { input type="checkbox" data-all; " All here" }
                @for action in words.iter().filter_map(|word| find(word)) {
                    button.(if action.is_grave { "grave" } else { "plain" }) name="do" value=(action.word) { (action.label) }
                }
                span.dim { "what is ticked" }
            }
            (list)
        }
    }
}

/// The cell with which a row of a [`selection`] is ticked.
pub(super) fn checkbox(view: &View<'_>, subject: impl Into<Subject>) -> Markup {
    let subject = subject.into();
    html! {
        @if view.may_act() {
            td.tick { input type="checkbox" name="key" value=(subject.to_field()) aria-label=(format!("Tick {}", subject.name())); }
        }
    }
}

/// The heading over [`checkbox`], before those of the other cells.
pub(super) fn with_tick<'a>(view: &View<'_>, heads: &[&'a str]) -> Vec<&'a str> {
    let tick = view.may_act().then_some("");
    tick.into_iter().chain(heads.iter().copied()).collect()
}

/// The field of a filter for the span of time back from now.
pub(super) fn within(view: &View<'_>) -> Markup {
    let chosen = |name: &str| view.query.get("since") == Some(name);
    html! {
        label { "Within" select name="since" {
            option value="" { "all time" }
            @for name in SINCE { option value=(name) selected[chosen(name)] { (name) } }
        } }
    }
}

/// The way to the next part of a list.
pub(super) fn more(page: &str, view: &View<'_>, field: &str, place: Option<&str>) -> Markup {
    let Some(place) = place else { return html! {} };
    let others = view.query.without(field);
    let next = link(page, [(field, place)]);
    let address = if others.is_empty() { next } else { format!("{next}&{others}") };
    html! { p.more { a href=(address) rel="next" { "Go on" } } }
}
