//! The years of a cron expression: spans without bounds, never expanded.

use super::field::Span;

/// The years in which an expression may fire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Years(Vec<Span>);

impl Years {
    pub(super) fn new(spans: Vec<Span>) -> Self {
        Years(spans)
    }

    pub(super) fn spans(&self) -> &[Span] {
        &self.0
    }

    /// The first year that is not before `year`.
    pub(super) fn at_or_after(&self, year: i32) -> Option<i32> {
        self.0.iter().filter_map(|span| next_in(span, year)).min()
    }
}

fn next_in(span: &Span, year: i32) -> Option<i32> {
    let (first, step) = (i64::from(span.first), i64::from(span.step.max(1)));
    let missing = (i64::from(year) - first).max(0);
    let steps = (missing + step - 1) / step;
    let found = i32::try_from(first + steps * step).ok()?;
    (found <= span.last).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_count_from_the_first_year() {
        let years =
            Years::new(vec![Span { first: 2020, last: 2030, step: 4 }, Span { first: 1900, last: 1900, step: 1 }]);
        assert_eq!(years.at_or_after(1800), Some(1900));
        assert_eq!(years.at_or_after(1901), Some(2020));
        assert_eq!(years.at_or_after(2025), Some(2028));
        assert_eq!(years.at_or_after(2029), None);
    }
}
