//! A node of a simulation: the real scheduler without threads, its clock, its link and the fires of
//! its workers.

use super::clocks::SimClock;
use super::jobs;
use super::link::Link;
use super::plan::{MS, Plan, SECOND};
use super::world::World;
use carnelian::ShutdownReport;
use carnelian::settings::{PollingStrategy, Settings, TriggerOrder};
use carnelian::stepped::{Began, SteppedFire, SteppedNode, SteppedRun};
use carnelian::store::JobStore;
use carnelian::store::row::Snapshot;
use carnelian::testing::UnknownMachine;
use carnelian::{JobType, Result, Scheduler};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

/// The time after which a worker looks again whether its fire is its own.
const LOOK_AGAIN: u64 = 200 * MS;

/// The settings of all nodes.
pub fn settings(plan: &Plan) -> Arc<Settings> {
    let mut settings = Settings::named("sim");
    settings.thread_pool.thread_count = plan.workers;
    settings.job_store.checkin_interval = plan.checkin();
    settings.scheduler.poll_interval = Some(plan.poll);
    settings.scheduler.take_ahead = plan.take_ahead;
    settings.shutdown.deadline = plan.deadline;
    if plan.priorities {
        settings.job_store.trigger_order = TriggerOrder::PriorityThenTime;
        settings.recovery.threshold = 2;
    }
    Arc::new(settings)
}

/// The settings of one node, which need not be those of the others.
fn other_settings(world: &World) -> Arc<Settings> {
    let mut settings = Settings::clone(&world.settings);
    let dice = &mut *world.dice.borrow_mut();
    settings.thread_pool.thread_count = u32::try_from(dice.between(1, 8)).expect("few workers");
    settings.job_store.checkin_interval = Duration::from_secs(dice.pick(&[1, 2, 5, 15]));
    settings.scheduler.poll_interval = Some(Duration::from_millis(dice.pick(&[240, 1_000, 5_000])));
    settings.scheduler.take_ahead = Duration::from_millis(dice.pick(&[0, 20, 200]));
    settings.scheduler.batch_max_count = u32::try_from(dice.pick(&[1, 5, 500])).expect("few triggers");
    settings.scheduler.idle_wait_time = Duration::from_secs(dice.pick(&[1, 5, 30]));
    settings.cluster.takeover_delay = Duration::from_secs(dice.pick(&[0, 0, 3]));
    settings.job_store.polling_strategy = dice.pick(&[PollingStrategy::Lock, PollingStrategy::LockAndFetch]);
    Arc::new(settings)
}

/// The scheduler of these settings over a link, not started.
pub fn scheduler(
    settings: &Arc<Settings>,
    (name, is_new): (&str, bool),
    clock: &Arc<SimClock>,
    link: Arc<Link>,
) -> Result<Scheduler> {
    let job = JobType::new(jobs::run);
    let job = if is_new { job.upgrade(1, jobs::upgrade) } else { job };
    let clock: Arc<SimClock> = Arc::clone(clock);
    let store = JobStore::new(link, Arc::<SimClock>::clone(&clock), Arc::clone(settings));
    Scheduler::builder()
        .store(store)
        .clock(clock)
        .machine(Arc::new(UnknownMachine))
        .instance_id(name)
        .job_type(jobs::WORK, job)
        .build()
}

/// One node, from its start to its death.
pub struct SimNode {
    pub number: usize,
    pub name: String,
    /// True if its code is of the second version.
    pub is_new: bool,
    pub clock: Arc<SimClock>,
    pub link: Arc<Link>,
    pub scheduler: Scheduler,
    /// None while a step of it is under way.
    stepped: RefCell<Option<SteppedNode>>,
    services: Vec<&'static str>,
    runs: RefCell<Vec<SimRun>>,
    /// Fires whose workers wait until the node knows whose they are.
    doubtful: RefCell<Vec<(u64, SteppedFire)>>,
    /// The node stands still until then.
    still_until: Cell<u64>,
    /// True if it was told to end.
    is_ending: Cell<bool>,
    /// The time of its last check-in that was seen, by the store's clock.
    checked_in_ms: Cell<i64>,
    /// True if it has checked in beside a node of Quartz.
    has_met_quartz: Cell<bool>,
}

/// A run that has begun.
struct SimRun {
    run: SteppedRun,
    /// The true time of its end.
    ends: u64,
    /// True if its job looks whether it is to stop.
    looks: bool,
}

impl SimRun {
    /// The true time at which it ends now; 0 for at once.
    fn end(&self) -> u64 {
        if self.looks && self.run.context().should_stop() { 0 } else { self.ends }
    }
}

/// One step that a node can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Pass(usize),
    Take,
    Begin(usize),
    Finish(usize),
}

impl SimNode {
    /// Starts a node; none if its first check-in fails or it dies in it.
    pub fn start(world: &World, number: usize, name: String) -> Option<Self> {
        let plan = &world.plan;
        let settings = if plan.mixed { other_settings(world) } else { Arc::clone(&world.settings) };
        let (drift, ahead_ms) = {
            let mut dice = world.dice.borrow_mut();
            let drift = i64::try_from(dice.below(plan.drift * 2 + 1)).expect("small")
                - i64::try_from(plan.drift).expect("small");
            (drift, i64::try_from(dice.below(200)).expect("small") - 100)
        };
        let clock = Arc::new(SimClock::of_node(number, world.now(), drift, ahead_ms));
        let link = Arc::new(Link::new(number, Arc::clone(&world.database).beside()));
        let is_new = plan.versions && (world.is_calm() || world.dice.borrow_mut().chance(5_000));
        let scheduler = scheduler(&settings, (&name, is_new), &clock, Arc::clone(&link)).expect("a scheduler");
        world.starting.borrow_mut().push((Arc::clone(&link), Arc::clone(&clock)));
        let started = scheduler.start_stepped();
        world.starting.borrow_mut().retain(|(one, _)| one.node != number);
        let stepped = match started {
            Ok(stepped) if !link.is_dead() => stepped,
            Ok(_) => return None,
            Err(error) => {
                world.say(format_args!("n{number} does not start: {error}"));
                return None;
            }
        };
        let services = stepped.services().collect();
        Some(Self {
            number,
            name,
            is_new,
            clock,
            link,
            scheduler,
            stepped: RefCell::new(Some(stepped)),
            services,
            runs: RefCell::default(),
            doubtful: RefCell::default(),
            still_until: Cell::new(0),
            is_ending: Cell::new(false),
            checked_in_ms: Cell::new(i64::MIN),
            has_met_quartz: Cell::new(false),
        })
    }

    /// True if a step of it is under way, or its end.
    pub fn is_busy(&self) -> bool {
        self.stepped.borrow().is_none() || self.is_ending.get()
    }

    pub fn stand_still(&self, until: u64) {
        self.still_until.set(until);
    }

    pub fn stands_still(&self, now: u64) -> bool {
        self.still_until.get() > now
    }

    /// The steps that this node can take until `limit`, each with its time.
    pub fn steps(&self, now: u64, limit: u64, found: &mut Vec<(u64, Step)>) {
        let stepped = self.stepped.borrow();
        let Some(stepped) = &*stepped else { return };
        let earliest = now.max(self.still_until.get());
        let mut add = |at: u64, step: Step| {
            let at = at.max(earliest);
            if at <= limit {
                found.push((at, step));
            }
        };
        for service in 0..self.services.len() {
            if let Some(due) = stepped.due(service) {
                add(self.clock.when(due), Step::Pass(service));
            }
        }
        if stepped.has_work() {
            add(now, Step::Take);
        }
        for (at, (due, _)) in self.doubtful.borrow().iter().enumerate() {
            add(*due, Step::Begin(at));
        }
        if !stepped.is_behind() {
            for (at, run) in self.runs.borrow().iter().enumerate() {
                add(run.end(), Step::Finish(at));
            }
        }
    }

    /// Takes a step. Other nodes may take theirs in the middle of it.
    pub fn step(&self, world: &World, step: Step) {
        let Some(mut stepped) = self.stepped.borrow_mut().take() else { return };
        match step {
            Step::Pass(service) => {
                world.note(format_args!("n{} {}", self.number, self.services[service]));
                stepped.pass(service);
            }
            Step::Take => {
                if let Some(fire) = stepped.take() {
                    self.begin(world, &mut stepped, fire);
                }
            }
            Step::Begin(at) => {
                let (_, fire) = self.doubtful.borrow_mut().swap_remove(at);
                self.begin(world, &mut stepped, fire);
            }
            Step::Finish(at) => {
                let run = self.runs.borrow_mut().swap_remove(at);
                stepped.finish(run.run);
            }
        }
        self.stepped.replace(Some(stepped));
    }

    fn begin(&self, world: &World, stepped: &mut SteppedNode, fire: SteppedFire) {
        if self.link.is_dead() {
            return;
        }
        match stepped.begin(fire) {
            Began::Run(run) => {
                let begun = jobs::start(world, self, run.context());
                self.runs.borrow_mut().push(SimRun { run, ends: world.now() + begun.length, looks: begun.looks });
            }
            Began::Later(fire) => self.doubtful.borrow_mut().push((world.now() + LOOK_AGAIN, fire)),
            Began::Not => {}
        }
    }

    /// A run of this node that goes on believes that the fire is its own.
    pub fn holds_fire(&self, fire_id: &str) -> bool {
        let is_it = |run: &SteppedRun| run.context().fire_id() == fire_id && run.context().holds_fire();
        !self.link.is_dead() && self.runs.borrow().iter().any(|run| is_it(&run.run))
    }

    /// Notes whether it has checked in beside a node of Quartz.
    pub fn note_check_in(&self, snapshot: &Snapshot, is_quartz_there: bool) {
        let Some(row) = snapshot.instances.iter().find(|row| row.name == self.name) else { return };
        // A store that has lost commits has an earlier one.
        let is_new = self.checked_in_ms.replace(row.last_checkin_ms) < row.last_checkin_ms;
        self.has_met_quartz.set(self.has_met_quartz.get() || is_new && is_quartz_there);
    }

    /// True if it knows that nodes of Quartz may be there.
    pub fn has_met_quartz(&self) -> bool {
        self.has_met_quartz.get()
    }

    /// Ends the node as its process would; the steps of this node and the others' go on meanwhile.
    pub fn shut_down(&self, waits_for_jobs: bool) -> Option<ShutdownReport> {
        let end = self.stepped.borrow().as_ref()?.end();
        self.is_ending.set(true);
        let report = self.scheduler.shut_down_stepped(end, waits_for_jobs);
        self.is_ending.set(false);
        Some(report)
    }

    /// Does something as an operator beside this node would, while nothing else of it goes on.
    pub fn operate<T>(&self, operate: impl FnOnce(&Scheduler) -> T) -> Option<T> {
        let stepped = self.stepped.borrow_mut().take()?;
        let answer = operate(&self.scheduler);
        self.stepped.replace(Some(stepped));
        Some(answer)
    }

    /// The panics of its services so far: each is a bug.
    pub fn panics(&self) -> u64 {
        self.stepped.borrow().as_ref().map_or(0, SteppedNode::panics)
    }
}

/// The longest time until a node that could not start tries again.
pub const LONGEST_RESTART: u64 = 10 * SECOND;
