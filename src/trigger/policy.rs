//! `Overlap` and the other policies of a trigger: what becomes of fires that come while another
//! runs, late, or after a failure.

use crate::error::{Error, Result};
use crate::words::words;

/// The policy for a fire that comes due while an earlier fire of the same trigger still runs, on
/// whichever node.
///
/// A trigger is its key and its job: the runs of other triggers of the job do not count, nor do
/// runs that have triggers of their own, as a run by
/// [`Scheduler::trigger_job`](crate::Scheduler::trigger_job), a recovery or a backfill has. A job
/// whose runs must never meet, whoever asks for them, is one that [disallows concurrent
/// execution](crate::JobDetailBuilder::disallow_concurrent_execution).
///
/// The policy is applied in the transaction that would begin the fire, or that ends the earlier
/// one. The names are those of Temporal's schedules. Anything but [`Overlap::AllowAll`] is refused
/// while a node of Quartz is a member of the cluster, and suspended if one joins later.
///
/// ```
/// use carnelian::{JobKey, Overlap, SimpleSchedule, Trigger, TriggerKey};
/// use std::time::Duration;
///
/// let trigger = Trigger::builder(TriggerKey::named("often"), JobKey::named("sync"))
///     .schedule(SimpleSchedule::every(Duration::from_secs(60)))
///     .overlap(Overlap::Skip)
///     .build()?;
/// assert_eq!(trigger.overlap().name(), "skip");
/// # Ok::<(), carnelian::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Overlap {
    /// The fire runs beside the earlier one, as in Quartz. The default.
    #[default]
    AllowAll,
    /// The fire is left out: the trigger moves on to its next time. The time is counted and told to
    /// [`TriggerListener::fires_skipped`](crate::listener::TriggerListener::fires_skipped).
    Skip,
    /// The fire waits until the earlier one has ended, and then runs at once. At most one fire
    /// waits: others that come due meanwhile are left out as with [`Overlap::Skip`].
    BufferOne,
    /// As [`Overlap::BufferOne`], and the earlier ones are asked to stop, as
    /// [`Scheduler::interrupt_fire`](crate::Scheduler::interrupt_fire) asks. Refused for a job that
    /// disallows concurrent execution: its triggers are blocked while it runs, so that nobody sees
    /// them come due.
    CancelPrevious,
}

use Overlap::*;

words! {
    /// The word of the command line, such as `buffer-one`.
    Overlap {
        AllowAll = "allow-all",
        Skip = "skip",
        BufferOne = "buffer-one",
        CancelPrevious = "cancel-previous",
    }
}

/// The shortest catch-up window: below that, an ordinary delay would be taken for an outage.
const SHORTEST_WINDOW_MS: i64 = 1_000;

/// The policies of a trigger; Quartz knows none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Policies {
    pub(crate) overlap: Overlap,
    pub(crate) catch_up_ms: Option<i64>,
    pub(crate) pause_on_failure: bool,
}

const OVERLAP: &str = "overlap-";
const CATCH_UP: &str = "catch-up=";
const PAUSE_ON_FAILURE: &str = "pause-on-failure";

impl Policies {
    /// Words for the side table; none for a trigger that does as Quartz does.
    pub(crate) fn words(&self) -> Vec<String> {
        let overlap = (self.overlap != AllowAll).then(|| format!("{OVERLAP}{}", self.overlap.name()));
        let catch_up = self.catch_up_ms.map(|ms| format!("{CATCH_UP}{ms}"));
        let pause = self.pause_on_failure.then(|| PAUSE_ON_FAILURE.to_owned());
        overlap.into_iter().chain(catch_up).chain(pause).collect()
    }

    /// Takes a word of the side table over; false if it is no policy.
    pub(crate) fn take(&mut self, word: &str) -> bool {
        if let Some(overlap) = word.strip_prefix(OVERLAP).and_then(Overlap::from_name) {
            self.overlap = overlap;
        } else if let Some(ms) = word.strip_prefix(CATCH_UP).and_then(|ms| ms.parse().ok()).filter(|ms| *ms > 0) {
            self.catch_up_ms = Some(ms);
        } else if word == PAUSE_ON_FAILURE {
            self.pause_on_failure = true;
        } else {
            return false;
        }
        true
    }

    pub(crate) fn check(&self) -> Result<()> {
        match self.catch_up_ms {
            Some(ms) if ms < SHORTEST_WINDOW_MS => Err(Error::invalid(
                "catch-up window",
                format!("{ms} ms"),
                format!("expected at least {SHORTEST_WINDOW_MS} ms: an ordinary delay must not be taken for an outage"),
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        for overlap in Overlap::ALL {
            assert_eq!(Overlap::from_name(overlap.name()), Some(overlap));
            for catch_up_ms in [None, Some(60_000)] {
                for pause_on_failure in [false, true] {
                    let policies = Policies { overlap, catch_up_ms, pause_on_failure };
                    let mut read = Policies::default();
                    assert!(policies.words().iter().all(|word| read.take(word)));
                    assert_eq!(read, policies);
                }
            }
        }
        assert_eq!(Policies::default().words(), [""; 0]);
    }

    #[test]
    fn other_words_are_none() {
        for word in ["", "skip", "overlap-", "overlap-SKIP", "catch-up=", "catch-up=0", "catch-up=-1", "catch-up=1s"] {
            let mut policies = Policies::default();
            assert!(!policies.take(word), "{word}");
            assert_eq!(policies, Policies::default());
        }
    }

    #[test]
    fn a_window_must_be_longer_than_an_ordinary_delay() {
        let with = |ms| Policies { catch_up_ms: Some(ms), ..Policies::default() };
        assert!(with(1_000).check().is_ok() && with(i64::MAX).check().is_ok());
        let error = with(999).check().unwrap_err().to_string();
        assert!(error.contains("catch-up window") && error.contains("999 ms"), "{error}");
    }
}
