//! Alarms: listeners are told once when an alarm is raised, and once when it is cleared.

use crate::monitoring::{park, sample};
use crate::scheduler::fixture::{Cluster, LONG, job, now};
use crate::support::wait_until;
use carnelian::listener::SchedulerListener;
use carnelian::monitoring::{Alarm, AlarmKind};
use carnelian::placement::Strategy;
use carnelian::{
    IfExists, JobContext, JobDetail, JobKey, JobMarks, JobPolicy, Scheduler, StuckAction, Trigger, TriggerKey,
};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use std::time::Duration;

struct Recorder(Sender<Alarm>);

impl SchedulerListener for Recorder {
    fn name(&self) -> &str {
        "recorder"
    }

    fn alarm(&self, alarm: &Alarm) {
        let _ = self.0.send(alarm.clone());
    }
}

/// A node with these properties and what it tells.
fn node(
    cluster: &Cluster,
    properties: &str,
    run: impl Fn(&mut JobContext) -> Result<(), carnelian::JobError> + Send + Sync + 'static,
) -> (Scheduler, Receiver<Alarm>) {
    let (heard, alarms) = unbounded();
    let properties = format!("{properties}\ncarnelian.monitor.interval = 50ms\ncarnelian.alarm.clearAfter = 0");
    let node =
        cluster.node_with("n1", &properties).job_fn("work", run).scheduler_listener(Recorder(heard)).build().unwrap();
    node.start().unwrap();
    (node, alarms)
}

fn expect(alarms: &Receiver<Alarm>, kind: AlarmKind, is_raised: bool) -> Alarm {
    let alarm = alarms.recv_timeout(LONG).expect("an alarm");
    assert_eq!((alarm.kind, alarm.is_raised), (kind, is_raised), "{alarm:?}");
    alarm
}

/// DS-74: with every worker taken, triggers become overdue; and nobody is told twice.
#[test]
fn a_backlog_raises_an_alarm_once_and_clears_it_once() {
    let cluster = Cluster::new();
    let (end, ends) = bounded::<()>(0);
    let properties = "threadPool.threadCount = 1\ncarnelian.alarm.overdueTriggers = 2\ncarnelian.alarm.overdueFor = 100ms\n\
        carnelian.monitor.overdueAfter = 0";
    let (node, alarms) = node(&cluster, properties, move |_| Ok(ends.recv()?));
    for name in ["a", "b", "c"] {
        let detail = job(name, "work");
        node.schedule_job(detail.clone(), now(name, &detail)).unwrap();
    }
    let alarm = expect(&alarms, AlarmKind::OverdueTriggers, true);
    assert_eq!((alarm.value, alarm.limit), (Some(2.0), Some(2.0)));
    assert_eq!(node.health().alarms, [AlarmKind::OverdueTriggers]);
    assert_eq!(sample(&node, "carnelian_alarm{alarm=\"overdue_triggers\"}"), 1.0);
    let looks = || node.health().services.iter().find(|service| service.name == "monitor").unwrap().runs;
    let before = looks();
    wait_until("it was looked at a few times more", LONG, || looks() > before + 3);
    assert!(alarms.try_recv().is_err(), "it was told already");
    for _ in 0..3 {
        end.send(()).unwrap();
    }
    expect(&alarms, AlarmKind::OverdueTriggers, false);
    assert_eq!(sample(&node, "carnelian_alarm{alarm=\"overdue_triggers\"}"), 0.0);
    assert_eq!(sample(&node, "carnelian_alarms_total{alarm=\"overdue_triggers\"}"), 1.0);
    assert_eq!((node.health().counters.alarms, alarms.len()), (1, 0));
}

/// DS-23: failed check-ins in a row, although the monitor cannot see the database either.
#[test]
fn an_outage_raises_the_alarm_of_check_ins() {
    let cluster = Cluster::with_checkin(Duration::from_millis(100), Duration::from_secs(2));
    let (node, alarms) = node(&cluster, "carnelian.alarm.checkinFailures = 2", |_| Ok(()));
    cluster.database.refuse(Some("check in"));
    let alarm = expect(&alarms, AlarmKind::CheckinFailures, true);
    assert!(alarm.detail.contains("switched off") && alarm.value >= Some(2.0), "{alarm:?}");
    cluster.database.refuse(None);
    expect(&alarms, AlarmKind::CheckinFailures, false);

    let counts_nodes = || node.metrics_text().contains("carnelian_working_nodes ");
    wait_until("it has looked at the cluster", LONG, counts_nodes);
    cluster.database.turn(false);
    expect(&alarms, AlarmKind::CheckinFailures, true);
    // The node said for ever how many nodes there had been: a maximum over all hid that they went.
    wait_until("it says nothing of a cluster that it does not see", LONG, || !counts_nodes());
    assert!(node.metrics_text().contains("carnelian_monitor_age_seconds "));
    cluster.database.turn(true);
    expect(&alarms, AlarmKind::CheckinFailures, false);
    wait_until("it sees the cluster again", LONG, counts_nodes);
    assert_eq!(node.health().counters.alarms, 2);
}

/// DS-23.
#[test]
fn failed_heartbeats_raise_their_alarm() {
    let cluster = Cluster::new();
    let (end, ends) = bounded::<()>(0);
    let properties = "carnelian.scheduler.heartbeatInterval = 100ms\ncarnelian.scheduler.missedHeartbeatLimit = 1000000\n\
        carnelian.alarm.heartbeatFailures = 2";
    let (node, alarms) = node(&cluster, properties, move |_| Ok(ends.recv()?));
    let detail = job("held", "work");
    node.schedule_job(detail.clone(), now("held", &detail)).unwrap();
    wait_until("it runs", LONG, || !node.running_here().is_empty());
    cluster.database.refuse(Some("beat"));
    expect(&alarms, AlarmKind::HeartbeatFailures, true);
    cluster.database.refuse(None);
    expect(&alarms, AlarmKind::HeartbeatFailures, false);
    end.send(()).unwrap();
    cluster.await_quiet();
}

/// DS-118: a run without progress, with the name of its job.
#[test]
fn a_stuck_run_raises_an_alarm_that_names_its_job() {
    let cluster = Cluster::new();
    let (end, ends) = bounded::<()>(0);
    let (node, alarms) = node(&cluster, "carnelian.health.maxStuckFires = 0", move |_| Ok(ends.recv()?));
    let policy = JobPolicy::new().stuck_after(Duration::from_millis(50), StuckAction::Log);
    let detail = JobDetail::builder(JobKey::new("g", "still"), "work");
    let detail = detail.policy(policy).marks(JobMarks::new().owner("ada")).build().unwrap();
    node.schedule_job(detail.clone(), now("still", &detail)).unwrap();
    let alarm = expect(&alarms, AlarmKind::StuckFires, true);
    let named: Vec<_> = alarm.jobs.iter().map(|named| (named.job.clone(), named.owner.as_deref())).collect();
    assert_eq!(named, [(detail.key().clone(), Some("ada"))]);
    assert_eq!((node.health().stuck_fires, node.health().is_ready(), node.health().is_live()), (1, false, true));
    assert_eq!(sample(&node, "carnelian_stuck_fires"), 1.0);
    end.send(()).unwrap();
    expect(&alarms, AlarmKind::StuckFires, false);
    assert!(node.health().is_ready());
}

/// A cluster that should have two nodes; the one that has served longest says so, and no other.
#[test]
fn too_few_nodes_raise_an_alarm_until_another_comes() {
    let cluster = Cluster::new();
    let (_node, alarms) = node(&cluster, "carnelian.alarm.minNodes = 2", |_| Ok(()));
    let alarm = expect(&alarms, AlarmKind::TooFewNodes, true);
    assert_eq!((alarm.value, alarm.limit), (Some(1.0), Some(2.0)));
    let (heard, of_other) = unbounded();
    let properties = "carnelian.alarm.minNodes = 9\ncarnelian.monitor.interval = 50ms";
    let other = cluster.node_with("n2", properties).scheduler_listener(Recorder(heard)).build().unwrap();
    other.start().unwrap();
    expect(&alarms, AlarmKind::TooFewNodes, false);
    let looks = || other.health().services.iter().find(|service| service.name == "monitor").unwrap().runs;
    wait_until("the other has looked a few times", LONG, || looks() > 3);
    assert!(of_other.try_recv().is_err(), "it does not speak for the cluster");
    other.shutdown_and_wait();
    expect(&alarms, AlarmKind::TooFewNodes, true);
}

/// DS-74: a run that died with its node.
#[test]
fn a_dead_run_raises_an_alarm_until_none_has_died_for_a_while() {
    let cluster = Cluster::with_checkin(Duration::from_millis(200), Duration::from_millis(800));
    let (dead, mut me) = (cluster.store(), carnelian::store::Membership::new("dead"));
    dead.upkeep().check_in(&mut me).unwrap();
    let detail = job("doomed", "work");
    dead.catalogue().schedule(vec![(detail.clone(), vec![now("doomed", &detail)])], false).unwrap();
    let request = carnelian::store::AcquireRequest {
        max: 1,
        prefetch: None,
        look_ahead_ms: 0,
        fire_ahead_ms: 0,
        job_types: &["work".to_owned()],
        quarantined: &std::collections::BTreeSet::new(),
    };
    assert_eq!(dead.firing().acquire(&me.owner().unwrap(), &request).unwrap().fired.len(), 1);
    let (node, alarms) = node(&cluster, "carnelian.alarm.deadExecutionsWithin = 300ms", |_| Ok(()));
    assert_eq!(expect(&alarms, AlarmKind::DeadExecutions, true).value, Some(1.0));
    expect(&alarms, AlarmKind::DeadExecutions, false);
    assert_eq!(sample(&node, "carnelian_dead_executions_total"), 1.0);
}

/// PA-08: work that is set aside, until it was retried or dropped.
#[test]
fn parked_work_raises_an_alarm_until_it_is_retried_or_dropped() {
    let cluster = Cluster::new();
    let (ran, runs) = unbounded();
    let (node, alarms) = node(&cluster, "", move |ctx| Ok(ran.send(ctx.trigger().key().clone())?));
    let schedule = |name: &str| {
        let detail = JobDetail::builder(JobKey::new("g", name), "work").marks(JobMarks::new().owner("ada"));
        let detail = detail.policy(JobPolicy::new().strategy(Strategy::Broadcast)).build().unwrap();
        let trigger = Trigger::builder(TriggerKey::new("g", name), detail.key().clone());
        node.schedule_job(detail, trigger.data("mine", "x".repeat(65_250)).build().unwrap()).unwrap();
    };
    schedule("dropped");
    let alarm = expect(&alarms, AlarmKind::ParkedWork, true);
    assert_eq!((alarm.value, alarm.limit), (Some(1.0), Some(1.0)));
    let named: Vec<_> = alarm.jobs.iter().map(|named| (named.job.clone(), named.owner.as_deref())).collect();
    assert_eq!(named, [(JobKey::new("g", "dropped"), Some("ada"))]);
    let parked = node.parked().unwrap();
    assert!(parked.len() == 1 && parked[0].reason.contains("parts cannot be built"), "{parked:?}");
    assert_eq!(sample(&node, "carnelian_parked_work"), 1.0);
    // Counted after the commit, which another service may have seen already.
    let counted = || sample(&node, "carnelian_recoveries_total{kind=\"parked\"}");
    wait_until("a tick is counted as the rest is", LONG, || counted() == 1.0);
    assert!(node.delete_parked(&parked[0].key).unwrap());
    expect(&alarms, AlarmKind::ParkedWork, false);
    assert_eq!(sample(&node, "carnelian_parked_work"), 0.0);

    schedule("mended");
    expect(&alarms, AlarmKind::ParkedWork, true);
    let key = node.parked().unwrap()[0].key.clone();
    node.add_job_awaiting_trigger(&job("mended", "work"), IfExists::Replace).unwrap();
    assert!(node.retry_parked(&key).unwrap());
    assert_eq!(runs.recv_timeout(LONG).unwrap(), key, "it runs at once");
    expect(&alarms, AlarmKind::ParkedWork, false);
    assert_eq!(node.health().counters.alarms, 2);
}

/// An alarm does not wait until all that is parked has been read.
#[test]
fn an_alarm_names_the_jobs_of_what_has_been_parked_for_longest() {
    let cluster = Cluster::new();
    let triggers = |name: &str, count: usize| {
        let detail = job(name, "work");
        let trigger = |n| Trigger::builder(TriggerKey::new(name, format!("t{n}")), detail.key().clone());
        let triggers: Vec<Trigger> = (0..count).map(|n| trigger(n).build().unwrap()).collect();
        (detail, triggers)
    };
    let work = vec![triggers("most", 1_000), triggers("last", 1)];
    let keys: Vec<TriggerKey> =
        work.iter().flat_map(|(_, triggers)| triggers).map(|trigger| trigger.key().clone()).collect();
    cluster.store().catalogue().schedule(work, false).unwrap();
    park(&cluster.store(), &keys);
    let (_node, alarms) = node(&cluster, "", |_| Ok(()));
    let alarm = expect(&alarms, AlarmKind::ParkedWork, true);
    assert_eq!(alarm.value, Some(1_001.0));
    assert_eq!(alarm.jobs.iter().map(|named| &named.job).collect::<Vec<_>>(), [job("most", "work").key()]);
}
