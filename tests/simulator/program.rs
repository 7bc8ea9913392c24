//! A Java program beside the cluster: it calls a scheduler of Quartz, which may fire as well or be
//! there for the calls only.

use super::jobs::{GRID, WORK};
use super::misfires::{blocked_if_executing, state_of_stored};
use super::operators::{loose, manual};
use super::quartz::times_between;
use super::world::World;
use carnelian::calendar::{Calendar, Weekdays};
use carnelian::history::{FireOutcome, HistoryRow};
use carnelian::store::row::{
    Advance, FiredState, JobRow, JobSelection, ScheduleRow, Selection, TriggerRow, TriggerSelection,
};
use carnelian::store::{ALL_GROUPS_PAUSED, Lock, Session};
use carnelian::{IfExists, JobDataMap, JobDetail, JobKey, Result, SimpleSchedule, Trigger, TriggerKey, TriggerState};
use chrono::DateTime;
use std::collections::BTreeSet;

/// The calendar of some triggers, which excludes nothing. Programs store it anew.
pub const CALENDAR: &str = "calendar";

/// The group of triggers that fire once.
pub const ONCE: &str = "once";

/// The calendar that excludes nothing.
pub fn every_day() -> Calendar {
    Calendar::new(Weekdays::excluding([]))
}

impl World {
    /// The program does one thing.
    pub fn java_program_acts(&self) {
        if self.is_store_away() || self.file_held_for() > 0 {
            return;
        }
        let (what, grid, at) = {
            let mut dice = self.dice.borrow_mut();
            let grid = dice.index(self.plan.grids.len());
            (dice.below(15), self.plan.grids[grid].name.clone(), dice.below(3))
        };
        let (trigger, job) = (TriggerKey::new(GRID, &*grid), JobKey::new(GRID, &*grid));
        let of_grid = [GRID.to_owned()];
        match what {
            0 => self.quartz_pauses(&format!("pauses {trigger}"), Selection::Triggers(&[trigger]), &[]),
            1 => self.quartz_resumes(&format!("resumes {trigger}"), |key| *key == trigger, &[]),
            2 => self.quartz_pauses("pauses a group", Selection::Groups(&of_grid), &of_grid),
            3 => self.quartz_resumes("resumes a group", |key| key.group() == GRID, &of_grid),
            4 => self.quartz_pauses_all(),
            5 => self.quartz_resumes_all(),
            6 => self.quartz_triggers_job(),
            7 => self.quartz_stores(at, true),
            8 => self.quartz_deletes(&loose(self, at).0),
            9 => self.quartz_stores(at, false),
            10 => {
                let of_job: Vec<TriggerKey> = self.rows_of_triggers_where(|row| row.job == job);
                self.quartz_pauses(&format!("pauses {job}"), Selection::Triggers(&of_job), &[]);
                self.quartz_resumes(&format!("resumes {job}"), |key| of_job.contains(key), &[]);
            }
            11..=12 => self.quartz_stores_calendar(),
            _ => self.quartz_schedules_once(),
        }
        self.note_left_reservations();
    }

    fn rows_of_triggers_where(&self, is_it: impl Fn(&TriggerRow) -> bool) -> Vec<TriggerKey> {
        self.rows_of_triggers().into_iter().filter(is_it).map(|row| row.key).collect()
    }

    /// Notes the reservations that a call leaves without its trigger.
    fn note_left_reservations(&self) {
        let snapshot = self.snapshot();
        let acquired = snapshot.triggers.iter().filter(|row| row.state == "ACQUIRED");
        let acquired: BTreeSet<&TriggerKey> = acquired.map(|row| &row.key).collect();
        let is_left = |state: FiredState, key: &TriggerKey| state == FiredState::Acquired && !acquired.contains(key);
        let left = snapshot.fired.iter().filter(|fire| is_left(fire.state, &fire.trigger));
        let known = &mut self.java.borrow_mut().known;
        for fire in left {
            known.lost.insert(fire.fire_id.clone());
            known.left_reserved.insert(fire.trigger.clone());
        }
    }

    fn call(&self, what: &str, work: impl FnMut(&mut dyn Session) -> Result<()>) {
        self.quartz(Lock::TriggerAccess, work).expect("nobody holds a trigger");
        self.say(format_args!("a Java program {what}"));
    }

    fn quartz_pauses(&self, what: &str, which: Selection<'_>, groups: &[String]) {
        self.call(what, |s| {
            s.change_states(which, &PAUSES, false)?;
            s.insert_paused_groups(groups)
        });
    }

    fn quartz_pauses_all(&self) {
        let groups = self.groups();
        self.call("pauses everything", |s| {
            s.change_states(Selection::Groups(&groups), &PAUSES, false)?;
            s.insert_paused_groups(&groups)?;
            s.insert_paused_groups(&[ALL_GROUPS_PAUSED.to_owned()])
        });
    }

    /// Paused groups without a trigger stay paused.
    fn quartz_resumes_all(&self) {
        let mut groups = self.groups();
        groups.push(ALL_GROUPS_PAUSED.to_owned());
        self.quartz_resumes("resumes everything", |_| true, &groups);
    }

    fn groups(&self) -> Vec<String> {
        let groups: BTreeSet<_> = self.rows_of_triggers().iter().map(|row| row.key.group().to_owned()).collect();
        groups.into_iter().collect()
    }

    fn quartz_resumes(&self, what: &str, is_it: impl Fn(&TriggerKey) -> bool, groups: &[String]) {
        let rows: Vec<TriggerRow> = self.rows_of_triggers().into_iter().filter(|row| is_it(&row.key)).collect();
        let triggers = self.with_values(rows);
        // A scheduler that was not started looks at no misfires.
        let started = self.java.borrow().node().map(|node| (self.java_ms(node), node.threshold_ms));
        self.call(what, |s| {
            s.delete_paused_groups(groups)?;
            for (row, trigger) in &triggers {
                let Some(next_ms) = row.next_ms else { continue };
                self.java.borrow_mut().known.resumed.insert(row.key.clone());
                let state = blocked_if_executing(s, &row.job, TriggerState::Waiting)?;
                match started {
                    // The state is not asked for.
                    Some((now_ms, threshold_ms)) if next_ms <= now_ms - threshold_ms => {
                        self.quartz_moves_misfired(s, (row, trigger), now_ms, Some(state))?;
                    }
                    _ => {
                        let was_blocked = row.state == TriggerState::PausedBlocked.name();
                        let from = if was_blocked { TriggerState::PausedBlocked } else { TriggerState::Paused };
                        s.change_states(Selection::Triggers(std::slice::from_ref(&row.key)), &[(from, state)], false)?;
                    }
                }
            }
            Ok(())
        });
    }

    fn quartz_triggers_job(&self) {
        let ticket = self.operators.borrow_mut().next_ticket();
        let key = TriggerKey::new("DEFAULT", format!("MT_{ticket}"));
        let data: JobDataMap = [("ticket", &*ticket)].into_iter().collect();
        let start = DateTime::from_timestamp_millis(self.store_ms()).expect("a time");
        let trigger = Trigger::builder(key, manual()).start_at(start).schedule(SimpleSchedule::once()).data_map(data);
        self.java_stores(trigger.build().expect("a trigger"));
        self.operators.borrow_mut().taken.insert(ticket.clone(), self.now());
        self.say(format_args!("a Java program triggers work by hand: {ticket}"));
    }

    fn java_stores(&self, trigger: Trigger) {
        self.has_changed.set(true);
        self.console.schedule_trigger(trigger).expect("nothing fails for it");
    }

    /// Stores loose work, or only its trigger anew.
    fn quartz_stores(&self, at: u64, with_job: bool) {
        let (job, trigger) = loose(self, at);
        let row = loose_row(&trigger, self.store_ms());
        self.call(&format!("schedules {at}, with its job: {with_job}"), |s| {
            let is_job_there = !s.jobs(JobSelection::Keys(std::slice::from_ref(job.key())))?.is_empty();
            match (with_job, is_job_there) {
                (true, true) => s.update_job(&job_row(&job))?,
                (true, false) => s.insert_jobs(&[job_row(&job)])?,
                (false, true) => {}
                (false, false) => return Ok(()),
            }
            let was_there = s.delete_triggers(std::slice::from_ref(&row.key), None)? > 0;
            if !with_job && !was_there {
                return Ok(());
            }
            let state = state_of_stored(s, &row.key, &row.job)?.name().to_owned();
            s.insert_triggers(&[TriggerRow { state, ..row.clone() }])
        });
    }

    /// Deletes a job: each of its triggers in a transaction of its own, with the last one the job.
    fn quartz_deletes(&self, job: &JobDetail) {
        let key = job.key().clone();
        for trigger in self.rows_of_triggers_where(|row| row.job == key) {
            self.call(&format!("deletes {trigger}"), |s| {
                s.delete_triggers(std::slice::from_ref(&trigger), None).map(drop)
            });
        }
        self.call(&format!("deletes {key}"), |s| s.delete_jobs(std::slice::from_ref(&key)).map(drop));
    }

    /// Stores the calendar anew, and all triggers of it, whatever their states.
    fn quartz_stores_calendar(&self) {
        let threshold_ms = self.java.borrow().node().map_or(60_000, |node| node.threshold_ms);
        let now_ms = self.store_ms();
        let stored = self.console.add_calendar(CALENDAR, &every_day(), IfExists::Replace);
        stored.expect("nothing fails for it");
        let fired = self.snapshot().fired;
        let knows = |name: &String| self.nodes.borrow().iter().any(|node| node.name == *name && node.has_met_quartz());
        self.call("stores the calendar anew", |s| {
            for row in s.triggers(TriggerSelection::OfCalendar(CALENDAR))? {
                let next_ms = next_by_calendar(&row, now_ms, threshold_ms);
                let known = &mut self.java.borrow_mut().known;
                let passed_over = times_between(&row, next_ms.unwrap_or(now_ms));
                known.dropped.extend(passed_over.into_iter().map(|at| (row.key.clone(), at)));
                match (row.next_ms, next_ms) {
                    (Some(_), None) => drop(known.without_time.insert(row.key.clone())),
                    (None, None) => {
                        let ids = known.revived.entry(row.key.clone()).or_default();
                        for fire in fired.iter().filter(|fire| fire.trigger == row.key) {
                            let is_last = Some(fire.scheduled_ms) == row.previous_ms;
                            let completes = is_last && knows(&fire.instance);
                            ids.insert(if completes { fire.fire_id.clone() } else { String::new() });
                        }
                    }
                    (_, Some(_)) => {}
                }
                let state = state_of_stored(s, &row.key, &row.job)?;
                let written = s.advance(&[Advance {
                    key: row.key.clone(),
                    expected_state: TriggerState::from_name(&row.state).expect("a state"),
                    expected_next_ms: row.next_ms,
                    state,
                    next_ms,
                    previous_ms: row.previous_ms,
                    start_ms: row.start_ms,
                    counts: None,
                    moves_options: false,
                }])?;
                assert_eq!(written, 1, "the row was read under the lock");
            }
            Ok(())
        });
    }

    /// True if nodes of ours have recorded the ends of all fires that ran while a trigger was made
    /// to wait again.
    pub fn are_ends_recorded(&self, trigger: &TriggerKey) -> bool {
        let history = self.history();
        let is_own_end = |row: &HistoryRow| matches!(row.outcome, FireOutcome::Succeeded | FireOutcome::Failed);
        let is_recorded = |id: &String| history.iter().any(|row| row.fire_id == *id && is_own_end(row));
        self.java.borrow().known.revived.get(trigger).is_none_or(|ids| ids.iter().all(is_recorded))
    }

    /// Deletes the triggers that wait for ever, by calls of Java programs, and resumes those that
    /// had no time when all was resumed, and whose fires were given back since.
    pub fn give_up(&self) {
        let snapshot = self.snapshot();
        let is_left = |row: &&TriggerRow| {
            let is_revived = self.java.borrow().known.revived.contains_key(&row.key);
            is_revived && row.next_ms.is_some() && row.state == TriggerState::Paused.name()
        };
        for row in snapshot.triggers.iter().filter(is_left) {
            self.has_changed.set(true);
            self.console.resume_trigger(&row.key).expect("nothing fails for it");
            self.say(format_args!("an operator resumes {} again", row.key));
        }
        let is_over =
            |row: &&TriggerRow| row.next_ms.is_none() && !snapshot.fired.iter().any(|fire| fire.trigger == row.key);
        for key in snapshot.triggers.iter().filter(is_over).map(|row| &row.key) {
            let (never_fires, waits_again) = {
                let known = &self.java.borrow().known;
                (known.without_time.contains(key), known.revived.contains_key(key))
            };
            if never_fires || waits_again && !self.are_ends_recorded(key) {
                self.has_changed.set(true);
                self.console.unschedule(key).expect("nothing fails for it");
                self.say(format_args!("an operator gives {key} up"));
            }
            if never_fires {
                self.operators.borrow_mut().taken.remove(key.name().trim_start_matches('o'));
            }
        }
    }

    /// Schedules work that is done once, by a trigger with a calendar.
    fn quartz_schedules_once(&self) {
        let ticket = self.operators.borrow_mut().next_ticket();
        let later_ms = self.dice.borrow_mut().below(4_000);
        let start_ms = self.store_ms() + i64::try_from(later_ms).expect("small");
        let job = JobDetail::builder(JobKey::new(ONCE, format!("o{ticket}")), WORK).requests_recovery(true);
        let trigger =
            Trigger::builder(TriggerKey::new(ONCE, format!("o{ticket}")), JobKey::new(ONCE, format!("o{ticket}")))
                .start_at(DateTime::from_timestamp_millis(start_ms).expect("a time"))
                .schedule(SimpleSchedule::once())
                .calendar(CALENDAR)
                .data("ticket", &*ticket);
        self.has_changed.set(true);
        let stored = self.console.schedule_job(job.build().expect("a job"), trigger.build().expect("a trigger"));
        stored.expect("nothing fails for it");
        self.operators.borrow_mut().taken.insert(ticket.clone(), self.now());
        self.say(format_args!("a Java program schedules {ONCE}.o{ticket} in {later_ms} ms"));
    }
}

/// The states of a pause.
const PAUSES: [(TriggerState, TriggerState); 3] = [
    (TriggerState::Waiting, TriggerState::Paused),
    (TriggerState::Acquired, TriggerState::Paused),
    (TriggerState::Blocked, TriggerState::PausedBlocked),
];

fn loose_row(trigger: &Trigger, now_ms: i64) -> TriggerRow {
    let (interval_ms, repeat_count) = match trigger.schedule() {
        carnelian::Schedule::Simple(simple) => (simple.interval(), simple.repeat_count()),
        _ => unreachable!("loose work has a simple schedule"),
    };
    TriggerRow {
        key: trigger.key().clone(),
        job: trigger.job_key().clone(),
        description: None,
        next_ms: Some(now_ms),
        previous_ms: None,
        priority: trigger.priority(),
        state: TriggerState::Waiting.name().to_owned(),
        kind: "SIMPLE".to_owned(),
        start_ms: now_ms,
        end_ms: None,
        calendar: None,
        misfire: trigger.misfire_instruction().code(),
        data: None,
        schedule: ScheduleRow::Simple {
            repeat_count: repeat_count.map_or(-1, |count| i64::try_from(count).expect("few")),
            interval_ms: i64::try_from(interval_ms.as_millis()).expect("short"),
            times_triggered: 0,
        },
        options: None,
    }
}

fn job_row(job: &JobDetail) -> JobRow {
    JobRow {
        key: job.key().clone(),
        description: None,
        job_type: WORK.into(),
        durable: false,
        nonconcurrent: false,
        update_data: false,
        requests_recovery: false,
        data: None,
        policy: None,
        marks: None,
    }
}

/// The next time of a simple trigger whose calendar, which excludes nothing, is stored anew: the
/// first after its last one, or after now if there was none. A misfired one is left out.
fn next_by_calendar(row: &TriggerRow, now_ms: i64, threshold_ms: i64) -> Option<i64> {
    let next_ms = after(row, row.previous_ms.unwrap_or(now_ms))?;
    if next_ms < now_ms && now_ms - next_ms >= threshold_ms { after(row, next_ms) } else { Some(next_ms) }
}

/// The first time of a simple trigger after another.
fn after(row: &TriggerRow, after_ms: i64) -> Option<i64> {
    let ScheduleRow::Simple { repeat_count, interval_ms, times_triggered } = row.schedule else { return None };
    let is_over = |k: i64| repeat_count >= 0 && k > repeat_count;
    if is_over(times_triggered) {
        return None;
    }
    if row.start_ms > after_ms {
        return Some(row.start_ms);
    }
    let k = (after_ms - row.start_ms).div_euclid(interval_ms.max(1)) + 1;
    let next_ms = row.start_ms + k * interval_ms;
    (!is_over(k) && repeat_count != 0 && row.end_ms.is_none_or(|end_ms| next_ms < end_ms)).then_some(next_ms)
}
