//! `Explanation`: why a trigger is not running right now, or when and where it will.

use crate::job::{Continuation, Parent};
use crate::store::{MayRun, TriggerSummary};
use crate::zone::ZoneSource;
use chrono_tz::Tz;

/// The answer of [`Scheduler::explain`](crate::Scheduler::explain).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// The trigger with its job, its state and its times.
    pub trigger: TriggerSummary,
    /// The type of its job; none if the job is gone or cannot be read.
    pub job_type: Option<String>,
    /// True if a fire of the trigger is running.
    pub is_running: bool,
    /// The schedule in words, with its zone; none if it cannot be read.
    pub schedule: Option<String>,
    /// The zone of schedules that name none.
    pub default_zone: Tz,
    /// The source of that zone.
    pub default_zone_source: ZoneSource,
    /// The run that the trigger follows.
    pub follows: Option<Parent>,
    /// The jobs that follow the trigger's job.
    pub children: Vec<Continuation>,
    /// The living nodes, and why each may not run the job, if it may not.
    pub nodes: Vec<MayRun>,
    /// The things that must hold before the trigger runs, in the order in which a node looks.
    pub checks: Vec<TriggerCheck>,
    /// The reasons why the trigger waits, or when and where it fires; a sentence each.
    pub reasons: Vec<String>,
}

/// One thing that must hold before a trigger runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TriggerCheck {
    /// True if nothing is in the way.
    pub is_fine: bool,
    /// The finding, in a sentence.
    pub text: String,
}
