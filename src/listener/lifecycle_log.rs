//! The wording of life-cycle log lines: a phrase, then `key=value`.

/// Functions that write one line each, at a level: the name, what it takes, and the line.
macro_rules! lines {
    ($($(#[$attribute:meta])* $level:ident $name:ident($($argument:ident: $of:ty),*) =>
        $line:literal $(, $value:expr)*;)+) => {
        $($(#[$attribute])* pub(crate) fn $name($($argument: $of),*) {
            ::log::$level!($line $(, $value)*);
        })+
    };
}

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

lines! {
    debug starting(scheduler: &str, instance: &str) => "starting scheduler={scheduler} instance={instance}";
    warn settings_warning(warning: &str) => "settings: {warning}";
    warn stored_without_node(job: &JobKey, job_type: &str) =>
        "a stored job waits, since no live node has its type job={job} type={job_type}";
    info guarded(guard: &str) => "the database is {guard}";
    info disabled(scheduler: &str) => "not started: carnelian.scheduler.enabled is false scheduler={scheduler}";
    info standby(scheduler: &str, instance: &str) => "standing by scheduler={scheduler} instance={instance}";
    info resumed(scheduler: &str, instance: &str) => "resumed scheduler={scheduler} instance={instance}";
    info shutting_down(scheduler: &str, instance: &str, wait: bool, running: usize) =>
        "shutting down scheduler={scheduler} instance={instance} wait={wait} running={running}";
    info stopping(instance: &str, step: &str) => "stopping instance={instance} step={step}";
    warn step_overran(step: &str) => "a step of the shutdown did not end before the deadline step={step}";
    warn dropped_without_shutdown(scheduler: &str, instance: &str) =>
        "dropped without shutdown, shutting down now scheduler={scheduler} instance={instance}";
    warn leave_failed(instance: &str, why: &str) =>
        "could not leave the cluster, others will take over instance={instance} error={why:?}";

    debug service_started(service: &str) => "service started service={service}";
    debug service_stopped(service: &str) => "service stopped service={service}";
    error service_panicked(service: &str, panic: &str) =>
        "service panicked and goes on service={service} panic={panic:?}";

    warn rolled_back(fire_id: &str) =>
        "the transaction in which the job ended its fire was not committed; its end is recorded now fire={fire_id}";
    warn locks_not_renewed(count: usize, why: &str) => "locks not renewed count={count} error={why:?}";
    warn lock_lost(name: &str, fence: i64, instance: &str) =>
        "lock lost name={name:?} fence={fence} instance={instance}";
    warn lock_not_released(name: &str, fence: i64, why: &str) =>
        "lock not released; it is free when its time is over name={name:?} fence={fence} error={why:?}";
    info service_recovered(service: &str, after: u64) => "service works again service={service} after_errors={after}";
    warn unsafe_intervals(warning: &str) => "{warning}";

    info orphans_unknown(why: &str) => "cannot tell which jobs no node can run reason={why:?}";
    warn orphan_deleted(orphan: &Orphan) =>
        "deleted a job that no live node could run for longer than carnelian.jobStore.deleteUnresolvedAfter job={} type={} since={}",
        orphan.job, orphan.job_type, crate::trigger::show(orphan.since.map(|time| time.timestamp_millis()));
    debug cleaned_up(rows: usize) => "pruned the history rows={rows}";
    debug count_failed(why: &str) => "triggers could not be counted error={why:?}";
    warn unreadable(trigger: &TriggerKey, why: &str) => "left alone for a minute trigger={trigger} error={why:?}";

    debug misfired(trigger: &TriggerKey) => "misfired trigger={trigger}";
    debug waits_for_earlier_run(trigger: &TriggerKey) => "due and waits for an earlier run of it trigger={trigger}";
    warn paused_after_failure(trigger: &TriggerKey) => "paused since a run of it failed trigger={trigger}";

    debug fired(fire: &FireEvent<'_>) =>
        "fired trigger={} job={} fire={}{}", fire.trigger().key(), fire.job().key(), fire.fire_id(), trace(fire);
    info vetoed(fire: &FireEvent<'_>) =>
        "vetoed trigger={} job={} fire={}", fire.trigger().key(), fire.job().key(), fire.fire_id();
    warn not_started(fire_id: &str, why: &str) => "fire not started fire={fire_id} reason={why:?}";
    info given_back(fire_id: &str, why: &str) => "fire given back fire={fire_id} reason={why:?}";
    warn came_back_late(fire_id: &str) =>
        "a job came back after its fire was given up; what it returned is of no effect fire={fire_id}";
    warn timed_out(job: &JobKey, fire_id: &str, run_time: Duration) =>
        "a run takes too long and is asked to stop job={job} fire={fire_id} run_ms={}", run_time.as_millis();
    warn asked_again(job: &JobKey, fire_id: &str) => "a run is asked to stop again job={job} fire={fire_id}";
    warn stuck(job: &JobKey, fire_id: &str, silence: Duration, action: StuckAction) =>
        "a run makes no progress job={job} fire={fire_id} silence_ms={} action={action:?}", silence.as_millis();
    warn silent(job: &JobKey, fire_id: &str, silence: Duration, limit: Duration) =>
        "a run is silent, its heartbeat will end job={job} fire={fire_id} silence_ms={} limit_ms={}",
        silence.as_millis(), limit.as_millis();
    error given_up(job: &JobKey, fire_id: &str, why: &str) =>
        "a run is given up job={job} fire={fire_id} reason={why:?}";
    warn give_up_failed(fire_ids: &[String], why: &str) =>
        "fires that were given up cannot be recovered yet fires={} error={why:?}", fire_ids.join(",");
    error fire_lost(job: &JobKey, fire_id: &str) =>
        "a run is no longer this node's, another has its work job={job} fire={fire_id}";
    info cancelled(job: &JobKey, fire_id: &str, who: &str) =>
        "a run is asked to stop job={job} fire={fire_id} by={who:?}";
    warn fell_silent(by: &str, instance: &str) =>
        "fires of a living instance have fallen silent instance={instance} by={by}";
    warn fenced(fire_id: &str) => "completion refused: the fire belongs to another node now fire={fire_id}";
    error completion_refused(fire_id: &str, why: &str) =>
        "completion cannot be recorded, tried again later fire={fire_id} error={why:?}";
    error completion_abandoned(fire_id: &str) => "completion not recorded before the end fire={fire_id}";

    #[cfg(feature = "job-files")]
    warn job_file_missing(what: &str) => "{what}";

    error listener_failed(kind: &str, name: &str, event: &str, panic: &str) =>
        "listener panicked kind={kind} listener={name} event={event} panic={panic:?}";
    error error(message: &str) => "{message}";
    warn listeners_are_behind(waiting: usize) =>
        "listeners are too slow waiting={waiting} action=\"further events are dropped\"";
    warn listeners_not_told(events: u64) => "events not told to listeners events={events}";
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

pub(crate) fn shut_down(scheduler: &str, instance: &str, abandoned: usize) {
    if abandoned == 0 {
        info!("shut down scheduler={scheduler} instance={instance}");
    } else {
        warn!("shut down and left work behind scheduler={scheduler} instance={instance} abandoned={abandoned}");
    }
}

pub(crate) fn service_failed(service: &str, in_a_row: u64, loud: bool, retry_in: Duration, why: &str) {
    let retry_ms = retry_in.as_millis();
    if loud {
        log_error!("service failed service={service} in_a_row={in_a_row} retry_in_ms={retry_ms} error={why:?}");
    } else {
        debug!("service failed service={service} in_a_row={in_a_row} retry_in_ms={retry_ms} error={why:?}");
    }
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

pub(crate) fn skipped(skipped: &SkippedFires) {
    let SkippedFires { trigger, job, first_time, times, reason } = skipped;
    let first_ms = first_time.timestamp_millis();
    info!("left out trigger={trigger} job={job} times={times} first_ms={first_ms} reason={}", reason.name());
}

pub(crate) fn cancelled_by_trigger(fire_id: &str, is_here: bool) {
    if is_here {
        info!("asked to stop, since its trigger is due again fire={fire_id}");
    } else {
        info!("asked to stop on its node, since its trigger is due again fire={fire_id}");
    }
}

/// The trace of a fire, for the end of a line.
fn trace(fire: &FireEvent<'_>) -> String {
    fire.trace_id().map_or_else(String::new, |id| format!(" trace={id}"))
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
