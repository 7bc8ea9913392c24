//! Work whose jobs ask for no recovery: only an interruption explains that some of it is missing at
//! the end.

use super::history::{History, Run};
use super::jobs::GRID;
use super::plan::Grid;
use super::world::World;
use carnelian::TriggerKey;
use carnelian::history::{FireOutcome, HistoryRow};
use std::collections::BTreeSet;

/// The end of a run that the store takes for the end of its work, or for an interruption.
const ENDS: [&str; 6] = ["succeeded", "failed", "panicked", "killed", "fenced", "lost"];

/// Each due time of the grids that ask for no recovery has run once to an end, or was interrupted.
pub fn judge(world: &World, history: &History, rows: &[HistoryRow], start_ms: i64) {
    for grid in world.plan.grids.iter().filter(|grid| !grid.recovers) {
        for (name, later_ms) in grid.triggers() {
            judge_trigger(world, history, rows, grid, (&TriggerKey::new(GRID, &*name), start_ms + later_ms));
        }
    }
}

fn judge_trigger(
    world: &World,
    history: &History,
    rows: &[HistoryRow],
    grid: &Grid,
    (trigger, start_ms): (&TriggerKey, i64),
) {
    let every_ms = i64::try_from(grid.every.as_millis()).expect("a short time");
    let due: BTreeSet<i64> = (0..i64::from(grid.fires)).map(|n| start_ms + n * every_ms).collect();
    let key = trigger.to_string();
    for ((_, scheduled_ms), runs) in history.chains.iter().filter(|((of, _), _)| *of == key) {
        if !due.contains(scheduled_ms) {
            world.problem(format!("{key} was never due at {scheduled_ms}: {runs:?}"));
        }
    }
    for scheduled_ms in due {
        let runs = history.chains.get(&(key.clone(), scheduled_ms)).map_or(&[][..], |runs| runs);
        if is_explained(world, runs, rows, grid, (trigger, scheduled_ms)) {
            continue;
        }
        let rows = rows.iter().filter(|row| row.trigger == *trigger && row.scheduled_ms == scheduled_ms);
        let rows: Vec<_> = rows.map(|row| format!("{} {}", row.fire_id, row.outcome.name())).collect();
        let what = "has no end and was not interrupted";
        world.problem(format!("{key} due at {scheduled_ms} {what}: runs {runs:?}, history {rows:?}"));
    }
}

fn is_explained(
    world: &World,
    runs: &[Run],
    rows: &[HistoryRow],
    grid: &Grid,
    (trigger, scheduled_ms): (&TriggerKey, i64),
) -> bool {
    let fired = runs.iter().filter(|run| !run.recovering && !run.resuming).count();
    let is_rewound = world.java.borrow().known.is_rewound(&trigger.to_string(), scheduled_ms);
    if fired > 1 && !is_rewound && !world.is_repeated(runs) {
        return false;
    }
    let has_end = |run: &Run| run.ended.as_ref().is_some_and(|(_, outcome)| ENDS.contains(&&**outcome));
    let is_dropped = world.java.borrow().known.dropped.contains(&(trigger.clone(), scheduled_ms));
    runs.iter().any(has_end) || world.has_lost_commits() || is_dropped || {
        // The fire was taken and has not begun: its node was declared dead before that.
        let living: Vec<String> =
            world.snapshot().instances.into_iter().filter_map(|instance| instance.incarnation).collect();
        let is_dead = |row: &HistoryRow| !living.iter().any(|incarnation| row.fire_id.contains(&**incarnation));
        rows.iter().any(|row| {
            // Work that was given back and went on in a fire of its own has another trigger.
            let goes_on = row.root_fire_id.is_some() && row.job.as_ref().is_some_and(|job| job.name() == grid.name);
            let is_of = goes_on || row.trigger == *trigger && row.scheduled_ms == scheduled_ms;
            is_of && matches!(row.outcome, FireOutcome::Interrupted | FireOutcome::Lost) && is_dead(row)
        })
    }
}
