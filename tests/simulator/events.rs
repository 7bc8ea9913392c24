//! Events: the things that happen to a cluster by themselves.

use super::node::SimNode;
use super::operators::Operators;
use super::plan::{Event, MS, SECOND};
use super::world::World;
use carnelian::store::row::FiredState;
use carnelian::store::{MemoryBackup, Violation};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The state of those events that last.
#[derive(Debug, Default)]
pub struct Lasting {
    /// The store as a replica has it that will be promoted, and since when that lags behind.
    replica: Option<(u64, MemoryBackup)>,
    /// The times from which commits were lost, and until which.
    pub lost: Vec<(u64, u64)>,
    /// Fired rows that transactions of callers hold, each with the end.
    holds: Vec<(u64, String)>,
    /// Rows that were held once: a node may be recovered without them, until a later check-in.
    were_held: BTreeSet<String>,
}

impl World {
    pub fn happen(&self, event: Event) {
        let time = self.dice.borrow_mut().between(100 * MS, 30 * SECOND);
        match event {
            Event::AwayForAll => self.lose_store(time),
            Event::KillAll => self.all_numbers().into_iter().for_each(|number| self.kill(number)),
            Event::Promote => self.promote(),
            Event::Hold => self.hold(time / 3),
            Event::Kill | Event::Stop | Event::Away | Event::SetClock | Event::Operate => {
                let Some(node) = self.any_node() else { return };
                self.happen_to(&node, event, time);
            }
        }
    }

    fn happen_to(&self, node: &SimNode, event: Event, time: u64) {
        let number = node.number;
        match event {
            Event::Kill => self.kill(number),
            Event::Stop if !node.is_busy() => {
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
        let Some(memory) = self.database.memory() else { return };
        let mut lasting = self.lasting.borrow_mut();
        let Some((since, backup)) = lasting.replica.take() else {
            lasting.replica = Some((self.now(), memory.backup()));
            return;
        };
        lasting.lost.push((since, self.now()));
        drop(lasting);
        self.say(format_args!("the store loses the commits of the last {} ms", (self.now() - since) / MS));
        self.let_go(u64::MAX);
        memory.put_back(backup);
        let uses = self.dice.borrow_mut().between(1, 4);
        self.cut_all(uses);
    }

    /// A job's transaction, or an operator's, holds a fired row.
    fn hold(&self, time: u64) {
        let Some(memory) = self.database.memory() else { return };
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

    /// The end of the transactions that end before this.
    pub fn let_go(&self, before: u64) {
        let mut lasting = self.lasting.borrow_mut();
        let Some(memory) = self.database.memory().filter(|_| !lasting.holds.is_empty()) else { return };
        lasting.holds.retain(|(until, id)| {
            if *until < before {
                memory.let_go(id);
            }
            *until >= before
        });
    }

    /// True if a violation is of a row that recovery has passed over, since somebody held it.
    pub fn was_passed_over(&self, violation: &Violation) -> bool {
        let is_of = |id: &String| violation.subject.ends_with(id.as_str());
        violation.invariant == "I5" && self.lasting.borrow().were_held.iter().any(is_of)
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
