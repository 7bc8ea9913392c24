//! Firing: what a fire makes of its trigger.

use crate::calendar::Calendar;
use crate::job::JobDetail;
use crate::trigger::{Trigger, TriggerState};

/// What becomes of the trigger's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterFire {
    /// It moves on to its next fire time, in this state.
    Stays(TriggerState),
    /// It is finished and nobody will need its row: it goes in the same transaction.
    Goes,
}

/// Moves `trigger` on by one fire, past what its calendar excludes, and says what becomes of its row.
///
/// A one-shot whose job asks for recovery keeps its row until the job has ended, since recovery reads the trigger's
/// data from it; so does every other with `keeps_row`.
pub(crate) fn fire(
    trigger: &mut Trigger,
    job: &JobDetail,
    calendar: Option<&Calendar>,
    keeps_row: bool,
    now_ms: i64,
) -> AfterFire {
    trigger.triggered(calendar, now_ms);
    match (trigger.next_ms, job.requests_recovery || keeps_row, job.disallow_concurrent_execution) {
        (None, true, _) => AfterFire::Stays(TriggerState::Complete),
        (None, false, _) => AfterFire::Goes,
        (Some(_), _, true) => AfterFire::Stays(TriggerState::Blocked),
        (Some(_), _, false) => AfterFire::Stays(TriggerState::Waiting),
    }
}
