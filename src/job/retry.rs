//! `RetryPolicy`: whether, and after how long, the work of a run that failed is tried again.

use super::whole_millis;
use crate::error::{Error, Result};
use crate::hash::drawn;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The attempts of a job that says nothing else.
const DEFAULT_ATTEMPTS: u32 = 3;
/// The most attempts.
const MOST_ATTEMPTS: u32 = 10_000;
/// The longest delay: a year.
const LONGEST_DELAY: Duration = Duration::from_secs(365 * 24 * 3600);
/// The most delays of a list, and the most classes of errors.
const MOST_RULES: usize = 100;

/// The policy by which the work of a failed run is tried again: how often, and after which delays.
///
/// Each try is a fire of its own, on whichever node is free, of a one-shot trigger in the group
/// `RETRYING_JOBS`; the schedule of the job goes on beside it. The checkpoint stays until the work
/// is done or given up. Three attempts in all, unless [`RetryPolicy::max_attempts`] says otherwise.
/// A run that is lost with its node counts as an attempt for what is said of the next failure; one
/// that ended because its node did does not. Work whose runs die again and again is bounded by
/// [`JobPolicy::max_takeovers`](crate::JobPolicy::max_takeovers): nothing is tried for ever.
///
/// ```
/// use carnelian::{JobDetail, JobKey, JobPolicy, RetryPolicy};
/// use std::time::Duration;
///
/// let patient = RetryPolicy::exponential(Duration::from_secs(10), 2.0).cap(Duration::from_secs(600)).jitter(0.2);
/// let policy = patient
///     .max_attempts(8)
///     .on_class("rate-limit", RetryPolicy::fixed(Duration::from_secs(60)).max_attempts(20))
///     .never_on("bad-input");
/// let job = JobDetail::builder(JobKey::named("mail"), "mail.send").policy(JobPolicy::new().retry(policy)).build()?;
/// # Ok::<(), carnelian::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[must_use = "it does nothing until a job's policy is given it"]
pub struct RetryPolicy {
    #[serde(default = "default_attempts")]
    max_attempts: u32,
    backoff: Backoff,
    #[serde(default, skip_serializing_if = "is_zero")]
    jitter: f64,
    /// The policies of classes of errors; none for those that are never tried again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    classes: BTreeMap<String, Option<RetryPolicy>>,
}

/// The growth of the delays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Backoff {
    /// Always the same.
    Fixed(#[serde(with = "whole_millis")] Duration),
    /// Each so many times the one before.
    Exponential {
        #[serde(with = "whole_millis")]
        first: Duration,
        factor: f64,
        #[serde(with = "whole_millis")]
        cap: Duration,
    },
    /// Delays one after the other, the last again and again; in milliseconds.
    Delays(Vec<u64>),
}

/// The advice of an error about another try.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RetryHint {
    /// True if another try cannot help.
    pub(crate) permanent: bool,
    /// After how long.
    pub(crate) after: Option<Duration>,
    /// The class of the error.
    pub(crate) class: Option<String>,
}

impl RetryPolicy {
    /// Always after the same time.
    pub fn fixed(delay: Duration) -> Self {
        Self::new(Backoff::Fixed(delay))
    }

    /// First after this time, then each time after so many times the last; never after more than an
    /// hour, unless [`RetryPolicy::cap`] says otherwise.
    pub fn exponential(first: Duration, factor: f64) -> Self {
        Self::new(Backoff::Exponential { first, factor, cap: Duration::from_secs(3600).max(first) })
    }

    /// After these times, one after the other; the last one is used again if there are more
    /// attempts. As many attempts as there are delays, and one more.
    pub fn delays(delays: impl IntoIterator<Item = Duration>) -> Self {
        let delays: Vec<u64> = delays.into_iter().map(crate::epoch::whole_millis).collect();
        let attempts = u32::try_from(delays.len()).unwrap_or(u32::MAX).saturating_add(1);
        Self::new(Backoff::Delays(delays)).max_attempts(attempts)
    }

    fn new(backoff: Backoff) -> Self {
        Self { max_attempts: DEFAULT_ATTEMPTS, backoff, jitter: 0.0, classes: BTreeMap::new() }
    }

    /// The number of tries in all, the first one included: 1 to 10000. Default: 3.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts;
        self
    }

    /// The longest delay of an exponential policy; others have none. Default: an hour.
    pub fn cap(mut self, longest: Duration) -> Self {
        if let Backoff::Exponential { cap, .. } = &mut self.backoff {
            *cap = longest;
        }
        self
    }

    /// The share by which a delay may be shorter, 0 to 1, so that many runs that failed together do
    /// not come back together. The amount is drawn from the fire's id. Default: 0.
    pub fn jitter(mut self, share: f64) -> Self {
        self.jitter = share;
        self
    }

    /// Another policy for errors of a [class](crate::JobError::class); its own classes mean
    /// nothing.
    pub fn on_class(mut self, class: impl Into<String>, policy: RetryPolicy) -> Self {
        self.classes.insert(class.into(), Some(RetryPolicy { classes: BTreeMap::new(), ..policy }));
        self
    }

    /// Errors of this [class](crate::JobError::class) are never tried again.
    pub fn never_on(mut self, class: impl Into<String>) -> Self {
        self.classes.insert(class.into(), None);
        self
    }

    /// Checks that it makes sense.
    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |what: &'static str, found: String, expected: &str| Err(Error::invalid(what, found, expected));
        if !(1..=MOST_ATTEMPTS).contains(&self.max_attempts) {
            return wrong("max attempts", self.max_attempts.to_string(), "expected 1 to 10000");
        }
        if !(0.0..=1.0).contains(&self.jitter) {
            return wrong("jitter", self.jitter.to_string(), "expected 0 to 1");
        }
        let longest = match &self.backoff {
            Backoff::Fixed(delay) => *delay,
            // Zero times what is beyond all numbers is no number.
            Backoff::Exponential { first, .. } if first.is_zero() => Duration::ZERO,
            Backoff::Exponential { factor, .. } if !(1.0..=1000.0).contains(factor) => {
                return wrong("backoff factor", factor.to_string(), "expected 1 to 1000");
            }
            Backoff::Exponential { first, cap, .. } => *first.max(cap),
            Backoff::Delays(delays) if delays.is_empty() || delays.len() > MOST_RULES => {
                return wrong("retry delays", format!("{} of them", delays.len()), "expected 1 to 100");
            }
            Backoff::Delays(delays) => Duration::from_millis(delays.iter().copied().max().unwrap_or(0)),
        };
        if longest > LONGEST_DELAY {
            return wrong("retry delay", format!("{longest:?}"), "expected at most 365 days");
        }
        if self.classes.len() > MOST_RULES {
            return wrong("classes of errors", self.classes.len().to_string(), "expected at most 100");
        }
        self.classes.values().flatten().try_for_each(RetryPolicy::check)
    }

    /// After how long the work of this fire, before which there were `attempt` runs, is tried
    /// again; none if not.
    pub(crate) fn delay(&self, attempt: i64, hint: &RetryHint, fire_id: &str) -> Option<Duration> {
        let policy = match hint.class.as_ref().and_then(|class| self.classes.get(class)) {
            Some(None) => return None,
            Some(Some(policy)) => policy,
            None => self,
        };
        if hint.permanent || attempt.saturating_add(1) >= i64::from(policy.max_attempts) {
            return None;
        }
        let delay = hint.after.unwrap_or_else(|| policy.shortened(policy.backoff.delay(attempt), fire_id));
        Some(delay.min(LONGEST_DELAY))
    }

    fn shortened(&self, delay: Duration, fire_id: &str) -> Duration {
        // The hash of the fire's id, mixed, since ids differ in their last digits; then a number
        // from 0 to 1.
        let share = f64::from(u32::try_from(drawn(fire_id) >> 32).unwrap_or(0)) / f64::from(u32::MAX);
        delay.mul_f64((1.0 - self.jitter * share).clamp(0.0, 1.0))
    }
}

impl Backoff {
    fn delay(&self, attempt: i64) -> Duration {
        match self {
            Backoff::Fixed(delay) => *delay,
            // Zero times what is beyond all numbers is no number.
            Backoff::Exponential { first, .. } if first.is_zero() => Duration::ZERO,
            Backoff::Exponential { first, factor, cap } => {
                let times = factor.powi(i32::try_from(attempt).unwrap_or(i32::MAX));
                let seconds = first.as_secs_f64() * times;
                Duration::try_from_secs_f64(seconds).unwrap_or(*cap).min(*cap)
            }
            Backoff::Delays(delays) => {
                let chosen = usize::try_from(attempt).ok().and_then(|attempt| delays.get(attempt)).or(delays.last());
                Duration::from_millis(chosen.copied().unwrap_or(0))
            }
        }
    }
}

/// The policy of a job without one that asks for another try.
impl Default for RetryPolicy {
    fn default() -> Self {
        Self::fixed(Duration::from_secs(60))
    }
}

fn default_attempts() -> u32 {
    DEFAULT_ATTEMPTS
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn delays(policy: &RetryPolicy) -> Vec<u64> {
        let hint = RetryHint::default();
        let delay = |attempt| policy.delay(attempt, &hint, "f").map(|delay| delay.as_secs());
        (0..20).map_while(delay).collect()
    }

    #[test]
    fn delays_grow_as_the_policy_says() {
        assert_eq!(delays(&RetryPolicy::fixed(5 * SECOND)), [5, 5]);
        assert_eq!(delays(&RetryPolicy::fixed(SECOND).max_attempts(1)), [0; 0]);
        let growing = RetryPolicy::exponential(SECOND, 3.0).cap(20 * SECOND).max_attempts(6);
        assert_eq!(delays(&growing), [1, 3, 9, 20, 20]);
        let at_once = RetryPolicy::exponential(Duration::ZERO, 1000.0).max_attempts(200);
        assert_eq!(at_once.delay(150, &RetryHint::default(), "f"), Some(Duration::ZERO));
        assert_eq!(delays(&RetryPolicy::delays([SECOND, 7 * SECOND])), [1, 7]);
        assert_eq!(delays(&RetryPolicy::delays([SECOND, 7 * SECOND]).max_attempts(5)), [1, 7, 7, 7]);
    }

    #[test]
    fn nothing_overflows_and_nothing_is_tried_for_ever() {
        let wild = RetryPolicy::exponential(SECOND, 1000.0).max_attempts(MOST_ATTEMPTS);
        wild.check().unwrap();
        let hint = RetryHint::default();
        for attempt in [0, 1, 100, 9_998] {
            assert!(wild.delay(attempt, &hint, "f").unwrap() <= Duration::from_secs(3600));
        }
        for attempt in [9_999, 10_000, i64::MAX] {
            assert_eq!(wild.delay(attempt, &hint, "f"), None);
        }
        let late = RetryHint { after: Some(Duration::MAX), ..RetryHint::default() };
        assert_eq!(wild.delay(0, &late, "f"), Some(LONGEST_DELAY));
    }

    #[test]
    fn jitter_shortens_and_is_the_same_for_the_same_fire() {
        let policy = RetryPolicy::fixed(100 * SECOND).jitter(0.5);
        let hint = RetryHint::default();
        let of = |fire: &str| policy.delay(0, &hint, fire).unwrap();
        let all: Vec<Duration> = (0..200).map(|i| of(&format!("fire-{i}"))).collect();
        assert!(all.iter().all(|delay| (50 * SECOND..=100 * SECOND).contains(delay)));
        assert!(all.iter().min().unwrap() < &(60 * SECOND) && all.iter().max().unwrap() > &(90 * SECOND));
        assert_eq!(of("fire-7"), of("fire-7"));
    }

    #[test]
    fn errors_have_a_say() {
        let policy = RetryPolicy::fixed(SECOND)
            .on_class("busy", RetryPolicy::fixed(9 * SECOND).max_attempts(2))
            .never_on("bad-input");
        let class = |name: &str| RetryHint { class: Some(name.to_owned()), ..RetryHint::default() };
        assert_eq!(policy.delay(0, &class("other"), "f"), Some(SECOND));
        assert_eq!(policy.delay(0, &class("busy"), "f"), Some(9 * SECOND));
        assert_eq!(policy.delay(1, &class("busy"), "f"), None);
        assert_eq!(policy.delay(0, &class("bad-input"), "f"), None);
        let permanent = RetryHint { permanent: true, ..RetryHint::default() };
        assert_eq!(policy.delay(0, &permanent, "f"), None);
        let after = RetryHint { after: Some(3 * SECOND), ..RetryHint::default() };
        assert_eq!(policy.delay(0, &after, "f"), Some(3 * SECOND));
        assert_eq!(policy.delay(2, &after, "f"), None, "it is an attempt");
    }

    #[test]
    fn it_is_stored_as_text_and_read_again() {
        let policy = RetryPolicy::exponential(SECOND, 2.0)
            .jitter(0.25)
            .max_attempts(7)
            .on_class("busy", RetryPolicy::delays([SECOND]))
            .never_on("bad");
        let text = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<RetryPolicy>(&text).unwrap(), policy);
        assert_eq!(
            serde_json::to_string(&RetryPolicy::fixed(SECOND)).unwrap(),
            r#"{"maxAttempts":3,"backoff":{"fixed":1000}}"#
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (policy, what) in [
            (RetryPolicy::fixed(SECOND).max_attempts(0), "max attempts"),
            (RetryPolicy::fixed(SECOND).jitter(f64::NAN), "jitter"),
            (RetryPolicy::exponential(SECOND, 0.5), "backoff factor"),
            (RetryPolicy::exponential(SECOND, f64::INFINITY), "backoff factor"),
            (RetryPolicy::delays([]), "retry delays"),
            (RetryPolicy::fixed(LONGEST_DELAY * 2), "retry delay"),
            (RetryPolicy::fixed(SECOND).on_class("x", RetryPolicy::fixed(SECOND).max_attempts(0)), "max attempts"),
        ] {
            let error = policy.check().unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
