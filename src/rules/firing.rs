//! Firing: what a fire makes of its trigger.

use crate::calendar::Calendar;
use crate::job::JobDetail;
use crate::rules::passing_over::pass_over;
use crate::store::row::TriggerRow;
use crate::trigger::{Overlap, Trigger, TriggerState};

/// The fate of the trigger's row after a fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterFire {
    /// The trigger moves on to its next fire time, in this state.
    Stays(TriggerState),
    /// The trigger is finished and nobody will need its row: the row goes in the same transaction.
    Goes,
}

/// Moves `trigger` on by one fire, past what its calendar excludes, and says what becomes of its
/// row, and which times are left out, as their first and their number: a fire that may not overlap
/// stands for all that have come due by now.
///
/// A trigger that is done keeps its row until its job has ended with `keeps_row`.
pub(crate) fn advance_for_fire(
    trigger: &mut Trigger,
    job: &JobDetail,
    calendar: Option<&Calendar>,
    keeps_row: bool,
    now_ms: i64,
) -> (AfterFire, Option<(i64, u64)>) {
    let left_out = move_on(trigger, calendar, now_ms);
    let after = match (trigger.next_ms, keeps_row, job.disallow_concurrent_execution) {
        (None, true, _) => AfterFire::Stays(TriggerState::Complete),
        (None, false, _) => AfterFire::Goes,
        (Some(_), _, true) => AfterFire::Stays(TriggerState::Blocked),
        // The end of the run sets its next time.
        (Some(_), ..) if trigger.schedule.is_fixed_delay() => AfterFire::Stays(TriggerState::Blocked),
        (Some(_), _, false) => AfterFire::Stays(TriggerState::Waiting),
    };
    (after, left_out)
}

/// Moves `trigger` on by one fire, past what its calendar excludes, and says which times are left
/// out, as their first and their number.
pub(crate) fn move_on(trigger: &mut Trigger, calendar: Option<&Calendar>, now_ms: i64) -> Option<(i64, u64)> {
    trigger.move_on(calendar, now_ms);
    let overdue = trigger.next_ms.filter(|next_ms| trigger.policies.overlap != Overlap::AllowAll && *next_ms <= now_ms);
    overdue.map(|first_ms| (first_ms, pass_over(trigger, now_ms.saturating_add(1), calendar, now_ms)))
}

/// True if a trigger is reserved for this time still: nobody has paused, replaced or fired it
/// since.
pub(crate) fn is_still_reserved(trigger: &TriggerRow, scheduled_ms: i64) -> bool {
    trigger.state == TriggerState::Acquired.name() && trigger.next_ms == Some(scheduled_ms)
}

/// The fate of a reservation that is not fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missed {
    /// The trigger is set free.
    GivenBack,
    /// The trigger is a node of Quartz's: only the fired row goes.
    Yielded,
}

/// The fate of a reservation that is not fired; none if its fired row is gone, which may be
/// another's by now.
pub(crate) fn missed(is_held: bool, is_foreign: bool) -> Option<Missed> {
    is_held.then_some(if is_foreign { Missed::Yielded } else { Missed::GivenBack })
}

/// The way in which a trigger gets a fire back that has not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restored {
    /// From this state into that, or into the one of a trigger that is free.
    InPlace(TriggerState, Option<TriggerState>),
    /// The trigger's row went with the fire, and is stored again.
    Inserted,
    /// The trigger was deleted or replaced: it has no fire to get back.
    Over,
    /// The trigger has fired since, or is about to, or may have ended: the fire cannot be taken
    /// back.
    Never,
}

/// The lead that a fire may have in the store on its time: that of a precommit, and of the clock of
/// a node of Quartz, which fires by it.
const LEAD_MS: i64 = 1_500;

/// A fire that has not begun, as far as its trigger is concerned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FireToRestore {
    /// The next and the previous fire time that the fire has left its trigger.
    pub(crate) after: (Option<i64>, Option<i64>),
    /// True if the trigger's row went with the fire.
    pub(crate) took_row: bool,
    /// True if the trigger's job is stored.
    pub(crate) has_job: bool,
    /// True if the trigger's job runs once at a time.
    pub(crate) is_alone: bool,
    /// True if the store has a later fire of the trigger, which runs or has ended.
    pub(crate) went_on: bool,
}

impl FireToRestore {
    /// True if a later fire may have taken the trigger's row with it by now, the last that it had.
    fn may_have_ended(&self, now_ms: i64) -> bool {
        self.went_on || self.after.0.is_some_and(|next_ms| next_ms <= now_ms.saturating_add(LEAD_MS))
    }
}

/// Decides at `now_ms` about a trigger of which the store says `seen`: its state, next
/// and previous fire time.
pub(crate) fn restore(
    seen: Option<(Option<TriggerState>, Option<i64>, Option<i64>)>,
    fire: FireToRestore,
    now_ms: i64,
) -> Restored {
    use TriggerState::{Blocked, Complete, Paused, PausedBlocked, Waiting};
    let FireToRestore { after, took_row, has_job, is_alone, .. } = fire;
    match seen {
        None if !has_job => Restored::Over,
        None if took_row => Restored::Inserted,
        None if fire.may_have_ended(now_ms) => Restored::Never,
        None => Restored::Over,
        // Another trigger of this name has been stored: the work goes on in a fire of its own.
        Some(_) if took_row && has_job => Restored::Never,
        Some((_, _, previous_ms)) if previous_ms < after.1 => Restored::Over,
        Some((Some(state), next_ms, previous_ms)) if (next_ms, previous_ms) == after => match state {
            // A run of its job has ended it since: it was not for want of a further time.
            Complete if after.0.is_some() => Restored::Over,
            Complete => Restored::InPlace(state, None),
            // The next fire waits for the end of this one, which lets it go on.
            Blocked | PausedBlocked if !is_alone => Restored::Never,
            Waiting | Paused | Blocked | PausedBlocked => Restored::InPlace(state, Some(state)),
            _ => Restored::Never,
        },
        Some(_) => Restored::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TriggerState::*;

    #[test]
    fn a_reservation_that_is_not_fired_is_given_back_unless_it_is_anothers() {
        let all = [(true, false), (true, true), (false, false), (false, true)].map(|(held, by)| missed(held, by));
        assert_eq!(all, [Some(Missed::GivenBack), Some(Missed::Yielded), None, None]);
    }

    #[test]
    fn a_trigger_gets_its_fire_back_unless_it_went_on() {
        let fire =
            FireToRestore { after: (None, Some(100)), took_row: false, has_job: true, is_alone: true, went_on: false };
        let restore = |seen, fire| super::restore(seen, fire, 200);
        let early = FireToRestore { after: (Some(5_000), Some(100)), ..fire };
        assert_eq!(restore(None, early), Restored::Over, "deleted before its next time");
        let went_on = FireToRestore { went_on: true, ..early };
        assert_eq!(restore(None, went_on), Restored::Never, "the clock was set back since its last fire");
        let gone = FireToRestore { took_row: true, ..fire };
        assert_eq!(restore(None, gone), Restored::Inserted);
        assert_eq!(restore(None, FireToRestore { has_job: false, ..gone }), Restored::Over, "deleted with its job");
        assert_eq!(restore(None, fire), Restored::Over, "deleted");
        assert_eq!(restore(Some((Some(Waiting), Some(100), None)), gone), Restored::Never, "stored anew");
        let seen = |state, next_ms, previous_ms| Some((Some(state), next_ms, previous_ms));
        assert_eq!(restore(seen(Complete, None, Some(100)), fire), Restored::InPlace(Complete, None));
        let repeats = FireToRestore { after: (Some(200), Some(100)), ..fire };
        for state in [Waiting, Paused, Blocked, PausedBlocked] {
            let restored = restore(seen(state, Some(200), Some(100)), repeats);
            assert_eq!(restored, Restored::InPlace(state, Some(state)));
        }
        assert_eq!(restore(None, repeats), Restored::Never, "went with a later fire");
        assert_eq!(super::restore(None, repeats, 180), Restored::Never, "went with a later fire, precommitted");
        assert_eq!(super::restore(None, repeats, 199 - LEAD_MS), Restored::Over, "deleted");
        assert_eq!(restore(None, FireToRestore { has_job: false, ..repeats }), Restored::Over, "deleted with its job");
        assert_eq!(restore(seen(Complete, Some(200), Some(100)), repeats), Restored::Over, "ended by its job");
        let waits = restore(seen(Blocked, Some(200), Some(100)), FireToRestore { is_alone: false, ..repeats });
        assert_eq!(waits, Restored::Never, "its next fire waits for this one");
        assert_eq!(restore(seen(Waiting, Some(200), None), repeats), Restored::Over, "replaced");
        assert_eq!(restore(seen(Waiting, Some(300), Some(200)), repeats), Restored::Never, "fired since");
        assert_eq!(restore(seen(Acquired, Some(200), Some(100)), repeats), Restored::Never, "reserved");
        assert_eq!(restore(seen(Error, Some(200), Some(100)), repeats), Restored::Never);
    }
}
