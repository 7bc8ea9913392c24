//! `Rerun`: work that runs again, where it comes from, and the order for it.

use crate::data_map::JobDataMap;
use crate::epoch::moment;
use crate::job::FireOutcome;
use crate::key::{CONTINUED_GROUP, INTERRUPTED_GROUP, RECOVERY_GROUP, RETRY_GROUP, TriggerKey};
use crate::rules::strategy::rerun_stem;
use crate::store::row::Candidate;
use chrono::{DateTime, Utc};
use std::time::Duration;

/// The origin of the work of a fire that is not the first of its chain.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rerun {
    /// Why it runs again.
    pub reason: RerunReason,
    /// The first fire of the chain; none if a Java node made the trigger.
    pub root_fire_id: Option<String>,
    /// The fire before this one; none if a Java node made the trigger.
    pub origin_fire_id: Option<String>,
    /// The time the first fire stood for.
    pub scheduled_fire_time: DateTime<Utc>,
    /// The number of runs before this one; runs that the end of their node interrupted do not
    /// count.
    pub attempt: i64,
}

/// Why work runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RerunReason {
    /// The run before died with its node.
    Died,
    /// The run before failed, and is tried again.
    Failed,
    /// The run before ended because its node did.
    Interrupted,
    /// The run before asked for it: [`Outcome::Again`](crate::Outcome::Again).
    Continued,
}

impl RerunReason {
    /// The group of the triggers that run such work.
    pub(crate) fn group(self) -> &'static str {
        match self {
            RerunReason::Died => RECOVERY_GROUP,
            RerunReason::Failed => RETRY_GROUP,
            RerunReason::Interrupted => INTERRUPTED_GROUP,
            RerunReason::Continued => CONTINUED_GROUP,
        }
    }

    /// A trigger of another group that has a recovery row was made due again in place, after a
    /// death, unless it runs a part again on its node.
    pub(super) fn of_trigger(trigger: &TriggerKey) -> Self {
        let stem = rerun_stem(trigger);
        [RerunReason::Failed, RerunReason::Interrupted, RerunReason::Continued]
            .into_iter()
            .find(|reason| stem.map_or(reason.group() == trigger.group(), |stem| stem == reason.stem()))
            .unwrap_or(RerunReason::Died)
    }

    /// The end of the work if it does not run again.
    pub(super) fn outcome(self) -> FireOutcome {
        match self {
            RerunReason::Died => FireOutcome::Lost,
            RerunReason::Failed => FireOutcome::Failed,
            RerunReason::Interrupted | RerunReason::Continued => FireOutcome::Interrupted,
        }
    }

    /// The first part of the names of its triggers.
    pub(super) fn stem(self) -> &'static str {
        match self {
            RerunReason::Died => "recover",
            RerunReason::Failed => "retry",
            RerunReason::Interrupted => "resume",
            RerunReason::Continued => "again",
        }
    }
}

/// That the work of a run goes on, in a fire of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct RerunOrder {
    /// Why.
    pub reason: RerunReason,
    /// After how long.
    pub delay: Duration,
    /// The data of the trigger.
    pub data: JobDataMap,
    /// Higher fires first.
    pub priority: i32,
    /// The time this fire stood for, epoch milliseconds.
    pub scheduled_ms: i64,
    /// The time the first fire of the chain stood for, epoch milliseconds.
    pub original_scheduled_ms: i64,
    /// True if the work is a node's part of a tick, and no other node may do it.
    pub stays: bool,
}

impl Rerun {
    /// The origin that a trigger's row and its recovery row say of the work it runs.
    pub(super) fn of(candidate: &Candidate, recovering: Option<&Recovering>) -> Option<Self> {
        let reason = RerunReason::of_trigger(&candidate.trigger.key);
        match (&candidate.recovery, recovering) {
            (Some(row), _) => Some(Self {
                reason,
                root_fire_id: Some(row.root_fire_id.clone()),
                origin_fire_id: Some(row.origin_fire_id.clone()),
                scheduled_fire_time: moment(row.original_scheduled_ms),
                attempt: row.attempt,
            }),
            (None, Some(recovering)) => Some(Self {
                reason,
                root_fire_id: None,
                origin_fire_id: None,
                scheduled_fire_time: recovering.scheduled_fire_time,
                attempt: recovering.attempt,
            }),
            (None, None) => None,
        }
    }
}

/// The origin of the work of a recovery trigger.
#[doc(alias = "getRecoveringTriggerKey")]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovering {
    /// The trigger whose fire was interrupted first.
    pub trigger: TriggerKey,
    /// The time at which that fire was fired; of one that was [revived](crate::OnDead::Revive) the
    /// time it stood for.
    pub fire_time: DateTime<Utc>,
    /// The time it stood for.
    pub scheduled_fire_time: DateTime<Utc>,
    /// The first fire of the chain; none if a Java node made the recovery trigger.
    pub root_fire_id: Option<String>,
    /// The number of runs that were interrupted before this one.
    pub attempt: i64,
}
