//! The database goes away in the middle of acquire, complete and check-in (scenario 7; QZ-44), for
//! longer than a node may be silent: it commits, does not answer, and is gone. Afterwards every
//! fire runs to its end, and no trigger stays `ACQUIRED` or `BLOCKED`. On every database.

use crate::scheduler::fixture::{Cluster, LONG, errors_in_a_row, job, now};
use crate::support::{mysql_url, postgres_url, wait_until};
use carnelian::clock::Signal;
use carnelian::clock::{Clock, SystemClock};
use carnelian::history::{FireOutcome, HistoryQuery};
use carnelian::monitoring::ServiceState;
use carnelian::store::Database;
use carnelian::{
    IfExists, JobContext, JobDetail, JobKey, JobPolicy, Scheduler, SimpleSchedule, StopReason, Trigger, TriggerKey,
    TriggerState,
};
use crossbeam_channel::{bounded, unbounded};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Longer than the window of the nodes: 300 ms and 900 ms.
const OUTAGE: Duration = Duration::from_millis(1_500);

const CHECK_IN: &str = "check in";

fn cluster(database: &str) -> Cluster {
    let mut cluster = match database {
        "sqlite" => Cluster::on_sqlite(),
        "postgres" => Cluster::on_server(&postgres_url()),
        _ => Cluster::on_server(&mysql_url()),
    };
    cluster.checkin_interval = Duration::from_millis(300);
    cluster.tolerance = Duration::from_millis(900);
    cluster
}

fn node(cluster: &Cluster, name: &str, ran: &Arc<Mutex<BTreeMap<String, u32>>>) -> Scheduler {
    let ran = Arc::clone(ran);
    let builder = cluster.node_with(name, "threadPool.threadCount = 3\ncarnelian.scheduler.pollInterval = 50ms\n");
    let work = move |ctx: &mut JobContext| {
        // By its job: the work of a fire that was lost is done by another trigger.
        *ran.lock().entry(ctx.job().key().name().to_owned()).or_default() += 1;
        // Some end in the middle of the outage.
        ctx.wait(Duration::from_millis(100));
        Ok(())
    };
    let node = builder.job_fn("work", work).build().unwrap();
    node.start().unwrap();
    node
}

/// Two nodes work off jobs, some alone and some not, while the answers of `purpose` are lost and
/// the database with them.
fn gone_in_the_middle_of(purpose: &'static str, database: &str) {
    let cluster = cluster(database);
    let ran = Arc::default();
    let nodes = [node(&cluster, "a", &ran), node(&cluster, "b", &ran)];
    let mut was_off = false;
    match purpose {
        // A check-in that finds nothing is too small to be lost: check-ins are refused instead.
        CHECK_IN => cluster.database.refuse(Some(purpose)),
        _ => cluster.database.lose_answer_of(purpose),
    }
    let stored: Vec<String> = (0..12).map(|n| format!("t{n}")).collect();
    for (n, name) in stored.iter().enumerate() {
        let job = JobDetail::builder(JobKey::new("g", name), "work").requests_recovery(true);
        let job = job.disallow_concurrent_execution(n % 2 == 0).build().unwrap();
        let trigger = if n % 3 == 0 { twice(name, &job) } else { now(name, &job) };
        // The database may be gone before the last jobs are stored: these are stored when it is
        // back.
        while nodes[0].schedule_job(job.clone(), trigger.clone()).is_err() {
            was_off |= wait_out(&cluster);
        }
    }
    if purpose == CHECK_IN {
        // Nodes that cannot check in distrust themselves, take nothing, and have not been heard of
        // for a whole window.
        let silent = |node: &Scheduler| node.health().since_checkin.is_some_and(|silence| silence >= OUTAGE);
        wait_until("both are silent", LONG, || nodes.iter().all(silent));
        assert!(nodes.iter().all(|node| node.health().is_suspicious));
        cluster.database.refuse(None);
    } else if !was_off {
        wait_until("the database is gone", LONG, || cluster.database.is_off());
        wait_out(&cluster);
    }
    wait_until("all have run, and nothing is left", LONG, || {
        let done = stored.iter().all(|name| ran.lock().contains_key(name));
        done && cluster.store().upkeep().snapshot().is_ok_and(|s| s.fired.is_empty() && s.triggers.is_empty())
    });
    cluster.assert_sound();
    assert!(nodes.iter().all(|node| node.shutdown_and_wait().is_clean()));
    cluster.store().database().forget_scheduler().unwrap();
}

/// Fires now and once more soon.
fn twice(name: &str, job: &JobDetail) -> Trigger {
    let schedule = SimpleSchedule::every(Duration::from_millis(300)).repeat(1);
    Trigger::builder(TriggerKey::new("g", name), job.key().clone()).schedule(schedule).build().unwrap()
}

/// The outage lasts; then the database is back. False if there was none.
fn wait_out(cluster: &Cluster) -> bool {
    let (clock, nobody) = (SystemClock::default(), Signal::default());
    let was_off = cluster.database.is_off();
    if was_off {
        clock.wait(&nobody, Some(clock.ticks() + OUTAGE));
        cluster.database.turn(true);
    }
    was_off
}

fn everywhere(purpose: &'static str) {
    for database in ["sqlite", "postgres", "mysql"] {
        println!("on {database}");
        gone_in_the_middle_of(purpose, database);
    }
}

#[test]
fn nothing_is_stuck_after_an_outage_in_the_middle_of_an_acquisition() {
    everywhere("acquire triggers");
}

#[test]
fn nothing_is_stuck_after_an_outage_in_the_middle_of_a_completion() {
    everywhere("complete fires");
}

#[test]
fn nothing_is_stuck_after_an_outage_in_the_middle_of_a_check_in() {
    everywhere(CHECK_IN);
}

/// Runs are watched by their node, which needs nobody for it: a job that takes too long is told to
/// stop while the database refuses, and not by the end of the lease, as if its node had to end it.
#[test]
fn a_run_is_told_of_its_timeout_while_the_database_refuses() {
    let mut cluster = Cluster::new();
    cluster.tolerance = Duration::from_secs(60);
    let (began, begins) = bounded(1);
    let (told, tells) = bounded(1);
    let slow = move |ctx: &mut JobContext| {
        began.send(())?;
        while !ctx.should_stop() {
            ctx.wait(Duration::from_millis(20));
        }
        Ok(told.send(ctx.stop_reason())?)
    };
    let node =
        cluster.node_with("a", "carnelian.scheduler.heartbeatInterval = 100ms\n").job_fn("slow", slow).build().unwrap();
    node.start().unwrap();
    let policy = JobPolicy::new().timeout(Duration::from_millis(500));
    let job = JobDetail::builder(JobKey::named("j"), "slow").policy(policy).build().unwrap();
    node.schedule_job(job.clone(), now("t", &job)).unwrap();
    begins.recv_timeout(LONG).unwrap();
    cluster.database.turn(false);
    assert_eq!(tells.recv_timeout(LONG).unwrap(), Some(StopReason::TimedOut));
    cluster.database.turn(true);
    assert!(node.shutdown_and_wait().is_clean());
}

/// A heartbeat may wait for a connection or an answer for half a minute: runs are watched
/// meanwhile.
#[test]
fn a_run_is_told_of_its_timeout_while_a_heartbeat_waits_for_its_answer() {
    let mut cluster = Cluster::new();
    cluster.tolerance = Duration::from_secs(60);
    let (comes, go) = cluster.database.hold_answer_of("beat");
    let (told, tells) = bounded(1);
    let slow = move |ctx: &mut JobContext| {
        // The run takes too long only once its heartbeat waits.
        comes.recv_timeout(LONG)?;
        while !ctx.should_stop() {
            ctx.wait(Duration::from_millis(20));
        }
        Ok(told.send(ctx.stop_reason())?)
    };
    let node =
        cluster.node_with("a", "carnelian.scheduler.heartbeatInterval = 100ms\n").job_fn("slow", slow).build().unwrap();
    node.start().unwrap();
    let policy = JobPolicy::new().timeout(Duration::from_millis(500));
    let job = JobDetail::builder(JobKey::named("j"), "slow").policy(policy).build().unwrap();
    node.schedule_job(job.clone(), now("t", &job)).unwrap();
    assert_eq!(tells.recv_timeout(LONG).unwrap(), Some(StopReason::TimedOut));
    go.send(()).unwrap();
    assert!(node.shutdown_and_wait().is_clean());
}

/// DS-98: an audit goes through all triggers, and may hang. Check-ins do not wait for it, so the
/// node that audits is not declared dead for it.
#[test]
fn an_audit_that_hangs_delays_no_check_in() {
    for mut cluster in
        [Cluster::new(), Cluster::on_sqlite(), Cluster::on_server(&postgres_url()), Cluster::on_server(&mysql_url())]
    {
        cluster.checkin_interval = Duration::from_millis(200);
        cluster.tolerance = Duration::from_secs(20);
        let (comes, go) = cluster.database.hold_answer_of("look for stray side rows");
        let a = cluster.node("a", 1).build().unwrap();
        a.start().unwrap();
        comes.recv_timeout(LONG).unwrap();
        let service = |name: &str| a.health().services.into_iter().find(|service| service.name == name).unwrap();
        let before = service("cluster").runs;
        wait_until("it has checked in a few times more", LONG, || service("cluster").runs > before + 5);
        assert_eq!(service("audit").state, carnelian::monitoring::ServiceState::Working, "it is still at it");
        go.send(()).unwrap();
        wait_until("the audit has ended", LONG, || {
            service("audit").state == carnelian::monitoring::ServiceState::Waiting
        });
        assert!(a.shutdown_and_wait().is_clean());
        cluster.store().database().forget_scheduler().unwrap();
    }
}

/// The node is told to end while the store is away. The store is back while the last job runs:
/// what never began is given back then, and not left to the peers, for whom it would have begun.
#[test]
fn fires_in_doubt_are_given_back_while_a_shutdown_waits_for_a_job() {
    for mut cluster in
        [Cluster::new(), Cluster::on_sqlite(), Cluster::on_server(&postgres_url()), Cluster::on_server(&mysql_url())]
    {
        println!("on {}", cluster.database.describe());
        cluster.checkin_interval = Duration::from_millis(500);
        cluster.tolerance = Duration::from_secs(60);
        let (ran, runs) = unbounded();
        let build = |name: &str| {
            let (go, gate) = bounded::<()>(0);
            let ran = ran.clone();
            let note = move |ctx: &mut JobContext| Ok(ran.send((ctx.job().key().name().to_owned(), ctx.attempt()))?);
            let gated = move |_: &mut JobContext| Ok(gate.recv()?);
            let node = cluster.node(name, 8).job_fn("note", note).job_fn("gated", gated).build().unwrap();
            node.start().unwrap();
            (node, go)
        };
        let (node, go) = build("n1");
        let long = job("long", "gated");
        node.schedule_job(long.clone(), now("long", &long)).unwrap();
        wait_until("it runs", LONG, || node.running_here().len() == 1);
        let names = ["j0", "j1", "j2", "j3"];
        let alone = |name| JobDetail::builder(JobKey::named(name), "note").disallow_concurrent_execution(name < "j2");
        let details = names.map(|name| alone(name).build().unwrap());
        let work = details.map(|detail| (detail.clone(), vec![now(detail.key().name(), &detail)]));
        cluster.database.lose_answer_of("acquire triggers");
        node.schedule_jobs(work.into(), IfExists::Refuse).unwrap();
        wait_until("the answer was lost", LONG, || cluster.database.is_off());
        wait_until("the acquirer knows", LONG, || errors_in_a_row(&node, "acquirer") > 0);
        let report = std::thread::scope(|scope| {
            let ends = scope.spawn(|| node.shutdown_and_wait());
            let state = || node.health().services.iter().find(|one| one.name == "acquirer").map(|one| one.state);
            wait_until("the acquirer has ended", LONG, || state() == Some(ServiceState::Stopped));
            cluster.database.turn(true);
            let state = |name: &str| cluster.store().catalogue().trigger_state(&TriggerKey::new("g", name)).unwrap();
            let are_free = || names.iter().all(|name| state(name) == Some(TriggerState::Waiting));
            let freed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                wait_until("they are given back", LONG, are_free);
            }));
            go.send(()).unwrap();
            let report = ends.join().unwrap();
            freed.unwrap();
            report
        });
        assert!(report.is_clean(), "{report:?}");
        let (peer, _) = build("n2");
        let mut seen: Vec<_> = names.iter().map(|_| runs.recv_timeout(LONG).unwrap()).collect();
        seen.sort();
        assert_eq!(seen, names.map(|name| (name.to_owned(), 0)));
        cluster.await_quiet();
        assert!(peer.shutdown_and_wait().is_clean());
        let counters = node.health().counters;
        assert_eq!((counters.succeeded, counters.lost, counters.fenced_writes), (1, 0, 0));
        let ends = peer.history(&HistoryQuery::new()).unwrap();
        assert!(ends.iter().all(|row| row.outcome == FireOutcome::Succeeded), "{ends:?}");
        cluster.assert_sound();
        cluster.store().database().forget_scheduler().unwrap();
    }
}
