//! `--limit`, `--all` and `--after`: the part of a list that is shown, and the token of the place
//! where it goes on.

use crate::failure::{Failure, Outcome};
use crate::shown::grouped;
use carnelian::listing::Page;
use clap::Args;
use std::num::NonZeroUsize;

/// The most rows that the store gives for one query.
const MOST_OF_QUERY: usize = 10_000;

// The part of a list; as a doc comment it would be the help of the command.
#[derive(Args, Clone, Debug)]
pub struct Paging {
    /// At most so many
    #[arg(long, value_name = "N", default_value = "50", help_heading = "Pages", value_parser = limit, allow_negative_numbers = true)]
    pub limit: NonZeroUsize,
    /// All of them, whatever their number
    #[arg(long, conflicts_with = "limit", help_heading = "Pages")]
    pub all: bool,
    /// Only what comes after this place: `next` of the list before
    #[arg(long, value_name = "TOKEN", help_heading = "Pages")]
    pub after: Option<String>,
}

/// A part of a list.
pub struct Part<T> {
    pub items: Vec<T>,
    /// The token of the place where the list goes on; none at its end.
    pub next: Option<String>,
    /// The number of entries of the whole list, where it is known.
    pub total: Option<usize>,
}

impl Paging {
    /// The most entries.
    pub fn most(&self) -> Option<usize> {
        (!self.all).then_some(self.limit.get())
    }

    /// The parts of the token, of which there must be so many.
    pub fn place<const N: usize>(&self) -> Outcome<Option<[String; N]>> {
        let Some(token) = &self.after else { return Ok(None) };
        let parts = decode(token).and_then(|parts| parts.try_into().ok());
        parts.map(Some).ok_or_else(|| no_place(token))
    }

    /// The time and the other parts of the token of a list in the order of times; without a token a
    /// place before all entries.
    pub fn time_and_place<const N: usize>(&self) -> Outcome<(i64, [String; N])> {
        let Some(token) = &self.after else { return Ok((i64::MIN, [const { String::new() }; N])) };
        let parts = decode(token).and_then(|mut parts| {
            let time = (!parts.is_empty()).then(|| parts.remove(0))?.parse().ok()?;
            Some((time, parts.try_into().ok()?))
        });
        parts.ok_or_else(|| no_place(token))
    }

    /// The part of a whole list, in the order of the places of its entries.
    pub fn cut<T, const N: usize>(&self, mut items: Vec<T>, place: impl Fn(&T) -> [String; N]) -> Outcome<Part<T>> {
        items.sort_by_cached_key(|item| place(item));
        let total = items.len();
        if let Some(after) = self.place::<N>()? {
            items.retain(|item| place(item) > after);
        }
        let has_more = self.most().is_some_and(|most| items.len() > most);
        items.truncate(self.most().unwrap_or(usize::MAX));
        let next = items.last().filter(|_| has_more).map(|item| token(&place(item)));
        Ok(Part { items, next, total: Some(total) })
    }
}

impl<T> Part<T> {
    /// The part that a page of the store is, with the places of its entries.
    pub fn of<const N: usize>(page: Page<T>, place: impl Fn(&T) -> [String; N]) -> Self {
        let next = page.items.last().filter(|_| page.has_more).map(|last| token(&place(last)));
        Self { items: page.items, next, total: None }
    }

    /// The part that queries give, each for at most so many entries after the last one of the query
    /// before. One entry more than is shown tells whether there are more.
    pub fn of_queries(
        paging: &Paging,
        token: impl Fn(&T) -> String,
        find: impl Fn(Option<&T>, usize) -> Outcome<Vec<T>>,
    ) -> Outcome<Self> {
        let (most, mut items) = (paging.most(), Vec::new());
        loop {
            let wanted = most.map_or(MOST_OF_QUERY, |most| most.saturating_add(1).saturating_sub(items.len()));
            let wanted = wanted.min(MOST_OF_QUERY);
            let found = find(items.last(), wanted)?;
            let is_last = found.len() < wanted;
            items.extend(found);
            if is_last || most.is_some_and(|most| items.len() > most) {
                break;
            }
        }
        let has_more = most.is_some_and(|most| items.len() > most);
        items.truncate(most.unwrap_or(usize::MAX));
        let next = items.last().filter(|_| has_more).map(token);
        Ok(Self { items, next, total: None })
    }
}

impl<T> Part<T> {
    /// The line about what is not shown.
    pub fn rest(&self) -> String {
        let Some(next) = &self.next else { return String::new() };
        let shown = grouped(self.items.len());
        let shown = self.total.map_or(format!("{shown} shown"), |total| format!("{shown} of {}", grouped(total)));
        format!("{shown}; --all shows all, --after {next} what follows\n")
    }
}

/// The failure for a place that no list has named.
pub fn no_place(token: &str) -> Failure {
    Failure::Usage(format!("`{token}` is no place in this list: take `next` of the list before"))
}

fn limit(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "expected 1 or more".to_owned())
}

/// A number as a part of a place: in the order of numbers.
pub fn ordered(number: i64) -> String {
    format!("{:020}", number.max(0))
}

/// The token of a place: a word that no shell changes.
pub fn token(parts: &[String]) -> String {
    let encode = |part: &String| -> String {
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let byte = |byte: u8| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
        part.bytes().map(byte).collect()
    };
    parts.iter().map(encode).collect::<Vec<_>>().join(":")
}

fn decode(token: &str) -> Option<Vec<String>> {
    let part = |part: &str| {
        let (mut bytes, mut rest) = (Vec::new(), part.bytes());
        while let Some(byte) = rest.next() {
            let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
            match byte {
                b'%' => bytes.push(u8::try_from(digit(rest.next())? * 16 + digit(rest.next())?).ok()?),
                byte => bytes.push(byte),
            }
        }
        String::from_utf8(bytes).ok()
    };
    token.split(':').map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paging(limit: usize, after: Option<&str>) -> Paging {
        Paging { limit: limit.try_into().unwrap(), all: false, after: after.map(str::to_owned) }
    }

    #[test]
    fn tokens_are_words_and_bring_back_their_places() {
        let parts = ["group.x".to_owned(), "näme: 100 %".to_owned(), String::new()];
        let token = token(&parts);
        assert_eq!(token, "group.x:n%C3%A4me%3A%20100%20%25:");
        assert_eq!(paging(1, Some(&token)).place::<3>().unwrap(), Some(parts));
        assert!(paging(1, Some(&token)).place::<2>().is_err());
        assert!(paging(1, Some("%zz")).place::<1>().is_err());
    }

    #[test]
    fn a_list_is_cut_into_parts_that_miss_nothing() {
        let place = |n: &i64| [ordered(*n)];
        let first = paging(2, None).cut(vec![30, 4, 100], place).unwrap();
        assert_eq!((first.items.as_slice(), first.total), ([4, 30].as_slice(), Some(3)));
        assert_eq!(first.rest(), format!("2 of 3; --all shows all, --after {} what follows\n", ordered(30)));
        // An entry that is gone meanwhile is a place all the same.
        let second = paging(2, first.next.as_deref()).cut(vec![4, 100], place).unwrap();
        assert_eq!((second.items, second.next), (vec![100], None));
    }

    #[test]
    fn queries_go_on_until_the_list_is_long_enough_or_ends() {
        let part = |paging: &Paging, count: usize| {
            let find =
                |last: Option<&usize>, limit| Ok((0..count).skip(last.map_or(0, |n| n + 1)).take(limit).collect());
            let part = Part::of_queries(paging, usize::to_string, find).unwrap();
            (part.items.len(), part.next)
        };
        assert_eq!(part(&paging(2, None), 3), (2, Some("1".to_owned())));
        assert_eq!(part(&paging(2, None), 2), (2, None));
        assert_eq!(part(&paging(MOST_OF_QUERY, None), MOST_OF_QUERY + 1), (MOST_OF_QUERY, Some("9999".to_owned())));
        let all = Paging { all: true, ..paging(2, None) };
        assert_eq!(part(&all, 2 * MOST_OF_QUERY + 1), (2 * MOST_OF_QUERY + 1, None));
        assert_eq!(part(&all, 0), (0, None));
    }
}
