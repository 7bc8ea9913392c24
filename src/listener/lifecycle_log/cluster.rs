//! The log lines of the cluster: who comes, who is lost, and what becomes of the work.

use crate::key::JobKey;
use crate::rules::placement::Refusal;
use crate::store::row::{FiredRow, Parked};
use crate::store::{AuditPass, LostCommits, Recovered};
use ::log::{error as log_error, info, warn};
use std::collections::BTreeMap;
use std::time::Duration;

lines! {
    info registered(instance: &str, incarnation: &str) => "registered instance={instance} incarnation={incarnation}";
    warn namesake(instance: &str) => "not registered: another node has this name and may live: namesake instance={instance}";
    error ownership_lost(instance: &str, lost_fires: usize) =>
        "was declared dead while alive, its fires are lost instance={instance} lost_fires={lost_fires}";
    error aborting(instance: &str) => "ending the process since ownership was lost instance={instance}";
    warn checked_in_late(instance: &str, gap: Duration) =>
        "checked in again after a gap instance={instance} gap_ms={}", gap.as_millis();
    warn other_schedulers(names: &str) => "no jobs: {names}";

    info drained(job: &JobKey, fire_id: &str, who: &str) =>
        "a run is asked to stop since its node is drained job={job} fire={fire_id} by={who:?}";
    warn end_held(fire_id: &str) =>
        "a transaction of its job, or an order to stop, holds a fire that has ended; its end is recorded after that \
         fire={fire_id}";
    error commits_lost(instance: &str, lost: LostCommits) =>
        "the database has lost commits that it had answered (the last fence is {}, and was {}): a replica took its place, or a \
         backup was put back. Runs may be done twice, and ends of runs may be missing; this node drops what it holds and \
         registers anew instance={instance}",
        lost.stored, lost.largest;
    warn settled(instance: &str, happened: bool, fires: usize, reservations: usize) =>
        "settled what an answer of the store was lost for instance={instance} committed={happened} fires={fires} reservations={reservations}";
    warn forgotten(instance: &str, recovered: &Recovered) =>
        "recovered own fires that an answer of the store was lost for instance={instance} freed={} recovery_triggers={} lost={} other={}",
        recovered.freed, recovered.recovery_triggers.len(), recovered.lost.len(), recovered.other;
    warn foreign_clock(instance: &str, skew_ms: i64) =>
        "the clock of a node of Quartz is off; it convicts nodes whose check-ins are older than 7.5 s and their interval by its own clock instance={instance} skew_ms={skew_ms}";
}

pub(crate) fn active(instance: &str, is_active: bool) {
    if is_active {
        info!("is the active node now instance={instance}");
    } else {
        info!("is a passive node now instance={instance}");
    }
}

pub(crate) fn takes_work(instance: &str, refusal: Option<&Refusal>) {
    match refusal {
        Some(refusal) => info!("takes no work instance={instance}: {refusal}"),
        None => info!("takes work again instance={instance}"),
    }
}

pub(crate) fn fits_tables(instance: &str, unfit: Option<&String>) {
    match unfit {
        Some(why) => log_error!("takes no work any longer instance={instance}: {why}"),
        None => info!("takes work again instance={instance}: the tables are fit for this program"),
    }
}

pub(crate) fn recovered(by: &str, failed: &Recovered) {
    warn!(
        "recovered failed instance instance={} by={by} last_checkin_ms={} freed={} recovery_triggers={} revived={} lost={} other={}",
        failed.instance,
        failed.last_checkin.map_or("none".to_owned(), |time| time.timestamp_millis().to_string()),
        failed.freed,
        failed.recovery_triggers.len(),
        failed.revived.len(),
        failed.lost.len(),
        failed.other
    );
    for (fire, trigger) in failed.recovery_triggers.iter().chain(&failed.revived) {
        info!("runs again instance={} fire={fire} trigger={trigger}", failed.instance);
    }
    for fire in &failed.lost {
        warn!("interrupted and not to be run again instance={} fire={fire}", failed.instance);
    }
}

pub(crate) fn parked(parked: &Parked) {
    log_error!(
        "work is parked and waits for somebody to look at it, `carnelian parked` shows it key={} job={} takeovers={} reason={}",
        parked.key,
        parked.job,
        parked.takeovers,
        parked.reason
    );
}

/// Said once for each node that was late, with one of its triggers.
pub(crate) fn took_back(instance: &str, overdue: &[FiredRow]) {
    let mut owners: BTreeMap<&str, (usize, &FiredRow)> = BTreeMap::new();
    for row in overdue {
        owners.entry(&row.instance).or_insert((0, row)).0 += 1;
    }
    for (owner, (count, row)) in owners {
        warn!(
            "took back what another node had reserved and not fired in time instance={instance} owner={owner} count={count} trigger={}",
            row.trigger
        );
    }
}

pub(crate) fn mended(pass: &AuditPass) {
    for key in &pass.released {
        warn!("released a trigger that nobody held trigger={key}");
    }
    for key in &pass.unblocked {
        warn!("unblocked a trigger that nothing blocked trigger={key}");
    }
    for key in &pass.finished {
        warn!("removed a complete trigger that had no fire left trigger={key}");
    }
    for key in &pass.following {
        info!("stored the child of a tick whose last parts had ended at the same moment trigger={key}");
    }
    if pass.swept > 0 {
        info!("swept side rows whose rows a node of Quartz has deleted rows={}", pass.swept);
    }
}

pub(crate) fn joined_by_quartz(instance: &str, earlier: Duration) {
    info!("a node of Quartz is in the cluster instance={instance}");
    if !earlier.is_zero() {
        warn!(
            "nodes of Quartz take this one for dead {earlier:?} earlier than its \
             clusterCheckinMisfireThreshold says: it stops its work in time for them"
        );
    }
}

pub(crate) fn polling_strategy(wanted: &str, used: &str, is_beside_quartz: bool) {
    if wanted == used {
        info!("due triggers are taken as the settings ask for strategy={used}");
        return;
    }
    let why = if is_beside_quartz {
        "a node of Quartz shares the tables"
    } else {
        "the database has no SKIP LOCKED, or its locks are written (Galera)"
    };
    warn!("due triggers are taken under the lock: {why} wanted={wanted} strategy={used}");
}
