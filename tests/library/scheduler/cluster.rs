//! Several nodes; outages, convictions, lost answers.

use crate::scheduler::fixture::{Cluster, LONG, errors_in_a_row, job, now};
use crate::support::wait_until;
use carnelian::store::{AcquireRequest, Membership};
use carnelian::{GroupMatcher, IfExists, JobContext, JobDetail, JobKey, Scheduler, TriggerKey, TriggerState};
use crossbeam_channel::{bounded, unbounded};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn two_nodes_share_a_backlog_and_run_each_fire_once() {
    const TRIGGERS: usize = 1000;
    let cluster = Cluster::new();
    let runs: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
    let nodes: Vec<Scheduler> = ["n1", "n2"]
        .iter()
        .map(|name| {
            let runs = Arc::clone(&runs);
            let note = move |ctx: &mut JobContext| {
                *runs.lock().entry(ctx.trigger().key().to_string()).or_default() += 1;
                Ok(())
            };
            cluster.node(name, 4).job_fn("note", note).build().unwrap()
        })
        .collect();
    let work = (0..TRIGGERS)
        .map(|n| {
            let detail = job(&format!("j{n}"), "note");
            let trigger = now(&format!("t{n}"), &detail);
            (detail, vec![trigger])
        })
        .collect();
    nodes[0].schedule_jobs(work, IfExists::Refuse).unwrap();
    nodes.iter().for_each(|node| node.start().unwrap());
    wait_until("all have run", LONG, || runs.lock().len() == TRIGGERS);
    cluster.await_quiet();
    assert!(runs.lock().values().all(|count| *count == 1));
    assert!(nodes[0].triggers(&GroupMatcher::Any).unwrap().is_empty());
    for node in &nodes {
        assert!(node.shutdown_and_wait().is_clean());
        let counters = node.health().counters;
        assert_eq!((counters.failed, counters.fenced_writes, counters.lost), (0, 0, 0));
    }
    cluster.assert_sound();
}

#[test]
fn a_job_that_wants_to_be_alone_is_alone_in_the_cluster() {
    const TRIGGERS: usize = 40;
    let cluster = Cluster::new();
    let (inside, runs) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicUsize::new(0)));
    let nodes: Vec<Scheduler> = ["n1", "n2"]
        .iter()
        .map(|name| {
            let (inside, runs) = (Arc::clone(&inside), Arc::clone(&runs));
            let alone = move |_: &mut JobContext| {
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                std::thread::yield_now();
                inside.fetch_sub(1, Ordering::SeqCst);
                runs.fetch_add(1, Ordering::SeqCst);
                Ok(())
            };
            cluster.node(name, 3).job_fn("alone", alone).build().unwrap()
        })
        .collect();
    let detail = JobDetail::builder(JobKey::named("j"), "alone").disallow_concurrent_execution(true).build().unwrap();
    let triggers = (0..TRIGGERS).map(|n| now(&format!("t{n}"), &detail)).collect();
    nodes[0].schedule_jobs(vec![(detail, triggers)], IfExists::Refuse).unwrap();
    nodes.iter().for_each(|node| node.start().unwrap());
    // The other node learns of an end by its poll, so this takes some of them.
    wait_until("all have run", LONG, || runs.load(Ordering::SeqCst) == TRIGGERS);
    cluster.await_quiet();
    assert_eq!(nodes.iter().map(|node| node.health().counters.failed).sum::<u64>(), 0);
    cluster.assert_sound();
}

#[test]
fn a_node_leaves_job_types_alone_that_it_does_not_know() {
    let cluster = Cluster::new();
    let (ran, runs) = unbounded();
    let ignorant = cluster.node("n1", 1).job_fn("other", |_: &mut JobContext| Ok(())).build().unwrap();
    ignorant.start().unwrap();
    let detail = job("j", "known to n2");
    ignorant.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    let knowing = cluster.node("n2", 1).build().unwrap();
    knowing.start().unwrap();
    assert_eq!(knowing.trigger_state(&TriggerKey::new("g", "t")).unwrap(), Some(TriggerState::Waiting));
    knowing.register_job("known to n2", move |_: &mut JobContext| Ok(ran.send(())?)).unwrap();
    runs.recv_timeout(LONG).unwrap();
    assert_eq!(ignorant.health().counters.succeeded, 0);
    cluster.await_quiet();
}

/// A node with a long job that reports whether it still holds its fire.
fn holding_node(cluster: &Cluster) -> (Scheduler, crossbeam_channel::Receiver<bool>, crossbeam_channel::Sender<()>) {
    let (saw, sights) = unbounded();
    let (end, ends) = bounded::<()>(0);
    let watch = move |ctx: &mut JobContext| {
        let mut held = None;
        while ends.try_recv().is_err() {
            if held != Some(ctx.holds_fire()) {
                held = Some(ctx.holds_fire());
                saw.send(ctx.holds_fire())?;
            }
            let _ = ctx.wait(Duration::from_millis(5));
            std::thread::yield_now();
        }
        Ok(())
    };
    let node = cluster.node("n1", 2).job_fn("watch", watch).build().unwrap();
    node.start().unwrap();
    let detail = JobDetail::builder(JobKey::named("j"), "watch").requests_recovery(true).build().unwrap();
    node.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    (node, sights, end)
}

#[test]
fn in_an_outage_a_node_suspects_itself_and_afterwards_holds_its_fires_again() {
    let cluster = Cluster::with_checkin(Duration::from_millis(200), Duration::from_millis(400));
    let (node, sights, end) = holding_node(&cluster);
    assert!(sights.recv_timeout(LONG).unwrap());
    cluster.database.turn(false);
    assert!(!sights.recv_timeout(LONG).unwrap());
    assert!(node.health().is_suspicious);
    cluster.database.turn(true);
    assert!(sights.recv_timeout(LONG).unwrap());
    end.send(()).unwrap();
    wait_until("it is recorded", LONG, || node.health().unrecorded == 0 && node.running_here().is_empty());
    let counters = node.health().counters;
    assert_eq!((counters.succeeded, counters.failed_out, counters.fenced_writes), (1, 0, 0));
    assert!(counters.checkin_failures > 0);
    cluster.await_quiet();
    cluster.assert_sound();
}

/// H9: a peer sleeps its retry interval of 15 s after a failed check-in, and one blip of the
/// database is a conviction. Here it is tried again inside what remains of the window.
#[test]
fn a_check_in_that_fails_once_is_repeated_before_anybody_can_convict() {
    let cluster = Cluster::with_checkin(Duration::from_millis(200), Duration::from_secs(10));
    let node = cluster.node("n1", 1).build().unwrap();
    node.start().unwrap();
    let manager = || node.health().services.into_iter().find(|service| service.name == "cluster").unwrap();
    for _ in 0..3 {
        let failures = node.health().counters.checkin_failures;
        cluster.database.refuse(Some("check in"));
        wait_until("a check-in has failed", LONG, || node.health().counters.checkin_failures > failures);
        cluster.database.refuse(None);
        wait_until("it has checked in again", LONG, || {
            assert!(!node.health().is_suspicious, "the window was slept away");
            manager().errors_in_a_row == 0
        });
    }
}

/// H10: after an outage a peer's scheduler thread fires before its cluster thread has checked in,
/// while others convict the node. Here nothing is acquired, and nothing reserved is fired, as long
/// as the own check-in is too old.
#[test]
fn a_node_that_cannot_check_in_takes_no_work() {
    let cluster = Cluster::with_checkin(Duration::from_millis(200), Duration::from_millis(400));
    let node = cluster.node("n1", 2).job_fn("note", |_: &mut JobContext| Ok(())).build().unwrap();
    node.start().unwrap();
    cluster.database.refuse(Some("check in"));
    wait_until("it suspects itself", LONG, || node.health().is_suspicious);
    let detail = job("j", "note");
    node.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    let passes = || node.health().services.iter().find(|service| service.name == "acquirer").unwrap().runs;
    let before = passes();
    // The store answers; only the check-in does not. Each signal is a chance to do it wrong.
    wait_until("the acquirer has looked again and again", LONG, || {
        node.register_job("another", |_: &mut JobContext| Ok(())).unwrap();
        assert_eq!(node.trigger_state(&TriggerKey::new("g", "t")).unwrap(), Some(TriggerState::Waiting));
        passes() > before + 5
    });
    assert_eq!(node.health().counters.succeeded, 0);
    cluster.database.refuse(None);
    wait_until("it has run", LONG, || node.health().counters.succeeded == 1);
    cluster.await_quiet();
}

#[test]
fn a_node_declared_dead_learns_it_loses_its_fires_and_comes_back() {
    let cluster = Cluster::with_checkin(Duration::from_millis(200), Duration::from_secs(60));
    let (node, sights, end) = holding_node(&cluster);
    assert!(sights.recv_timeout(LONG).unwrap());
    cluster.convict("n1");
    assert!(!sights.recv_timeout(LONG).unwrap());
    wait_until("it is registered again", LONG, || node.instances().unwrap().len() == 1);
    wait_until("it may work again", LONG, || node.health().is_registered && !node.health().is_suspicious);
    assert!(node.running_here()[0].is_lost);
    end.send(()).unwrap();
    wait_until("the late end is refused", LONG, || node.health().counters.fenced_writes == 1);
    assert_eq!(node.health().counters.failed_out, 1);
    assert!(sights.try_recv().is_err(), "a lost fire is never held again");
    // The trigger's row is as the test's half conviction left it; new work is done as before.
    let detail = job("new", "watch");
    node.schedule_job(detail.clone(), now("new", &detail)).unwrap();
    assert!(sights.recv_timeout(LONG).unwrap());
    end.send(()).unwrap();
    wait_until("it is recorded", LONG, || node.health().unrecorded == 0 && node.running_here().is_empty());
}

/// A node whose polls are an hour apart runs what it has recovered at once.
#[test]
fn recovered_work_runs_without_waiting_for_a_poll() {
    let cluster = Cluster::with_checkin(Duration::from_millis(200), Duration::from_millis(400));
    let store = cluster.store();
    let mut dead = Membership::new("dead");
    store.upkeep().check_in(&mut dead).unwrap();
    let (ran, runs) = unbounded();
    let properties =
        "threadPool.threadCount = 1\ncarnelian.scheduler.pollInterval = 1h\nscheduler.idleWaitTime = 3600000";
    let work = move |ctx: &mut JobContext| Ok(ran.send(ctx.recovering().is_some())?);
    let node = cluster.node_with("n1", properties).job_fn("t", work).build().unwrap();
    let detail = JobDetail::builder(JobKey::named("j"), "t").requests_recovery(true).build().unwrap();
    store.catalogue().schedule(vec![(detail.clone(), vec![now("t", &detail)])], false).unwrap();
    let request = AcquireRequest {
        max: 1,
        prefetch: None,
        look_ahead_ms: 0,
        fire_ahead_ms: 0,
        job_types: &["t".to_owned()],
        quarantined: &BTreeSet::new(),
    };
    assert_eq!(store.firing().acquire(&dead.owner().unwrap(), &request).unwrap().fired.len(), 1);
    node.start().unwrap();
    assert!(runs.recv_timeout(LONG).unwrap());
    assert_eq!(node.health().counters.convictions, 1);
    cluster.await_quiet();
}

/// A recovery passes over a fire whose row a transaction holds: if the run fails then, nobody else
/// has its work.
#[cfg(feature = "test-util")]
#[test]
fn a_lost_run_that_fails_goes_on_if_no_recovery_has_taken_its_fire() {
    use carnelian::history::{FireOutcome, HistoryQuery};
    use carnelian::{JobError, recovery::RerunReason};
    let cluster = Cluster::with_checkin(Duration::from_millis(200), Duration::from_secs(60));
    let (ran, runs) = unbounded();
    let fails_once = move |ctx: &mut JobContext| {
        ran.send((ctx.fire_id().to_owned(), ctx.rerun().map(|rerun| rerun.reason)))?;
        if ctx.rerun().is_none() && !ctx.wait(LONG) {
            return Err(JobError::new("the fire is lost"));
        }
        Ok(())
    };
    let node = cluster.node("n1", 2).job_fn("fails once", fails_once).build().unwrap();
    node.start().unwrap();
    let detail = JobDetail::builder(JobKey::named("j"), "fails once").requests_recovery(true).build().unwrap();
    node.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    let (lost, _) = runs.recv_timeout(LONG).unwrap();
    let memory = cluster.memory.as_ref().unwrap();
    memory.hold(&lost);
    cluster.convict("n1");
    wait_until("the run has failed", LONG, || node.running_here().is_empty());
    assert_eq!((node.health().counters.failed_out, node.health().counters.lost), (1, 1));
    memory.let_go(&lost);
    assert_eq!(runs.recv_timeout(LONG).unwrap().1, Some(RerunReason::Interrupted));
    cluster.await_quiet();
    let mut ends = node.history(&HistoryQuery::new()).unwrap();
    ends.sort_by_key(|row| row.fired_ms);
    assert_eq!(ends.iter().map(|row| row.outcome).collect::<Vec<_>>(), [FireOutcome::Lost, FireOutcome::Succeeded]);
    assert_eq!(ends[1].root_fire_id, Some(lost));
    assert!(!node.job_exists(detail.key()).unwrap());
    cluster.assert_sound();
}

#[test]
fn fires_whose_acquisition_was_not_answered_are_not_forgotten() {
    let cluster = Cluster::with_checkin(Duration::from_millis(500), Duration::from_secs(60));
    let runs: Arc<Mutex<Vec<(String, i64)>>> = Arc::default();
    let noted = Arc::clone(&runs);
    let note = move |ctx: &mut JobContext| {
        noted.lock().push((ctx.job().key().name().to_owned(), ctx.attempt()));
        Ok(())
    };
    let node = cluster.node("n1", 8).job_fn("note", note).build().unwrap();
    node.start().unwrap();
    let work = (0..4)
        .map(|n| {
            let key = JobKey::named(format!("j{n}"));
            let detail = JobDetail::builder(key, "note").requests_recovery(n % 2 == 0).build().unwrap();
            let trigger = now(&format!("t{n}"), &detail);
            (detail, vec![trigger])
        })
        .collect();
    cluster.database.lose_answer_of("acquire triggers");
    node.schedule_jobs(work, IfExists::Refuse).unwrap();
    wait_until("the answer was lost", LONG, || cluster.database.is_off());
    wait_until("the acquirer knows", LONG, || errors_in_a_row(&node, "acquirer") > 0);
    cluster.database.turn(true);
    wait_until("all have run", LONG, || runs.lock().len() == 4);
    cluster.await_quiet();
    let mut runs = runs.lock().clone();
    runs.sort();
    // None of them had begun: they are what they were taken as, and no reruns.
    assert_eq!(runs, ["j0", "j1", "j2", "j3"].map(|name| (name.to_owned(), 0)));
    assert_eq!(node.health().counters.failed_out, 0);
    cluster.assert_sound();
}

#[test]
fn completions_wait_out_an_outage() {
    let cluster = Cluster::new();
    let (go, gate) = bounded::<()>(0);
    let node = cluster.node("n1", 2).job_fn("gated", move |_: &mut JobContext| Ok(gate.recv()?)).build().unwrap();
    node.start().unwrap();
    let detail = job("j", "gated");
    node.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    wait_until("it runs", LONG, || node.running_here().len() == 1);
    cluster.database.turn(false);
    go.send(()).unwrap();
    wait_until("the completer has failed", LONG, || errors_in_a_row(&node, "completer") > 0);
    assert_eq!((node.health().unrecorded, node.health().running), (1, 0));
    cluster.database.turn(true);
    wait_until("it is recorded", LONG, || node.health().unrecorded == 0);
    assert!(node.running_fires().unwrap().is_empty());
    assert!(node.shutdown_and_wait().is_clean());
    cluster.assert_sound();
}

#[test]
fn in_passive_mode_only_the_longest_serving_node_fires() {
    let cluster = Cluster::with_checkin(Duration::from_millis(200), Duration::from_secs(60));
    let properties = "threadPool.threadCount = 2\njobStore.isClustered = true\njobStore.dataSource = x\n\
        dataSource.x.URL = sqlite::memory:\ncarnelian.cluster.mode = active-passive";
    let build = |name: &str| {
        let node = cluster.node_with(name, properties).job_fn("note", |_: &mut JobContext| Ok(())).build().unwrap();
        node.start().unwrap();
        node
    };
    let (first, second) = (build("n1"), build("n2"));
    wait_until("the first is active", LONG, || first.health().is_active);
    assert!(!second.health().is_active);
    for n in 0..10 {
        let detail = job(&format!("j{n}"), "note");
        second.schedule_job(detail.clone(), now(&format!("t{n}"), &detail)).unwrap();
    }
    wait_until("all have run", LONG, || first.health().counters.succeeded == 10);
    assert!(first.shutdown_and_wait().is_clean());
    wait_until("the second is active", LONG, || second.health().is_active);
    let detail = job("last", "note");
    second.schedule_job(detail.clone(), now("last", &detail)).unwrap();
    wait_until("it has run", LONG, || second.health().counters.succeeded == 1);
    cluster.await_quiet();
}

/// After a fail-over to a replica that lacks the last commits, this node puts its forgotten rows
/// back. The rows are compared with memory: every trigger goes on, and no fire id is used twice.
#[cfg(feature = "test-util")]
#[test]
fn after_lost_commits_every_trigger_fires_again_and_no_id_is_used_twice() {
    use carnelian::{SimpleSchedule, Trigger};
    let cluster = Cluster::with_checkin(Duration::from_millis(200), Duration::from_secs(60));
    let ids: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
    let noted = Arc::clone(&ids);
    let note = move |ctx: &mut JobContext| {
        noted.lock().push((ctx.trigger().key().name().to_owned(), ctx.fire_id().to_owned()));
        Ok(())
    };
    let node = cluster.node("n1", 4).job_fn("note", note).build().unwrap();
    node.start().unwrap();
    let often = SimpleSchedule::every(Duration::from_millis(300));
    for n in 0..4 {
        let key = JobKey::new("g", format!("j{n}"));
        let detail = JobDetail::builder(key, "note").disallow_concurrent_execution(n % 2 == 0).build().unwrap();
        let trigger = Trigger::builder(TriggerKey::new("g", format!("t{n}")), detail.key().clone());
        node.schedule_job(detail, trigger.schedule(often.clone()).build().unwrap()).unwrap();
    }
    let runs = |name: &str| ids.lock().iter().filter(|(trigger, _)| trigger == name).count();
    let all_go_on = || {
        let before: Vec<usize> = (0..4).map(|n| runs(&format!("t{n}"))).collect();
        wait_until("all have fired again", LONG, || (0..4).all(|n| runs(&format!("t{n}")) >= before[n] + 2));
    };
    all_go_on();
    let faults = cluster.memory.as_ref().unwrap().faults();
    for purpose in ["fire triggers", "complete fires", "acquire triggers", "fire triggers", "complete fires"] {
        // A server that loses commits also loses connections.
        faults.forget(purpose);
        wait_until("it was lost", LONG, || !faults.is_about_to_forget());
        cluster.database.turn(false);
        // The acquirer asks nothing while the node registers anew, which it does once it knows.
        let has_failed = |service: &str| errors_in_a_row(&node, service) > 0;
        wait_until("the node has noticed", LONG, || has_failed("acquirer") || has_failed("cluster"));
        cluster.database.turn(true);
        all_go_on();
    }
    let mut seen: Vec<String> = ids.lock().iter().map(|(_, id)| id.clone()).collect();
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), count, "no id twice");
    // Rows that are left over from lost ends are found when rows and memory are compared the next
    // time.
    node.pause_all().unwrap();
    wait_until("nothing is left over", LONG, || cluster.store().upkeep().fired_triggers().unwrap().is_empty());
    let report = node.shutdown_and_wait();
    assert!(report.is_clean(), "{report:?}");
    cluster.assert_sound();
}
