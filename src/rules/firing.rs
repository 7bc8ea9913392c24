//! Firing: what a fire makes of its trigger.

use crate::calendar::Calendar;
use crate::job::JobDetail;
use crate::rules::passing_over::pass_over;
use crate::trigger::{Overlap, Trigger, TriggerState};

/// What becomes of the trigger's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterFire {
    /// It moves on to its next fire time, in this state.
    Stays(TriggerState),
    /// It is finished and nobody will need its row: it goes in the same transaction.
    Goes,
}

/// Moves `trigger` on by one fire, past what its calendar excludes, and says what becomes of its row, and which times are
/// left out, as their first and their number: a fire that may not overlap stands for all that have come due by now.
///
/// A one-shot whose job asks for recovery keeps its row until the job has ended, since recovery reads the trigger's
/// data from it; so does every other with `keeps_row`.
pub(crate) fn fire(
    trigger: &mut Trigger,
    job: &JobDetail,
    calendar: Option<&Calendar>,
    keeps_row: bool,
    now_ms: i64,
) -> (AfterFire, Option<(i64, u64)>) {
    let left_out = move_on(trigger, calendar, now_ms);
    let after = match (trigger.next_ms, job.requests_recovery || keeps_row, job.disallow_concurrent_execution) {
        (None, true, _) => AfterFire::Stays(TriggerState::Complete),
        (None, false, _) => AfterFire::Goes,
        (Some(_), _, true) => AfterFire::Stays(TriggerState::Blocked),
        (Some(_), _, false) => AfterFire::Stays(TriggerState::Waiting),
    };
    (after, left_out)
}

/// Moves `trigger` on by one fire, past what its calendar excludes, and says which times are left out, as their first and
/// their number.
pub(crate) fn move_on(trigger: &mut Trigger, calendar: Option<&Calendar>, now_ms: i64) -> Option<(i64, u64)> {
    trigger.triggered(calendar, now_ms);
    let overdue = trigger.next_ms.filter(|next_ms| trigger.policies.overlap != Overlap::AllowAll && *next_ms <= now_ms);
    overdue.map(|first_ms| (first_ms, pass_over(trigger, now_ms.saturating_add(1), calendar, now_ms)))
}
