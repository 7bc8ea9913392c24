//! `DeadFireHandler`: what decides for jobs whose policy leaves it to the application.

use crate::data_map::JobDataMap;
use crate::key::{JobKey, TriggerKey};
use crate::rules::recovery::DeadFireDecision;
use chrono::{DateTime, Utc};

/// A fire that died: its node was declared dead, or its heartbeat ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DeadFire {
    /// The fire.
    pub fire_id: String,
    /// The instance it ran on.
    pub instance: String,
    /// The job.
    pub job: JobKey,
    /// The job's type.
    pub job_type: String,
    /// The trigger.
    pub trigger: TriggerKey,
    /// The time it stood for.
    pub scheduled_fire_time: DateTime<Utc>,
    /// The time at which the trigger was fired.
    pub fire_time: DateTime<Utc>,
    /// The number of runs of this work that were interrupted before it.
    pub attempt: i64,
    /// The job's data overlaid by the trigger's, as the next run would see them. Data that cannot
    /// be read are left out.
    pub data: JobDataMap,
    /// The store's time.
    pub now: DateTime<Utc>,
}

/// Decides for jobs whose policy is [`OnDead::Ask`](crate::OnDead::Ask).
pub trait DeadFireHandler: Send + Sync {
    /// The decision; none if this handler has no say in it.
    ///
    /// A handler is asked inside the transaction that recovers the fire, by the one node that
    /// recovers it, and must be quick: the cluster waits. A handler must not call the scheduler,
    /// which would wait for itself. The transaction may be tried again, so it may be asked again. A
    /// handler that panics here has no say.
    fn decide(&self, fire: &DeadFire) -> Option<DeadFireDecision>;
}

impl<F> DeadFireHandler for F
where
    F: Fn(&DeadFire) -> Option<DeadFireDecision> + Send + Sync,
{
    fn decide(&self, fire: &DeadFire) -> Option<DeadFireDecision> {
        self(fire)
    }
}
