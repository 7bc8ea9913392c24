//! The order of the cluster: check-in, failover, misfires, audit.

mod audit;
mod checkin;
mod clean_up;
mod cluster;
mod dead_fires;
mod fences;
mod heartbeat;
mod leaving;
mod lost;
mod misfires;
mod nodes;
mod parking;
mod recovery;
mod rescheduling;
mod verdicts;

pub use crate::rules::recovery::DeadFireDecision;
pub use dead_fires::{DeadFire, DeadFireHandler};
pub(crate) use heartbeat::is_order_of_pause;
pub use heartbeat::{FireHeartbeat, HeartbeatPass, Heartbeats};
pub use misfires::LateInOrder;

pub(in crate::store) use nodes::{Said, takes_work};

use super::{LostCommits, Owner, SkippedFires};
use crate::key::{JobKey, TriggerKey};
use crate::machine::{Living, Process};
use crate::node::NodeReport;
use crate::rules::failover::{Observations, millis};
use crate::rules::placement::Refusal;
use crate::store::row::{FiredState, NodeRow, Outage, Parked, Progress};
use crate::trigger::Trigger;
use std::sync::Arc;
use std::time::Duration;

/// The knowledge of a node of its own place in the cluster; kept by its cluster manager between
/// check-ins.
#[derive(Clone, Debug)]
pub struct Membership {
    /// The instance's name.
    pub instance: String,
    /// Under which incarnation it is registered; none before the first check-in and after a
    /// conviction.
    pub incarnation: Option<String>,
    /// The clock's ticks when the last committed check-in was begun.
    pub last_checkin: Option<Duration>,
    /// The clock's ticks when the store answered last at a check-in; none before the first.
    pub(crate) answered: Option<Duration>,
    /// The last try to check in failed: what comes after it is the end of an outage.
    pub(crate) is_cut_off: bool,
    /// The report of the node on itself, if anything: written with each check-in, in the same
    /// transaction.
    pub node: Option<NodeReport>,
    /// The process that the node runs in, so that who starts under its name later can tell whether
    /// it is gone; none where that cannot be told.
    pub process: Option<Process>,
    /// Kept as long as the node is registered.
    pub(crate) living: Option<Arc<Living>>,
    /// The last incarnation was declared dead by a peer.
    pub(crate) was_failed_out: bool,
    /// The incarnation of a registration whose answer was lost, if the last one's was: its row is
    /// no twin's.
    pub(crate) attempted: Option<String>,
    /// Which of the things that the node said of its job types is published; 0 for nothing.
    pub(crate) published: u64,
    /// The clock's ticks at the last check-in at which the node took no work: see
    /// [`Checkin::is_active`].
    pub(crate) barred_at: Option<Duration>,
    /// The node took work at its last check-in.
    pub(crate) worked: bool,
    /// Whose work was recovered last, in part at least: the next turn is another's.
    pub(crate) last_recovered: Option<String>,
    /// The duration of one of the last looks at the others took, the slowest of them: an older one
    /// counts for less.
    pub(crate) slowest_read: Duration,
    /// The observations of the others.
    pub(crate) observations: Observations,
}

impl InstanceStatus {
    /// Whether it is alive and takes work: what alarms, `check` and the report of an outage count.
    pub fn is_working(&self) -> bool {
        self.alive && self.takes_work
    }
}

impl Membership {
    /// A node that has not checked in yet.
    pub fn new(instance: impl Into<String>) -> Self {
        Self {
            instance: instance.into(),
            incarnation: None,
            last_checkin: None,
            answered: None,
            is_cut_off: false,
            node: None,
            process: Process::own(),
            living: None,
            was_failed_out: false,
            attempted: None,
            published: 0,
            barred_at: None,
            worked: false,
            last_recovered: None,
            slowest_read: Duration::ZERO,
            observations: Observations::default(),
        }
    }

    /// The owner in guarded writes; none if it is not registered.
    pub fn owner(&self) -> Option<Owner> {
        let incarnation = self.incarnation.clone()?;
        Some(Owner { instance: self.instance.clone(), incarnation })
    }
}

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
    /// Whether it is the active one in active-passive mode: the longest-serving of those that take
    /// work.
    pub is_active: bool,
    /// Why it takes no work; none if it does.
    pub barred: Option<Refusal>,
    /// When a peer would be declared dead at the earliest, as a time to wait from now.
    pub next_suspicion: Option<Duration>,
    /// The nodes of Quartz that live, each with how far its clock is from the store's at least, in
    /// milliseconds, positive if it is ahead. Quartz convicts nodes by such times: beyond the
    /// tolerance it convicts ours.
    pub foreign_clocks: Vec<(String, i64)>,
    /// Another node uses our name and may live: this one is not registered until that one is gone.
    /// At a first check-in [`Checkin::next_suspicion`] says when that is at the latest.
    pub twin: bool,
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
    /// The last check-in, epoch milliseconds; none if it had no row (orphaned fires).
    pub last_checkin_ms: Option<i64>,
    /// The store's time at the recovery.
    pub now_ms: i64,
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
    fn fires(&self) -> usize {
        let executing = self.recovery_triggers.len() + self.revived.len() + self.lost.len() + self.parked.len();
        self.freed + executing + self.other
    }

    /// Whether anything was there to be done.
    pub fn is_empty(&self) -> bool {
        self.fires() == 0
    }
}

/// The result of a pass of the misfire handler.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MisfirePass {
    /// Triggers whose misfire instruction was applied, as they were before.
    pub handled: Vec<Trigger>,
    /// The triggers among them that will not fire again.
    pub finalized: Vec<TriggerKey>,
    /// There are more.
    pub more: bool,
    /// Triggers that could not be read, with the reason.
    pub unreadable: Vec<(TriggerKey, String)>,
    /// Times older than the catch-up windows of their triggers, which were left out before the
    /// instruction was applied.
    pub skipped: Vec<SkippedFires>,
}

/// The result of an audit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditPass {
    /// Triggers that were acquired by nobody.
    pub released: Vec<TriggerKey>,
    /// Triggers that were blocked by nobody.
    pub unblocked: Vec<TriggerKey>,
    /// Complete triggers with no fire left.
    pub finished: Vec<TriggerKey>,
    /// Rows of our side tables whose rows in Quartz's tables a node of Quartz has deleted.
    pub swept: usize,
}

/// The result of a clean-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CleanUpPass {
    /// Rows of the history.
    pub history: usize,
    /// Requests that were taken long ago.
    pub requests: usize,
}

/// A fire that is reserved or running somewhere in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FiredTrigger {
    /// The fire's id.
    pub fire_id: String,
    /// The trigger.
    pub trigger: TriggerKey,
    /// The job; none while it is only reserved.
    pub job: Option<JobKey>,
    /// The instance it belongs to.
    pub instance: String,
    /// Reserved or executing.
    pub state: FiredState,
    /// When it was reserved or fired, epoch milliseconds.
    pub fired_ms: i64,
    /// The time it stands for, epoch milliseconds.
    pub scheduled_ms: i64,
    /// The last sign of life; none if it is too young for one, or runs on a node of Quartz.
    pub heartbeat: Option<Heartbeat>,
}

/// The last sign of life of a running fire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// When it came, epoch milliseconds by the store's clock.
    pub last_ms: i64,
    /// The time for which the fire may be silent after it, without the tolerance.
    pub limit: Duration,
    /// The progress of its job.
    pub progress: Option<Progress>,
    /// When its job had last made progress, epoch milliseconds by the store's clock; none if it
    /// need not say.
    pub progress_ms: Option<i64>,
    /// The time for which it may go without progress; none if that does not matter.
    pub progress_limit: Option<Duration>,
}

impl Heartbeat {
    /// Whether it has been silent, or its job without progress, for longer than it may, at this
    /// time of the store's clock.
    pub fn is_overdue(&self, now_ms: i64) -> bool {
        let is_over = |since_ms: i64, limit: Duration| since_ms.saturating_add(millis(limit)) < now_ms;
        let progress = self.progress_ms.zip(self.progress_limit);
        is_over(self.last_ms, self.limit) || progress.is_some_and(|(since_ms, limit)| is_over(since_ms, limit))
    }
}

/// A node as its row shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstanceStatus {
    /// The name.
    pub instance: String,
    /// The last check-in, epoch milliseconds by the store's clock.
    pub last_checkin_ms: i64,
    /// The interval at which it means to check in.
    pub checkin_interval_ms: i64,
    /// Whether its check-in is recent enough, by the rule that declares nodes dead.
    pub alive: bool,
    /// Whether it takes work, by what it said with its last check-in: it is no observer, not in
    /// standby, not ending, and neither drained nor on the blacklist. A node of Quartz counts as
    /// one that does, and so does one that says nothing.
    pub takes_work: bool,
    /// The number of fires it is executing.
    pub running: usize,
    /// Whether it is a node of Quartz, not ours.
    pub foreign: bool,
    /// The report of the node with its last check-in. None of a node of Quartz, and of one that
    /// says nothing.
    pub node: Option<NodeRow>,
}
