//! How often the acquirer looks, and what a look tells it beside what is due.

use super::Acquirer;
use crate::error::Result;
use crate::hash::drawn;
use crate::rules::overdue::overdue_at;
use crate::scheduler::service::Next;
use crate::store::row::Look;
use std::fmt::Display;
use std::sync::atomic::Ordering;
use std::time::Duration;

impl Acquirer {
    /// One look: at what is due, and whether others have changed something that concerns what is held here.
    pub(super) fn look(&mut self, job_types: &[String]) -> Result<Look> {
        let mut look = self.glance(job_types)?;
        if !job_types.is_empty() && self.take_back(&look)? {
            look = self.glance(job_types)?;
        }
        self.node.changes.store(look.changes, Ordering::Relaxed);
        let news = (look.changes, look.cancels);
        let before = self.seen.replace(news).unwrap_or(news);
        if before.1 != news.1 {
            self.node.look_for_cancels();
        }
        if before.0 != news.0 && !self.reserved.is_empty() {
            let lost = self.node.store.lost_reservations(&self.reserved)?;
            self.reserved.retain(|held| !lost.contains(&held.fire_id));
            self.count_reserved();
        }
        Ok(look)
    }

    fn glance(&mut self, job_types: &[String]) -> Result<Look> {
        // What comes later is seen by the next look in time.
        let horizon = self.node.look_ahead().saturating_add(self.node.poll_interval());
        let look = self.node.store.look_within(Some(horizon), &self.node.instance, job_types)?;
        self.last_look = self.node.clock.ticks();
        self.polls = self.polls.wrapping_add(1);
        self.store_time.note(self.last_look, look.now_ms);
        // Who has no worker for it takes nothing back, and does not look for its sake.
        let reserved_ms = look.reserved_ms.filter(|_| !job_types.is_empty());
        self.overdue_ms = reserved_ms.map(|at_ms| overdue_at(&self.node.instance, at_ms));
        Ok(look)
    }

    /// Most triggers in one acquisition.
    pub(super) fn batch_limit(&self) -> usize {
        let mut most = self.node.settings.scheduler.batch_max_count;
        if self.node.store.is_in_recovery() {
            most = most.max(self.node.settings.recovery.batch);
        }
        usize::try_from(most).unwrap_or(1).max(1)
    }

    /// Takes no more than the rate of the recovery mode allows; if that is nothing, until when to wait, in ticks.
    pub(super) fn keep_pace(&mut self, max: &mut usize) -> Option<Duration> {
        let rate = self.node.settings.recovery.rate;
        if rate == 0 || !self.node.store.is_in_recovery() {
            return None;
        }
        let now = self.node.clock.ticks();
        let allowed = self.pace.allows(u64::try_from(now.as_millis()).unwrap_or(u64::MAX), rate);
        *max = (*max).min(allowed);
        (*max == 0).then(|| now.saturating_add(Duration::from_millis(self.pace.wait_ms(rate))))
    }

    pub(super) fn is_time_to_look(&self) -> bool {
        self.node.clock.ticks() >= self.last_look.saturating_add(self.poll_interval())
    }

    /// Without room for new work, there may be news for what runs.
    pub(super) fn look_after_runs(&mut self) -> Result<Next> {
        if self.is_time_to_look() {
            self.look(&[])?;
        }
        Ok(self.next_at(Some(self.last_look.saturating_add(self.poll_interval()))))
    }

    /// How long to wait after the last look for the next: each time another part of the interval,
    /// so that nodes do not look in step (DS-49).
    pub(super) fn poll_interval(&self) -> Duration {
        let settings = &self.node.settings.scheduler;
        let interval = nth_poll(self.node.poll_interval(), settings.poll_jitter, &self.node.instance, self.polls);
        match self.overdue_in() {
            Some(wait) => interval.min(wait),
            None => interval,
        }
    }
}

/// How long a node of this name waits after its n-th look.
fn nth_poll(interval: Duration, percent: u32, instance: &str, nth: u64) -> Duration {
    shortened(interval, percent, format_args!("{instance} {nth}"))
}

/// An interval that is up to so many percent shorter, by a throw that is the same for the same seed.
fn shortened(interval: Duration, percent: u32, seed: impl Display) -> Duration {
    let thousandths = u32::try_from(drawn(seed) % 1000).unwrap_or(0);
    interval - interval / 100 * percent.min(100) * thousandths / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DS-49: nodes that begin to look in step are out of it with the next poll, not with the
    /// sixteenth.
    #[test]
    fn each_poll_is_shortened_and_otherwise_on_each_node() {
        let second = Duration::from_secs(1);
        let of = |node: &str| (1..=100).map(|nth| nth_poll(second, 10, node, nth)).collect::<Vec<_>>();
        let (one, other) = (of("n1"), of("n2"));
        assert!(one.iter().filter(|poll| **poll == second).count() <= 1, "{one:?}");
        assert!(one.iter().zip(&other).filter(|(a, b)| a == b).count() <= 1, "{one:?} {other:?}");
        assert_eq!(one, of("n1"), "a manual clock sees the same each time");
    }

    #[test]
    fn a_poll_is_shortened_by_what_the_jitter_allows_and_not_always_the_same() {
        let second = Duration::from_secs(1);
        let throws: Vec<Duration> = (0..1000).map(|poll| shortened(second, 10, format_args!("n1 {poll}"))).collect();
        assert!(throws.iter().all(|throw| *throw <= second && *throw >= second * 9 / 10));
        assert!(throws.iter().any(|throw| *throw < second * 92 / 100));
        assert!(throws.iter().any(|throw| *throw > second * 98 / 100));
        assert_eq!(shortened(second, 0, 7), second);
        assert_eq!(shortened(second, 10, 7), shortened(second, 10, 7), "the same throw for the same seed");
    }
}
