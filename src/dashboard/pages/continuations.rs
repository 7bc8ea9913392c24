//! Continuations: which jobs follow the runs of which.

use crate::dashboard::components::{badge, card, job_link};
use crate::dashboard::graph::graph;
use crate::dashboard::view::{Page, View};
use crate::error::{Error, Result};
use crate::job::Continuation;
use crate::key::JobKey;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// The most jobs that are drawn.
const MOST_DRAWN: usize = 500;

/// The continuations by their parents, and how many more jobs are drawn.
struct Tree<'a> {
    children: BTreeMap<&'a JobKey, Vec<&'a Continuation>>,
    left: usize,
}

pub(super) fn page(view: &View<'_>) -> Result<Option<Page>> {
    let all = match view.store.catalogue().continuations() {
        Err(Error::Unreadable { reason, .. }) => {
            return Ok(Some(Page::new(
                "Continuations",
                html! { p.none { "A continuation cannot be read: " (reason) } },
            )));
        }
        other => other?,
    };
    let mut tree = Tree { children: BTreeMap::new(), left: MOST_DRAWN };
    for one in &all {
        tree.children.entry(one.parent()).or_default().push(one);
    }
    let followers: BTreeSet<&JobKey> = all.iter().map(Continuation::child).collect();
    // Jobs that follow each other in a circle have no first one: each of them is shown as one.
    let mut roots: Vec<&JobKey> = tree.children.keys().copied().filter(|parent| !followers.contains(parent)).collect();
    if roots.is_empty() {
        roots = tree.children.keys().copied().collect();
    }
    let mut drawn: Vec<Markup> = Vec::new();
    for root in roots {
        if tree.left == 0 {
            break;
        }
        tree.left -= 1;
        drawn.push(html! { li { (job_link(root)) (tree.below(root, &mut vec![root])) } });
    }
    Ok(Some(Page::new(
        "Continuations",
        card(
            "continuations",
            "Which jobs run after the runs of others",
            &html! {
                @if drawn.is_empty() { p.none { "No job follows another." } }
                (graph(&all))
                ul.tree { @for root in &drawn { (root) } }
                @if tree.left == 0 { p.dim { "There are more." } }
            },
        ),
    )))
}

impl<'a> Tree<'a> {
    fn below(&mut self, parent: &'a JobKey, path: &mut Vec<&'a JobKey>) -> Markup {
        let its = self.children.get(parent).cloned().unwrap_or_default();
        let mut items = Vec::new();
        for one in its {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            let child = one.child();
            let is_circle = path.contains(&child);
            path.push(child);
            let deeper = if is_circle {
                html! { " " (badge("warn", "a circle")) }
            } else {
                self.below(child, path)
            };
            path.pop();
            items.push(html! { li { span.dim { "on " (one.follows_on().name()) " → " } (job_link(child)) (deeper) } });
        }
        html! { @if !items.is_empty() { ul { @for item in &items { (item) } } } }
    }
}
