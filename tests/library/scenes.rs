//! Scenes that the simulator has come upon by chance, once in thousands of runs, played again with
//! each step by hand: nodes without threads, on a store in memory whose faults are planned.
#![cfg(feature = "test-util")]

use carnelian::clock::{Clock, Signal, Woken};
use carnelian::settings::Settings;
use carnelian::stepped::{Began, SteppedNode, SteppedRun, seed_random_numbers};
use carnelian::store::faults::Fault;
use carnelian::store::{JobStore, MemoryDatabase};
use carnelian::testing::UnknownMachine;
use carnelian::{FailureClass, JobContext, JobDetail, JobKey, Scheduler, StopReason, Trigger, TriggerKey};
use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Stands still until it is moved, or somebody waits on it.
#[derive(Default)]
struct StageClock {
    ticks: Mutex<Duration>,
    /// Happens before each wait.
    meanwhile: Mutex<Option<Box<dyn FnMut() + Send>>>,
}

impl std::fmt::Debug for StageClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("StageClock").field(&self.ticks()).finish()
    }
}

impl StageClock {
    fn advance(&self, by: Duration) {
        *self.ticks.lock() += by;
    }
}

impl Clock for StageClock {
    fn wall_time(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(1_800_000_000_000).unwrap() + TimeDelta::from_std(self.ticks()).unwrap()
    }

    fn ticks(&self) -> Duration {
        *self.ticks.lock()
    }

    fn wait(&self, signal: &Signal, until: Option<Duration>) -> Woken {
        let meanwhile = self.meanwhile.lock().take();
        if let Some(mut happens) = meanwhile {
            happens();
            *self.meanwhile.lock() = Some(happens);
        }
        signal.take_news().unwrap_or_else(|| {
            let mut now = self.ticks.lock();
            *now = now.max(until.unwrap_or_default());
            Woken::TimedOut
        })
    }
}

/// A store on which nodes act.
struct Stage {
    clock: Arc<StageClock>,
    database: MemoryDatabase,
}

/// A node of which each step is told.
struct Actor {
    stepped: SteppedNode,
    database: Arc<MemoryDatabase>,
    scheduler: Scheduler,
}

impl Stage {
    fn new() -> Self {
        seed_random_numbers(Some(0));
        let clock = Arc::new(StageClock::default());
        Self { database: MemoryDatabase::new(Arc::clone(&clock) as _), clock }
    }

    fn enters(&self, name: &str) -> Actor {
        let database = Arc::new(self.database.beside());
        let store = JobStore::new(Arc::clone(&database) as _, Arc::clone(&self.clock) as _, Settings::default());
        let scheduler = Scheduler::builder()
            .store(store)
            .clock(Arc::clone(&self.clock) as _)
            .machine(Arc::new(UnknownMachine))
            .instance_id(name)
            .job_fn("work", |_: &mut JobContext| Ok::<_, carnelian::JobError>(()))
            .build()
            .unwrap();
        let stepped = scheduler.start_stepped().unwrap();
        Actor { stepped, database, scheduler }
    }
}

impl Actor {
    fn passes(&mut self, service: &str) {
        let at = self.stepped.services().position(|name| name == service).unwrap();
        self.stepped.pass(at);
    }

    /// Stores a job that is due at once, and asks for recovery.
    fn stores_work(&self) {
        let job = JobDetail::builder(JobKey::named("j"), "work").requests_recovery(true).build().unwrap();
        let trigger = Trigger::builder(TriggerKey::named("t"), job.key().clone()).data("what", "the first");
        self.scheduler.schedule_job(job, trigger.build().unwrap()).unwrap();
    }

    /// Takes what is due, and begins the one fire that it has then.
    fn begins(&mut self) -> SteppedRun {
        self.passes("acquirer");
        let fire = self.stepped.take().expect("a fire");
        match self.stepped.begin(fire) {
            Began::Run(run) => run,
            Began::Later(_) | Began::Not => panic!("it does not begin"),
        }
    }
}

/// A node goes on to check in, and the beats of its fire do not: others may find the fire silent
/// before the lease of its node ends (seed 10002546 of the simulator).
#[test]
fn a_fire_that_others_may_find_silent_is_not_held_though_its_node_has_its_lease() {
    let stage = Stage::new();
    let mut node = stage.enters("a");
    node.stores_work();
    let run = node.begins();
    // A run that is younger than half the interval of the beats has none yet.
    stage.clock.advance(3 * SECOND);
    node.passes("heartbeat");
    // Others take it for dead three intervals of 5 s and the tolerance of 7.5 s later, and the node
    // doubts 1.5 s before.
    for passed in 1..=20 {
        assert!(run.context().holds_fire(), "after {passed} s");
        stage.clock.advance(SECOND);
        node.passes("cluster");
    }
    stage.clock.advance(SECOND);
    node.passes("cluster");
    assert!(!node.scheduler.health().is_suspicious);
    assert!(!run.context().holds_fire(), "others may find it silent");
    node.passes("heartbeat");
    assert!(run.context().holds_fire(), "nobody has, and now they will not");
}

/// A run that somebody has cancelled is over, also if it ends while its node doubts its fire: a
/// doubt takes the place of no other reason.
#[test]
fn a_doubt_takes_the_place_of_no_wish() {
    let stage = Stage::new();
    let mut node = stage.enters("a");
    node.stores_work();
    let run = node.begins();
    assert_eq!(node.scheduler.interrupt(&JobKey::named("j")), 1);
    stage.clock.advance(30 * SECOND);
    assert!(!run.context().holds_fire());
    assert_eq!(run.context().stop_reason(), Some(StopReason::Cancelled));
}

/// A process stood still after a worker had taken a fire, and longer than its lease lasts. Then the
/// node is told to end: the fire has not begun, and somebody else is to do its work.
#[test]
fn a_fire_that_waits_for_the_lease_of_a_node_that_ends_goes_on_elsewhere() {
    let stage = Stage::new();
    let mut node = stage.enters("a");
    let job = JobDetail::builder(JobKey::named("j"), "work").build().unwrap();
    let trigger = Trigger::builder(TriggerKey::named("t"), job.key().clone()).build().unwrap();
    node.scheduler.schedule_job(job, trigger).unwrap();
    node.passes("acquirer");
    let fire = node.stepped.take().expect("a fire");
    stage.clock.advance(60 * SECOND);
    let Began::Later(fire) = node.stepped.begin(fire) else { panic!("its lease is over") };
    let Actor { mut stepped, scheduler, .. } = node;
    let (end, mut waiting) = (stepped.end(), Some(fire));
    let clock = Arc::clone(&stage.clock);
    *stage.clock.meanwhile.lock() = Some(Box::new(move || {
        waiting = waiting.take().and_then(|fire| match stepped.begin(fire) {
            Began::Later(fire) => Some(fire),
            Began::Not => None,
            Began::Run(_) => panic!("it begins without a lease"),
        });
        let names: Vec<_> = stepped.services().collect();
        for (service, name) in names.into_iter().enumerate() {
            // No check-in comes between.
            let is_free = name != "cluster" || waiting.is_none();
            if is_free && stepped.due(service).is_some_and(|at| at <= clock.ticks()) {
                stepped.pass(service);
            }
        }
    }));
    let report = scheduler.shut_down_stepped(end, true);
    *stage.clock.meanwhile.lock() = None;
    assert!(report.is_clean(), "{report:?}");
    let mut other = stage.enters("b");
    let run = other.begins();
    assert_eq!(run.context().trigger().key().group(), "INTERRUPTED_JOBS");
    other.stepped.finish(run);
}

/// A recovery was taken, could neither begin nor be given back, and goes on: it still is one, with
/// the data that say of what (seed 500010849 of the simulator).
#[test]
fn a_recovery_that_does_not_begin_where_it_was_taken_stays_a_recovery() {
    let stage = Stage::new();
    let mut dead = stage.enters("a");
    dead.stores_work();
    let first = dead.begins();
    let first_id = first.context().fire_id().to_owned();
    dead.database.faults().lose_for_good();
    stage.clock.advance(23 * SECOND);

    let mut node = stage.enters("b");
    node.passes("cluster");
    stage.clock.advance(23 * SECOND);
    node.passes("cluster");
    node.passes("acquirer");
    assert!(node.stepped.has_work(), "it has taken the recovery");
    let database = Arc::clone(&node.database);
    let fails = move || database.faults().plan(1, Fault::Statement(FailureClass::Permanent));
    node.database.faults().meanwhile("take fires back", 1, fails);
    node.scheduler.standby();
    node.passes("acquirer");
    node.passes("completer");
    assert!(!node.stepped.has_work() && !node.database.faults().cancel(), "it has given it up");

    let mut next = stage.enters("c");
    let run = next.begins();
    let recovering = run.context().recovering().expect("it recovers a fire");
    assert_eq!(recovering.root_fire_id.as_ref(), Some(&first_id));
    assert_eq!(recovering.trigger, TriggerKey::named("t"));
    assert_eq!(run.context().data().text("what"), Some("the first"));
}
