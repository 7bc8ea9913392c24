//! `AlarmBoard`: what this node measures for its alarms, and whom it tells.

use crate::alarm::{Alarm, AlarmJob, AlarmKind};
use crate::hash::HashMap;
use crate::key::JobKey;
use crate::listener::lifecycle_log;
use crate::rules::alarms::{AlarmState, Bound, Change, Growth, Threshold, judge};
use crate::scheduler::metrics::View;
use crate::scheduler::node::Node;
use crate::settings::AlarmSettings;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// No more jobs are named.
const MOST_NAMED: usize = 100;

/// No more parked work is asked for its jobs.
const MOST_ASKED: usize = 1_000;

/// The time until an alarm that is on its way is looked at again.
const SOON: Duration = Duration::from_secs(1);

/// The alarms of a node, and how each of them stands.
#[derive(Default)]
pub(crate) struct AlarmBoard {
    standings: HashMap<AlarmKind, AlarmState>,
    dead: Growth,
}

/// The measurement for an alarm.
struct Reading {
    value: Option<f64>,
    threshold: Option<Threshold>,
    detail: String,
    jobs: Vec<AlarmJob>,
}

impl AlarmBoard {
    /// One look at everything that there are alarms for.
    pub(crate) fn look(&mut self, node: &Node) {
        let now = node.clock.ticks();
        let view = node.metrics.view.lock().clone();
        for kind in AlarmKind::ALL {
            let reading = self.read(kind, node, &view, now);
            let standing = self.standings.entry(kind).or_default();
            let (after, change) = judge(*standing, reading.threshold.as_ref(), reading.value, now);
            *standing = after;
            if change != Change::None {
                let mut jobs = reading.jobs;
                if change == Change::Raised {
                    if kind == AlarmKind::ParkedWork {
                        jobs = parked_jobs(node);
                    }
                    jobs.iter_mut().for_each(|named| named.owner = owner_of(node, &named.job));
                }
                let alarm = Alarm {
                    kind,
                    is_raised: change == Change::Raised,
                    value: reading.value,
                    limit: reading.threshold.map(|threshold| threshold.bound.limit()),
                    detail: reading.detail,
                    jobs,
                };
                tell(node, &alarm);
            }
        }
    }

    /// The time at which to look again although nothing has happened: soon, as long as an alarm is
    /// on its way up or down.
    pub(crate) fn next(&self, now: Duration) -> Option<Duration> {
        let moves = |s: &AlarmState| matches!(s, AlarmState::Suspicious(_) | AlarmState::Raised(Some(_)));
        self.standings.values().any(moves).then(|| now.saturating_add(SOON))
    }

    fn read(&mut self, kind: AlarmKind, node: &Node, view: &View, now: Duration) -> Reading {
        let settings = &node.settings.monitor.alarms;
        let seen = view.load.as_ref();
        // One node speaks for the cluster.
        let speaks = seen.is_none_or(|(_, load)| load.longest_serving.as_deref() == Some(&*node.instance));
        let load = view.fresh_load(now, node.settings.monitor.interval, 2);
        let (mut jobs, mut for_cluster) = (Vec::new(), false);
        let (value, detail) = match kind {
            AlarmKind::OverdueTriggers => {
                for_cluster = true;
                let overdue = load.map(|load| load.overdue);
                (overdue.map(|n| n as f64), format!("{} triggers are overdue", overdue.unwrap_or(0)))
            }
            AlarmKind::DeadExecutions => {
                let dead = node.counters.dead_executions.value();
                let dead = self.dead.look(dead, settings.dead_executions_within, now);
                (Some(dead as f64), format!("{dead} runs have died with their nodes or fallen silent"))
            }
            AlarmKind::CheckinFailures => {
                let health = node.services.cluster.record.health(node.clock.ticks());
                failures("check-ins", health.errors_in_a_row, health.last_error)
            }
            AlarmKind::HeartbeatFailures => {
                let health = node.services.heartbeat.record.health(node.clock.ticks());
                failures("heartbeats", health.errors_in_a_row, health.last_error)
            }
            AlarmKind::StuckFires => {
                let mut stuck = node.running_fires.all();
                stuck.retain(|fire| fire.is_stuck());
                let named: BTreeSet<_> = stuck.iter().map(|fire| fire.job.clone()).collect();
                jobs = named.into_iter().take(MOST_NAMED).map(|job| AlarmJob { job, owner: None }).collect();
                (Some(stuck.len() as f64), format!("{} runs of this node make no progress", stuck.len()))
            }
            AlarmKind::OrphanedJobs => {
                let orphans = node.metrics.orphans.load(Ordering::Relaxed);
                (Some(orphans as f64), format!("no living node can run {orphans} jobs: `carnelian orphans` names them"))
            }
            AlarmKind::ParkedWork => {
                for_cluster = true;
                let parked = load.map(|load| load.parked);
                let n = parked.unwrap_or(0);
                (parked.map(|n| n as f64), format!("{n} pieces of work are parked: `carnelian parked list` says why"))
            }
            AlarmKind::TooFewNodes => {
                for_cluster = true;
                let working = load.map(|load| load.instances.iter().filter(|instance| instance.is_working()).count());
                (working.map(|n| n as f64), format!("{} nodes are alive and take work", working.unwrap_or(0)))
            }
            AlarmKind::ClockSkew => {
                let skew = view.skew.filter(|_| load.is_some());
                let detail = format!("this node's clock is {} s ahead of the database's", skew.unwrap_or(0.0));
                (skew.map(f64::abs), detail)
            }
        };
        let threshold = threshold(kind, settings).filter(|_| !for_cluster || speaks);
        Reading { value, threshold, detail, jobs }
    }
}

/// The jobs of the work that has been parked for longest, if the store can be asked.
fn parked_jobs(node: &Node) -> Vec<AlarmJob> {
    let parked = node.store.catalogue().parked_page(None, (i64::MIN, "", ""), Some(MOST_ASKED));
    let parked = parked.map(|page| page.items).unwrap_or_default();
    let jobs: BTreeSet<_> = parked.into_iter().map(|work| work.job).collect();
    jobs.into_iter().take(MOST_NAMED).map(|job| AlarmJob { job, owner: None }).collect()
}

/// The person responsible for a job, if it says so and the store can be asked; an alarm does not
/// wait for the answer.
fn owner_of(node: &Node, job: &JobKey) -> Option<String> {
    let job = node.store.catalogue().job(job).ok().flatten()?;
    job.marks().get_owner().map(str::to_owned)
}

/// The threshold of an alarm; none if the settings want none.
fn threshold(kind: AlarmKind, settings: &AlarmSettings) -> Option<Threshold> {
    let at_least = |limit: u32| (limit > 0).then(|| Bound::at_least(f64::from(limit)));
    let bound = match kind {
        AlarmKind::OverdueTriggers => at_least(settings.overdue_triggers),
        AlarmKind::DeadExecutions => at_least(settings.dead_executions),
        AlarmKind::CheckinFailures => at_least(settings.checkin_failures),
        AlarmKind::HeartbeatFailures => at_least(settings.heartbeat_failures),
        AlarmKind::StuckFires => at_least(settings.stuck_fires),
        AlarmKind::OrphanedJobs => at_least(settings.orphaned_jobs),
        AlarmKind::ParkedWork => at_least(settings.parked_work),
        AlarmKind::TooFewNodes => (settings.min_nodes > 0).then(|| Bound::Below(f64::from(settings.min_nodes))),
        AlarmKind::ClockSkew => {
            (!settings.clock_skew.is_zero()).then(|| Bound::at_least(settings.clock_skew.as_secs_f64()))
        }
    };
    let bad_for = if kind == AlarmKind::OverdueTriggers { settings.overdue_for } else { Duration::ZERO };
    bound.map(|bound| Threshold { bound, bad_for, good_for: settings.clear_after })
}

fn failures(what: &str, in_a_row: u64, last: Option<String>) -> (Option<f64>, String) {
    let detail = match last.filter(|_| in_a_row > 0) {
        Some(why) => format!("{in_a_row} {what} in a row have failed: {why}"),
        None => format!("{what} succeed"),
    };
    (Some(in_a_row as f64), detail)
}

fn tell(node: &Node, alarm: &Alarm) {
    if alarm.is_raised {
        node.counters.alarms.add(1);
    }
    node.metrics.set_alarm(alarm.kind, alarm.is_raised);
    lifecycle_log::alarm(&node.instance, alarm);
    let alarm = alarm.clone();
    node.listeners.announce("alarm", move |listener| listener.alarm(&alarm));
}
