//! Search: a part of a long list that a query asks for, found within a bounded number of rows.

use super::form::Fields;
use crate::epoch::moment;
use crate::listing::Page;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

/// The most rows that one page reads in search of those that are asked for.
const MOST_READ: usize = 1_000;
/// The rows of a page.
const PAGE: usize = 50;

/// The number of rows to read for a page: those that it shows, or many if it leaves some out.
pub(super) fn rows_to_read(is_filtered: bool) -> usize {
    if is_filtered { MOST_READ } else { PAGE }
}

/// The spans of time back from now that can be chosen, in milliseconds.
pub(super) const SINCE: [(&str, i64); 5] =
    [("15m", 900_000), ("1h", 3_600_000), ("6h", 21_600_000), ("1d", 86_400_000), ("7d", 604_800_000)];

/// The time from which on a query asks, if it says one of the spans.
pub(super) fn since(fields: &Fields, now_ms: i64) -> Option<DateTime<Utc>> {
    let (_, back_ms) = SINCE.iter().find(|(name, _)| fields.get("since") == Some(name))?;
    Some(moment(now_ms - back_ms))
}

/// The place after which a page goes on: name and group, as the table's key has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) name: String,
    pub(super) group: String,
}

impl Spot {
    /// The spot of a field: `["name","group"]`; none for the beginning.
    pub(super) fn read(fields: &Fields) -> Option<Self> {
        let (name, group) = fields.get("after").and_then(|text| serde_json::from_str(text).ok())?;
        Some(Self { name, group })
    }

    pub(super) fn to_field(&self) -> String {
        Value::to_string(&json!([self.name, self.group]))
    }
}

/// A part of a list whose places are of a sort.
#[derive(Debug)]
pub(super) struct Found<T, S = Spot> {
    pub(super) rows: Vec<T>,
    /// The place where the list goes on, if it does.
    pub(super) next: Option<S>,
    /// The number of rows that were read.
    pub(super) read: usize,
}

/// The rows that `wants`, at most [`PAGE`], of those that were read after a place.
pub(super) fn sift<T, S>(read: Page<T>, spot: impl Fn(&T) -> S, wants: impl Fn(&T) -> bool) -> Found<T, S> {
    let all = read.items.len();
    let last = read.items.last().map(&spot).filter(|_| read.has_more);
    let mut rows: Vec<T> = read.items.into_iter().filter(wants).take(PAGE + 1).collect();
    let next = if rows.len() > PAGE {
        rows.truncate(PAGE);
        rows.last().map(spot)
    } else {
        last
    };
    Found { rows, next, read: all }
}

/// True if a text has the words of a search in it, in whatever case.
pub(super) fn has_words(text: &str, words: Option<&str>) -> bool {
    let text = text.to_lowercase();
    words.is_none_or(|words| words.to_lowercase().split_whitespace().all(|word| text.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(n: &usize) -> Spot {
        Spot { name: n.to_string(), group: String::new() }
    }

    #[test]
    fn a_part_ends_at_its_last_row_or_where_reading_ended() {
        let part = |n: usize, wants: fn(&usize) -> bool| sift(Page::of((0..n).collect(), Some(MOST_READ)), spot, wants);
        let next = |n: usize, wants| part(n, wants).next.map(|spot| spot.name);
        assert_eq!(next(PAGE, |_| true), None);
        assert_eq!(next(PAGE + 1, |_| true), Some((PAGE - 1).to_string()));
        assert_eq!(next(MOST_READ + 1, |n| *n == 7), Some((MOST_READ - 1).to_string()));
        assert_eq!(part(MOST_READ, |n| *n == 7).rows, [7]);
        assert_eq!(next(MOST_READ, |n| *n == 7), None);
    }

    #[test]
    fn words_are_found_in_any_case_and_order() {
        assert!(has_words("Billing.nightly", Some("NIGHT bill")));
        assert!(!has_words("Billing.nightly", Some("night day")));
        assert!(has_words("", None));
    }
}
