//! The graph of continuations: jobs in columns, each behind those that it follows, drawn as SVG.

use super::components::job_page;
use crate::job::Continuation;
use crate::key::JobKey;
use maud::{Markup, html};
use std::collections::BTreeMap;

/// The most jobs of a graph that can still be read.
const MOST_DRAWN: usize = 40;
/// The size of a job's box, and the room between boxes.
const BOX: (usize, usize) = (170, 30);
const ROOM: (usize, usize) = (70, 14);
/// The most characters of a name in a box.
const MOST_SHOWN: usize = 22;

/// The graph; nothing for none, or for too many to be read.
pub(super) fn graph(all: &[Continuation]) -> Markup {
    let columns = columns(all);
    if columns.is_empty() || columns.len() > MOST_DRAWN {
        return html! {};
    }
    let mut heights: BTreeMap<usize, usize> = BTreeMap::new();
    let places: BTreeMap<&JobKey, (usize, usize)> = columns
        .iter()
        .map(|(key, column)| {
            let row = heights.entry(*column).or_default();
            *row += 1;
            (*key, (column * (BOX.0 + ROOM.0), (*row - 1) * (BOX.1 + ROOM.1)))
        })
        .collect();
    let width = heights.len() * (BOX.0 + ROOM.0) - ROOM.0;
    let height = heights.values().max().map_or(0, |rows| rows * (BOX.1 + ROOM.1));
    let place = |key: &JobKey| places.get(key).copied().unwrap_or_default();
    html! {
        div.scroll tabindex="0" role="region" aria-label="Graph" {
            svg.graph role="img" aria-label="The jobs and what follows them, as listed below" width=(width) height=(height)
                viewBox=(format!("-1 -1 {} {}", width + 2, height + 2)) {
                @for one in all { (arrow(place(one.parent()), place(one.child()), one.follows_on().name())) }
                @for (key, (x, y)) in &places {
                    a href=(job_page(key)) tabindex="-1" {
                        title { (key) }
                        rect x=(x) y=(y) width=(BOX.0) height=(BOX.1) rx="5" {}
                        text x=(x + 10) y=(y + 20) { (shown(key)) }
                    }
                }
            }
        }
    }
}

/// An arrow from a box to another, with the outcomes on which it is gone.
fn arrow(from: (usize, usize), to: (usize, usize), on: &str) -> Markup {
    let (x, y, end, to_y) = (from.0 + BOX.0, from.1 + BOX.1 / 2, to.0, to.1 + BOX.1 / 2);
    let middle = x.midpoint(end);
    html! {
        path d=(format!("M{x} {y}C{middle} {y} {middle} {to_y} {end} {to_y}")) {}
        path.tip d=(format!("M{end} {to_y}l-8 -4v8z")) {}
        @if on != "success" { text.on x=(middle) y=(y.midpoint(to_y).saturating_sub(4)) { (on) } }
    }
}

fn shown(key: &JobKey) -> String {
    let name = key.to_string();
    let cut: String = name.chars().take(MOST_SHOWN).collect();
    if cut.len() < name.len() { format!("{cut}…") } else { cut }
}

/// The column of each job: one behind the last of those that it follows. Jobs of a circle are
/// pushed on a bounded number of times.
fn columns(all: &[Continuation]) -> BTreeMap<&JobKey, usize> {
    let mut columns: BTreeMap<&JobKey, usize> =
        all.iter().flat_map(|one| [one.parent(), one.child()]).map(|key| (key, 0)).collect();
    for _ in 0..columns.len().min(MOST_DRAWN) {
        for one in all {
            let behind = columns.get(one.parent()).map_or(0, |column| column + 1);
            if let Some(column) = columns.get_mut(one.child()) {
                *column = behind.max(*column).min(MOST_DRAWN);
            }
        }
    }
    // No column is left empty.
    let mut used: Vec<usize> = columns.values().copied().collect();
    used.sort_unstable();
    used.dedup();
    for column in columns.values_mut() {
        *column = used.binary_search(column).unwrap_or(0);
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns_of(pairs: &[(&str, &str)]) -> Vec<(String, usize)> {
        let all: Vec<Continuation> =
            pairs.iter().map(|(a, b)| Continuation::new(JobKey::named(*a), JobKey::named(*b))).collect();
        columns(&all).into_iter().map(|(key, column)| (key.name().to_owned(), column)).collect()
    }

    #[test]
    fn a_job_stands_behind_all_that_it_follows() {
        let expected = [("a", 0), ("b", 1), ("c", 2), ("d", 0)].map(|(name, column)| (name.to_owned(), column));
        assert_eq!(columns_of(&[("a", "b"), ("b", "c"), ("a", "c"), ("d", "c")]), expected);
    }

    #[test]
    fn a_circle_is_drawn_all_the_same() {
        assert_eq!(columns_of(&[("a", "b"), ("b", "a")]).len(), 2);
        assert_eq!(columns_of(&[("a", "a")]), [("a".to_owned(), 0)]);
        assert!(graph(&[]).into_string().is_empty());
    }
}
