//! `SimpleSchedule`: once, or a number of times, or for ever, after a fixed interval or a fixed
//! delay.

use crate::epoch::millis;
use crate::error::{Error, Result};
use std::time::Duration;

/// Fires at the start and then `repeat_count` times more, `interval` apart.
#[doc(alias = "org.quartz.SimpleTrigger")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimpleSchedule {
    /// The number of fires after the first; −1 means for ever.
    pub(crate) repeat_count: i64,
    pub(crate) interval_ms: i64,
    pub(crate) times_triggered: i64,
    pub(crate) fixed_delay: bool,
}

/// The repeat count that means "for ever", as Quartz stores it.
pub(crate) const FOREVER: i64 = -1;

impl SimpleSchedule {
    /// One fire, at the start time.
    pub fn once() -> Self {
        Self { repeat_count: 0, interval_ms: 0, times_triggered: 0, fixed_delay: false }
    }

    /// A fire every `interval`, for ever.
    pub fn every(interval: Duration) -> Self {
        Self { repeat_count: FOREVER, interval_ms: millis(interval), times_triggered: 0, fixed_delay: false }
    }

    /// A fire `delay` after the end of the run before it, however that ended, for ever; the first
    /// one at the start.
    ///
    /// While a run goes on the trigger is `BLOCKED`. The transaction that records its end, or that
    /// recovers it from a dead node, sets the next time. Until then the next time is the one that
    /// a run without length would have. The trigger has the overlap
    /// [`BufferOne`](crate::Overlap::BufferOne), and no other. Refused beside nodes of Quartz. For
    /// a job whose ticks are spread over nodes the delay counts from the tick.
    ///
    /// ```
    /// use carnelian::{JobKey, Overlap, SimpleSchedule, Trigger, TriggerKey};
    /// use std::time::Duration;
    ///
    /// let trigger = Trigger::builder(TriggerKey::named("inbox"), JobKey::named("read-inbox"))
    ///     .schedule(SimpleSchedule::fixed_delay(Duration::from_secs(30)))
    ///     .build()?;
    /// assert_eq!(trigger.overlap(), Overlap::BufferOne);
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    #[doc(alias = "FixedDelay")]
    pub fn fixed_delay(delay: Duration) -> Self {
        Self { fixed_delay: true, ..Self::every(delay) }
    }

    /// Repeats only `count` times after the first fire: `count + 1` fires in all.
    #[doc(alias = "withRepeatCount")]
    pub fn repeat(mut self, count: u32) -> Self {
        self.repeat_count = i64::from(count);
        self
    }

    /// The number of fires after the first; none means for ever.
    pub fn repeat_count(&self) -> Option<u64> {
        u64::try_from(self.repeat_count).ok()
    }

    /// True if the time between fires counts from the end of a run.
    pub fn is_fixed_delay(&self) -> bool {
        self.fixed_delay
    }

    /// The time between fires, or between the end of a run and the next fire.
    pub fn interval(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.interval_ms).unwrap_or(0))
    }

    /// The number of fires so far.
    pub fn times_triggered(&self) -> u64 {
        u64::try_from(self.times_triggered).unwrap_or(0)
    }

    /// Start and then every interval: strictly after `after`, and before the end.
    pub(super) fn fire_time_after(&self, start: i64, end: Option<i64>, after: i64) -> Option<i64> {
        let forever = self.repeat_count == FOREVER;
        if !forever && self.times_triggered > self.repeat_count {
            return None;
        }
        if self.repeat_count == 0 && after >= start {
            return None;
        }
        if end.is_some_and(|end| end <= after) {
            return None;
        }
        if after < start {
            return Some(start);
        }
        if self.fixed_delay {
            let time = after.checked_add(self.interval_ms)?;
            return Some(time).filter(|time| end.is_none_or(|end| *time < end));
        }
        let steps = after.checked_sub(start)?.checked_div(self.interval_ms)?.checked_add(1)?;
        if !forever && steps > self.repeat_count {
            return None;
        }
        let time = start.checked_add(steps.checked_mul(self.interval_ms)?)?;
        if end.is_some_and(|end| end <= time) { None } else { Some(time) }
    }

    pub(super) fn final_fire_time(&self, start: i64, end: Option<i64>) -> Option<i64> {
        match self.repeat_count {
            0 => Some(start),
            // The runs decide.
            _ if self.fixed_delay => None,
            FOREVER => self.last_step_until(start, end?),
            count => {
                let last = self.interval_ms.checked_mul(count).and_then(|span| start.checked_add(span));
                match (last, end) {
                    (Some(last), Some(end)) if last < end => Some(last),
                    (_, Some(end)) => self.last_step_until(start, end),
                    (last, None) => last,
                }
            }
        }
    }

    fn last_step_until(&self, start: i64, end: i64) -> Option<i64> {
        let span = end.checked_sub(start).filter(|span| *span >= 0)?;
        let past = span.checked_rem(self.interval_ms).unwrap_or(span);
        end.checked_sub(past)
    }

    pub(crate) fn check(&self) -> Result<()> {
        // Quartz reads the count as 32 bits.
        if self.repeat_count < FOREVER || self.repeat_count > i64::from(i32::MAX) {
            let expected = format!("expected -1 (for ever), or 0 to {}", i32::MAX);
            return Err(Error::invalid("repeat count", self.repeat_count, expected));
        }
        if self.interval_ms < 0 || (self.repeat_count != 0 && self.interval_ms < 1) {
            return Err(Error::invalid(
                "repeat interval",
                format!("{} ms", self.interval_ms),
                "expected at least 1 ms",
            ));
        }
        Ok(())
    }
}
