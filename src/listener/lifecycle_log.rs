//! The wording of life-cycle log lines: a phrase, then `key=value`.

mod cluster;

pub(crate) use cluster::*;

use super::{FireEnd, FireEvent};
use crate::alarm::{Alarm, AlarmJob};
use crate::job::StuckAction;
use crate::key::{JobKey, TriggerKey};
use crate::store::{DefinitionReport, Orphan, SkippedFires, WhyLeft};
use ::log::{debug, error as log_error, info, warn};
use std::time::Duration;

/// The number of things of a kind that are named one by one.
const MOST_NAMED: usize = 100;

pub(crate) fn starting(scheduler: &str, instance: &str) {
    debug!("starting scheduler={scheduler} instance={instance}");
}

pub(crate) fn settings_warning(warning: &str) {
    warn!("settings: {warning}");
}

pub(crate) fn stored_without_node(job: &JobKey, job_type: &str) {
    warn!("a stored job waits, since no live node has its type job={job} type={job_type}");
}

pub(crate) fn guarded(guard: &str) {
    info!("the database is {guard}");
}

/// The facts of a start that people ask for first.
pub(crate) struct Started<'a> {
    pub scheduler: &'a str,
    pub instance: &'a str,
    pub database: &'a str,
    pub workers: u32,
    /// The living nodes, this one among them; none where the store did not answer.
    pub members: Option<usize>,
    pub zone: &'a str,
    pub zone_source: &'a str,
}

pub(crate) fn started(started: &Started<'_>) {
    let Started { scheduler, instance, database, workers, zone, zone_source, .. } = started;
    let members = started.members.map_or_else(|| "unknown".to_owned(), |members| members.to_string());
    info!(
        "started scheduler={scheduler} instance={instance} database={database:?} workers={workers} members={members} \
         zone={zone} zone_from={zone_source:?} version={}",
        env!("CARGO_PKG_VERSION")
    );
}

pub(crate) fn disabled(scheduler: &str) {
    info!("not started: carnelian.scheduler.enabled is false scheduler={scheduler}");
}

pub(crate) fn definitions_synced(source: &str, report: &DefinitionReport) {
    let DefinitionReport { inserted, updated, left, orphaned, deleted, remarks, .. } = report;
    let counts = format!(
        "source={source} inserted={} updated={} left={} orphaned={} deleted={}",
        inserted.len(),
        updated.len(),
        left.len(),
        orphaned.len(),
        deleted.len()
    );
    if report.changed_nothing() {
        debug!("definitions are stored {counts}")
    } else {
        info!("definitions stored {counts}")
    }
    for (job, why) in left.iter().filter(|(_, why)| *why != WhyLeft::Unchanged) {
        info!("definition left alone job={job} why={why:?}");
    }
    for job in orphaned.iter().filter(|job| !deleted.contains(job)) {
        warn!("job is not defined any more job={job} source={source}");
    }
    for remark in remarks {
        warn!("definition {remark}");
    }
}

pub(crate) fn standby(scheduler: &str, instance: &str) {
    info!("standing by scheduler={scheduler} instance={instance}");
}

pub(crate) fn resumed(scheduler: &str, instance: &str) {
    info!("resumed scheduler={scheduler} instance={instance}");
}

pub(crate) fn shutting_down(scheduler: &str, instance: &str, wait: bool, running: usize) {
    info!("shutting down scheduler={scheduler} instance={instance} wait={wait} running={running}");
}

pub(crate) fn shut_down(scheduler: &str, instance: &str, abandoned: usize) {
    if abandoned == 0 {
        info!("shut down scheduler={scheduler} instance={instance}");
    } else {
        warn!("shut down and left work behind scheduler={scheduler} instance={instance} abandoned={abandoned}");
    }
}

pub(crate) fn stopping(instance: &str, step: &str) {
    log::info!("stopping instance={instance} step={step}");
}

pub(crate) fn step_overran(step: &str) {
    warn!("a step of the shutdown did not end before the deadline step={step}");
}

pub(crate) fn dropped_without_shutdown(scheduler: &str, instance: &str) {
    warn!("dropped without shutdown, shutting down now scheduler={scheduler} instance={instance}");
}

pub(crate) fn leave_failed(instance: &str, why: &str) {
    warn!("could not leave the cluster, others will take over instance={instance} error={why:?}");
}

pub(crate) fn service_started(service: &str) {
    debug!("service started service={service}");
}

pub(crate) fn service_stopped(service: &str) {
    debug!("service stopped service={service}");
}

pub(crate) fn service_panicked(service: &str, panic: &str) {
    log_error!("service panicked and goes on service={service} panic={panic:?}");
}

pub(crate) fn service_failed(service: &str, in_a_row: u64, loud: bool, retry_in: Duration, why: &str) {
    let retry_ms = retry_in.as_millis();
    if loud {
        log_error!("service failed service={service} in_a_row={in_a_row} retry_in_ms={retry_ms} error={why:?}");
    } else {
        debug!("service failed service={service} in_a_row={in_a_row} retry_in_ms={retry_ms} error={why:?}");
    }
}

pub(crate) fn rolled_back(fire_id: &str) {
    warn!("the transaction in which the job ended its fire was not committed; its end is recorded now fire={fire_id}");
}

pub(crate) fn locks_not_renewed(count: usize, why: &str) {
    warn!("locks not renewed count={count} error={why:?}");
}

pub(crate) fn lock_lost(name: &str, fence: i64, instance: &str) {
    warn!("lock lost name={name:?} fence={fence} instance={instance}");
}

pub(crate) fn lock_not_released(name: &str, fence: i64, why: &str) {
    warn!("lock not released; it is free when its time is over name={name:?} fence={fence} error={why:?}");
}

pub(crate) fn service_recovered(service: &str, after: u64) {
    info!("service works again service={service} after_errors={after}");
}

pub(crate) fn unsafe_intervals(warning: &str) {
    warn!("{warning}");
}

pub(crate) fn orphaned(orphans: &[Orphan]) {
    for orphan in orphans.iter().take(MOST_NAMED) {
        warn!(
            "no live node can run a job job={} type={} version={} due={} reason={:?}",
            orphan.job,
            orphan.job_type,
            orphan.version,
            crate::trigger::show(orphan.next_fire_time.map(|time| time.timestamp_millis())),
            orphan.reason()
        );
    }
    if let Some(more) = orphans.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        warn!("no live node can run further jobs, `carnelian orphans` names them count={more}");
    }
}

pub(crate) fn orphans_unknown(why: &str) {
    info!("cannot tell which jobs no node can run reason={why:?}");
}

pub(crate) fn orphan_deleted(orphan: &Orphan) {
    warn!(
        "deleted a job that no live node could run for longer than carnelian.jobStore.deleteUnresolvedAfter job={} type={} since={}",
        orphan.job,
        orphan.job_type,
        crate::trigger::show(orphan.since.map(|time| time.timestamp_millis()))
    );
}

pub(crate) fn cleaned_up(rows: usize) {
    debug!("pruned the history rows={rows}");
}

pub(crate) fn alarm(instance: &str, alarm: &Alarm) {
    let Alarm { kind, detail, .. } = alarm;
    let jobs: Vec<String> = alarm.jobs.iter().map(named).collect();
    let jobs = if jobs.is_empty() { String::new() } else { format!(" jobs={}", jobs.join(",")) };
    if alarm.is_raised {
        log_error!("alarm raised alarm={kind} instance={instance} detail={detail:?}{jobs}");
    } else {
        info!("alarm cleared alarm={kind} instance={instance} detail={detail:?}{jobs}");
    }
}

fn named(job: &AlarmJob) -> String {
    job.owner.as_ref().map_or_else(|| job.job.to_string(), |owner| format!("{} (owner {owner})", job.job))
}

pub(crate) fn count_failed(why: &str) {
    debug!("triggers could not be counted error={why:?}");
}

pub(crate) fn unreadable(trigger: &TriggerKey, why: &str) {
    warn!("left alone for a minute trigger={trigger} error={why:?}");
}

pub(crate) fn misfired(trigger: &TriggerKey) {
    debug!("misfired trigger={trigger}");
}

pub(crate) fn skipped(skipped: &SkippedFires) {
    let SkippedFires { trigger, job, first_time, times, reason } = skipped;
    let first_ms = first_time.timestamp_millis();
    info!("left out trigger={trigger} job={job} times={times} first_ms={first_ms} reason={}", reason.name());
}

pub(crate) fn waits_for_earlier_run(trigger: &TriggerKey) {
    debug!("due and waits for an earlier run of it trigger={trigger}");
}

pub(crate) fn cancelled_by_trigger(fire_id: &str, is_here: bool) {
    if is_here {
        info!("asked to stop, since its trigger is due again fire={fire_id}");
    } else {
        info!("asked to stop on its node, since its trigger is due again fire={fire_id}");
    }
}

pub(crate) fn paused_after_failure(trigger: &TriggerKey) {
    warn!("paused since a run of it failed trigger={trigger}");
}

/// The trace of a fire, for the end of a line.
fn trace(fire: &FireEvent<'_>) -> String {
    fire.trace_id().map_or_else(String::new, |id| format!(" trace={id}"))
}

pub(crate) fn fired(fire: &FireEvent<'_>) {
    debug!("fired trigger={} job={} fire={}{}", fire.trigger().key(), fire.job().key(), fire.fire_id(), trace(fire));
}

pub(crate) fn vetoed(fire: &FireEvent<'_>) {
    info!("vetoed trigger={} job={} fire={}", fire.trigger().key(), fire.job().key(), fire.fire_id());
}

pub(crate) fn not_started(fire_id: &str, why: &str) {
    warn!("fire not started fire={fire_id} reason={why:?}");
}

pub(crate) fn given_back(fire_id: &str, why: &str) {
    info!("fire given back fire={fire_id} reason={why:?}");
}

pub(crate) fn ended(fire: &FireEvent<'_>, end: &FireEnd) {
    let (job, id, run_ms) = (fire.job().key(), fire.fire_id(), end.run_time.as_millis());
    match &end.error {
        None => debug!("ended job={job} fire={id} outcome={} run_ms={run_ms}{}", end.outcome, trace(fire)),
        Some(why) => {
            warn!("ended job={job} fire={id} outcome={} run_ms={run_ms} error={why:?}{}", end.outcome, trace(fire));
        }
    }
}

pub(crate) fn came_back_late(fire_id: &str) {
    warn!("a job came back after its fire was given up; what it returned is of no effect fire={fire_id}");
}

pub(crate) fn timed_out(job: &JobKey, fire_id: &str, run_time: Duration) {
    warn!("a run takes too long and is asked to stop job={job} fire={fire_id} run_ms={}", run_time.as_millis());
}

pub(crate) fn asked_again(job: &JobKey, fire_id: &str) {
    warn!("a run is asked to stop again job={job} fire={fire_id}");
}

pub(crate) fn stuck(job: &JobKey, fire_id: &str, silence: Duration, action: StuckAction) {
    let silence_ms = silence.as_millis();
    warn!("a run makes no progress job={job} fire={fire_id} silence_ms={silence_ms} action={action:?}");
}

pub(crate) fn silent(job: &JobKey, fire_id: &str, silence: Duration, limit: Duration) {
    let (silence_ms, limit_ms) = (silence.as_millis(), limit.as_millis());
    warn!(
        "a run is silent, its heartbeat will end job={job} fire={fire_id} silence_ms={silence_ms} limit_ms={limit_ms}"
    );
}

pub(crate) fn given_up(job: &JobKey, fire_id: &str, why: &str) {
    log_error!("a run is given up job={job} fire={fire_id} reason={why:?}");
}

pub(crate) fn give_up_failed(fire_ids: &[String], why: &str) {
    warn!("fires that were given up cannot be recovered yet fires={} error={why:?}", fire_ids.join(","));
}

pub(crate) fn fire_lost(job: &JobKey, fire_id: &str) {
    log_error!("a run is no longer this node's, another has its work job={job} fire={fire_id}");
}

pub(crate) fn cancelled(job: &JobKey, fire_id: &str, who: &str) {
    info!("a run is asked to stop job={job} fire={fire_id} by={who:?}");
}

pub(crate) fn fell_silent(by: &str, instance: &str) {
    warn!("fires of a living instance have fallen silent instance={instance} by={by}");
}

pub(crate) fn fenced(fire_id: &str) {
    warn!("completion refused: the fire belongs to another node now fire={fire_id}");
}

pub(crate) fn completion_refused(fire_id: &str, why: &str) {
    log_error!("completion cannot be recorded, tried again later fire={fire_id} error={why:?}");
}

pub(crate) fn completion_abandoned(fire_id: &str) {
    log_error!("completion not recorded before the end fire={fire_id}");
}

#[cfg(feature = "job-files")]
pub(crate) fn job_file_loaded(file: &str, imported: &crate::store::Imported) {
    info!(
        "loaded job file file={file:?} jobs={} triggers={} deleted_jobs={} deleted_triggers={} ignored={} unchanged={}",
        imported.jobs.len(),
        imported.triggers.len(),
        imported.deleted_jobs.len(),
        imported.deleted_triggers.len(),
        imported.ignored_jobs.len() + imported.ignored_triggers.len(),
        imported.unchanged.len()
    );
    for remark in &imported.remarks {
        warn!("{remark}");
    }
}

#[cfg(feature = "job-files")]
pub(crate) fn job_file_missing(what: &str) {
    warn!("{what}");
}

pub(crate) fn listener_failed(kind: &str, name: &str, event: &str, panic: &str) {
    log_error!("listener panicked kind={kind} listener={name} event={event} panic={panic:?}");
}

pub(crate) fn error(message: &str) {
    log_error!("{message}");
}

pub(crate) fn listeners_are_behind(waiting: usize) {
    warn!("listeners are too slow waiting={waiting} action=\"further events are dropped\"");
}

pub(crate) fn listeners_not_told(events: u64) {
    warn!("events not told to listeners events={events}");
}
