//! `Polling`: when the acquirer polls, and what the last polls and acquisitions have told.

use super::overdue::OverdueWatch;
use super::reservations::Reservations;
use crate::error::Result;
use crate::hash::drawn;
use crate::rules::store_time::StoreTime;
use crate::scheduler::node::Node;
use crate::store::Owner;
use crate::store::row::PollResult;
use std::fmt::Display;
use std::time::Duration;

/// The results of polls and acquisitions, as far as the next ones depend on them.
#[derive(Default)]
pub(super) struct Polling {
    /// The last acquisition brought all that it asked for: there is probably more.
    pub(super) expects_more: bool,
    /// A trigger that was stored here and said to be due was not for this node: no such notice is
    /// believed until something was acquired.
    pub(super) was_misled: bool,
    /// The time for which reservations were released in vain the last time, and whether it had
    /// come.
    pub(super) futile: Option<(i64, bool)>,
    /// The counters of changes and of orders to stop at the last poll.
    seen: Option<(i64, i64)>,
    /// The number of polls so far, and when the last was, in ticks.
    polls: u64,
    last: Duration,
    overdue: OverdueWatch,
    /// The difference of the clocks of the store and of this node.
    pub(super) store_time: StoreTime,
}

impl Polling {
    /// One poll: what is due, and whether others have changed something that concerns what is held
    /// here.
    pub(super) fn poll(
        &mut self,
        node: &Node,
        owner: Option<&Owner>,
        reservations: &mut Reservations,
        job_types: &[String],
    ) -> Result<PollResult> {
        // A trigger that is due later is seen by the next poll in time.
        let horizon = node.reservation_lead().saturating_add(node.poll_interval());
        let mut has_taken_back = false;
        let poll = loop {
            let poll = node.store.firing().poll(Some(horizon), &node.instance, job_types)?;
            self.last = node.clock.ticks();
            self.polls = self.polls.wrapping_add(1);
            self.store_time.note(self.last, poll.now_ms);
            // A node without a worker takes nothing back, and does not poll for the sake of it.
            self.overdue.set_first(&node.instance, poll.reserved_ms.filter(|_| !job_types.is_empty()));
            if has_taken_back || !self.overdue.take_back(node, owner, &self.store_time, poll.now_ms)? {
                break poll;
            }
            has_taken_back = true;
        };
        node.notifications.set_changes(poll.changes);
        let news = (poll.changes, poll.cancels);
        let before = self.seen.replace(news).unwrap_or(news);
        if before.1 != news.1 {
            node.check_cancels();
        }
        if before.0 != news.0 && !reservations.is_empty() {
            let lost = node.store.firing().lost_reservations(&reservations.held)?;
            reservations.drop_fires(|fire_id| lost.contains(fire_id));
        }
        Ok(poll)
    }

    /// The time from the last poll to the next: each time another part of the interval, so that
    /// nodes do not poll in step (DS-49).
    pub(super) fn interval(&self, node: &Node) -> Duration {
        let jitter = node.settings.scheduler.poll_jitter;
        let interval = nth_poll(node.poll_interval(), jitter, &node.instance, self.polls);
        match self.overdue.wait(&self.store_time, node.clock.ticks()) {
            Some(wait) => interval.min(wait),
            None => interval,
        }
    }

    /// The time of the next poll, in ticks.
    pub(super) fn next(&self, node: &Node) -> Duration {
        self.last.saturating_add(self.interval(node))
    }

    pub(super) fn is_due(&self, node: &Node) -> bool {
        node.clock.ticks() >= self.next(node)
    }

    /// In so many milliseconds, but not later than an interval from now; in ticks.
    pub(super) fn within(&self, node: &Node, ms: i64) -> Duration {
        let wait = Duration::from_millis(u64::try_from(ms).unwrap_or(0)).min(self.interval(node));
        node.clock.ticks().saturating_add(wait)
    }

    /// Takes the notice that a trigger was stored here that is due; false if it is not to be
    /// believed.
    pub(super) fn take_notice(&self, node: &Node) -> bool {
        node.notifications.due.swap(false) && !self.was_misled
    }

    /// True if an acquisition begins with a poll: it does unless something is known to be there.
    pub(super) fn is_first(&self, node: &Node, has_notice: bool) -> bool {
        let is_overdue = self.overdue.wait(&self.store_time, node.clock.ticks()).is_some_and(|wait| wait.is_zero());
        !(self.expects_more || has_notice) || is_overdue || self.is_due(node)
    }
}

/// The time for which a node of this name waits after its n-th poll.
fn nth_poll(interval: Duration, percent: u32, instance: &str, nth: u64) -> Duration {
    shortened(interval, percent, format_args!("{instance} {nth}"))
}

/// An interval that is up to so many percent shorter, by a throw that is the same for the same
/// seed.
fn shortened(interval: Duration, percent: u32, seed: impl Display) -> Duration {
    let thousandths = u32::try_from(drawn(seed) % 1000).unwrap_or(0);
    interval - interval / 100 * percent.min(100) * thousandths / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DS-49: nodes that begin to poll in step are out of it with the next poll, not with the
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
