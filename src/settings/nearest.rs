//! Nearest: which known name a misspelt one was probably meant to be.

/// Longer names are not compared: nobody misspells a key into this.
const LONGEST: usize = 120;

/// Most edits that are forgiven.
const MOST_EDITS: usize = 4;

/// The candidate closest to `given`, if it is close enough to be worth a question.
///
/// Case does not count, and a swap of neighbours counts once. A name may have about one edit in six
/// characters, and never more than four. Parts of a dotted name that agree at its beginning do not
/// make the rest more alike.
pub(crate) fn nearest<I>(given: &str, candidates: I) -> Option<String>
where
    I: IntoIterator<Item = String>,
{
    let given = folded(given)?;
    let mut best: Option<(usize, String)> = None;
    for candidate in candidates {
        let Some(other) = folded(&candidate) else {
            continue;
        };
        let (given, other) = without_common_parts(&given, &other);
        let limit = (1 + given.len() / 6).min(MOST_EDITS);
        if other.len().abs_diff(given.len()) > limit {
            continue;
        }
        let far = distance(given, other);
        if far <= limit && best.as_ref().is_none_or(|(least, _)| far < *least) {
            best = Some((far, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

fn without_common_parts<'a>(one: &'a [char], other: &'a [char]) -> (&'a [char], &'a [char]) {
    let same = one.iter().zip(other).take_while(|(a, b)| a == b);
    let dot = same.enumerate().filter(|(_, (c, _))| **c == '.').last();
    let from = dot.map_or(0, |(at, _)| at + 1);
    (one.get(from..).unwrap_or(&[]), other.get(from..).unwrap_or(&[]))
}

fn folded(text: &str) -> Option<Vec<char>> {
    let chars: Vec<char> = text.chars().take(LONGEST + 1).map(|c| c.to_ascii_lowercase()).collect();
    (!chars.is_empty() && chars.len() <= LONGEST).then_some(chars)
}

/// Edits (insert, delete, replace, swap neighbours) that lead from one text to the other.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    let mut from_before: Option<char> = None;
    for (row, &f) in from.iter().enumerate() {
        let mut current = Vec::with_capacity(last.len());
        let mut left = row + 1;
        current.push(left);
        let mut to_before: Option<char> = None;
        for (column, &t) in to.iter().enumerate() {
            let at = |line: &[usize], index: usize| line.get(index).copied().unwrap_or(usize::MAX / 2);
            let mut cost = (at(&last, column) + usize::from(f != t)).min(at(&last, column + 1) + 1).min(left + 1);
            if from_before == Some(t) && to_before == Some(f) {
                cost = cost.min(at(&before_last, column.saturating_sub(1)) + 1);
            }
            current.push(cost);
            left = cost;
            to_before = Some(t);
        }
        from_before = Some(f);
        before_last = std::mem::replace(&mut last, current);
    }
    last.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chars(text: &str) -> Vec<char> {
        text.chars().collect()
    }

    #[test]
    fn edits_are_counted() {
        for (from, to, edits) in
            [("kitten", "sitting", 3), ("", "abc", 3), ("abc", "", 3), ("abcd", "abdc", 1), ("same", "same", 0)]
        {
            assert_eq!(distance(&chars(from), &chars(to)), edits, "{from} {to}");
        }
    }

    #[test]
    fn the_nearest_name_is_offered_and_a_far_one_is_not() {
        let known = || ["threadPool.threadCount", "jobStore.isClustered"].map(String::from);
        assert_eq!(nearest("threadPool.threadCont", known()).as_deref(), Some("threadPool.threadCount"));
        assert_eq!(nearest("jobstore.isclustered", known()).as_deref(), Some("jobStore.isClustered"));
        assert_eq!(nearest("colour", known()), None);
        assert_eq!(nearest("jobStore.isColourful", known()), None);
        assert_eq!(nearest("", known()), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), known()), None);
    }
}
