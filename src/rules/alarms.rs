//! Alarms: when one is raised, and when it is over.

use std::time::Duration;

/// From where on a value is bad, and from where on it is good again. Between the two nothing
/// changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    /// Bad from `bad` upwards, good from `good` downwards.
    AtLeast { bad: f64, good: f64 },
    /// Bad below this, else good.
    Below(f64),
}

impl Bound {
    /// Bad from `limit` upwards, good again when a fifth below it.
    pub(crate) fn at_least(limit: f64) -> Self {
        Self::AtLeast { bad: limit, good: limit * 0.8 }
    }

    /// The threshold as the settings have it.
    pub(crate) fn limit(self) -> f64 {
        match self {
            Self::AtLeast { bad, .. } => bad,
            Self::Below(limit) => limit,
        }
    }

    fn is_bad(self, value: f64) -> bool {
        match self {
            Self::AtLeast { bad, .. } => value >= bad,
            Self::Below(limit) => value < limit,
        }
    }

    fn is_good(self, value: f64) -> bool {
        match self {
            Self::AtLeast { good, .. } => value <= good,
            Self::Below(limit) => value >= limit,
        }
    }
}

/// The limit at which an alarm is raised and cleared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Threshold {
    pub(crate) bound: Bound,
    /// The time for which a value must be bad before the alarm is raised.
    pub(crate) bad_for: Duration,
    /// The time for which a value must be good before the alarm is cleared.
    pub(crate) good_for: Duration,
}

/// The state of an alarm. Times are of the monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AlarmState {
    /// Nothing is wrong.
    #[default]
    Calm,
    /// The value is bad since then, not for long enough.
    Suspicious(Duration),
    /// Raised; good again since then, if it is, not for long enough.
    Raised(Option<Duration>),
}

/// The change of an alarm by a new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing.
    None,
    /// The alarm is raised now.
    Raised,
    /// The alarm is cleared now.
    Cleared,
}

/// The state of an alarm after a new value. An alarm without a threshold is not raised; a missing
/// value changes nothing.
pub(crate) fn judge(
    state: AlarmState,
    threshold: Option<&Threshold>,
    value: Option<f64>,
    now: Duration,
) -> (AlarmState, Change) {
    let Some(threshold) = threshold else {
        let change = if matches!(state, AlarmState::Raised(_)) { Change::Cleared } else { Change::None };
        return (AlarmState::Calm, change);
    };
    let Some(value) = value else { return (state, Change::None) };
    let is_over = |since: Duration, term: Duration| now.saturating_sub(since) >= term;
    match state {
        AlarmState::Calm | AlarmState::Suspicious(_) if !threshold.bound.is_bad(value) => {
            (AlarmState::Calm, Change::None)
        }
        AlarmState::Calm | AlarmState::Suspicious(_) => {
            let since = if let AlarmState::Suspicious(since) = state { since } else { now };
            match is_over(since, threshold.bad_for) {
                true => (AlarmState::Raised(None), Change::Raised),
                false => (AlarmState::Suspicious(since), Change::None),
            }
        }
        AlarmState::Raised(_) if !threshold.bound.is_good(value) => (AlarmState::Raised(None), Change::None),
        AlarmState::Raised(good_since) => {
            let since = good_since.unwrap_or(now);
            match is_over(since, threshold.good_for) {
                true => (AlarmState::Calm, Change::Cleared),
                false => (AlarmState::Raised(Some(since)), Change::None),
            }
        }
    }
}

/// The growth of a counter until it stood still for a while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Growth {
    from: u64,
    last: u64,
    grown_at: Duration,
}

impl Growth {
    /// The growth since the last time at which the counter had stood still for `still`.
    pub(crate) fn look(&mut self, value: u64, still: Duration, now: Duration) -> u64 {
        if value > self.last {
            self.last = value;
            self.grown_at = now;
        } else if now.saturating_sub(self.grown_at) >= still {
            self.from = self.last;
        }
        self.last - self.from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Each row is a reading: time, value, state and change afterwards (DS-23, DS-74).
    fn story(threshold: Threshold, looks: &[(u64, Option<f64>, AlarmState, Change)]) {
        let mut state = AlarmState::default();
        for (i, (seconds, value, expected, change)) in looks.iter().enumerate() {
            let after = judge(state, Some(&threshold), *value, at(*seconds));
            assert_eq!(after, (*expected, *change), "look {i}");
            state = after.0;
        }
    }

    #[test]
    fn an_alarm_is_raised_once_after_its_time_and_cleared_once_with_hysteresis() {
        use AlarmState::{Calm, Raised, Suspicious};
        let threshold = Threshold { bound: Bound::at_least(10.0), bad_for: at(60), good_for: at(30) };
        story(
            threshold,
            &[
                (0, Some(9.0), Calm, Change::None),
                (10, Some(10.0), Suspicious(at(10)), Change::None),
                (40, Some(99.0), Suspicious(at(10)), Change::None),
                (50, Some(9.9), Calm, Change::None), // a moment of peace begins it anew
                (60, Some(10.0), Suspicious(at(60)), Change::None),
                (90, None, Suspicious(at(60)), Change::None), // nothing is known
                (120, Some(10.0), Raised(None), Change::Raised),
                (130, Some(50.0), Raised(None), Change::None), // not again
                (140, Some(9.0), Raised(None), Change::None),  // below the limit, and not good yet
                (150, Some(8.0), Raised(Some(at(150))), Change::None),
                (170, Some(8.5), Raised(None), Change::None), // not good for long enough
                (180, Some(0.0), Raised(Some(at(180))), Change::None),
                (200, None, Raised(Some(at(180))), Change::None),
                (210, Some(0.0), Calm, Change::Cleared),
                (220, Some(0.0), Calm, Change::None),
            ],
        );
    }

    #[test]
    fn without_terms_it_follows_the_value_and_a_lower_bound_is_turned_round() {
        use AlarmState::{Calm, Raised};
        let threshold = Threshold { bound: Bound::Below(3.0), bad_for: at(0), good_for: at(0) };
        story(
            threshold,
            &[
                (0, Some(3.0), Calm, Change::None),
                (1, Some(2.0), Raised(None), Change::Raised),
                (2, Some(0.0), Raised(None), Change::None),
                (3, Some(3.0), Calm, Change::Cleared),
            ],
        );
        let one = Threshold { bound: Bound::at_least(1.0), ..threshold };
        story(
            one,
            &[
                (0, Some(0.0), Calm, Change::None),
                (1, Some(1.0), Raised(None), Change::Raised),
                (2, Some(0.0), Calm, Change::Cleared),
            ],
        );
    }

    #[test]
    fn an_alarm_without_a_threshold_does_not_stand() {
        assert_eq!(judge(AlarmState::Raised(None), None, Some(5.0), at(1)), (AlarmState::Calm, Change::Cleared));
        assert_eq!(judge(AlarmState::Suspicious(at(0)), None, Some(5.0), at(1)), (AlarmState::Calm, Change::None));
        assert_eq!(judge(AlarmState::Calm, None, None, at(1)), (AlarmState::Calm, Change::None));
    }

    #[test]
    fn growth_is_counted_until_the_counter_has_stood_still() {
        let mut growth = Growth::default();
        let still = at(600);
        assert_eq!(growth.look(0, still, at(0)), 0);
        assert_eq!(growth.look(2, still, at(10)), 2);
        assert_eq!(growth.look(3, still, at(600)), 3);
        assert_eq!(growth.look(3, still, at(1199)), 3);
        assert_eq!(growth.look(3, still, at(1200)), 0);
        assert_eq!(growth.look(4, still, at(1201)), 1);
    }
}
