//! Complete: whatever has ended since the last commit is recorded in one transaction.

use super::apply_stop_orders::apply_stop_orders;
use super::completion::of_outcome;
use super::release::take_back_reservations;
use super::tried_ends::TriedEnds;
use super::{Completion, CompletionInstruction, CompletionOutcome, CompletionReport, EndedRuns};
use crate::epoch::millis;
use crate::error::Result;
use crate::hash::{HashMap, HashSet};
use crate::job::encode_lines;
use crate::key::{JobKey, TriggerKey, distinct};
use crate::rules::completion::{Deletable, EndedRun, deletable};
use crate::store::row::{
    Advance, CancelRow, CheckpointRow, ContinuationSelection, EndRow, FiredSelection, JobVersionRow, LastRunRow,
    LogRow, Notification, RecoveryRow, Selection, TriggerRow, TriggerSelection,
};
use crate::store::{Firing, Owner, Session, TxMode, schedule_row};
use crate::trigger::{Transition, TriggerState};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

impl Firing<'_> {
    /// Records the ends of fires, all in one transaction; the outcomes are in the order of
    /// `completions`.
    ///
    /// The fired rows are deleted first. A missing fired row means that the fire was taken from
    /// this node (H3): nothing else of that fire is written. `owner` must be the one under whom the
    /// fires were made; a fire's id carries its incarnation, so that no other fire can be meant.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries; nothing is recorded then,
    /// and trying again is safe.
    pub fn complete(&self, owner: &Owner, completions: &[Completion]) -> Result<CompletionReport> {
        if completions.is_empty() {
            return Ok(CompletionReport::default());
        }
        // An end that touches no trigger and no job is recorded while others take what is due.
        let is_isolated = completions.iter().all(Completion::is_isolated) && !self.node.must_queue();
        let begin = if is_isolated { TxMode::Claiming } else { TxMode::BesideClaims };
        let mut ends = TriedEnds::of(completions);
        let recorded = self.store.retrying(
            "complete fires",
            begin,
            |s| self.complete_in_session(s, ends.of_next_try()),
            &mut |s, recorded: &CompletionReport| {
                // The tidying after ends that jobs have recorded is not seen in the store.
                let ended = of_outcome(completions, &recorded.outcomes, CompletionOutcome::Recorded);
                Ok(!ended.is_empty() && self.are_completed(s, owner, &ended)?)
            },
        );
        recorded.inspect(|_| self.note_ends(completions))
    }

    /// The transaction that was to record these ends did. Rows of a registered owner are deleted by
    /// nobody else, but for fires that fell silent: if they are gone, and nobody has recovered one
    /// of them, it was that transaction.
    pub(super) fn are_completed(&self, s: &mut dyn Session, owner: &Owner, completions: &[Completion]) -> Result<bool> {
        let ids: Vec<_> = completions.iter().map(|c| c.fire_id.clone()).collect();
        // Fires that nothing but a recovery could be the origin for.
        let over: Vec<_> = completions.iter().filter(|c| c.rerun.is_none()).map(|c| c.fire_id.clone()).collect();
        let gone = s.fired_ids(FiredSelection::Ids(&ids))?.is_empty() && s.draw_fences(Some(owner), 0)?.is_some();
        Ok(gone && s.rows::<RecoveryRow>().any_of(&["origin_fire_id"], &over).list()?.is_empty())
    }

    /// Ends those of these fires whose rows can be had.
    ///
    /// A job that guards its transactions by its fire, or ends it in one, may still be in one, and
    /// somebody may just be ordering a fire to stop whose work goes on: such a fire is passed over.
    pub(super) fn complete_in_session(
        &self,
        s: &mut dyn Session,
        completions: &[Completion],
    ) -> Result<CompletionReport> {
        let may_be_held = |c: &&Completion| c.guarded || c.by_job || c.rerun.is_some();
        let doubtful: Vec<String> = completions.iter().filter(may_be_held).map(|c| c.fire_id.clone()).collect();
        if doubtful.is_empty() {
            return self.record_ends(s, completions, true);
        }
        let mut outcomes = not_free(s, &doubtful)?;
        let is_fenced = |c: &&Completion| outcomes.get(&c.fire_id) == Some(&CompletionOutcome::Fenced);
        delete_signals(s, completions.iter().filter(is_fenced))?;
        let ended: Vec<&Completion> = completions.iter().filter(is_fenced).filter(|c| c.by_job).collect();
        let let_go = self.tidy_after_joined(s, &ended)?;
        let mut rest: Vec<Completion> =
            completions.iter().filter(|c| !outcomes.contains_key(&c.fire_id)).cloned().collect();
        apply_stop_orders(s, &mut rest)?;
        let mut report = if rest.is_empty() { CompletionReport::default() } else { self.record_ends(s, &rest, true)? };
        report.let_go.extend(let_go);
        let of_rest = std::mem::take(&mut report.outcomes);
        outcomes.extend(rest.into_iter().map(|c| c.fire_id).zip(of_rest));
        let outcome = |c: &Completion| outcomes.get(&c.fire_id).copied().unwrap_or(CompletionOutcome::Fenced);
        report.outcomes = completions.iter().map(outcome).collect();
        Ok(report)
    }

    /// Does what a job's own transaction may have missed, since that took no lock: what others have
    /// stored, ended or made to wait meanwhile. Each statement looks again whether there is
    /// something to do. Returns the triggers whose fires wait no longer.
    fn tidy_after_joined(&self, s: &mut dyn Session, ended: &[&Completion]) -> Result<Vec<TriggerKey>> {
        self.put_last_runs(s, ended)?;
        let parts = ended.iter().filter(|c| c.rerun.is_none()).filter_map(|c| c.part.as_ref());
        let ticks: Vec<String> = distinct(parts.map(|part| &part.tick));
        if !ticks.is_empty() && !self.follow_whole_ticks(s, &ticks)?.is_empty() {
            s.notify(Notification::Change)?;
        }
        let alone: Vec<JobKey> = distinct(ended.iter().filter(|c| c.nonconcurrent).map(|c| &c.job));
        // A child was stored blocked by a run of its own that has ended since.
        let parents: Vec<JobKey> = distinct(ended.iter().map(|c| &c.job));
        let children = s.continuations(ContinuationSelection::ChildrenOf(&parents))?;
        let blocked: Vec<JobKey> = distinct(alone.iter().chain(children.iter().map(|row| &row.child)));
        if !blocked.is_empty() && s.change_states(Selection::Jobs(&blocked), Transition::Unblock.moves(), true)? > 0 {
            s.notify(Notification::Change)?;
        }
        let triggers: Vec<TriggerKey> = distinct(ended.iter().filter(|c| !c.has_no_trigger()).map(|c| &c.trigger));
        if !triggers.is_empty() {
            s.delete_finished_triggers(&triggers)?;
        }
        let jobs: Vec<JobKey> = distinct(ended.iter().filter(|c| !c.durable).map(|c| &c.job));
        if !jobs.is_empty() {
            s.delete_idle_jobs(&jobs)?;
        }
        let waited_for: Vec<TriggerKey> = distinct(ended.iter().filter(|c| c.may_be_waited_for).map(|c| &c.trigger));
        let let_go = self.let_waiting_go(s, &waited_for, &alone)?;
        if !let_go.is_empty() {
            s.notify(Notification::Change)?;
        }
        Ok(let_go)
    }

    /// Ends fires whose rows are free.
    ///
    /// Without `ends_heartbeats` the rows of their heartbeats are left to their node, which goes on
    /// writing them with those of its other fires: a transaction of a job's may last. The rows of
    /// last runs are too, since those of other fires are the same.
    pub(super) fn record_ends(
        &self,
        s: &mut dyn Session,
        completions: &[Completion],
        ends_heartbeats: bool,
    ) -> Result<CompletionReport> {
        let ids: Vec<_> = completions.iter().map(|c| c.fire_id.clone()).collect();
        let ends = self.end_rows(s, completions)?;
        let held: HashSet<String> = s.delete_fired(&ids, ends)?.into_iter().collect();
        let recorded: Vec<&Completion> = completions.iter().filter(|c| held.contains(&c.fire_id)).collect();
        self.write_logs(s, &recorded)?;
        if ends_heartbeats {
            self.put_last_runs(s, &recorded)?;
        }
        self.write_job_data(s, &recorded)?;
        delete_side_rows(s, &recorded)?;
        if ends_heartbeats {
            delete_signals(s, recorded.iter().copied())?;
        }
        let following = self.go_on(s, &recorded)?;
        let instructed = apply_instructions(s, &recorded)?;
        let one_at_a_time = unblock(s, &recorded)?;

        let stored = still_stored(s, &recorded)?;
        let failed: BTreeSet<&TriggerKey> = recorded.iter().filter(|c| c.failed).map(|c| &c.trigger).collect();
        let mut effects =
            self.apply_policies(s, &stored, &EndedRuns { one_at_a_time: &one_at_a_time, failed: &failed })?;
        // After the last fire of a trigger another one may have been stored under its key.
        let last = recorded.iter().filter(|c| c.last && c.may_be_waited_for);
        let last: Vec<TriggerKey> = distinct(last.map(|c| &c.trigger));
        effects.let_go.extend(self.let_waiting_go(s, &last, &one_at_a_time)?);
        let runs: Vec<EndedRun<'_>> = recorded.iter().map(|c| c.ended_run()).collect();
        let Deletable { mut triggers, mut jobs } = deletable(&runs, &stored);
        triggers.extend(instructed);
        triggers.extend(effects.finalized.iter().map(|(trigger, _)| trigger.clone()));
        jobs.extend(effects.finalized.iter().map(|(_, job)| job.clone()));
        if !triggers.is_empty() {
            self.complete_what_quartz_has_wait(s, &recorded)?;
            s.delete_finished_triggers(&distinct(triggers.iter()))?;
        }
        if !jobs.is_empty() {
            s.delete_idle_jobs(&distinct(jobs.iter()))?;
        }
        if !effects.let_go.is_empty() {
            s.notify(Notification::Change)?;
        }

        let outcome = |c: &Completion| match held.contains(&c.fire_id) {
            true => CompletionOutcome::Recorded,
            false => CompletionOutcome::Fenced,
        };
        Ok(CompletionReport {
            outcomes: completions.iter().map(outcome).collect(),
            paused: effects.paused,
            skipped: effects.skipped,
            let_go: effects.let_go,
            following,
            finalized: effects.finalized.into_iter().map(|(trigger, _)| trigger).collect(),
        })
    }

    /// Stores what goes on after these ends, reruns and children; returns the triggers of the
    /// children.
    fn go_on(&self, s: &mut dyn Session, recorded: &[&Completion]) -> Result<Vec<TriggerKey>> {
        self.schedule_reruns(s, recorded)?;
        let following = self.follow_ends(s, recorded)?;
        if !following.is_empty() || recorded.iter().any(|c| c.rerun.is_some()) {
            s.notify(Notification::Change)?;
        }
        Ok(following)
    }

    /// The rows of these fires for the history.
    fn end_rows(&self, s: &mut dyn Session, completions: &[Completion]) -> Result<Vec<EndRow>> {
        let recorded: Vec<_> =
            completions.iter().filter(|c| self.store.settings.history.records(c.ending.outcome)).collect();
        if recorded.is_empty() {
            return Ok(Vec::new());
        }
        let (now_ms, now) = (s.now_ms()?, self.store.clock.ticks());
        let end = |c: &&Completion| EndRow {
            fire_id: c.fire_id.clone(),
            job_type: Some(c.job_type.to_string()),
            ended_ms: ended_ms(c, now_ms, now),
            run_ms: c.ending.run_time.map(millis),
            outcome: c.ending.outcome,
            attempt: c.attempt,
            root_fire_id: c.root_fire_id.clone(),
            error: c.ending.error.clone(),
            result: c.ending.result.clone(),
            marks: c.marks.clone(),
        };
        Ok(recorded.iter().map(end).collect())
    }

    /// Keeps the last run on this node of jobs that run on several.
    fn put_last_runs(&self, s: &mut dyn Session, recorded: &[&Completion]) -> Result<()> {
        let spread: Vec<_> = recorded.iter().filter_map(|c| Some((*c, c.spread_on.as_ref()?))).collect();
        if spread.is_empty() {
            return Ok(());
        }
        let (now_ms, now) = (s.now_ms()?, self.store.clock.ticks());
        let row = |(c, instance): (&Completion, &String)| LastRunRow {
            job: c.job.clone(),
            instance: instance.clone(),
            fire_id: c.fire_id.clone(),
            ended_ms: ended_ms(c, now_ms, now),
            run_ms: c.ending.run_time.map(millis),
            outcome: c.ending.outcome,
            error: c.ending.error.clone(),
        };
        self.store.history().put_last_runs(s, spread.into_iter().map(row))
    }

    /// Keeps what those runs have logged that the history has a row of.
    fn write_logs(&self, s: &mut dyn Session, recorded: &[&Completion]) -> Result<()> {
        let with: Vec<_> = recorded
            .iter()
            .filter(|c| !c.log.is_empty() && self.store.settings.history.records(c.ending.outcome))
            .collect();
        if with.is_empty() {
            return Ok(());
        }
        let (now_ms, now) = (s.now_ms()?, self.store.clock.ticks());
        let at_ms = |at: Duration| now_ms - millis(now.saturating_sub(at));
        let row = |c: &&&Completion| LogRow { fire_id: c.fire_id.clone(), lines: encode_lines(&c.log, at_ms) };
        s.insert_logs(&with.iter().map(row).collect::<Vec<_>>())
    }

    fn write_job_data(&self, s: &mut dyn Session, recorded: &[&Completion]) -> Result<()> {
        let mut data: BTreeMap<&JobKey, Vec<u8>> = BTreeMap::new();
        for (job, map) in recorded.iter().filter_map(|c| Some((&c.job, c.job_data.as_ref()?))) {
            data.insert(job, self.store.encode_job_data(map)?);
        }
        let data: Vec<_> = data.into_iter().map(|(key, bytes)| (key.clone(), bytes)).collect();
        if data.is_empty() {
            return Ok(());
        }
        s.write_job_data(&data)?;
        raise_versions(s, recorded)
    }
}

/// The time at which a fire has ended. A fire whose completion had to wait has ended before; how
/// long ago, its node knows by its own clock.
fn ended_ms(end: &Completion, now_ms: i64, now: Duration) -> i64 {
    now_ms - end.ending.at.map_or(0, |at| millis(now.saturating_sub(at)))
}

impl Completion {
    /// The trigger went with the fire, and cannot be back: it is put back for a fire that its job
    /// has held beyond the death of its node.
    fn has_no_trigger(&self) -> bool {
        self.removed && !self.guarded && !self.by_job
    }

    fn ended_run(&self) -> EndedRun<'_> {
        EndedRun {
            trigger: &self.trigger,
            job: &self.job,
            last: self.last,
            removed: self.has_no_trigger(),
            durable: self.durable,
            is_instructed: self.instruction != CompletionInstruction::NoInstruction,
        }
    }
}

/// The outcomes of those of these fires whose rows are gone, or held by somebody.
fn not_free(s: &mut dyn Session, doubtful: &[String]) -> Result<HashMap<String, CompletionOutcome>> {
    let mut outcomes: HashMap<String, CompletionOutcome> =
        doubtful.iter().map(|id| (id.clone(), CompletionOutcome::Fenced)).collect();
    let free = s.fired_ids(FiredSelection::FreeIds(doubtful))?;
    if free.len() < doubtful.len() {
        let held = s.fired_ids(FiredSelection::Ids(doubtful))?.into_iter().filter(|id| !free.contains(id));
        outcomes.extend(held.map(|id| (id, CompletionOutcome::Held)));
    }
    outcomes.retain(|id, _| !free.contains(id));
    Ok(outcomes)
}

/// Deletes the heartbeats of these fires, and the orders that asked them to stop.
fn delete_signals<'a>(s: &mut dyn Session, completions: impl Iterator<Item = &'a Completion> + Clone) -> Result<()> {
    let ids = |has: fn(&Completion) -> bool| -> Vec<String> {
        completions.clone().filter(|c| has(c)).map(|c| c.fire_id.clone()).collect()
    };
    let (mut beats, orders) = (ids(|c| c.has_heartbeat), ids(|c| c.has_stop_order));
    beats.sort();
    if !beats.is_empty() {
        s.delete_heartbeats(&beats)?;
    }
    if !orders.is_empty() {
        s.rows::<CancelRow>().any_of(&["fire_id"], &orders).delete()?;
    }
    Ok(())
}

/// Deletes what was kept for the sake of these fires: checkpoints of work that is done, recoveries
/// of triggers that were revived.
fn delete_side_rows(s: &mut dyn Session, recorded: &[&Completion]) -> Result<()> {
    let done = recorded.iter().filter(|c| c.rerun.is_none());
    let checkpoints: Vec<String> = done.filter_map(|c| c.checkpoint.clone()).collect();
    if !checkpoints.is_empty() {
        s.rows::<CheckpointRow>().any_of(&["root_fire_id"], &checkpoints).delete()?;
    }
    let revived: Vec<TriggerKey> = recorded.iter().filter(|c| c.revived).map(|c| c.trigger.clone()).collect();
    if !revived.is_empty() {
        s.rows::<RecoveryRow>().any_of(&["trigger"], &revived).delete()?;
    }
    Ok(())
}

/// Lets triggers go that waited for jobs that run once at a time; returns these jobs.
fn unblock(s: &mut dyn Session, recorded: &[&Completion]) -> Result<Vec<JobKey>> {
    let jobs: Vec<JobKey> = distinct(recorded.iter().filter(|c| c.nonconcurrent).map(|c| &c.job));
    // Another node may have room for them.
    if !jobs.is_empty() && s.change_states(Selection::Jobs(&jobs), Transition::Unblock.moves(), true)? > 0 {
        s.notify(Notification::Change)?;
    }
    Ok(jobs)
}

/// The triggers of those fires that were not the last of theirs, as far as they are there.
fn still_stored(s: &mut dyn Session, recorded: &[&Completion]) -> Result<Vec<TriggerRow>> {
    let keys: Vec<TriggerKey> = distinct(recorded.iter().filter(|c| !c.last).map(|c| &c.trigger));
    if keys.is_empty() { Ok(Vec::new()) } else { s.triggers(TriggerSelection::Keys(&keys)) }
}

/// Notes the versions of data that were upgraded for their fire. Nodes that read earlier data only
/// may have reserved other triggers of the jobs: they are not to fire them.
fn raise_versions(s: &mut dyn Session, recorded: &[&Completion]) -> Result<()> {
    let mut raised: BTreeMap<&JobKey, i64> = BTreeMap::new();
    for completion in recorded.iter().filter(|c| c.job_data.is_some()) {
        if let Some(version) = completion.data_version {
            raised.insert(&completion.job, i64::from(version));
        }
    }
    let mut rows = Vec::with_capacity(raised.len());
    for (key, version) in raised {
        // The job may be gone, or have been given another type by now.
        if let Some(job) = s.job(key)? {
            rows.push(JobVersionRow { job: job.key, job_type: job.job_type.to_string(), version });
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    s.put_job_versions(&rows)?;
    take_back_reservations(s, &rows.into_iter().map(|row| row.job).collect::<Vec<_>>())
}

/// Applies what jobs said of their triggers; returns the triggers that may be finished by it.
fn apply_instructions(s: &mut dyn Session, recorded: &[&Completion]) -> Result<Vec<TriggerKey>> {
    let mut finished = Vec::new();
    for completion in recorded {
        let trigger = std::slice::from_ref(&completion.trigger);
        let job = std::slice::from_ref(&completion.job);
        match completion.instruction {
            CompletionInstruction::NoInstruction => {}
            CompletionInstruction::SetTriggerComplete => {
                s.delete_reservations(trigger)?;
                s.change_states(Selection::Triggers(trigger), Transition::Complete.moves(), false)?;
                finished.push(completion.trigger.clone());
            }
            CompletionInstruction::SetTriggerError => {
                let rows = s.triggers(TriggerSelection::Keys(trigger))?;
                s.delete_reservations(trigger)?;
                s.change_states(Selection::Triggers(trigger), Transition::Fail.moves(), false)?;
                count_last_fires(s, rows)?;
            }
            CompletionInstruction::SetAllJobTriggersComplete => {
                let keys: Vec<_> =
                    s.triggers(TriggerSelection::OfJob(&completion.job))?.into_iter().map(|t| t.key).collect();
                s.delete_reservations(&keys)?;
                s.change_states(Selection::Jobs(job), Transition::Complete.moves(), false)?;
                finished.extend(keys);
            }
            CompletionInstruction::SetAllJobTriggersError => {
                let rows = s.triggers(TriggerSelection::OfJob(&completion.job))?;
                s.delete_reservations(&rows.iter().map(|row| row.key.clone()).collect::<Vec<_>>())?;
                s.change_states(Selection::Jobs(job), Transition::Fail.moves(), false)?;
                count_last_fires(s, rows)?;
            }
        }
    }
    Ok(finished)
}

/// Counts the last fires of triggers, given as they were before, in their rows, which stay since
/// the triggers end in `ERROR`. A row that goes with its last fire needs no count: firing writes
/// none.
fn count_last_fires(s: &mut dyn Session, rows: Vec<TriggerRow>) -> Result<()> {
    for row in rows {
        if row.state != TriggerState::Complete.name() || row.next_ms.is_some() {
            continue;
        }
        let Ok(mut schedule) = schedule_row::schedule(&row, chrono_tz::Tz::UTC) else { continue };
        if let Some(times) = schedule.times_triggered_mut() {
            *times = times.saturating_add(1);
        }
        s.advance(&[Advance {
            key: row.key,
            expected_state: TriggerState::Error,
            expected_next_ms: None,
            state: TriggerState::Error,
            next_ms: None,
            previous_ms: row.previous_ms,
            start_ms: row.start_ms,
            counts: schedule_row::counts(&schedule),
            moves_options: false,
        }])?;
    }
    Ok(())
}
