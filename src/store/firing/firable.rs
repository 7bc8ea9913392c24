//! `Firable`: a trigger that can be fired, and the tick that it is if several nodes run it.

use crate::calendar::Calendar;
use crate::job::JobDetail;
use crate::store::row::Candidate;
use crate::trigger::Trigger;
use std::sync::Arc;

/// A trigger that can be fired, and what that takes.
pub(super) struct Firable {
    pub(super) candidate: Candidate,
    pub(super) job: JobDetail,
    pub(super) trigger: Trigger,
    pub(super) calendar: Option<Arc<Calendar>>,
}

/// A tick that is to be fanned out.
pub(super) struct DueTick {
    pub(super) trigger: Trigger,
    pub(super) job: JobDetail,
    pub(super) scheduled_ms: i64,
    /// The trigger's row goes.
    pub(super) is_last: bool,
}
