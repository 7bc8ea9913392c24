//! Begun: the prefetched fires of a node that have begun, in the form that the store keeps.

use std::collections::BTreeSet;

/// The fires that this node has prefetched and that have not begun, by their fences.
#[derive(Debug, Default)]
pub(crate) struct UnbegunFences {
    waiting: BTreeSet<i64>,
    /// The largest fence of those that have begun.
    last: i64,
    number: i64,
}

impl UnbegunFences {
    /// Adds fences that wait from now on.
    pub(crate) fn enter(&mut self, fences: impl IntoIterator<Item = i64>) {
        self.waiting.extend(fences);
    }

    /// Removes fences that wait no longer: their fires were given back, or belong to another node.
    pub(crate) fn leave(&mut self, fences: impl IntoIterator<Item = i64>) {
        for fence in fences {
            self.waiting.remove(&fence);
        }
    }

    /// Marks fences that are about to begin, and returns the mark that the store must have before
    /// they may.
    pub(crate) fn begin(&mut self, fences: impl IntoIterator<Item = i64>) -> BeginMark {
        for fence in fences {
            self.waiting.remove(&fence);
            self.last = self.last.max(fence);
        }
        self.number += 1;
        let waiting = ranges(self.waiting.range(..self.last).copied());
        BeginMark { number: self.number, last: self.last, waiting }
    }

    /// The smallest fence of those that wait: what was taken before all of them has begun.
    pub(crate) fn first_waiting(&self) -> i64 {
        self.waiting.first().copied().unwrap_or(self.last + 1)
    }
}

/// The prefetched fires that a node has begun: all up to a fence, without some ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BeginMark {
    /// Each mark of a node has a larger number than those before.
    pub number: i64,
    /// The last fence that has begun.
    pub last: i64,
    /// Fences before it that have not: ranges, with both their ends.
    pub waiting: Vec<(i64, i64)>,
}

impl BeginMark {
    /// True if the prefetched fire with this fence may have begun.
    pub fn has_begun(&self, fence: i64) -> bool {
        fence <= self.last && !self.waiting.iter().any(|(first, last)| (*first..=*last).contains(&fence))
    }

    /// The ranges as text, `7 9-12`.
    pub fn waiting_text(&self) -> String {
        let range = |(first, last): &(i64, i64)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        };
        self.waiting.iter().map(range).collect::<Vec<_>>().join(" ")
    }

    /// Reads [`waiting_text`](Self::waiting_text); what is not of that form is left out.
    pub fn waiting_of(text: &str) -> Vec<(i64, i64)> {
        let range = |word: &str| {
            let (first, last) = word.split_once('-').unwrap_or((word, word));
            Some((first.parse().ok()?, last.parse().ok()?))
        };
        text.split_whitespace().filter_map(range).collect()
    }
}

/// Ascending numbers, those that follow each other as one range.
fn ranges(numbers: impl Iterator<Item = i64>) -> Vec<(i64, i64)> {
    let mut ranges: Vec<(i64, i64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut().filter(|(_, last)| *last + 1 == number) {
            Some((_, last)) => *last = number,
            None => ranges.push((number, number)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_has_not_begun() {
        let mut not_begun = UnbegunFences::default();
        not_begun.enter(10..=20);
        let first = not_begun.begin([10, 11]);
        assert_eq!(first, BeginMark { number: 1, last: 11, waiting: Vec::new() });
        assert_eq!([10, 11, 12, 99].map(|fence| first.has_begun(fence)), [true, true, false, false]);
        assert_eq!(not_begun.first_waiting(), 12);

        let second = not_begun.begin([15, 17]);
        assert_eq!(second, BeginMark { number: 2, last: 17, waiting: vec![(12, 14), (16, 16)] });
        assert_eq!(
            [11, 12, 14, 15, 16, 17, 18].map(|f| second.has_begun(f)),
            [true, false, false, true, false, true, false]
        );
        assert_eq!(BeginMark::waiting_of(&second.waiting_text()), second.waiting);
        assert_eq!(second.waiting_text(), "12-14 16");

        // A mark that was not stored is replaced by the next one.
        not_begun.enter([15, 17]);
        not_begun.leave([12, 13, 14, 16]);
        assert_eq!(not_begun.begin([17]), BeginMark { number: 3, last: 17, waiting: vec![(15, 15)] });
        assert_eq!(not_begun.first_waiting(), 15);
        not_begun.leave([15, 18, 19, 20]);
        assert_eq!(not_begun.first_waiting(), 18);
    }

    #[test]
    fn text_that_nobody_wrote_is_left_out() {
        assert_eq!(BeginMark::waiting_of(" 3 x 5-7 -  9-y "), [(3, 3), (5, 7)]);
    }
}
