//! Events: the things that happen to a cluster by themselves.

use super::history::{Run, text};
use super::node::SimNode;
use super::operators::Operators;
use super::plan::{Event, MS, SECOND};
use super::replica::Replica;
use super::world::World;
use carnelian::store::Violation;
use carnelian::store::row::FiredState;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The state of those events that last.
#[derive(Debug, Default)]
pub struct Lasting {
    /// The store as a replica has it that will be promoted, and since when that lags behind.
    replica: Option<(u64, Replica)>,
    /// The times from which commits were lost, and until which.
    pub lost: Vec<(u64, u64)>,
    /// The fires that the store has forgotten with them.
    forgotten: BTreeSet<String>,
    /// The times at which the store's clock was set, each with by how much.
    set: Vec<(u64, i64)>,
    /// Fired rows that transactions of callers hold, each with the end.
    holds: Vec<(u64, String)>,
    /// The end of the transaction of a caller that holds the whole file.
    file_held_until: u64,
    /// Rows that were held once: a node may be recovered without them, until a later check-in.
    were_held: BTreeSet<String>,
}

/// The time beyond its interval after which a silent node counts as dead.
const TOLERANCE: u64 = 7_500 * MS;

impl World {
    pub fn happen(&self, event: Event) {
        let time = self.dice.borrow_mut().between(100 * MS, 30 * SECOND);
        match event {
            Event::AwayForAll => self.lose_store(time),
            Event::KillAll => self.all_numbers().into_iter().for_each(|number| self.kill(number)),
            Event::Promote => self.promote(),
            Event::Hold => self.hold(time / 3),
            Event::SetStoreClock => self.set_store_clock(),
            Event::Visit => self.visit(),
            Event::Kill
            | Event::ShutDown
            | Event::Stop
            | Event::Sleep
            | Event::Away
            | Event::SetClock
            | Event::Operate => {
                let is_by_java = event == Event::Operate && self.plan.has(Event::Visit);
                if is_by_java && self.dice.borrow_mut().chance(6_000) {
                    return self.java_program_acts();
                }
                let Some(node) = self.any_node() else { return };
                self.happen_to(&node, event, time);
            }
        }
    }

    fn happen_to(&self, node: &SimNode, event: Event, time: u64) {
        let number = node.number;
        match event {
            Event::Kill => self.kill(number),
            Event::ShutDown if !node.is_busy() && !node.stands_still(self.now()) => self.shut_down(node),
            Event::Stop if !node.is_busy() => {
                self.say(format_args!("n{number} stands still for {} ms", time / MS));
                node.stand_still(self.now() + time);
            }
            Event::Sleep if !node.is_busy() => {
                let time = self.dice.borrow_mut().between(14 * SECOND, 24 * SECOND);
                self.say(format_args!("n{number} stands still for {} ms", time / MS));
                node.stand_still(self.now() + time);
            }
            Event::Away => {
                self.say(format_args!("n{number} does not reach the store for {} ms", time / MS));
                node.link.lose_store(self.now() + time);
            }
            Event::SetClock => {
                let ahead = i64::try_from(self.dice.borrow_mut().below(7_200_000)).expect("short") - 3_600_000;
                self.say(format_args!("the wall clock of n{number} is set by {ahead} ms"));
                node.clock.shift(ahead);
            }
            Event::Operate if !node.is_busy() && !node.stands_still(self.now()) => Operators::act(self, node),
            _ => {}
        }
    }

    /// Every other time a replica falls behind; then it takes the place of the store.
    fn promote(&self) {
        let mut lasting = self.lasting.borrow_mut();
        let Some((since, replica)) = lasting.replica.take() else {
            lasting.replica = Some((self.now(), Replica::of(self)));
            return;
        };
        lasting.lost.push((since, self.now()));
        drop(lasting);
        let mut known = self.stored_fires();
        known.extend(self.log.borrow().iter().map(|event| text(event, "fire_id").to_owned()));
        self.say(format_args!("the store loses the commits of the last {} ms", (self.now() - since) / MS));
        self.let_go(u64::MAX);
        replica.promote(self);
        let stored = self.stored_fires();
        self.lasting.borrow_mut().forgotten.extend(known.difference(&stored).cloned());
        let uses = self.dice.borrow_mut().between(1, 4);
        self.cut_all(uses);
    }

    /// The ids of the fires that the store knows.
    fn stored_fires(&self) -> BTreeSet<String> {
        let fired = self.snapshot().fired.into_iter().map(|fire| fire.fire_id);
        fired.chain(self.history().into_iter().map(|row| row.fire_id)).collect()
    }

    /// True if it is no wonder that work was fired once more: the store has forgotten a fire of it,
    /// or what it knew of one that began in the time that is lost.
    pub fn is_repeated(&self, runs: &[Run]) -> bool {
        /// A fire that the store was told of just before may begin so much later.
        const BEGINS_LATE: u64 = 5 * SECOND;
        let lasting = self.lasting.borrow();
        let is_in = |at: u64| lasting.lost.iter().any(|(from, to)| (*from..*to + BEGINS_LATE).contains(&at));
        runs.iter().any(|run| {
            let began = u64::try_from(run.started_ns / 1_000).expect("after the beginning");
            lasting.forgotten.contains(&run.fire_id) || is_in(began)
        })
    }

    fn set_store_clock(&self) {
        // A node that starts right after a jump has seen nothing, and goes by the times in the
        // rows. A jump forward is then shorter than the margin by which nodes suspect themselves
        // before others do.
        let begins_nodes = |event: &Event| matches!(event, Event::Kill | Event::KillAll | Event::ShutDown);
        let are_nodes_new = self.plan.events.iter().any(|(event, _)| begins_nodes(event))
            || self.plan.chances.crash > 0
            || self.do_nodes_start();
        // The jumps of one window count together.
        let window = self.plan.longest_checkin() + TOLERANCE;
        let forward_ms = |set: &(u64, i64)| if self.now() < set.0 + window { set.1.max(0) } else { 0 };
        let before_ms: i64 = self.lasting.borrow().set.iter().map(forward_ms).sum();
        let (drawn, most) = if are_nodes_new { (5_000, (1_400 - before_ms).max(0)) } else { (30_000, 30_000) };
        let ahead = i64::try_from(self.dice.borrow_mut().below(30_000 + drawn)).expect("short") - 30_000;
        let ahead = ahead.min(most);
        // Two jumps between two check-ins of a node may cancel each other: the node sees none, and
        // takes rows from between them for old.
        let is_undone = |set: &(u64, i64)| set.1 < 0 && self.now() < set.0 + self.plan.longest_checkin() + SECOND;
        if ahead > 0 && self.lasting.borrow().set.iter().any(is_undone) {
            return;
        }
        self.say(format_args!("the clock of the store is set by {ahead} ms"));
        self.store_clock.shift(ahead);
        self.lasting.borrow_mut().set.push((self.now(), ahead));
    }

    pub fn was_store_clock_set(&self) -> bool {
        !self.lasting.borrow().set.is_empty()
    }

    /// True if nodes may still go by what the store's clock said before it was set back.
    pub fn was_store_set_back(&self) -> bool {
        const GOES_BY_IT: u64 = 120 * SECOND;
        self.lasting.borrow().set.iter().any(|(at, by)| *by < 0 && self.now() < at + GOES_BY_IT)
    }

    /// A job's transaction, or an operator's, holds a fired row.
    fn hold(&self, time: u64) {
        let Some(memory) = self.database.memory() else { return self.hold_file(time) };
        // A row is held by the job of its fire, which has begun.
        let has_begun = |id: &String| self.running.borrow().contains_key(id);
        let fired = self.snapshot().fired.into_iter().filter(|fire| fire.state == FiredState::Executing);
        let mut ids: Vec<String> = fired.map(|fire| fire.fire_id).filter(has_begun).collect();
        if ids.is_empty() {
            return;
        }
        let at = self.dice.borrow_mut().index(ids.len());
        let id = ids.swap_remove(at);
        self.say(format_args!("somebody holds {id} for {} ms", time / MS));
        memory.hold(&id);
        let mut lasting = self.lasting.borrow_mut();
        lasting.were_held.insert(id.clone());
        lasting.holds.push((self.now() + time, id));
    }

    /// A transaction of a caller writes, and no other writes meanwhile.
    fn hold_file(&self, time: u64) {
        self.say(format_args!("somebody holds the file for {} ms", time / MS));
        self.lasting.borrow_mut().file_held_until = self.now() + time;
    }

    /// The time for which a caller's transaction keeps others from writing.
    pub fn file_held_for(&self) -> u64 {
        self.lasting.borrow().file_held_until.saturating_sub(self.now())
    }

    /// The end of the transactions that end before this.
    pub fn let_go(&self, before: u64) {
        let mut lasting = self.lasting.borrow_mut();
        if lasting.file_held_until < before {
            lasting.file_held_until = 0;
        }
        let Some(memory) = self.database.memory().filter(|_| !lasting.holds.is_empty()) else { return };
        lasting.holds.retain(|(until, id)| {
            if *until < before {
                memory.let_go(id);
            }
            *until >= before
        });
    }

    /// True if a transaction of a caller held this row once.
    pub fn was_held(&self, fire_id: &str) -> bool {
        self.lasting.borrow().were_held.contains(fire_id)
    }

    /// True if a violation is of a row that recovery has passed over, since somebody held it, or of
    /// a node of Quartz that goes on though it was declared dead.
    pub fn was_passed_over(&self, violation: &Violation) -> bool {
        let is_of = |id: &String| violation.subject.ends_with(id.as_str());
        let is_visitors = violation.subject.starts_with("fire java-");
        violation.invariant == "I5" && (is_visitors || self.lasting.borrow().were_held.iter().any(is_of))
    }

    /// True if commits were lost from shortly before these times on, or around them.
    pub fn are_lost(&self, times: impl Iterator<Item = u64>) -> bool {
        /// A node that does not notice it goes by what it knows for so long.
        const UNNOTICED: u64 = 90 * SECOND;
        let lasting = self.lasting.borrow();
        let is_in = |time: u64| lasting.lost.iter().any(|(from, to)| (*from..*to + UNNOTICED).contains(&time));
        times.into_iter().any(is_in)
    }

    pub fn has_lost_commits(&self) -> bool {
        !self.lasting.borrow().lost.is_empty()
    }

    fn any_node(&self) -> Option<Rc<SimNode>> {
        let nodes = self.nodes.borrow();
        let living: Vec<_> = nodes.iter().filter(|node| !node.link.is_dead()).collect();
        if living.is_empty() {
            return None;
        }
        Some(Rc::clone(living[self.dice.borrow_mut().index(living.len())]))
    }

    pub fn any_name(&self) -> Option<String> {
        self.any_node().map(|node| node.name.clone())
    }
}
