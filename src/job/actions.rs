//! `StuckAction` and `OnDead`: what is done about a run that makes no progress, and about a fire
//! that died.

use crate::words::words;
use serde::{Deserialize, Serialize};

/// The action on a run that lives and makes no progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StuckAction {
    /// Log the run, and count it in the health of its node.
    #[default]
    Log,
    /// The scheduler listeners are told besides:
    /// [`SchedulerListener::fire_stuck`](crate::listener::SchedulerListener::fire_stuck).
    Tell,
    /// The run is asked to stop besides, as by a timeout: after the grace its worker is abandoned.
    Cancel,
    /// The run is taken for dead besides, at once: what
    /// [`JobPolicy::on_dead`](crate::JobPolicy::on_dead) says is done.
    FailOver,
}

/// The fate of the work of a fire that died with its node, or whose heartbeat ended.
///
/// Every policy but [`OnDead::NextFire`] needs a job that [requests
/// recovery](crate::JobDetail::requests_recovery): that is all that a node of Quartz goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OnDead {
    /// A recovery trigger runs the work again, at once, as in Quartz. The default of jobs that
    /// request recovery.
    RecoveryTrigger,
    /// The trigger itself becomes due again, at once, if that was its last fire: what db-scheduler
    /// does. A trigger that has fires to come keeps its schedule, and its work gets a recovery
    /// trigger.
    Revive,
    /// Nothing happens; the trigger goes on with its next fire. The default of other jobs.
    NextFire,
    /// The handler that the recovering node has for the job's type decides
    /// ([`SchedulerBuilder::dead_fire_handler`](crate::SchedulerBuilder::dead_fire_handler));
    /// without one it is as [`OnDead::RecoveryTrigger`].
    Ask,
}

words! {
    /// The word of the command line.
    StuckAction {
        Log = "log",
        Tell = "tell",
        Cancel = "cancel",
        FailOver = "fail-over",
    }
}

words! {
    /// The word of the command line.
    OnDead {
        RecoveryTrigger = "recovery-trigger",
        Revive = "revive",
        NextFire = "next-fire",
        Ask = "ask",
    }
}
