//! The nodes of Quartz in a simulation: when they do what. A node comes and goes as an event; while
//! it is there it checks in, reserves triggers, fires them when its own clock says so, ends its
//! runs, and recovers whom it takes for dead. `quartz` has what it writes.

use super::jobs::{self, Beginning, Ending};
use super::plan::{MS, SECOND};
use super::quartz::{Fired, Known, Reserved};
use super::world::World;
use carnelian::store::row::TriggerRow;
use carnelian::{JobDataMap, TriggerKey};

/// The mean time between two events of its life, in microseconds.
pub const MEAN: u64 = 10 * SECOND;

/// The check-in interval.
pub const CHECKIN: u64 = 7_500 * MS;

/// The time after which it tries again what failed: a check-in, so that others may have taken it
/// for dead, or to record an end.
const RETRY: u64 = 15 * SECOND;

/// The interval at which it is looked whether a node that stands still is to go on.
const PEEK: u64 = 200 * MS;

/// The number of its workers.
const WORKERS: usize = 3;

/// The most nodes of Quartz at a time.
const MOST_NODES: usize = 3;

/// The most by which its wall clock is ahead of the store's. Others are convicted so much earlier,
/// and a node of ours gives up its work 1.5 s before the end of its window.
const MOST_AHEAD_MS: i64 = 1_400;

/// A node of ours whose check-in is later than this acquires nothing.
const LATE: u64 = 8 * SECOND;

/// The nodes of Quartz that there are and have been.
#[derive(Default)]
pub struct Java {
    /// The number of nodes so far; fire ids are counted too.
    pub count: u64,
    nodes: Vec<JavaNode>,
    /// The names of those that have died. A node that comes may have such a name.
    dead: Vec<String>,
    /// True if there was one at any time: options of triggers were suspended then.
    pub has_been: bool,
    pub known: Known,
}

/// A node of Quartz that lives.
pub struct JavaNode {
    pub name: String,
    pub number: usize,
    /// The lead of its wall clock over the store's.
    pub ahead_ms: i64,
    /// A reservation that it finds blocked is made `WAITING`, as by Quartz from 2.3.1 on.
    pub unblocks: bool,
    /// The true time of its last check-in; none before the first.
    pub checked_in: Option<u64>,
    next_checkin: u64,
    /// The time at which it fires what it has reserved, or looks for more.
    next_look: u64,
    /// A trigger that is so late is misfired, by the setting of this node.
    pub threshold_ms: i64,
    next_misfire: u64,
    /// The node takes nothing before, so that all others know of it.
    takes_from: u64,
    /// The most triggers that it reserves at a time, and by how many milliseconds their times may
    /// differ.
    pub batch: (usize, i64),
    reserved: Vec<Reserved>,
    /// The node takes no lock when it reserves: a trigger is read, and taken later by its state
    /// alone.
    is_unlocked: bool,
    /// The trigger as the node has read it.
    seen: Option<TriggerRow>,
    runs: Vec<JavaRun>,
    /// True if it was told to end, and waits for its runs.
    is_ending: bool,
    /// The node stands still until then, or until what it has reserved is reserved by another.
    hangs_until: Option<u64>,
    next_peek: u64,
}

struct JavaRun {
    ends: u64,
    /// True if its job has ended, and its end could not be recorded yet.
    has_ended: bool,
    ending: Ending,
    fired: Fired,
}

impl JavaNode {
    fn due(&self) -> u64 {
        if self.hangs_until.is_some() {
            return self.next_peek;
        }
        let ends = self.runs.iter().map(|run| run.ends);
        ends.chain([self.next_checkin, self.next_look, self.next_misfire]).min().unwrap_or(u64::MAX)
    }
}

impl Java {
    /// A node that lives.
    pub fn node(&self) -> Option<&JavaNode> {
        self.nodes.first()
    }

    /// Takes out the node that does something first, with its place.
    fn take_first(&mut self) -> Option<(usize, JavaNode)> {
        let at = (0..self.nodes.len()).min_by_key(|at| self.nodes[*at].due())?;
        Some((at, self.nodes.remove(at)))
    }

    /// The true time at which one of the nodes does something next.
    pub fn due(&self) -> Option<u64> {
        self.nodes.iter().map(JavaNode::due).min()
    }
}

impl World {
    /// A node of Quartz comes; or one that is there dies, stands still for a moment, or is told to
    /// end.
    pub fn visit(&self) {
        let there = self.java.borrow().nodes.len();
        if there == 0 || there < MOST_NODES && self.dice.borrow_mut().chance(4_000) {
            return self.java_comes();
        }
        let at = self.dice.borrow_mut().index(there);
        let mut node = self.java.borrow_mut().nodes.remove(at);
        let what = self.dice.borrow_mut().below(4);
        match what {
            0 => {
                // The node may outlive the verdict of the others, and knows nothing of it.
                let time = {
                    let mut dice = self.dice.borrow_mut();
                    let longest = if dice.chance(5_000) { 5 * SECOND } else { 60 * SECOND };
                    dice.between(100 * MS, longest)
                };
                self.say(format_args!("{} stands still for {} ms", node.name, time / MS));
                (node.hangs_until, node.next_peek) = (Some(self.now() + time), self.now());
            }
            1 => {
                self.say(format_args!("{} is told to end", node.name));
                // A reservation stays, as by Quartz from 2.4 on (#905).
                node.is_ending = true;
            }
            _ => return self.java_dies(&node),
        }
        self.java.borrow_mut().nodes.insert(at, node);
    }

    fn java_comes(&self) {
        let (ahead_ms, unblocks, threshold_ms) = {
            let mut dice = self.dice.borrow_mut();
            let ahead_ms = i64::try_from(dice.below(4_000)).expect("small") - 2_000;
            (ahead_ms.min(MOST_AHEAD_MS), dice.chance(5_000), dice.pick(&[1_000, 5_000, 60_000]))
        };
        let (batch, is_unlocked, is_again) = {
            let mut dice = self.dice.borrow_mut();
            let batch = (dice.pick(&[1, 1, WORKERS]), dice.pick(&[0, 500]));
            // More than one trigger at a time are always taken under the lock.
            (batch, batch.0 == 1 && dice.chance(4_000), dice.chance(4_000))
        };
        let number = self.next_number();
        let mut java = self.java.borrow_mut();
        java.count += 1;
        java.has_been = true;
        let old = if is_again { java.dead.pop() } else { None };
        let name = old.unwrap_or_else(|| format!("java-{}", java.count));
        self.say(format_args!("n{number} is {name}, a node of Quartz"));
        java.nodes.push(JavaNode {
            name,
            number,
            ahead_ms,
            unblocks,
            checked_in: None,
            next_checkin: self.now(),
            next_look: self.now(),
            threshold_ms,
            next_misfire: self.now(),
            takes_from: self.now() + self.plan.longest_checkin() + LATE,
            batch,
            reserved: Vec::new(),
            is_unlocked,
            seen: None,
            runs: Vec::new(),
            is_ending: false,
            hangs_until: None,
            next_peek: 0,
        });
    }

    /// The nodes die, so that nothing fails any more.
    pub fn visit_no_more(&self) {
        let nodes = std::mem::take(&mut self.java.borrow_mut().nodes);
        nodes.iter().for_each(|node| self.java_dies(node));
    }

    fn java_dies(&self, node: &JavaNode) {
        self.say(format_args!("{} dies", node.name));
        self.forget(node.number);
        self.java.borrow_mut().dead.push(node.name.clone());
    }

    /// The node whose turn it is does what is due first.
    pub fn java_goes_on(&self) {
        let Some((at, mut node)) = self.java.borrow_mut().take_first() else { return };
        if let Some(until) = node.hangs_until {
            // The worst moment to go on is the one at which the trigger that it has reserved is
            // another's.
            if self.now() < until && !node.reserved.iter().any(|reserved| self.is_of_another(reserved)) {
                node.next_peek = until.min(self.now() + PEEK);
                self.java.borrow_mut().nodes.insert(at, node);
                return;
            }
            self.say(format_args!("{} goes on", node.name));
            (node.hangs_until, node.next_look, node.next_checkin) = (None, self.now(), self.now() + MS);
        }
        let held_for = self.file_held_for();
        if held_for > 0 {
            // The node would wait for the file.
            let until = self.now() + held_for + 1;
            node.next_checkin = node.next_checkin.max(until);
            node.next_look = node.next_look.max(until);
            node.next_misfire = node.next_misfire.max(until);
            node.runs.iter_mut().for_each(|run| run.ends = run.ends.max(until));
        } else if node.next_checkin <= node.due() {
            let fails = node.checked_in.is_some() && self.dice.borrow_mut().chance(300);
            if fails {
                self.say(format_args!("{} cannot check in", node.name));
                node.next_checkin = self.now() + RETRY;
            } else {
                self.java_checks_in(&mut node);
                node.next_checkin = self.now() + CHECKIN;
            }
        } else if let Some(at) = node.runs.iter().position(|run| run.ends <= self.now()) {
            let run = node.runs.swap_remove(at);
            node.runs.extend(self.java_ends(&node, run));
        } else if node.next_misfire <= self.now() {
            let has_more = self.quartz_handles_misfires(&node);
            // The interval between two passes is the threshold.
            let threshold = u64::try_from(node.threshold_ms).expect("positive") * MS;
            node.next_misfire = self.now() + if has_more { 50 * MS } else { threshold };
        } else if !node.is_ending {
            self.java_looks(&mut node);
        } else if node.runs.is_empty() {
            // Nothing is written: its row stays.
            return self.java_dies(&node);
        } else {
            node.next_look = self.now() + SECOND;
        }
        self.java.borrow_mut().nodes.insert(at, node);
    }

    /// The time by its own clock.
    pub fn java_ms(&self, node: &JavaNode) -> i64 {
        self.store_ms() + node.ahead_ms
    }

    /// Fires what it has reserved, or reserves triggers.
    fn java_looks(&self, node: &mut JavaNode) {
        /// The last milliseconds are not waited for.
        const SOON_MS: i64 = 2;
        let wait = |node: &JavaNode, next_ms: i64| {
            let wait_ms = next_ms - SOON_MS - self.java_ms(node);
            self.now() + u64::try_from(wait_ms.max(0)).expect("not negative") * MS
        };
        if let Some(first) = node.reserved.first() {
            let at = wait(node, first.next_ms);
            if at > self.now() {
                // Somebody has set the clocks.
                node.next_look = at;
                return;
            }
            node.next_look = self.now();
            for reserved in std::mem::take(&mut node.reserved) {
                match self.quartz_fires(node, &reserved) {
                    Some(fired) => self.java_begins(node, fired),
                    None => self.quartz_releases(node, &reserved),
                }
            }
            return;
        }
        if let Some(seen) = node.seen.take() {
            node.reserved = self.quartz_takes(node, vec![seen]);
        } else if node.runs.len() < WORKERS && self.now() > node.takes_from {
            let mut due = self.quartz_sees(node, node.batch.0.min(WORKERS - node.runs.len()));
            if node.is_unlocked {
                node.seen = due.pop();
                node.next_look = self.now() + self.dice.borrow_mut().between(MS, 400 * MS);
                return;
            }
            node.reserved = self.quartz_takes(node, due);
        }
        node.next_look = match node.reserved.first() {
            Some(reserved) => wait(node, reserved.next_ms),
            None => self.now() + self.dice.borrow_mut().between(SECOND / 2, 4 * SECOND),
        };
    }

    fn java_begins(&self, node: &mut JavaNode, fired: Fired) {
        let made = self.java.borrow().known.made.get(&fired.trigger).cloned();
        let chain = fired.chain.as_ref();
        let origin = made.as_ref().map(|made| made.root.clone()).or(chain.map(|chain| chain.root_fire_id.clone()));
        let attempt = made.map(|made| made.attempt).or(chain.map(|chain| chain.attempt));
        let begun = jobs::begin(
            self,
            &Beginning {
                node: node.number,
                fire_id: &fired.fire_id,
                trigger: &fired.trigger,
                job: fired.job.key(),
                is_alone: false,
                data: &data_of(&fired),
                original_ms: chain.map_or(fired.scheduled_ms, |chain| chain.original_scheduled_ms),
                origin,
                recovering: fired.trigger.group() == "RECOVERING_JOBS",
                attempt: attempt.unwrap_or_default(),
            },
        );
        let ends = self.now() + begun.length;
        node.runs.push(JavaRun { ends, has_ended: false, ending: begun.ending, fired });
    }

    /// Ends a run; gives it back if its end could not be recorded, which is tried again.
    fn java_ends(&self, node: &JavaNode, run: JavaRun) -> Option<JavaRun> {
        if !run.has_ended {
            let Some(running) = self.running.borrow_mut().remove(&run.fired.fire_id) else {
                self.problem(format!("{} ends {} and has not begun it", node.name, run.fired.fire_id));
                return None;
            };
            jobs::log_end(self, &running, run.ending.name());
        }
        let is_done = self.quartz_completes(&run.fired, run.ending == Ending::Succeeds).is_ok();
        (!is_done).then(|| JavaRun { ends: self.now() + RETRY, has_ended: true, ..run })
    }
}

/// The data that its job sees: the trigger's over the job's.
fn data_of(fired: &Fired) -> JobDataMap {
    let mut data = fired.job.data().clone();
    for (key, value) in fired.data.iter() {
        data.put(key, value.clone());
    }
    data
}

/// The key that a recovery names as the first trigger of its work.
pub fn first_trigger(data: &JobDataMap) -> Option<TriggerKey> {
    let text = |part: &str| data.text(&format!("QRTZ_FAILED_JOB_ORIG_TRIGGER_{part}"));
    Some(TriggerKey::new(text("GROUP")?, text("NAME")?))
}
