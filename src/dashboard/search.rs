//! Search: a part of a long list that a query asks for, found within a bounded number of rows.

use super::form::Fields;
use crate::epoch::{millis, moment};
use crate::error::{Error, Result};
use crate::listing::Page;
use crate::report::read_span;
use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The most rows that one page reads in search of those that are asked for.
const MOST_READ: usize = 1_000;
/// The rows of a page.
const PAGE: usize = 50;

/// The number of rows to read for a page: those that it shows, or many if it leaves some out.
pub(super) fn rows_to_read(is_filtered: bool) -> usize {
    if is_filtered { MOST_READ } else { PAGE }
}

/// The spans of time back from now that can be chosen on a page.
pub(super) const SINCE: [&str; 5] = ["15m", "1h", "6h", "1d", "7d"];

/// The time from which on a query asks: a span back from now, or a moment.
pub(super) fn since(fields: &Fields, now_ms: i64) -> Result<Option<DateTime<Utc>>> {
    let Some(text) = fields.get("since") else { return Ok(None) };
    if let Ok(back) = read_span(text) {
        return Ok(Some(moment(now_ms.saturating_sub(millis(back)))));
    }
    let expected = "expected a span back from now, such as 15m, 2h or 1d, or a time such as 2030-01-31T08:00:00Z";
    let time = DateTime::parse_from_rfc3339(text).map_err(|_| Error::invalid("since", text, expected))?;
    Ok(Some(time.with_timezone(&Utc)))
}

/// The value of a field that is one of these words, in whatever case.
pub(super) fn one_of(fields: &Fields, field: &'static str, words: &[&'static str]) -> Result<Option<&'static str>> {
    let Some(text) = fields.get(field) else { return Ok(None) };
    let found = words.iter().find(|word| word.eq_ignore_ascii_case(text));
    let wrong = || Error::invalid(field, text, format!("expected one of {}", words.join(", ")));
    Ok(Some(found.ok_or_else(wrong)?))
}

/// The error for a place that no page has named.
pub(super) fn no_place(text: &str) -> Error {
    Error::invalid("after", text, "expected the `next` of the part of the list before")
}

/// The parts of the place after which a page goes on; none for the beginning.
pub(super) fn place<T: DeserializeOwned>(fields: &Fields) -> Result<Option<T>> {
    let Some(text) = fields.get("after") else { return Ok(None) };
    serde_json::from_str(text).map(Some).map_err(|_| no_place(text))
}

/// The place after which a page goes on: name and group, as the table's key has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) name: String,
    pub(super) group: String,
}

impl Cursor {
    /// The cursor of a field: `["name","group"]`; none for the beginning.
    pub(super) fn read(fields: &Fields) -> Result<Option<Self>> {
        Ok(place(fields)?.map(|(name, group)| Self { name, group }))
    }

    pub(super) fn to_field(&self) -> String {
        Value::to_string(&json!([self.name, self.group]))
    }
}

/// A part of a list whose places are of a sort.
#[derive(Debug)]
pub(super) struct Found<T, S = Cursor> {
    pub(super) rows: Vec<T>,
    /// The place where the list goes on, if it does.
    pub(super) next: Option<S>,
    /// The number of rows that were read.
    pub(super) read: usize,
}

/// The rows that `wants`, at most [`PAGE`], of those that were read after a place.
pub(super) fn sift<T, S>(read: Page<T>, cursor: impl Fn(&T) -> S, wants: impl Fn(&T) -> bool) -> Found<T, S> {
    let all = read.items.len();
    let last = read.items.last().map(&cursor).filter(|_| read.has_more);
    let mut rows: Vec<T> = read.items.into_iter().filter(wants).take(PAGE + 1).collect();
    let next = if rows.len() > PAGE {
        rows.truncate(PAGE);
        rows.last().map(cursor)
    } else {
        last
    };
    Found { rows, next, read: all }
}

/// All rows of a page, the place after the last of them in parts.
pub(super) fn all_of<T>(page: Page<T>, place: impl Fn(&T) -> Value) -> Found<T, String> {
    let next = page.items.last().filter(|_| page.has_more).map(|last| place(last).to_string());
    Found { read: page.items.len(), rows: page.items, next }
}

/// True if a text has the words of a search in it, in whatever case.
pub(super) fn has_words(text: &str, words: Option<&str>) -> bool {
    let text = text.to_lowercase();
    words.is_none_or(|words| words.to_lowercase().split_whitespace().all(|word| text.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(n: &usize) -> Cursor {
        Cursor { name: n.to_string(), group: String::new() }
    }

    #[test]
    fn a_part_ends_at_its_last_row_or_where_reading_ended() {
        let part =
            |n: usize, wants: fn(&usize) -> bool| sift(Page::of((0..n).collect(), Some(MOST_READ)), cursor, wants);
        let next = |n: usize, wants| part(n, wants).next.map(|cursor| cursor.name);
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
