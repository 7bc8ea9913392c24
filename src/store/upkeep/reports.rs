//! Reports of check-ins and recoveries: what was found, and what was done about it.

use crate::key::TriggerKey;
use crate::rules::placement::Refusal;
use crate::store::row::{Outage, Parked};
use crate::store::{LostCommits, SkippedFires};
use chrono::{DateTime, Utc};
use std::time::Duration;

/// The result of a check-in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkin {
    /// The check-in was the first one under a new incarnation.
    pub registered: bool,
    /// The node had been declared dead by another: its fires are lost.
    pub failed_out: bool,
    /// The failed instances whose work was taken over.
    pub recovered: Vec<Recovered>,
    /// Failed instances whose work could not be taken over, and why: it is tried again.
    pub unrecovered: Vec<(String, String)>,
    /// This node is the longest-serving one.
    pub is_longest_serving: bool,
    /// This node is the active one in active-passive mode: the longest-serving of those that take
    /// work.
    pub is_active: bool,
    /// Why it takes no work; none if it does.
    pub refusal: Option<Refusal>,
    /// The time from now until a peer would be declared dead at the earliest.
    pub next_suspicion: Option<Duration>,
    /// The nodes of Quartz that live, each with how far its clock is from the store's at least, in
    /// milliseconds, positive if it is ahead. Quartz convicts nodes by such times: beyond the
    /// tolerance it convicts ours.
    pub foreign_clocks: Vec<(String, i64)>,
    /// Another node uses our name and may live: this one is not registered until that one is gone.
    /// At a first check-in [`Checkin::next_suspicion`] says when that is at the latest.
    pub has_namesake: bool,
    /// The store has lost commits: the incarnation was ended, and its fires were recovered.
    pub lost_commits: Option<LostCommits>,
    /// The total outage that ended with this registration.
    pub outage: Option<Outage>,
}

/// The recovery of one failed instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// The failed instance.
    pub instance: String,
    /// The time of the last check-in; none if it had no row (orphaned fires).
    pub last_checkin: Option<DateTime<Utc>>,
    /// The store's time at the recovery.
    pub now: DateTime<Utc>,
    /// Acquired triggers given back.
    pub freed: usize,
    /// Recovery triggers made: the interrupted fire and the recovery trigger.
    pub recovery_triggers: Vec<(String, TriggerKey)>,
    /// Triggers that were made due again: the interrupted fire and its trigger.
    pub revived: Vec<(String, TriggerKey)>,
    /// Interrupted fires whose work is not done again.
    pub lost: Vec<String>,
    /// Work that is set aside until somebody has looked at it.
    pub parked: Vec<Parked>,
    /// Fires whose job no longer exists.
    pub other: usize,
    /// Times of triggers that came due while an interrupted fire still counted as running, and are
    /// left out.
    pub skipped: Vec<SkippedFires>,
    /// There is more to be recovered of the instance.
    pub has_more: bool,
}

impl Recovered {
    /// Of how many fires it was said what becomes of them.
    pub(crate) fn fires(&self) -> usize {
        let executing = self.recovery_triggers.len() + self.revived.len() + self.lost.len() + self.parked.len();
        self.freed + executing + self.other
    }

    /// The number of fires that died with the instance.
    pub(super) fn died(&self) -> usize {
        self.recovery_triggers.len() + self.revived.len() + self.lost.len() + self.other
    }

    /// True if nothing was there to be done.
    pub fn is_empty(&self) -> bool {
        self.fires() == 0
    }
}
