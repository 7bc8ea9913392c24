//! Notices: a node counts, logs and tells its listeners what the store has done.

use super::Node;
use crate::job::FireOutcome;
use crate::key::{JobKey, TriggerKey};
use crate::listener::lifecycle_log;
use crate::rules::placement::Refusal;
use crate::scheduler::run::stop_reason::StopReason;
use crate::scheduler::stop_step::StopStep;
use crate::store::row::{Outage, Parked};
use crate::store::{
    Acquisition, Completion, CompletionInstruction, CompletionOutcome, CompletionReport, Recovered, SkippedFires,
};
use std::time::Duration;

impl Node {
    /// Counts a fire, with how long its job ran if it did.
    pub(crate) fn count_fire(&self, job: &JobKey, outcome: FireOutcome, run_time: Option<Duration>) {
        self.metrics.observe_fire(job, outcome, run_time);
        // Last: a fire that is seen to be counted is in the histograms.
        self.counters.count(outcome);
    }

    /// Counts and tells which fires were left out.
    pub(crate) fn tell_skipped(&self, skipped: &[SkippedFires]) {
        for skipped in skipped {
            self.counters.skipped.add(usize::try_from(skipped.times).unwrap_or(usize::MAX));
            lifecycle_log::skipped(skipped);
            self.listeners.fires_skipped(skipped);
        }
    }

    /// Tells that triggers will not fire again.
    pub(crate) fn tell_finalized(&self, triggers: &[TriggerKey]) {
        for key in triggers {
            let key = key.clone();
            self.listeners.announce("trigger_finalized", move |listener| listener.trigger_finalized(&key));
        }
    }

    /// Tells what did not fire by the policies of its triggers, and asks the runs here to stop that
    /// are to; returns how many triggers there were.
    pub(crate) fn tell_deferred(&self, acquisition: &Acquisition) -> usize {
        for trigger in &acquisition.misfired {
            self.counters.misfires.add(1);
            lifecycle_log::misfired(trigger.key());
            self.listeners.trigger_misfired(trigger);
        }
        self.tell_skipped(&acquisition.skipped);
        self.tell_finalized(&acquisition.finalized);
        acquisition.waiting.iter().for_each(lifecycle_log::waits_for_earlier_run);
        if !acquisition.cancelled.is_empty() {
            let here = self.running_fires.all();
            for fire_id in &acquisition.cancelled {
                let handle = here.iter().find(|handle| handle.fire_id() == fire_id);
                lifecycle_log::cancelled_by_trigger(fire_id, handle.is_some());
                if let Some(handle) = handle {
                    handle.stop(StopReason::Cancelled, self.clock.ticks());
                }
            }
            self.services.run_watch.wake();
        }
        acquisition.skipped.len() + acquisition.waiting.len()
    }

    /// Counts and tells which work was set aside.
    pub(crate) fn tell_parked(&self, parked: Vec<Parked>) {
        if parked.is_empty() {
            return;
        }
        self.counters.recoveries_parked.add(parked.len());
        parked.iter().for_each(lifecycle_log::parked);
        self.listeners.announce("work_parked", move |listener| listener.work_parked(&parked));
    }

    /// Counts and tells what became of the work of failed nodes or dead fires.
    pub(crate) fn tell_recovered(&self, recovered: &Recovered) {
        if recovered.last_checkin.is_some() {
            self.counters.convictions.add(1);
        }
        lifecycle_log::recovered(&self.instance, recovered);
        self.count_fires_of(recovered);
        let recovered = recovered.clone();
        self.listeners.announce("instance_recovered", move |listener| listener.instance_recovered(&recovered));
    }

    /// Counts and tells what became of fires of this node's own that nothing in memory stands for.
    pub(crate) fn tell_forgotten(&self, recovered: &Recovered) {
        lifecycle_log::forgotten(&self.instance, recovered);
        self.count_fires_of(recovered);
    }

    fn count_fires_of(&self, recovered: &Recovered) {
        self.counters.recoveries_freed.add(recovered.freed);
        self.counters.recoveries_recovered.add(recovered.recovery_triggers.len());
        self.counters.recoveries_revived.add(recovered.revived.len());
        self.counters.recoveries_lost.add(recovered.lost.len());
        self.counters.recoveries_gone.add(recovered.other);
        let again = recovered.recovery_triggers.len() + recovered.revived.len() + recovered.parked.len();
        let dead = again + recovered.lost.len() + recovered.other;
        self.counters.dead_executions.add(dead);
        self.services.monitor.wake();
        self.tell_skipped(&recovered.skipped);
        self.tell_parked(recovered.parked.clone());
    }

    /// Counts and tells what became of completions that were committed.
    pub(crate) fn tell_completed(&self, batch: &[Completion], report: &CompletionReport) {
        self.unrecorded.remove_recorded(batch.iter().map(|completion| completion.fire_id.as_str()));
        let mut frees = !report.let_go.is_empty() || !report.following.is_empty();
        for (completion, outcome) in batch.iter().zip(&report.outcomes) {
            match outcome {
                // The job has recorded the end of its fire itself.
                CompletionOutcome::Fenced if completion.by_job => self.tell_if_finalized(completion),
                CompletionOutcome::Fenced => {
                    self.counters.fenced_writes.add(1);
                    lifecycle_log::fenced(&completion.fire_id);
                }
                CompletionOutcome::Held => {} // the fire is not over
                CompletionOutcome::Recorded => {
                    if completion.by_job {
                        lifecycle_log::rolled_back(&completion.fire_id);
                    }
                    self.tell_if_finalized(completion);
                }
            }
            // An end that the job has recorded itself may have let a waiting fire go.
            frees |= completion.by_job || completion.nonconcurrent && *outcome == CompletionOutcome::Recorded;
        }
        self.tell_skipped(&report.skipped);
        for key in &report.paused {
            self.counters.paused_on_failure.add(1);
            lifecycle_log::paused_after_failure(key);
            let key = key.clone();
            self.listeners.announce("trigger_paused", move |listener| listener.trigger_paused(&key));
        }
        self.tell_finalized(&report.finalized);
        if frees {
            self.services.acquirer.wake();
        }
    }

    fn tell_if_finalized(&self, completion: &Completion) {
        if completion.last || completion.instruction == CompletionInstruction::SetTriggerComplete {
            self.tell_finalized(std::slice::from_ref(&completion.trigger));
        }
    }

    /// Tells of the total outage that this node has ended.
    pub(crate) fn tell_outage(&self, outage: &Outage) {
        ::log::warn!(
            "no node ran instance={} from_ms={} to_ms={} overdue={}{} fire_now={} fire_each={} skipped={} unreadable={} \
             interrupted={}",
            outage.instance,
            outage.began_ms,
            outage.ended_ms,
            outage.overdue,
            if outage.uncounted { "+" } else { "" },
            outage.fire_now,
            outage.fire_each,
            outage.skipped,
            outage.unreadable,
            outage.interrupted,
        );
        let outage = outage.clone();
        self.listeners.announce("outage_ended", move |listener| listener.outage_ended(&outage));
    }

    /// Takes note of whether placement gives this node work, by its last check-in.
    pub(crate) fn apply_refusal(&self, refusal: Option<&Refusal>) {
        if self.work_state.set_refusal(refusal) {
            lifecycle_log::takes_work(&self.instance, refusal);
            self.services.acquirer.wake();
        }
        if let Some(Refusal::Drained { stops: true, who, .. }) = refusal {
            for fire in self.running_fires.all() {
                if fire.stop(StopReason::Drained, self.clock.ticks()) {
                    lifecycle_log::drained(&fire.job, fire.fire_id(), who);
                }
            }
            self.services.run_watch.wake();
        }
    }

    /// Takes note of whether this program can work with the tables, which another may have changed.
    pub(crate) fn apply_unfit_tables(&self, why: Option<&String>) {
        if self.work_state.set_unfit_tables(why) {
            lifecycle_log::fits_tables(&self.instance, why);
            self.services.acquirer.wake();
        }
    }

    /// Notes, and logs once, a step of the shutdown; none at its end.
    pub(crate) fn enter_stop_step(&self, step: Option<StopStep>) {
        let is_news = self.work_state.enter_stop_step(step);
        if let Some(step) = step.filter(|_| is_news) {
            lifecycle_log::stopping(&self.instance, step.name());
        }
    }

    /// Tells what an import has changed.
    #[cfg(feature = "job-files")]
    pub(in crate::scheduler) fn tell_imported(&self, imported: &crate::store::Imported) {
        for key in &imported.deleted_jobs {
            self.listeners.scheduler("job_deleted", |listener| listener.job_deleted(key));
        }
        for key in &imported.deleted_triggers {
            self.listeners.scheduler("job_unscheduled", |listener| listener.job_unscheduled(key));
        }
        for job in &imported.jobs {
            self.listeners.scheduler("job_added", |listener| listener.job_added(job));
        }
        for trigger in &imported.triggers {
            self.listeners.scheduler("job_scheduled", |listener| listener.job_scheduled(trigger));
        }
    }
}
