//! Counters right after known events.

use crate::monitoring::{sample, samples};
use crate::scheduler::fixture::{Cluster, LONG, job, now};
use crate::support::wait_until;
use carnelian::store::{AcquireRequest, Membership};
use carnelian::{JobContext, JobDetail, JobError, JobKey, Trigger, TriggerKey};
use crossbeam_channel::bounded;
use std::collections::BTreeSet;
use std::time::Duration;

/// DS-70, DS-74: a success, a failure, a misfire, the recovery of a dead node's run, a fenced write
/// and a failure of the database, each counted once, where it belongs.
fn each_event_is_counted(mut cluster: Cluster) {
    cluster.checkin_interval = Duration::from_millis(300);
    cluster.tolerance = Duration::from_millis(1500);
    let (end, ends) = bounded::<()>(0);
    let hold = move |_: &mut JobContext| Ok(ends.recv()?);
    let properties = "threadPool.threadCount = 3\ncarnelian.monitor.interval = 300ms";
    let node = cluster.node_with("n1", properties).job_fn("hold", hold);
    let node = node.job_fn("fine", |_: &mut JobContext| Ok(()));
    let node = node.job_fn("bad", |_: &mut JobContext| Err::<(), _>(JobError::new("no"))).build().unwrap();

    // A node that took two runs with it when it died, one of a job that was deleted since.
    let (dead, mut me) = (cluster.store(), Membership::new("dead"));
    dead.upkeep().check_in(&mut me).unwrap();
    let doomed = JobDetail::builder(JobKey::new("g", "doomed"), "fine").requests_recovery(true).build().unwrap();
    node.schedule_job(doomed.clone(), now("doomed", &doomed)).unwrap();
    let deleted = job("deleted", "fine");
    node.schedule_job(deleted.clone(), now("deleted", &deleted)).unwrap();
    let request = AcquireRequest {
        max: 2,
        prefetch: None,
        look_ahead_ms: 0,
        fire_ahead_ms: 0,
        job_types: &["fine".to_owned()],
        quarantined: &BTreeSet::new(),
    };
    assert_eq!(dead.firing().acquire(&me.owner().unwrap(), &request).unwrap().fired.len(), 2);
    dead.catalogue().delete_jobs(&[deleted.key().clone()]).unwrap();

    // A trigger that is an hour late.
    let late = job("late", "fine");
    let hour_ago = cluster.clock.wall_time() - chrono::TimeDelta::milliseconds(3_600_000);
    let key = TriggerKey::new("g", "late");
    node.schedule_job(late.clone(), Trigger::builder(key, late.key().clone()).start_at(hour_ago).build().unwrap())
        .unwrap();

    node.start().unwrap();
    for (name, job_type) in [("good", "fine"), ("bad", "bad")] {
        let detail = job(name, job_type);
        node.schedule_job(detail.clone(), now(name, &detail)).unwrap();
    }
    let ended = || {
        let counters = node.health().counters;
        (counters.succeeded, counters.failed, counters.misfires, counters.convictions) == (3, 1, 1, 1)
    };
    wait_until("two good runs, a recovered one, a bad one and a misfire are counted", LONG, ended);
    cluster.await_quiet();
    let expect = |name: &str, n: f64| assert_eq!(sample(&node, name), n, "{name}");
    expect("carnelian_fires_total{outcome=\"succeeded\"}", 3.0);
    expect("carnelian_fires_total{outcome=\"failed\"}", 1.0);
    expect("carnelian_fires_total{outcome=\"misfired\"}", 1.0);
    expect("carnelian_misfires_total", 1.0);
    expect("carnelian_fire_duration_seconds_count", 4.0);
    expect("carnelian_trigger_lateness_seconds_count", 4.0);
    expect("carnelian_convictions_total", 1.0);
    expect("carnelian_recoveries_total{kind=\"recovered\"}", 1.0);
    expect("carnelian_recoveries_total{kind=\"lost\"}", 0.0);
    expect("carnelian_recoveries_total{kind=\"job_gone\"}", 1.0);
    expect("carnelian_dead_executions_total", 2.0);
    expect("carnelian_running", 0.0);
    expect("carnelian_workers{state=\"free\"}", 3.0);
    expect("carnelian_fenced_writes_total", 0.0);
    assert!(sample(&node, "carnelian_acquire_seconds_count") >= 1.0);
    assert!(sample(&node, "carnelian_checkin_seconds_count") >= 1.0);
    expect("carnelian_recovery_seconds_count", 1.0);
    assert!(sample(&node, "carnelian_lock_wait_seconds_count{lock=\"TRIGGER_ACCESS\"}") >= 2.0);
    assert!(sample(&node, "carnelian_lock_wait_seconds_count{lock=\"STATE_ACCESS\"}") >= 1.0);
    wait_until("the monitor sees one node", LONG, || {
        let seen = samples(&node.metrics_text());
        (seen.get("carnelian_instances{state=\"alive\"}"), seen.get("carnelian_instances{state=\"silent\"}"))
            == (Some(&1.0), Some(&0.0))
    });

    // The database refuses for a while: six tries, five of them again.
    cluster.database.refuse(Some("list calendars"));
    assert!(node.calendar_names().is_err());
    cluster.database.refuse(None);
    expect("carnelian_db_retries_total{class=\"unavailable\"}", 5.0);

    // Declared dead while it runs a job: the end of the job comes too late.
    let held = job("held", "hold");
    node.schedule_job(held.clone(), now("held", &held)).unwrap();
    wait_until("it runs", LONG, || node.running_here().iter().any(|run| run.running_for.is_some()));
    expect("carnelian_workers{state=\"busy\"}", 1.0);
    cluster.convict("n1");
    wait_until("it knows", LONG, || node.health().counters.failed_out == 1);
    end.send(()).unwrap();
    wait_until("the late end is refused", LONG, || node.health().counters.fenced_writes == 1);
    expect("carnelian_fenced_writes_total", 1.0);
    expect("carnelian_failed_out_total", 1.0);
    assert_eq!(node.health().services.iter().map(|service| service.panics).sum::<u64>(), 0);
}

#[test]
fn each_event_is_counted_on_memory() {
    each_event_is_counted(Cluster::new());
}

#[cfg(feature = "sqlite")]
#[test]
fn each_event_is_counted_on_sqlite() {
    each_event_is_counted(Cluster::on_sqlite());
}

#[cfg(feature = "postgres")]
#[test]
fn each_event_is_counted_on_postgres() {
    each_event_is_counted(Cluster::on_server(&crate::support::postgres_url()));
}

#[cfg(feature = "mysql")]
#[test]
fn each_event_is_counted_on_mysql() {
    each_event_is_counted(Cluster::on_server(&crate::support::mysql_url()));
}

/// DS-70: by the group of the job, or the job, and by node, where the settings ask for it; those
/// beyond the bound are one.
#[test]
fn fires_are_told_apart_by_group_or_job_if_that_is_asked_for() {
    for (told_by, first) in [("group", "first"), ("job", "first.a")] {
        let cluster = Cluster::new();
        let properties = format!(
            "carnelian.metrics.{told_by}Label = true\ncarnelian.metrics.maxGroups = 1\ncarnelian.metrics.nodeLabels = true"
        );
        let node = cluster.node_with("n1", &properties).job_fn("fine", |_: &mut JobContext| Ok(())).build().unwrap();
        node.start().unwrap();
        for (group, name) in [("first", "a"), ("second", "b"), ("third", "c")] {
            let detail = JobDetail::builder(JobKey::new(group, name), "fine").build().unwrap();
            node.schedule_job(detail.clone(), now(name, &detail)).unwrap();
            let is_gone = || node.running_here().is_empty() && !node.job_exists(detail.key()).unwrap();
            wait_until("it has run", LONG, is_gone);
        }
        let own = format!("scheduler=\"{}\",node=\"n1\"", cluster.name);
        for (value, runs) in [(first, 1.0), ("other", 2.0)] {
            let labels = format!("{own},{told_by}=\"{value}\"");
            assert_eq!(sample(&node, &format!("carnelian_fires_total{{{labels},outcome=\"succeeded\"}}")), runs);
            assert_eq!(sample(&node, &format!("carnelian_fire_duration_seconds_count{{{labels}}}")), runs);
        }
        assert_eq!(sample(&node, &format!("carnelian_running{{{own}}}")), 0.0);
        // QZ-14: each of them has waited for its worker.
        assert_eq!(sample(&node, &format!("carnelian_worker_wait_seconds_count{{{own}}}")), 3.0);
    }
}

/// DS-73: the fields of health, and who else is there.
#[test]
fn health_names_the_living_nodes_and_what_they_run() {
    let cluster = Cluster::new();
    let (end, ends) = bounded::<()>(0);
    let properties = "carnelian.monitor.interval = 50ms";
    let hold = move |_: &mut JobContext| Ok(ends.recv()?);
    let a = cluster.node_with("a", properties).job_fn("hold", hold).build().unwrap();
    let b = cluster.node_with("b", properties).build().unwrap();
    assert_eq!((a.health().to_json()["status"].as_str(), a.health().is_ready()), (Some("standby"), false));
    a.start().unwrap();
    b.start().unwrap();
    let detail = job("held", "hold");
    a.schedule_job(detail.clone(), now("held", &detail)).unwrap();
    let executors = || {
        let health = b.health().to_json();
        let seen = |one: &serde_json::Value| (one["instance"].as_str().map(str::to_owned), one["running"].as_u64());
        health["executors"].as_array().unwrap().iter().map(seen).collect::<Vec<_>>()
    };
    let expected = [(Some("a".to_owned()), Some(1)), (Some("b".to_owned()), Some(0))];
    wait_until("b sees that a runs a job", LONG, || executors() == expected);
    // The monitor of `a` looks when it has time, which may be later.
    wait_until("a sees itself", LONG, || a.health().executors.iter().all(|e| e.last_seen.is_some()));
    assert!(a.health().is_live() && a.health().is_ready());
    end.send(()).unwrap();
    wait_until("it has ended", LONG, || a.health().completed == 1);
    let json = a.health().to_json();
    assert_eq!(json["scheduler"].as_str(), Some(&*cluster.name));
    assert_eq!((&json["status"], &json["completed"], &json["failed"]), (&"running".into(), &1.into(), &0.into()));
    a.standby();
    assert_eq!((a.health().to_json()["status"].as_str(), a.health().is_ready()), (Some("standby"), false));
    a.shutdown_and_wait();
    assert_eq!((a.health().to_json()["status"].as_str(), a.health().is_live()), (Some("stopped"), true));
    wait_until("b does not see a any more", LONG, || executors() == expected[1..]);
}
