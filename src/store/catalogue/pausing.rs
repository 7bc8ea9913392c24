//! Pausing and resuming triggers, jobs and groups, with Quartz's remembered groups.

use super::Catalogue;
use crate::error::{Result, storable};
use crate::key::{BROADCAST_GROUP, FOLLOWING_GROUP, JobKey, RERUN_GROUPS, TriggerKey};
use crate::matcher::GroupMatcher;
use crate::rules::misfire;
use crate::rules::new_trigger::PauseState;
use crate::store::firing::delete_idle;
use crate::store::row::{
    FiredSelection, Grouped, JobSelection, Notification, ParkedRow, Selection, TriggerRow, TriggerSelection,
};
use crate::store::stop_orders::order_of_pause;
use crate::store::{ALL_GROUPS_PAUSED, MisfirePass, Session};
use crate::trigger::{Transition, Trigger, TriggerState};
use std::collections::BTreeSet;

/// The number of triggers whose rows are in memory at a time.
const READ_AT_A_TIME: usize = 1000;

impl Catalogue<'_> {
    /// Pauses triggers; those that do not exist are ignored. Returns how many changed.
    pub fn pause_triggers(&self, keys: &[TriggerKey]) -> Result<usize> {
        self.store.write("pause triggers", |s| {
            let paused = pause(s, keys)?;
            self.note(s, "pause", "trigger", if paused > 0 { keys } else { &[] })?;
            Ok(paused)
        })
    }

    /// Pauses all triggers of the matching groups and remembers the groups, so that triggers stored
    /// into them later are paused too; returns their names. A group named exactly is remembered
    /// even if it does not exist yet.
    pub fn pause_trigger_groups(&self, groups: &GroupMatcher) -> Result<Vec<String>> {
        self.pause_and_count_groups(groups).map(|(names, _)| names)
    }

    /// As [`Catalogue::pause_trigger_groups`], and returns how many triggers changed.
    pub fn pause_and_count_groups(&self, groups: &GroupMatcher) -> Result<(Vec<String>, usize)> {
        self.store.write("pause trigger groups", |s| {
            let stored = s.groups(Grouped::Triggers)?.into_iter();
            let mut names: BTreeSet<String> = stored.filter(|name| groups.matches(name)).collect();
            if let GroupMatcher::Equals(name) = groups {
                names.insert(name.clone());
            }
            let names: Vec<String> = names.into_iter().collect();
            let paused = pause_groups(s, &names)?;
            s.insert_paused_groups(&names)?;
            self.note(s, "pause", "group", &names)?;
            Ok((names, paused))
        })
    }

    /// Pauses the triggers of jobs; returns how many changed.
    pub fn pause_jobs(&self, keys: &[JobKey]) -> Result<usize> {
        self.store.write("pause jobs", |s| {
            let triggers = s.trigger_keys(TriggerSelection::OfJobs(keys))?;
            let paused = pause(s, &triggers)?;
            self.note(s, "pause", "job", if paused > 0 { keys } else { &[] })?;
            Ok(paused)
        })
    }

    /// Pauses the triggers of a job, and asks its runs to stop, wherever they are; returns how many
    /// triggers changed, and how many runs were asked and not before. Nothing of the job begins,
    /// and no run of it ends, in between.
    pub fn pause_job_and_stop(&self, job: &JobKey, who: &str) -> Result<(usize, usize)> {
        let order = storable(&order_of_pause(who), 250);
        self.store.write("pause a job and stop its runs", |s| {
            let triggers = s.trigger_keys(TriggerSelection::OfJob(job))?;
            let paused = pause(s, &triggers)?;
            self.note(s, "pause", "job", if paused > 0 { std::slice::from_ref(job) } else { &[] })?;
            let runs = s.fired(FiredSelection::ExecutingOfJob(job))?.into_iter().map(|fire| fire.fire_id);
            let asked = s.request_cancels(&runs.collect::<Vec<_>>(), &order)?;
            if asked > 0 {
                s.notify(Notification::Cancel)?;
                self.note(s, "stop", "job", std::slice::from_ref(job))?;
            }
            Ok((paused, asked))
        })
    }

    /// Pauses the triggers of all jobs of the matching job groups; the groups are not remembered,
    /// as in Quartz.
    pub fn pause_job_groups(&self, groups: &GroupMatcher) -> Result<usize> {
        self.store.write("pause job groups", |s| {
            let jobs = matching_jobs(s, groups)?;
            let triggers = s.trigger_keys(TriggerSelection::OfJobs(&jobs))?;
            let paused = pause(s, &triggers)?;
            self.note(s, "pause", "job", if paused > 0 { &jobs } else { &[] })?;
            Ok(paused)
        })
    }

    /// Pauses every group, also those to come.
    pub fn pause_all(&self) -> Result<()> {
        self.pause_and_count_all().map(drop)
    }

    /// As [`Catalogue::pause_all`], and returns how many triggers changed.
    pub fn pause_and_count_all(&self) -> Result<usize> {
        self.store.write("pause all", |s| {
            let mut groups = s.groups(Grouped::Triggers)?;
            let paused = pause_groups(s, &groups)?;
            groups.push(ALL_GROUPS_PAUSED.to_owned());
            s.insert_paused_groups(&groups)?;
            self.note(s, "pause", "all", &["all"])?;
            Ok(paused)
        })
    }

    /// Resumes triggers. With `apply_misfires`, which is for a started scheduler, one that is too
    /// late by now gets what its misfire instruction says; else it keeps its fire time. Returns how
    /// many changed.
    pub fn resume_triggers(&self, keys: &[TriggerKey], apply_misfires: bool) -> Result<usize> {
        self.store.write("resume triggers", |s| {
            let resumed = self.resume(s, keys, apply_misfires)?;
            self.note(s, "resume", "trigger", if resumed > 0 { keys } else { &[] })?;
            Ok(resumed)
        })
    }

    /// Resumes all triggers of the matching groups, also those paused one by one, and forgets that
    /// the groups are paused; returns the groups. As in Quartz, a matcher that matches
    /// [`ALL_GROUPS_PAUSED`] as well, such as [`GroupMatcher::Any`], ends [`Catalogue::pause_all`]
    /// for groups to come.
    pub fn resume_trigger_groups(&self, groups: &GroupMatcher, apply_misfires: bool) -> Result<Vec<String>> {
        self.resume_and_count_groups(groups, apply_misfires).map(|(names, _)| names)
    }

    /// As [`Catalogue::resume_trigger_groups`], and returns how many triggers changed.
    pub fn resume_and_count_groups(&self, groups: &GroupMatcher, apply_misfires: bool) -> Result<(Vec<String>, usize)> {
        self.store.write("resume trigger groups", |s| {
            let forgotten: Vec<String> = s.paused_groups()?.into_iter().filter(|g| groups.matches(g)).collect();
            s.delete_paused_groups(&forgotten)?;
            let forgotten = forgotten.into_iter().filter(|group| group != ALL_GROUPS_PAUSED);
            let stored: Vec<String> =
                s.groups(Grouped::Triggers)?.into_iter().filter(|name| groups.matches(name)).collect();
            let keys = s.trigger_keys(TriggerSelection::OfGroups(&stored))?;
            let resumed = self.resume(s, &keys, apply_misfires)?;
            let names: BTreeSet<String> = stored.into_iter().chain(forgotten).collect();
            let names: Vec<String> = names.into_iter().collect();
            self.note(s, "resume", "group", &names)?;
            Ok((names, resumed))
        })
    }

    /// Resumes the triggers of jobs; returns how many changed.
    pub fn resume_jobs(&self, keys: &[JobKey], apply_misfires: bool) -> Result<usize> {
        self.store.write("resume jobs", |s| {
            let triggers = s.trigger_keys(TriggerSelection::OfJobs(keys))?;
            let resumed = self.resume(s, &triggers, apply_misfires)?;
            self.note(s, "resume", "job", if resumed > 0 { keys } else { &[] })?;
            Ok(resumed)
        })
    }

    /// Resumes the triggers of all jobs of the matching job groups; returns how many changed.
    pub fn resume_job_groups(&self, groups: &GroupMatcher, apply_misfires: bool) -> Result<usize> {
        self.store.write("resume job groups", |s| {
            let jobs = matching_jobs(s, groups)?;
            let triggers = s.trigger_keys(TriggerSelection::OfJobs(&jobs))?;
            let resumed = self.resume(s, &triggers, apply_misfires)?;
            self.note(s, "resume", "job", if resumed > 0 { &jobs } else { &[] })?;
            Ok(resumed)
        })
    }

    /// Resumes everything that there is. As in Quartz a group that was paused before it had
    /// triggers stays paused; only [`RECOVERY_GROUP`](crate::key::RECOVERY_GROUP) and those of
    /// other work that runs again, which nobody pauses by name and which are empty most of the
    /// time, do not.
    pub fn resume_all(&self, apply_misfires: bool) -> Result<()> {
        self.resume_and_count_all(apply_misfires).map(drop)
    }

    /// As [`Catalogue::resume_all`], and returns how many triggers changed.
    pub fn resume_and_count_all(&self, apply_misfires: bool) -> Result<usize> {
        self.store.write("resume all", |s| {
            let keys = s.trigger_keys(TriggerSelection::All)?;
            let mut groups: BTreeSet<String> = keys.iter().map(|key| key.group().to_owned()).collect();
            groups.insert(ALL_GROUPS_PAUSED.to_owned());
            groups.extend(RERUN_GROUPS.into_iter().chain([FOLLOWING_GROUP, BROADCAST_GROUP]).map(str::to_owned));
            s.delete_paused_groups(&groups.into_iter().collect::<Vec<_>>())?;
            let resumed = self.resume(s, &keys, apply_misfires)?;
            self.note(s, "resume", "all", &["all"])?;
            Ok(resumed)
        })
    }

    /// Takes a trigger out of the error state, into `WAITING` or, if its group is paused, `PAUSED`;
    /// one without a fire time left goes. Returns whether it was in the error state.
    #[doc(alias = "resetTriggerFromErrorState")]
    pub fn reset_from_error(&self, key: &TriggerKey) -> Result<bool> {
        self.store.write("reset a trigger from the error state", |s| {
            let was_in_error = self.reset_in(s, key)?;
            self.note(s, "reset", "trigger", if was_in_error { std::slice::from_ref(key) } else { &[] })?;
            Ok(was_in_error)
        })
    }

    pub(in crate::store) fn reset_in(&self, s: &mut dyn Session, key: &TriggerKey) -> Result<bool> {
        let Some(row) = s.trigger(key)? else {
            return Ok(false);
        };
        let pauses = PauseState::read(s, [&row.job])?;
        let target = pauses.state_of_new(key, &row.job);
        let moves = |to| [(TriggerState::Error, to)];
        let this = std::slice::from_ref(key);
        // Were it in error once more, for another reason, it would be shown as parked for this one.
        s.rows::<ParkedRow>().any_of(&["trigger"], this).delete()?;
        if row.next_ms.is_some() {
            return Ok(s.change_states(Selection::Triggers(this), &moves(target), false)? > 0);
        }
        // A trigger without a fire time has nothing to wait for.
        let was_in_error = s.change_states(Selection::Triggers(this), &moves(TriggerState::Complete), false)? > 0;
        s.delete_finished_triggers(this)?;
        delete_idle(s, std::slice::from_ref(&row.job))?;
        Ok(was_in_error)
    }

    /// The remembered paused groups, with the marker [`ALL_GROUPS_PAUSED`].
    pub fn paused_groups(&self) -> Result<Vec<String>> {
        self.store.read("list paused groups", |s| s.paused_groups())
    }

    /// Resumes triggers, which may be all that there are: their rows are read some at a time.
    fn resume(&self, s: &mut dyn Session, keys: &[TriggerKey], apply_misfires: bool) -> Result<usize> {
        keys.chunks(READ_AT_A_TIME)
            .try_fold(0, |resumed, keys| Ok(resumed + self.resume_some(s, keys, apply_misfires)?))
    }

    fn resume_some(&self, s: &mut dyn Session, keys: &[TriggerKey], apply_misfires: bool) -> Result<usize> {
        let now_ms = s.now_ms()?;
        let threshold_ms = now_ms - self.store.misfired_before(now_ms);
        let mut resumed = 0;
        // Triggers whose job runs elsewhere go on being blocked.
        let (mut waiting, mut blocked) = (Resumed::default(), Resumed::default());
        let rows = s.triggers(TriggerSelection::Keys(keys))?;
        let pauses = PauseState::read(s, rows.iter().map(|row| &row.job))?;
        let calendars = self.store.calendars_of(s, &rows)?;
        for row in rows {
            use TriggerState::{Paused, PausedBlocked};
            let paused = matches!(TriggerState::from_name(&row.state), Some(Paused | PausedBlocked));
            if row.next_ms.is_none() {
                continue; // Quartz leaves a trigger without a next fire time paused
            }
            // A trigger that waits for a run of its own, by its overlap policy, goes on waiting.
            let waits = row.state == PausedBlocked.name() && pauses.is_executing(&row.job);
            let target = if waits || pauses.is_blocked(&row.job) { &mut blocked } else { &mut waiting };
            // At the very threshold Quartz resumes a trigger as misfired, though its scan would not
            // see it yet.
            let may_be_late = apply_misfires && row.next_ms.is_some_and(|next_ms| next_ms <= now_ms);
            let trigger = may_be_late.then(|| self.store.upkeep().late_trigger(&row, &calendars).ok()).flatten();
            match trigger.filter(|t| misfire::is_misfired(t, now_ms, threshold_ms - 1)) {
                // A late trigger that was not paused is handled too, as the misfire handler would a
                // moment later.
                Some(trigger) if paused || row.state == TriggerState::Waiting.name() => {
                    target.late.push((row, trigger))
                }
                None if paused => target.in_time.push(row.key),
                _ => continue,
            }
            resumed += usize::from(paused);
        }
        for (state, resumed) in [(TriggerState::Waiting, waiting), (TriggerState::Blocked, blocked)] {
            // A node of Quartz that paused a reserved trigger left its reservation, which now would
            // come to life again.
            let reserved: Vec<_> =
                resumed.in_time.iter().cloned().chain(resumed.late.iter().map(|(row, _)| row.key.clone())).collect();
            if !reserved.is_empty() {
                s.delete_reservations(&reserved)?;
            }
            let moves = [(TriggerState::Paused, state), (TriggerState::PausedBlocked, state)];
            if !resumed.in_time.is_empty() {
                s.change_states(Selection::Triggers(&resumed.in_time), &moves, false)?;
            }
            if !resumed.late.is_empty() {
                let mut pass = MisfirePass::default();
                self.store.upkeep().apply_misfires(s, now_ms, resumed.late, &calendars, state, &mut pass)?;
            }
        }
        Ok(resumed)
    }
}

/// Triggers that are resumed into one state.
#[derive(Default)]
struct Resumed {
    in_time: Vec<TriggerKey>,
    late: Vec<(TriggerRow, Trigger)>,
}

/// Pauses these triggers. A trigger that is reserved is taken back: the reservation's owner finds
/// its fired row gone.
fn pause(s: &mut dyn Session, keys: &[TriggerKey]) -> Result<usize> {
    s.delete_reservations(keys)?;
    s.change_states(Selection::Triggers(keys), Transition::Pause.moves(), false)
}

fn pause_groups(s: &mut dyn Session, groups: &[String]) -> Result<usize> {
    let reserved = s.fired(FiredSelection::Acquired)?.into_iter().map(|row| row.trigger);
    let reserved: Vec<TriggerKey> = reserved.filter(|key| groups.iter().any(|group| group == key.group())).collect();
    s.delete_reservations(&reserved)?;
    s.change_states(Selection::Groups(groups), Transition::Pause.moves(), false)
}

fn matching_jobs(s: &mut dyn Session, groups: &GroupMatcher) -> Result<Vec<JobKey>> {
    Ok(s.jobs(JobSelection::All)?.into_iter().map(|j| j.key).filter(|k| groups.matches(k.group())).collect())
}
