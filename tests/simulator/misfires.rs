//! Quartz's misfire handler, and the state in which Quartz stores a trigger that is to wait.

use super::java::JavaNode;
use super::world::World;
use carnelian::store::row::{Advance, Counts, FiredSelection, FiredState, TriggerRow};
use carnelian::store::{ALL_GROUPS_PAUSED, Lock, Session};
use carnelian::{JobKey, Result, Schedule, Trigger, TriggerKey, TriggerState};
use chrono::DateTime;

/// The most triggers that one pass handles.
const MOST: usize = 20;

impl World {
    /// A pass of the misfire handler: triggers that wait for longer than the threshold of the node
    /// get the time that their instructions say. True if more of them are there.
    pub fn quartz_handles_misfires(&self, node: &JavaNode) -> bool {
        let now_ms = self.java_ms(node);
        let before_ms = now_ms - node.threshold_ms;
        // A trigger without a time has -1 there, which is before any time.
        let is_late = |row: &TriggerRow| {
            row.state == "WAITING" && row.misfire != -1 && row.next_ms.is_none_or(|next_ms| next_ms < before_ms)
        };
        let mut late: Vec<_> = self.rows_of_triggers().into_iter().filter(is_late).collect();
        if late.is_empty() {
            return false;
        }
        late.sort_by_key(|row| (row.next_ms, -row.priority, row.key.clone()));
        let has_more = late.len() > MOST;
        late.truncate(MOST);
        let late = self.with_values(late);
        self.note_fires_again(&late);
        let tried = self.quartz(Lock::TriggerAccess, |s| {
            for (row, trigger) in &late {
                self.quartz_moves_misfired(s, (row, trigger), now_ms, None)?;
            }
            Ok(())
        });
        tried.expect("nobody holds a trigger");
        let keys: Vec<_> = late.iter().map(|(row, _)| row.key.to_string()).collect();
        self.say(format_args!("{} handles misfires of {}", node.name, keys.join(", ")));
        has_more
    }

    /// Applies the misfire instruction of a trigger; it waits then, in this state if that is sure.
    pub fn quartz_moves_misfired(
        &self,
        s: &mut dyn Session,
        (row, trigger): (&TriggerRow, &Trigger),
        now_ms: i64,
        sure: Option<TriggerState>,
    ) -> Result<()> {
        let mut trigger = trigger.clone();
        trigger.apply_misfire(None, DateTime::from_timestamp_millis(now_ms).expect("a time"));
        let state = match (trigger.next_fire_time(), sure) {
            (None, _) => {
                self.java.borrow_mut().known.left_complete.insert(row.key.clone());
                TriggerState::Complete
            }
            (Some(_), Some(state)) => state,
            (Some(_), None) => state_of_stored(s, &row.key, &row.job)?,
        };
        let written = s.advance(&[written(row, &trigger, state)])?;
        assert_eq!(written, 1, "nobody else writes meanwhile");
        Ok(())
    }

    /// A trigger whose last fire has ended on a node of ours is not there any more.
    fn note_fires_again(&self, late: &[(TriggerRow, Trigger)]) {
        let fired = self.snapshot().fired;
        for (row, _) in late.iter().filter(|(row, _)| row.next_ms.is_none()) {
            let executes = fired.iter().any(|one| one.trigger == row.key && one.state == FiredState::Executing);
            if executes || !self.are_ends_recorded(&row.key) {
                self.java.borrow_mut().known.again.insert(row.key.clone());
            }
        }
    }

    /// Triggers with what their rows mean.
    pub fn with_values(&self, rows: Vec<TriggerRow>) -> Vec<(TriggerRow, Trigger)> {
        let of = |row: TriggerRow| Some((self.console.trigger(&row.key).expect("an answer")?, row));
        rows.into_iter().filter_map(of).map(|(trigger, row)| (row, trigger)).collect()
    }

    /// The rows of all triggers, as they are now.
    pub fn rows_of_triggers(&self) -> Vec<TriggerRow> {
        self.snapshot().triggers
    }
}

/// The columns that Quartz writes of a trigger that it has read and changed.
fn written(row: &TriggerRow, trigger: &Trigger, state: TriggerState) -> Advance {
    let ms = |at: Option<DateTime<chrono::Utc>>| at.map(|at| at.timestamp_millis());
    let counts = match trigger.schedule() {
        Schedule::Simple(simple) => Some(Counts::Simple {
            repeat_count: simple.repeat_count().map_or(-1, |count| i64::try_from(count).expect("few")),
            times_triggered: i64::try_from(simple.times_triggered()).expect("few"),
        }),
        _ => None,
    };
    Advance {
        key: row.key.clone(),
        expected_state: TriggerState::from_name(&row.state).expect("a state"),
        expected_next_ms: row.next_ms,
        state,
        next_ms: ms(trigger.next_fire_time()),
        previous_ms: ms(trigger.previous_fire_time()),
        start_ms: trigger.start_time().timestamp_millis(),
        counts,
        moves_options: false,
    }
}

/// The state in which Quartz stores a trigger that is to wait: `PAUSED` in a paused group, and
/// blocked while its job executes, if that runs once at a time.
pub fn state_of_stored(s: &mut dyn Session, trigger: &TriggerKey, job: &JobKey) -> Result<TriggerState> {
    let paused = s.paused_groups()?;
    let is_paused = |group: &str| paused.iter().any(|one| one == group);
    let group = trigger.group().to_owned();
    let all = is_paused(ALL_GROUPS_PAUSED);
    if all && !is_paused(&group) {
        s.insert_paused_groups(std::slice::from_ref(&group))?;
    }
    let waits = if all || is_paused(&group) { TriggerState::Paused } else { TriggerState::Waiting };
    blocked_if_executing(s, job, waits)
}

/// `BLOCKED` for `WAITING`, and `PAUSED_BLOCKED` for `PAUSED`, while a job executes that runs once
/// at a time.
pub fn blocked_if_executing(s: &mut dyn Session, job: &JobKey, state: TriggerState) -> Result<TriggerState> {
    let is_blocked = s.fired(FiredSelection::ExecutingOfJob(job))?.iter().any(|one| one.nonconcurrent);
    Ok(match state {
        TriggerState::Waiting if is_blocked => TriggerState::Blocked,
        TriggerState::Paused if is_blocked => TriggerState::PausedBlocked,
        other => other,
    })
}
