//! Nodes with wrong wall clocks (scenario 6; QZ-36, QZ-45): a minute ahead, a minute behind,
//! jumping. No node is taken for dead, no check-in stalls, and every fire runs once.

use super::support::wait_until;
use super::*;
use carnelian::clock::{Signal, Woken};
use carnelian::history::{FireOutcome, HistoryQuery};
use carnelian::{JobContext, JobDetail, JobKey, Scheduler, SimpleSchedule, Trigger, TriggerKey};
use chrono::{DateTime, TimeDelta, Utc};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

const MINUTE: i64 = 60_000;

/// The system's clock, but for the wall.
#[derive(Default)]
struct Skewed {
    clock: SystemClock,
    off_ms: AtomicI64,
}

impl Skewed {
    fn by(off_ms: i64) -> Arc<Self> {
        let skewed = Self::default();
        skewed.off_ms.store(off_ms, Ordering::SeqCst);
        Arc::new(skewed)
    }
}

impl Clock for Skewed {
    fn wall_time(&self) -> DateTime<Utc> {
        self.clock.wall_time() + TimeDelta::milliseconds(self.off_ms.load(Ordering::SeqCst))
    }
    fn ticks(&self) -> Duration {
        self.clock.ticks()
    }
    fn wait(&self, signal: &Signal, until: Option<Duration>) -> Woken {
        self.clock.wait(signal, until)
    }
}

fn node(place: &Place, name: &str, clock: &Arc<Skewed>, ran: &Arc<AtomicUsize>) -> Scheduler {
    let text = format!("{}scheduler.instanceId = {name}\n", place.text);
    let settings = Settings::from_text("test", &text, |_| None).unwrap();
    let ran = Arc::clone(ran);
    let tick = move |_: &mut JobContext| {
        ran.fetch_add(1, Ordering::SeqCst);
        Ok(())
    };
    let clock: Arc<dyn Clock> = Arc::clone(clock) as _;
    let builder = Scheduler::builder().settings(settings).clock(clock);
    let scheduler = builder.job_fn("tick", tick).build().unwrap();
    scheduler.start().unwrap();
    scheduler
}

/// The number of fires of a trigger, one each 100 ms: enough for several windows of failure
/// detection.
const FIRES: u32 = 50;

fn schedule(node: &Scheduler) {
    let job = JobDetail::builder(JobKey::named("tick"), "tick").durable(true).requests_recovery(true).build().unwrap();
    let every = SimpleSchedule::every(Duration::from_millis(100)).repeat(FIRES - 1);
    let trigger = Trigger::builder(TriggerKey::named("tick"), job.key().clone()).schedule(every);
    node.schedule_job(job, trigger.build().unwrap()).unwrap();
}

/// Nobody was taken for dead, and no fire was lost.
fn assert_calm(place: &Place, nodes: &[Scheduler]) {
    for node in nodes {
        let health = node.health();
        let counters = health.counters;
        // A wall clock that jumps ahead looks like a pause of the machine: a suspicion, until the
        // check-in that follows at once.
        assert!(health.is_registered, "{}: {health:?}", place.database);
        assert_eq!((counters.failed_out, counters.lost, counters.fenced_writes), (0, 0, 0), "{counters:?}");
    }
    // A busy machine lets a node be late now and then.
    let alive = || nodes[0].instances().unwrap().iter().map(|node| node.alive).collect::<Vec<_>>();
    wait_until("all check in", LONG, || alive() == [true; 3]);
    assert!(nodes[0].history(&HistoryQuery::new().outcome(FireOutcome::Lost)).unwrap().is_empty());
}

fn end(place: Place, nodes: &[Scheduler]) {
    for node in nodes {
        assert!(node.shutdown_and_wait().is_clean());
    }
    place.end();
}

/// The database's clock decides: nodes of one cluster are two minutes apart, and one of them jumps.
fn nodes_apart(database: &'static str) {
    let place = Place::new(database, "carnelian.scheduler.pollInterval = 50ms\n", Arc::new(SystemClock::default()));
    let ran = Arc::default();
    let clocks = [Skewed::by(MINUTE), Skewed::by(-MINUTE), Skewed::by(0)];
    let nodes: Vec<Scheduler> =
        ["ahead", "behind", "jumps"].iter().zip(&clocks).map(|(name, clock)| node(&place, name, clock, &ran)).collect();
    schedule(&nodes[0]);
    let mut jumps = 0;
    wait_until("all have run", LONG, || {
        let count = ran.load(Ordering::SeqCst);
        // Again and again, as far as an hour.
        if count / 5 > jumps {
            jumps += 1;
            let off_ms = [60 * MINUTE, -MINUTE, MINUTE, -60 * MINUTE][jumps % 4];
            clocks[2].off_ms.store(off_ms, Ordering::SeqCst);
        }
        assert_calm(&place, &nodes);
        count >= FIRES as usize
    });
    assert!(jumps >= 8);
    assert_eq!(ran.load(Ordering::SeqCst), FIRES as usize);
    end(place, &nodes);
}

#[test]
fn nodes_a_minute_apart_do_not_take_each_other_for_dead_on_postgres() {
    nodes_apart("postgres");
}

#[test]
fn nodes_a_minute_apart_do_not_take_each_other_for_dead_on_mysql() {
    nodes_apart("mysql");
}

/// The nodes of an SQLite file are on one machine, and have one wall clock; when that jumps, ahead
/// and back, nobody is dead.
#[test]
fn a_machine_whose_clock_jumps_takes_no_node_for_dead_on_sqlite() {
    let clock = Skewed::by(0);
    let place = Place::new("sqlite", "carnelian.scheduler.pollInterval = 50ms\n", Arc::clone(&clock) as _);
    let ran = Arc::default();
    let nodes: Vec<Scheduler> = ["a", "b", "c"].iter().map(|name| node(&place, name, &clock, &ran)).collect();
    schedule(&nodes[0]);
    wait_until("some have run", LONG, || ran.load(Ordering::SeqCst) >= 5);
    for off_ms in [-MINUTE, MINUTE, 0, 60 * MINUTE] {
        clock.off_ms.store(off_ms, Ordering::SeqCst);
        // No check-in stalls: all have checked in by the new time, again and again, and nobody is
        // taken for dead.
        let mut seen = std::collections::BTreeSet::new();
        wait_until("all have checked in ten times", LONG, || {
            assert_calm_but_late(&place, &nodes);
            let all = nodes[0].instances().unwrap();
            seen.extend(all.into_iter().map(|node| (node.instance, node.last_checkin)));
            ["a", "b", "c"].iter().all(|name| seen.iter().filter(|(instance, _)| instance == name).count() >= 10)
        });
    }
    wait_until("all have run", LONG, || nodes[0].trigger(&TriggerKey::named("tick")).unwrap().is_none());
    end(place, &nodes);
}

/// As [`assert_calm`], but for what the table says of a check-in in the moment of a jump.
fn assert_calm_but_late(place: &Place, nodes: &[Scheduler]) {
    for node in nodes {
        let health = node.health();
        // A wall clock that jumps ahead looks like a pause of the machine: a suspicion, until the
        // check-in that follows at once.
        assert!(health.is_registered, "{}: {health:?}", place.database);
        assert_eq!((health.counters.failed_out, health.counters.lost), (0, 0));
    }
    assert_eq!(nodes[0].instances().unwrap().len(), 3);
}
