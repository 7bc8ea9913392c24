//! Testing: a cluster in one thread, under a clock that a test moves, for tests of one's own jobs.
//!
//! The nodes are real ones, with their real services and rules, and without threads. Everything
//! that is due happens while the test moves the clock, one step after the other, in the same order
//! each time. A minute of a cluster takes milliseconds, and nothing waits.
//!
//! ```
//! use carnelian::settings::Settings;
//! use carnelian::testing::SimulatedCluster;
//! use carnelian::{JobContext, JobDetail, JobKey, Trigger, TriggerKey};
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicUsize, Ordering};
//! use std::time::Duration;
//!
//! let paid = Arc::new(AtomicUsize::new(0));
//! let payments = Arc::clone(&paid);
//! let mut cluster = SimulatedCluster::new("2027-01-15T08:00:00Z".parse()?, Settings::default(), move |node| {
//!     let payments = Arc::clone(&payments);
//!     node.job_fn("pay", move |_: &mut JobContext| {
//!         payments.fetch_add(1, Ordering::SeqCst);
//!         Ok(())
//!     })
//! })?;
//! cluster.start_node()?;
//! cluster.start_node()?;
//! let job = JobDetail::builder(JobKey::named("pay"), "pay").requests_recovery(true).build()?;
//! let trigger = Trigger::builder(TriggerKey::named("pay"), job.key().clone()).build()?;
//! cluster.scheduler().schedule_job(job, trigger)?;
//!
//! // The payment is made, and its node dies before anybody knows.
//! cluster.kill_at_next_end();
//! cluster.advance(Duration::from_secs(10));
//! assert_eq!((paid.load(Ordering::SeqCst), cluster.nodes().len()), (1, 1));
//! // The other node finds out, and runs the job again: a payment has to be safe to repeat.
//! cluster.advance(Duration::from_secs(30));
//! assert_eq!(paid.load(Ordering::SeqCst), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::clock::{Clock, Signal, Woken};
use crate::error::Result;
use crate::machine::{Machine, MachineReading};
use crate::scheduler::stepped::{Began, SteppedFire, SteppedNode, SteppedRun, seed_random_numbers};
use crate::scheduler::{Scheduler, SchedulerBuilder};
use crate::settings::Settings;
use crate::store::{JobStore, MemoryDatabase};
use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::Mutex;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The time after which a worker looks again whether its fire is its own.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Steps of one moment: more of them go round in circles.
const MOST_STEPS: u32 = 100_000;

/// The virtual clock of a [`SimulatedCluster`]: only [`SimulatedCluster::advance`] moves it, and
/// whoever waits in the middle of a step, who has the time that he waited for at once.
#[derive(Debug)]
struct VirtualClock {
    start: DateTime<Utc>,
    ticks: Arc<Mutex<Duration>>,
    /// True if the owner of the clock is dead: no wait lasts.
    is_stopped: AtomicBool,
}

impl VirtualClock {
    /// Another clock of the same time.
    fn beside(&self) -> Arc<Self> {
        Arc::new(Self { start: self.start, ticks: Arc::clone(&self.ticks), is_stopped: AtomicBool::new(false) })
    }

    fn advance_to(&self, ticks: Duration) {
        let mut now = self.ticks.lock();
        *now = ticks.max(*now);
    }
}

impl Clock for VirtualClock {
    fn wall_time(&self) -> DateTime<Utc> {
        let passed = TimeDelta::from_std(self.ticks()).unwrap_or(TimeDelta::MAX);
        self.start.checked_add_signed(passed).unwrap_or(DateTime::<Utc>::MAX_UTC)
    }

    fn ticks(&self) -> Duration {
        *self.ticks.lock()
    }

    fn wait(&self, signal: &Signal, until: Option<Duration>) -> Woken {
        if let Some(woken) = signal.take_news() {
            return woken;
        }
        if !self.is_stopped.load(Ordering::SeqCst) {
            self.advance_to(until.unwrap_or_default());
        }
        Woken::TimedOut
    }
}

/// A machine of which nothing is known, so that nothing differs from run to run. The nodes of a
/// [`SimulatedCluster`] run on it.
#[derive(Debug)]
pub struct UnknownMachine;

impl Machine for UnknownMachine {
    fn read(&self) -> MachineReading {
        MachineReading::default()
    }

    fn host(&self) -> Option<String> {
        None
    }

    fn address(&self) -> Option<IpAddr> {
        None
    }
}

/// A cluster of nodes without threads over one store in memory.
///
/// A job is called at the end of its run, in the thread of the test; a run takes no time unless
/// [`SimulatedCluster::let_runs_take`] says so. A wait of a job, such as for a stop, is over at
/// once.
pub struct SimulatedCluster {
    clock: Arc<VirtualClock>,
    database: MemoryDatabase,
    settings: Settings,
    configure: Box<dyn Fn(SchedulerBuilder) -> SchedulerBuilder>,
    console: Scheduler,
    nodes: Vec<SimulatedNode>,
    started: usize,
    run_time: Duration,
    kills_at_next_end: bool,
}

struct SimulatedNode {
    number: usize,
    runs: Vec<(Duration, SteppedRun)>,
    /// Fires whose workers wait until the node knows whose they are.
    doubtful: Vec<(Duration, SteppedFire)>,
    stepped: SteppedNode,
    clock: Arc<VirtualClock>,
    database: Arc<MemoryDatabase>,
    /// The owner of what the parts above refer to.
    _scheduler: Scheduler,
}

/// One step of a node.
#[derive(Clone, Copy)]
enum Step {
    Pass(usize),
    Take,
    Begin(usize),
    End(usize),
}

impl SimulatedCluster {
    /// A cluster without a node, at this time. Each node has these settings, and the job types,
    /// listeners and strategies that `configure` gives it; the store, the clock, the machine and
    /// the name are the cluster's.
    ///
    /// # Errors
    /// Those of [`SchedulerBuilder::build`].
    pub fn new(
        start: DateTime<Utc>,
        settings: Settings,
        configure: impl Fn(SchedulerBuilder) -> SchedulerBuilder + 'static,
    ) -> Result<Self> {
        // The random numbers are the same each time.
        seed_random_numbers(Some(0));
        let clock = Arc::new(VirtualClock { start, ticks: Arc::default(), is_stopped: AtomicBool::new(false) });
        let database = MemoryDatabase::new(Arc::clone(&clock) as _);
        let console = node(&configure, &settings, &clock, Arc::new(database.beside()), "test")?;
        Ok(Self {
            clock,
            database,
            settings,
            configure: Box::new(configure),
            console,
            nodes: Vec::new(),
            started: 0,
            run_time: Duration::ZERO,
            kills_at_next_end: false,
        })
    }

    /// A scheduler that is no node of the cluster: the test stores and reads by it. The test does
    /// not start it: threads would go by themselves, beside the steps of the test.
    pub fn scheduler(&self) -> &Scheduler {
        &self.console
    }

    /// The time of all clocks.
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.wall_time()
    }

    /// The numbers of the nodes that live. Node 1 is `node-1` in the history.
    pub fn nodes(&self) -> Vec<usize> {
        self.nodes.iter().map(|node| node.number).collect()
    }

    /// Starts a node, and returns its number: 1, 2 and so on.
    ///
    /// # Errors
    /// Those of [`SchedulerBuilder::build`] and of [`Scheduler::start`].
    pub fn start_node(&mut self) -> Result<usize> {
        let number = self.started.saturating_add(1);
        let (clock, database) = (self.clock.beside(), Arc::new(self.database.beside()));
        let name = format!("node-{number}");
        let scheduler = node(&*self.configure, &self.settings, &clock, Arc::clone(&database), &name)?;
        let stepped = scheduler.start_stepped()?;
        self.started = number;
        self.nodes.push(SimulatedNode {
            number,
            runs: Vec::new(),
            doubtful: Vec::new(),
            stepped,
            clock,
            database,
            _scheduler: scheduler,
        });
        Ok(number)
    }

    /// Every run lasts so long from now on; the default is no time.
    pub fn let_runs_take(&mut self, time: Duration) {
        self.run_time = time;
    }

    /// The node dies, as by `kill -9`: its rows stay, its runs end without their jobs being called.
    /// A node that does not live is ignored.
    pub fn kill(&mut self, number: usize) {
        for node in self.nodes.extract_if(.., |node| node.number == number) {
            node.die();
        }
    }

    /// The node on which the next run ends dies right after the job has returned, before the store
    /// knows of it: the job has done all that it does, and nobody can tell.
    pub fn kill_at_next_end(&mut self) {
        self.kills_at_next_end = true;
    }

    /// Time passes, and what comes due in it happens.
    ///
    /// # Panics
    /// If the nodes do not come to rest in a moment of it.
    pub fn advance(&mut self, by: Duration) {
        let end = self.clock.ticks().saturating_add(by);
        let (mut moment, mut steps) = (self.clock.ticks(), 0_u32);
        while let Some((at, index, step)) = self.next_step(end) {
            self.clock.advance_to(at);
            steps = if self.clock.ticks() > moment { 0 } else { steps.saturating_add(1) };
            moment = self.clock.ticks();
            assert!(steps < MOST_STEPS, "the nodes do not come to rest at {}", self.now());
            self.take_step(index, step);
        }
        self.clock.advance_to(end);
    }

    /// The first of the steps that are due until then, with its node.
    fn next_step(&self, end: Duration) -> Option<(Duration, usize, Step)> {
        let now = self.clock.ticks();
        let steps = self
            .nodes
            .iter()
            .enumerate()
            .flat_map(|(index, node)| node.steps().into_iter().map(move |(at, step)| (at.max(now), index, step)));
        steps.min_by_key(|(at, ..)| *at).filter(|(at, ..)| *at <= end)
    }

    fn take_step(&mut self, index: usize, step: Step) {
        let Some(node) = self.nodes.get_mut(index) else { return };
        let ends = node.take_step(step, self.run_time);
        if ends && std::mem::take(&mut self.kills_at_next_end) {
            let number = node.number;
            self.kill(number);
        }
    }
}

impl Drop for SimulatedCluster {
    fn drop(&mut self) {
        self.nodes.drain(..).for_each(SimulatedNode::die);
        seed_random_numbers(None);
    }
}

impl SimulatedNode {
    /// Nothing that the node does from now on reaches the store.
    fn die(self) {
        self.database.faults().lose_for_good();
        self.clock.is_stopped.store(true, Ordering::SeqCst);
    }

    /// The steps that the node can take, each with its time; services first.
    fn steps(&self) -> Vec<(Duration, Step)> {
        let services = self.stepped.services().enumerate();
        let passes = services.filter_map(|(at, _)| Some((self.stepped.due(at)?, Step::Pass(at))));
        let take = self.stepped.has_work().then_some((Duration::ZERO, Step::Take));
        let begins = self.doubtful.iter().enumerate().map(|(at, (due, _))| (*due, Step::Begin(at)));
        let ends = self.runs.iter().enumerate().filter(|_| !self.stepped.is_behind());
        passes.chain(take).chain(begins).chain(ends.map(|(at, (due, _))| (*due, Step::End(at)))).collect()
    }

    /// Takes a step; true if a run has ended with it.
    fn take_step(&mut self, step: Step, run_time: Duration) -> bool {
        match step {
            Step::Pass(service) => self.stepped.pass(service),
            Step::Take => {
                if let Some(fire) = self.stepped.take() {
                    self.begin(fire, run_time);
                }
            }
            Step::Begin(at) => {
                let (_, fire) = self.doubtful.remove(at);
                self.begin(fire, run_time);
            }
            Step::End(at) => {
                let (_, run) = self.runs.remove(at);
                self.stepped.finish(run);
            }
        }
        matches!(step, Step::End(_))
    }

    fn begin(&mut self, fire: SteppedFire, run_time: Duration) {
        let now = self.clock.ticks();
        match self.stepped.begin(fire) {
            Began::Run(run) => self.runs.push((now.saturating_add(run_time), run)),
            Began::Later(fire) => self.doubtful.push((now.saturating_add(LOOK_AGAIN), fire)),
            Began::Not => {}
        }
    }
}

fn node(
    configure: &dyn Fn(SchedulerBuilder) -> SchedulerBuilder,
    settings: &Settings,
    clock: &Arc<VirtualClock>,
    database: Arc<MemoryDatabase>,
    name: &str,
) -> Result<Scheduler> {
    let store = JobStore::new(database, Arc::clone(clock) as _, settings.clone());
    let builder = configure(Scheduler::builder()).store(store).clock(Arc::clone(clock) as _);
    builder.machine(Arc::new(UnknownMachine)).instance_id(name).build()
}
