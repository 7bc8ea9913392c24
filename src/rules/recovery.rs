//! Recovery: what becomes of the work of a dead fire, and the one-shot trigger that does the work
//! again.

use crate::data_map::JobDataMap;
use crate::epoch::millis;
use crate::key::{BROADCAST_GROUP, JobKey, MAX_NAME_CHARS, RECOVERY_GROUP, TriggerKey};
use crate::rules::one_shot::one_shot;
use crate::store::row::{FiredRow, RecoveryRow, TriggerRow};
use crate::trigger::{Trigger, TriggerState};
use std::time::Duration;

/// The data keys by which a recovery trigger names the fire it stands for; Java nodes write and
/// read the same.
pub(crate) mod recovery_keys {
    pub(crate) const NAME: &str = "QRTZ_FAILED_JOB_ORIG_TRIGGER_NAME";
    pub(crate) const GROUP: &str = "QRTZ_FAILED_JOB_ORIG_TRIGGER_GROUP";
    pub(crate) const FIRED_MS: &str = "QRTZ_FAILED_JOB_ORIG_TRIGGER_FIRETIME_IN_MILLISECONDS_AS_STRING";
    pub(crate) const SCHEDULED_MS: &str = "QRTZ_FAILED_JOB_ORIG_TRIGGER_SCHEDULED_FIRETIME_IN_MILLISECONDS_AS_STRING";
    /// All of them.
    pub(crate) const ALL: [&str; 4] = [NAME, GROUP, FIRED_MS, SCHEDULED_MS];
}

/// The decision about a dead fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeadFireDecision {
    /// A recovery trigger runs the work again, at once.
    Recover,
    /// A recovery trigger runs the work again, after so long.
    RecoverAfter(Duration),
    /// As [`OnDead::Revive`](crate::OnDead::Revive).
    Revive,
    /// The work is given up; the trigger fires when it fires next.
    NextFire,
    /// The work is given up, and the trigger is set to `ERROR` until somebody resets it.
    Error,
}

/// The work of a dead fire, as far as it matters for what becomes of the work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeadWork {
    /// True if a recovery trigger was made for this very fire.
    pub(crate) was_recovered: bool,
    /// The number of times in a row that the work was taken over.
    pub(crate) takeovers: i64,
    /// The largest such number; 0 for no limit.
    pub(crate) max_takeovers: u32,
    /// True if the trigger waits for nothing but this fire.
    pub(crate) can_be_revived: bool,
}

/// The fate of the work of a dead fire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WorkFate {
    /// Nobody does the work again.
    Lost,
    /// Nobody does the work again, and the trigger is set to `ERROR`.
    Failed,
    /// Somebody does the work already.
    Recovered,
    /// The trigger is due again.
    Revived,
    /// A recovery trigger does the work after `delay_ms`, or when somebody has looked at it, if it
    /// is `parked`.
    Again { delay_ms: i64, parked: Option<String> },
}

/// The decision on a dead fire of a job that does not request recovery; `trigger` is its row, also
/// one that is `gone` with a prefetched fire.
pub(crate) fn unrequested(revives: bool, trigger: Option<&TriggerRow>, is_gone: bool) -> DeadFireDecision {
    match trigger.filter(|row| revives && row.key.group() != BROADCAST_GROUP) {
        // Only a last fire takes the row with it.
        Some(_) if is_gone => DeadFireDecision::Recover,
        Some(row) if can_be_revived(row) => DeadFireDecision::Revive,
        _ => DeadFireDecision::NextFire,
    }
}

/// The fate of the work by this decision of its policy.
pub(crate) fn fate(decision: DeadFireDecision, work: DeadWork) -> WorkFate {
    let parked = too_many(work.takeovers, work.max_takeovers);
    match decision {
        DeadFireDecision::NextFire => WorkFate::Lost,
        DeadFireDecision::Error => WorkFate::Failed,
        _ if work.was_recovered => WorkFate::Recovered,
        DeadFireDecision::Revive if work.can_be_revived && parked.is_none() => WorkFate::Revived,
        DeadFireDecision::RecoverAfter(delay) => WorkFate::Again { delay_ms: millis(delay), parked },
        DeadFireDecision::Recover | DeadFireDecision::Revive => WorkFate::Again { delay_ms: 0, parked },
    }
}

/// Why work that was taken over so often in a row is not taken over once more; none if it is.
fn too_many(takeovers: i64, limit: u32) -> Option<String> {
    (limit > 0 && takeovers >= i64::from(limit)).then(|| {
        format!(
            "it was taken over {takeovers} times in a row, and each run died with its node or fell silent: \
             carnelian.recovery.maxTakeovers, or its job's policy, allows {limit}"
        )
    })
}

/// True if a trigger has fired for the last time, is there only for the sake of that fire, and
/// would not be left out if it came late once more: a recovery trigger never is.
pub(crate) fn can_be_revived(trigger: &TriggerRow) -> bool {
    let leaves_out: &[i32] = match trigger.kind.as_str() {
        "SIMPLE" => &[4, 5], // both wait for the next time
        _ => &[2],           // do nothing
    };
    let is_over = trigger.next_ms.is_none() && trigger.state == TriggerState::Complete.name();
    let has_window = trigger.options.as_ref().is_some_and(|options| options.names.contains("catch-up"));
    // The node that a part is for is gone.
    let is_part = trigger.key.group() == BROADCAST_GROUP;
    is_over && !is_part && !has_window && !leaves_out.contains(&trigger.misfire)
}

/// Names for recovery triggers: `recover_<instance>_<n>`, n from the present millisecond, as people
/// search for them.
///
/// The name is for people; what makes a recovery unique is its origin. A name that is taken is
/// passed over (H14).
pub(crate) fn recovery_names(instance: &str, now_ms: i64) -> impl Iterator<Item = TriggerKey> + use<> {
    let room = MAX_NAME_CHARS - "recover__".len() - 20;
    let stem: String = instance.chars().take(room).collect();
    (now_ms..).map(move |n| TriggerKey::new(RECOVERY_GROUP, format!("recover_{stem}_{n}")))
}

/// A one-shot at the scheduled time of the lost fire, however old, with the trigger's data and the
/// four keys.
///
/// A fire of a recovery trigger keeps the first trigger's four values (H15).
pub(crate) fn recovery_trigger(key: TriggerKey, job: &JobKey, fire: &FiredRow, mut data: JobDataMap) -> Trigger {
    let is_recovery_of_recovery = fire.trigger.group() == RECOVERY_GROUP && data.text(recovery_keys::NAME).is_some();
    if !is_recovery_of_recovery {
        data.put(recovery_keys::NAME, fire.trigger.name());
        data.put(recovery_keys::GROUP, fire.trigger.group());
        data.put(recovery_keys::FIRED_MS, fire.fired_ms.to_string());
        data.put(recovery_keys::SCHEDULED_MS, fire.scheduled_ms.to_string());
    }
    one_shot(key, job.clone(), data, fire.priority, fire.scheduled_ms)
}

/// The row that says which fire the trigger stands for, and which chain of fires it goes on with.
pub(crate) fn recovery_row(
    trigger: TriggerKey,
    fire: &FiredRow,
    before: Option<&RecoveryRow>,
    takeovers: i64,
) -> RecoveryRow {
    RecoveryRow {
        trigger,
        origin_fire_id: fire.fire_id.clone(),
        root_fire_id: before.map_or_else(|| fire.fire_id.clone(), |row| row.root_fire_id.clone()),
        original_scheduled_ms: before.map_or(fire.scheduled_ms, |row| row.original_scheduled_ms),
        attempt: before.map_or(1, |row| row.attempt + 1),
        takeovers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DeadFireDecision::*;

    const WORK: DeadWork = DeadWork { was_recovered: false, takeovers: 0, max_takeovers: 3, can_be_revived: true };

    #[test]
    fn the_decision_and_the_work_say_what_becomes_of_it() {
        let again = |delay_ms| WorkFate::Again { delay_ms, parked: None };
        let (known, stays) = (DeadWork { was_recovered: true, ..WORK }, DeadWork { can_be_revived: false, ..WORK });
        let later = RecoverAfter(Duration::from_secs(5));
        for (decision, work, expected) in [
            (NextFire, WORK, WorkFate::Lost),
            (NextFire, known, WorkFate::Lost),
            (Error, WORK, WorkFate::Failed),
            (Error, known, WorkFate::Failed),
            (Recover, WORK, again(0)),
            (Recover, known, WorkFate::Recovered),
            (later, WORK, again(5_000)),
            (Revive, WORK, WorkFate::Revived),
            (Revive, stays, again(0)),
            (Revive, known, WorkFate::Recovered),
        ] {
            assert_eq!(fate(decision, work), expected, "{decision:?} {work:?}");
        }
    }

    #[test]
    fn work_that_dies_again_and_again_is_parked() {
        let parked = |takeovers, max_takeovers| {
            let fate = fate(Revive, DeadWork { takeovers, max_takeovers, ..WORK });
            matches!(fate, WorkFate::Again { parked: Some(_), .. })
        };
        assert!(!parked(2, 3) && parked(3, 3) && parked(4, 3) && !parked(100, 0));
    }

    #[test]
    fn names_are_of_the_instance_and_the_time() {
        let names: Vec<TriggerKey> = recovery_names("a", 7).take(2).collect();
        assert_eq!(names.iter().map(TriggerKey::name).collect::<Vec<_>>(), ["recover_a_7", "recover_a_8"]);
        let long = recovery_names(&"x".repeat(300), i64::MAX - 1).next().unwrap();
        assert!(long.name().len() <= MAX_NAME_CHARS);
    }
}
