//! Spread: what so many of a thousand measured values keep to.

/// Measured values in order.
pub struct Spread(Vec<i64>);

impl Spread {
    pub fn of(mut values: Vec<i64>) -> Self {
        values.sort_unstable();
        Self(values)
    }

    /// The least value that so many of a thousand keep to; 0 of nothing.
    pub fn at(&self, per_mille: usize) -> i64 {
        let at = (self.0.len() * per_mille).div_ceil(1_000).saturating_sub(1);
        self.0.get(at).copied().unwrap_or(0)
    }

    pub fn max(&self) -> i64 {
        self.0.last().copied().unwrap_or(0)
    }
}

/// Rate by the second, of so many in this time.
pub fn per_second(count: usize, time: std::time::Duration) -> f64 {
    let seconds = time.as_secs_f64();
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_middle_the_last_percent_and_the_worst() {
        let hundred = Spread::of((1..=100).rev().collect());
        assert_eq!((hundred.at(500), hundred.at(990), hundred.max()), (50, 99, 100));
        let (one, none) = (Spread::of(vec![7]), Spread::of(Vec::new()));
        assert_eq!((one.at(500), one.at(990), one.max()), (7, 7, 7));
        assert_eq!((none.at(990), none.max()), (0, 0));
    }

    #[test]
    fn rates_are_by_the_second() {
        assert_eq!(per_second(50, Duration::from_millis(500)), 100.0);
        assert_eq!(per_second(50, Duration::ZERO), 0.0);
    }
}
