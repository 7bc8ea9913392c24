//! The world of a simulation: its true time, its nodes and what happens to them, one step after the
//! other.

use super::clocks::SimClock;
use super::dice::Dice;
use super::events::Lasting;
use super::java::Java;
use super::jobs::{Due, Running};
use super::link::{Faulty, Link};
use super::node::{LONGEST_RESTART, SimNode, Step};
use super::operators::Operators;
use super::plan::{Chances, Event, MS, Plan, SECOND};
use carnelian::Scheduler;
use carnelian::clock::Clock;
use carnelian::history::{HistoryQuery, HistoryRow};
use carnelian::settings::Settings;
use carnelian::store::row::{FiredRow, Snapshot};
use carnelian::store::{Violation, violations};
use serde_json::{Map, Value};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Arguments;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// No run takes so many steps, unless something goes round in circles.
const MOST_STEPS: u64 = 2_000_000;

/// A fire may begin so much before its time by the store's clock, in milliseconds: a node's reading
/// of that clock may be four seconds old, and its own clock a thousandth off.
const EARLY_MS: i64 = 8;

thread_local! {
    static WORLD: RefCell<Option<Rc<World>>> = const { RefCell::new(None) };
}

/// The world of this thread.
pub fn world() -> Rc<World> {
    WORLD.with_borrow(|world| Rc::clone(world.as_ref().expect("a simulation runs")))
}

/// True if a simulation runs in this thread.
pub fn has_world() -> bool {
    WORLD.with_borrow(Option::is_some)
}

pub fn set_world(world: Option<Rc<World>>) {
    WORLD.set(world);
}

/// Everything that exists.
pub struct World {
    pub plan: Plan,
    pub settings: Arc<Settings>,
    pub dice: RefCell<Dice>,
    /// Microseconds since the beginning.
    now: Cell<u64>,
    pub database: Arc<dyn Faulty>,
    /// The file of the store, unless it is in memory.
    pub file: Option<PathBuf>,
    pub store_clock: Arc<SimClock>,
    /// A way to the store on which nothing fails.
    pub console: Scheduler,
    pub nodes: RefCell<Vec<Rc<SimNode>>>,
    /// Nodes in their first check-in.
    pub starting: RefCell<Vec<(Arc<Link>, Arc<SimClock>)>>,
    /// The names of nodes that are to start, each with the time.
    starts: RefCell<Vec<(u64, String)>>,
    numbers: Cell<usize>,
    names: Cell<usize>,
    /// The events to come: when, which, and the mean time until the next.
    events: RefCell<Vec<(u64, Event, u64)>>,
    away_until: Cell<u64>,
    is_calm: Cell<bool>,
    pub lasting: RefCell<Lasting>,
    pub operators: RefCell<Operators>,
    pub java: RefCell<Java>,
    pub running: RefCell<BTreeMap<String, Running>>,
    /// The log of the jobs.
    pub log: RefCell<Vec<Value>>,
    /// The nodes that are no more, since they died or had ended: number and true time.
    pub gone: RefCell<Vec<(usize, u64)>>,
    /// The number of those that died.
    pub crashes: Cell<usize>,
    /// The number of nodes that were told to end and have done so.
    pub ends: Cell<usize>,
    problems: RefCell<Vec<String>>,
    lines: RefCell<Vec<String>>,
    hash: Cell<u64>,
    steps: Cell<u64>,
    /// True if somebody may have written since the invariants were checked.
    pub has_changed: Cell<bool>,
}

/// The owner of the next step.
enum Turn {
    Node(Rc<SimNode>, Step),
    Start(usize),
    Event(usize),
    Java,
}

impl World {
    pub fn new(
        seed: u64,
        plan: Plan,
        settings: Arc<Settings>,
        (database, file): (Arc<dyn Faulty>, Option<PathBuf>),
        store_clock: Arc<SimClock>,
        console: Scheduler,
    ) -> Self {
        let mut dice = Dice::new(seed);
        let events = plan.events.iter().map(|&(event, mean)| (dice.between(SECOND, 2 * mean), event, mean)).collect();
        let starts = (0..plan.nodes).map(|at| (dice.below(3 * SECOND), format!("node-{at}"))).collect();
        Self {
            dice: RefCell::new(dice),
            now: Cell::new(0),
            database,
            file,
            store_clock,
            console,
            nodes: RefCell::default(),
            starting: RefCell::default(),
            starts: RefCell::new(starts),
            numbers: Cell::new(0),
            names: Cell::new(plan.nodes),
            events: RefCell::new(events),
            away_until: Cell::new(0),
            is_calm: Cell::new(false),
            lasting: RefCell::default(),
            operators: RefCell::default(),
            java: RefCell::default(),
            running: RefCell::default(),
            log: RefCell::default(),
            gone: RefCell::default(),
            crashes: Cell::new(0),
            ends: Cell::new(0),
            problems: RefCell::default(),
            lines: RefCell::default(),
            hash: Cell::new(0xcbf2_9ce4_8422_2325),
            steps: Cell::new(0),
            has_changed: Cell::new(false),
            plan,
            settings,
        }
    }

    // --- time ---

    pub fn now(&self) -> u64 {
        self.now.get()
    }

    pub fn advance_to(&self, at: u64) {
        self.now.set(self.now.get().max(at));
    }

    /// Something takes its time, and nothing else happens meanwhile.
    pub fn spend(&self, least: u64, most: u64) {
        let time = self.dice.borrow_mut().between(least, most);
        self.advance_to(self.now() + time);
    }

    /// The node whose step this is stands still, and the others go on.
    pub fn stand_still(&self, time: u64) {
        let until = self.now() + time;
        while self.step(until) {}
        self.advance_to(until);
    }

    pub fn store_ms(&self) -> i64 {
        self.store_clock.wall_time().timestamp_millis()
    }

    // --- faults ---

    pub fn chances(&self) -> Chances {
        if self.is_calm.get() { Chances::default() } else { self.plan.chances }
    }

    pub fn is_calm(&self) -> bool {
        self.is_calm.get()
    }

    pub fn is_store_away(&self) -> bool {
        self.now() < self.away_until.get()
    }

    pub fn is_dead(&self, node: usize) -> bool {
        self.gone.borrow().iter().any(|(gone, _)| *gone == node)
    }

    /// A node dies, wherever it is.
    pub fn kill(&self, number: usize) {
        let nodes = self.nodes.borrow().iter().find(|node| node.number == number).map(Rc::clone);
        let starting = self.starting.borrow().iter().find(|(link, _)| link.node == number).cloned();
        let (link, clock) = match (&nodes, starting) {
            (Some(node), _) => (Arc::clone(&node.link), Arc::clone(&node.clock)),
            (None, Some(starting)) => starting,
            (None, None) => return,
        };
        if !link.die() {
            return;
        }
        clock.stop();
        self.say(format_args!("n{number} dies"));
        self.crashes.set(self.crashes.get() + 1);
        self.forget(number);
        if let Some(node) = nodes {
            self.replace(&node);
        }
    }

    /// A node is told to end, and the others go on meanwhile.
    pub fn shut_down(&self, node: &SimNode) {
        let (number, waits) = (node.number, self.dice.borrow_mut().chance(5_000));
        self.say(format_args!("n{number} is told to end; it waits for its jobs: {waits}"));
        let Some(report) = node.shut_down(waits) else { return };
        // The node may have died on its way.
        if !node.link.die() {
            return;
        }
        node.clock.stop();
        self.say(format_args!("n{number} has ended: {report:?}"));
        self.ends.set(self.ends.get() + 1);
        if report.is_clean() {
            self.check_left(node);
        }
        self.forget(number);
        self.replace(node);
    }

    /// Notes that a node is no more.
    pub fn forget(&self, number: usize) {
        self.gone.borrow_mut().push((number, self.now()));
        self.running.borrow_mut().retain(|_, run| run.node != number);
    }

    /// Another node comes in the place of one that is no more.
    fn replace(&self, node: &SimNode) {
        let name = if self.plan.same_names { node.name.clone() } else { self.fresh_name() };
        self.start_later(name);
    }

    fn fresh_name(&self) -> String {
        self.names.set(self.names.get() + 1);
        format!("node-{}", self.names.get())
    }

    /// The number of the next node.
    pub fn next_number(&self) -> usize {
        self.numbers.set(self.numbers.get() + 1);
        self.numbers.get()
    }

    /// True if a node has not checked in yet, or is to come.
    pub fn do_nodes_start(&self) -> bool {
        !self.starts.borrow().is_empty() || !self.starting.borrow().is_empty()
    }

    fn start_later(&self, name: String) {
        let wait = if self.is_calm.get() { SECOND } else { LONGEST_RESTART };
        let at = self.now() + self.dice.borrow_mut().between(10 * MS, wait);
        self.starts.borrow_mut().push((at, name));
    }

    /// From now on nothing fails any more.
    pub fn become_calm(&self) {
        self.say(format_args!("calm"));
        self.is_calm.set(true);
        self.away_until.set(0);
        self.events.borrow_mut().clear();
        self.visit_no_more();
        self.let_go(u64::MAX);
        for node in self.nodes.borrow().iter() {
            node.stand_still(0);
            node.link.lose_store(0);
            node.link.cut(0);
        }
        // New code is everywhere at last, or somewhere: old code leaves alone what new code has
        // written.
        let nodes = self.nodes.borrow().iter().map(|node| (node.number, node.is_new)).collect::<Vec<_>>();
        if let Some((oldest, _)) = nodes.first().filter(|_| self.plan.versions && !nodes.iter().any(|node| node.1)) {
            self.kill(*oldest);
        }
        let soon = self.now() + SECOND;
        self.starts.borrow_mut().iter_mut().for_each(|(at, _)| *at = soon.min(*at));
        self.operators.borrow_mut().put_right(self);
    }

    pub fn lose_store(&self, time: u64) {
        self.say(format_args!("the store is away for {} ms", time / MS));
        self.away_until.set(self.now() + time);
    }

    pub fn all_numbers(&self) -> Vec<usize> {
        self.nodes.borrow().iter().map(|node| node.number).collect()
    }

    /// All connections of all nodes die.
    pub fn cut_all(&self, uses: u64) {
        self.nodes.borrow().iter().for_each(|node| node.link.cut(uses));
        self.starting.borrow().iter().for_each(|(link, _)| link.cut(uses));
    }

    // --- steps ---

    /// Takes the next step that is due until `limit`; false if there is none.
    pub fn step(&self, limit: u64) -> bool {
        let Some((at, turn)) = self.choose(limit) else { return false };
        self.advance_to(at);
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > MOST_STEPS {
            self.problem(format!("the cluster does not come to rest in {MOST_STEPS} steps"));
            return false;
        }
        match turn {
            Turn::Node(node, step) => node.step(self, step),
            Turn::Start(at) => {
                let (_, name) = self.starts.borrow_mut().swap_remove(at);
                self.start(name);
            }
            Turn::Event(at) => self.happen(self.take_event(at)),
            Turn::Java => self.java_goes_on(),
        }
        self.let_go(at);
        self.bury();
        if self.has_changed.take() {
            self.check();
        }
        true
    }

    /// The event whose time has come; the next one of it comes later.
    fn take_event(&self, at: usize) -> Event {
        let mut events = self.events.borrow_mut();
        let (due, event, mean) = &mut events[at];
        *due = self.now() + self.dice.borrow_mut().between(10 * MS, 2 * *mean);
        *event
    }

    fn choose(&self, limit: u64) -> Option<(u64, Turn)> {
        let now = self.now();
        let nodes = self.nodes.borrow();
        let mut found: Vec<(u64, usize, Step)> = Vec::new();
        let mut steps = Vec::new();
        for (index, node) in nodes.iter().enumerate().filter(|(_, node)| !node.link.is_dead()) {
            steps.clear();
            node.steps(now, limit, &mut steps);
            found.extend(steps.iter().map(|&(at, step)| (at, index, step)));
        }
        let (starts, events) = (self.starts.borrow(), self.events.borrow());
        let others = starts.iter().map(|(at, _)| *at).chain(events.iter().map(|(at, _, _)| *at));
        let others: Vec<u64> = others.chain(self.java.borrow().due()).map(|at| at.max(now)).collect();
        let first = found.iter().map(|(at, _, _)| *at).chain(others.iter().copied()).min().filter(|at| *at <= limit)?;
        let mut dice = self.dice.borrow_mut();
        let last = first.saturating_add(dice.pick(&[0, 0, 300, 3_000])).min(limit);
        found.retain(|(at, _, _)| *at <= last);
        let due: Vec<usize> = (0..others.len()).filter(|at| others[*at] <= last).collect();
        let chosen = dice.index(found.len() + due.len());
        if let Some(&(at, index, step)) = found.get(chosen) {
            return Some((at, Turn::Node(Rc::clone(&nodes[index]), step)));
        }
        let other = due[chosen - found.len()];
        Some(match other.checked_sub(starts.len()) {
            None => (starts[other].0, Turn::Start(other)),
            Some(event) if event < events.len() => (events[event].0, Turn::Event(event)),
            Some(_) => (others[other], Turn::Java),
        })
    }

    fn start(&self, name: String) {
        let number = self.next_number();
        self.say(format_args!("n{number} starts as {name}"));
        match SimNode::start(self, number, name.clone()) {
            Some(node) => self.nodes.borrow_mut().push(Rc::new(node)),
            None => self.start_later(name),
        }
    }

    /// Forgets the nodes that are dead, once their last step is over.
    fn bury(&self) {
        let is_over = |node: &Rc<SimNode>| node.link.is_dead() && !node.is_busy();
        let dead: Vec<_> = {
            let mut nodes = self.nodes.borrow_mut();
            let (dead, living): (Vec<_>, Vec<_>) = nodes.drain(..).partition(is_over);
            *nodes = living;
            dead
        };
        dead.iter().for_each(|node| self.note_panics(node));
    }

    fn note_panics(&self, node: &SimNode) {
        if node.panics() > 0 {
            self.problem(format!("services of n{} panicked {} times", node.number, node.panics()));
        }
    }

    /// Ends all nodes.
    pub fn end(&self) {
        let nodes = std::mem::take(&mut *self.nodes.borrow_mut());
        nodes.iter().for_each(|node| self.note_panics(node));
    }

    // --- checks ---

    pub fn snapshot(&self) -> Snapshot {
        self.console.store().upkeep().snapshot().expect("the console reaches the store")
    }

    /// The newest rows of the history: all, in a run as short as these are.
    pub fn history(&self) -> Vec<HistoryRow> {
        self.console.history(&HistoryQuery::new().limit(10_000)).expect("an answer")
    }

    pub fn check(&self) {
        let snapshot = self.snapshot();
        if self.plan.has(Event::Visit) {
            self.note_check_ins(&snapshot);
        }
        let java = self.java.borrow();
        // Quartz blocks and frees triggers that others have reserved. The invariant is not asked
        // for while Quartz is a member, and the rows stay as they are afterwards.
        let is_of_quartz = |one: &Violation| one.invariant == "I1" && java.count > 0 || java.known.excuses(one);
        let is_excused = |one: &Violation| self.was_passed_over(one) || is_of_quartz(one);
        for violation in violations(&snapshot).into_iter().filter(|one| !is_excused(one)) {
            self.problem(violation.to_string());
        }
    }

    /// A node that says that it has left nothing behind has no row.
    fn check_left(&self, node: &SimNode) {
        // A store that has lost commits may have lost those of the end.
        if self.has_lost_commits() {
            return;
        }
        let snapshot = self.snapshot();
        let is_of = |fire: &&FiredRow| fire.instance == node.name && !self.was_held(&fire.fire_id);
        let fires: Vec<_> = snapshot.fired.iter().filter(is_of).map(|fire| &fire.fire_id).collect();
        if !fires.is_empty() || snapshot.instances.iter().any(|instance| instance.name == node.name) {
            self.problem(format!("{} has ended cleanly, and its rows are there, with fires {fires:?}", node.name));
        }
    }

    /// No run may begin while another has the same work, or is one of a job that runs once at a
    /// time, and the store or its node says that it holds its fire.
    pub fn check_others(&self, job: &str, due: &Due, is_alone: bool, fire_id: &str) {
        // A loose trigger that was replaced may be due in the same millisecond as the one before.
        // Two operators may trigger work by hand in one.
        let is_work = !["loose.", "manual."].iter().any(|group| job.starts_with(group));
        let is_again = due.is_of(|trigger, time_ms| self.java.borrow().known.is_rewound(trigger, time_ms));
        let is_same = |run: &Running| run.due == *due && is_work && !is_again;
        // A node of Quartz has let the others of the job go.
        let is_let_go = self.java.borrow().known.overlapping.iter().any(|key| key.to_string() == job);
        let is_alone = is_alone && !is_let_go;
        let is_other = |id: &str, run: &Running| id != fire_id && (is_alone && run.job == job || is_same(run));
        let running = self.running.borrow();
        let others: Vec<&String> = running.iter().filter(|(id, run)| is_other(id, run)).map(|(id, _)| id).collect();
        // Fires that the store has forgotten are given out again.
        if others.is_empty() || self.has_lost_commits() {
            return;
        }
        let snapshot = self.snapshot();
        for other in others {
            let is_stored = snapshot.fired.iter().any(|fire| fire.fire_id == *other);
            if is_stored || self.nodes.borrow().iter().any(|node| node.holds_fire(other)) {
                self.problem(format!("{job} runs as {fire_id} beside {other}, which holds its fire"));
            }
        }
    }

    pub fn check_time(&self, scheduled_ms: i64, fire_id: &str) {
        let early_ms = scheduled_ms - self.store_ms();
        if early_ms > EARLY_MS && !self.was_store_set_back() {
            self.problem(format!("fire {fire_id} begins {early_ms} ms before its time"));
        }
    }

    pub fn has_problem(&self) -> bool {
        !self.problems.borrow().is_empty()
    }

    pub fn problem(&self, what: String) {
        self.say(format_args!("PROBLEM {what}"));
        self.problems.borrow_mut().push(what);
    }

    pub fn problems(&self) -> Vec<String> {
        self.problems.borrow().clone()
    }

    // --- history ---

    /// Hashes a line, so that two runs can be compared.
    pub fn note(&self, line: Arguments<'_>) -> String {
        let line = format!("{:>10}.{:03} {line}", self.now() / MS, self.now() % MS);
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        self.hash.set(line.bytes().fold(self.hash.get(), step));
        line
    }

    /// Keeps a line of the history.
    pub fn say(&self, line: Arguments<'_>) {
        let line = self.note(line);
        self.lines.borrow_mut().push(line);
    }

    /// Keeps a line that may differ from run to run.
    pub fn whisper(&self, line: String) {
        self.lines.borrow_mut().push(format!("{:>10}.{:03}     {line}", self.now() / MS, self.now() % MS));
    }

    /// Keeps an event of a run.
    pub fn log(&self, facts: &Map<String, Value>, name: &str, more: (&str, Value)) {
        self.say(format_args!("n{} {name} {} {} {}", facts["pid"], facts["trigger"], facts["fire_id"], more.1));
        let mut event = facts.clone();
        event.insert("event".to_owned(), name.into());
        event.insert("mono_ns".to_owned(), (self.now() * 1_000).into());
        event.insert(more.0.to_owned(), more.1);
        self.log.borrow_mut().push(Value::Object(event));
    }

    pub fn lines(&self) -> Vec<String> {
        self.lines.borrow().clone()
    }

    pub fn hash(&self) -> u64 {
        self.hash.get()
    }

    pub fn steps(&self) -> u64 {
        self.steps.get()
    }
}
