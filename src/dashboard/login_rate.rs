//! The rate of logins: how often a wrong password may be tried.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::Duration;

/// The wrong tries that one name or address has in a window.
const EACH: u32 = 5;
/// The wrong tries that all have together in a window.
const ALL: u32 = 100;
/// The length of a window.
const WINDOW: Duration = Duration::from_secs(60);

/// The wrong tries of the present window.
#[derive(Debug, Default)]
pub(super) struct LoginRate(Mutex<Tries>);

#[derive(Debug, Default)]
struct Tries {
    since: Duration,
    all: u32,
    of: BTreeMap<String, u32>,
}

impl LoginRate {
    /// The time for which these must wait, by their names; none if they may try.
    pub(super) fn wait(&self, who: &[&str], now: Duration) -> Option<Duration> {
        let mut tries = self.0.lock();
        if now.saturating_sub(tries.since) >= WINDOW {
            *tries = Tries { since: now, ..Tries::default() };
        }
        let is_over = |who: &&str| tries.of.get(*who).is_some_and(|n| *n >= EACH);
        let must_wait = tries.all >= ALL || who.iter().any(is_over);
        must_wait.then(|| (tries.since + WINDOW).saturating_sub(now))
    }

    /// Notes a wrong try.
    pub(super) fn note_failure(&self, who: &[&str]) {
        let mut tries = self.0.lock();
        tries.all += 1;
        for who in who {
            *tries.of.entry((*who).to_owned()).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_are_bounded_for_each_and_for_all() {
        let (rate, now) = (LoginRate::default(), Duration::from_secs(100));
        for _ in 0..EACH {
            assert_eq!(rate.wait(&["ada", "10.0.0.1"], now), None);
            rate.note_failure(&["ada", "10.0.0.1"]);
        }
        assert_eq!(rate.wait(&["ada", "10.0.0.2"], now), Some(WINDOW));
        assert_eq!(rate.wait(&["bob", "10.0.0.1"], now), Some(WINDOW));
        assert_eq!(rate.wait(&["bob", "10.0.0.2"], now), None);
        for n in 0..ALL {
            rate.note_failure(&[&n.to_string()]);
        }
        assert_eq!(rate.wait(&["bob", "10.0.0.2"], now + WINDOW / 2), Some(WINDOW / 2));
        assert_eq!(rate.wait(&["ada", "10.0.0.1"], now + WINDOW), None);
    }
}
