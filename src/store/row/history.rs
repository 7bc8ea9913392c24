//! The rows of the history.

use crate::job::FireOutcome;
use crate::key::{JobKey, TriggerKey};

/// A row of `CN_HISTORY`: what became of a fire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryRow {
    /// The fire; for a misfire, which is none, an id of its own.
    pub fire_id: String,
    /// Its trigger.
    pub trigger: TriggerKey,
    /// Its job.
    pub job: Option<JobKey>,
    /// The type of the job; none if the node that ran it could not say.
    pub job_type: Option<String>,
    /// The instance it belonged to; none for a misfire.
    pub instance: Option<String>,
    /// The time it stood for.
    pub scheduled_ms: i64,
    /// When it was fired; none for a misfire.
    pub fired_ms: Option<i64>,
    /// When it ended, or was found lost.
    pub ended_ms: i64,
    /// How long its job ran; none if nobody could say.
    pub run_ms: Option<i64>,
    /// What became of it.
    pub outcome: FireOutcome,
    /// How many runs of the same work went before.
    pub attempt: i64,
    /// The first fire of its chain; none if it is that.
    pub root_fire_id: Option<String>,
    /// What the job said when it failed.
    pub error: Option<String>,
    /// What the job left as its result.
    pub result: Option<String>,
}

/// What the history says of a fire beside what its fired row says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndRow {
    /// The fire.
    pub fire_id: String,
    /// The type of the job.
    pub job_type: Option<String>,
    /// When it ended.
    pub ended_ms: i64,
    /// How long its job ran.
    pub run_ms: Option<i64>,
    /// What became of it.
    pub outcome: FireOutcome,
    /// How many runs of the same work went before.
    pub attempt: i64,
    /// The first fire of its chain; none if it is that.
    pub root_fire_id: Option<String>,
    /// What the job said when it failed.
    pub error: Option<String>,
    /// What the job left as its result.
    pub result: Option<String>,
}

/// Which rows of the history are asked for; the newest come first.
#[derive(Clone, Debug)]
pub struct HistoryFilter<'a> {
    /// Only this fire.
    pub fire_id: Option<&'a str>,
    /// Only this job.
    pub job: Option<&'a JobKey>,
    /// Only this trigger.
    pub trigger: Option<&'a TriggerKey>,
    /// Only these outcomes; all if there is none.
    pub outcomes: &'a [FireOutcome],
    /// Only fires that ended at this time or later.
    pub since_ms: i64,
    /// At most so many.
    pub limit: usize,
}
