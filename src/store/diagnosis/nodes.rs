//! Nodes that have fallen silent, fires of nodes that are gone, clusters without a living node, and
//! clocks that are off.

use super::finding::Finding;
use super::sieve::Late;
use crate::epoch::millis;
use crate::rules::failover::is_dead;
use crate::span::span;
use crate::store::JobStore;
use crate::store::firing::is_fire_id;
use crate::store::row::{InstanceRow, Snapshot};
use std::collections::{BTreeMap, BTreeSet};

/// The longest lateness that a restart of the whole cluster explains.
const RESTART_MS: i64 = 60_000;

/// The distance from which the clock of a node of Quartz is worth a finding.
const SKEW_LIMIT_MS: i64 = 1_000;

/// The members of the cluster, as one look shows them.
pub(super) struct Members<'s> {
    snapshot: &'s Snapshot,
    alive: BTreeSet<&'s str>,
    /// The silent nodes whose work may be recovered at once.
    dead: BTreeSet<&'s str>,
}

impl<'s> Members<'s> {
    pub(super) fn of(store: &JobStore, snapshot: &'s Snapshot, now_ms: i64) -> Self {
        let tolerance_ms = millis(store.tolerance());
        let lives = |node: &&InstanceRow| !is_dead(node, tolerance_ms, now_ms);
        let names = |nodes: Vec<&'s InstanceRow>| nodes.into_iter().map(|node| node.name.as_str()).collect();
        let dead = |node: &&InstanceRow| store.upkeep().is_dead_at_once(node, now_ms);
        Self {
            snapshot,
            alive: names(snapshot.instances.iter().filter(lives).collect()),
            dead: names(snapshot.instances.iter().filter(dead).collect()),
        }
    }

    pub(super) fn is_any_alive(&self) -> bool {
        !self.alive.is_empty()
    }

    /// Fires of nodes that are gone, and nodes that have fallen silent.
    pub(super) fn silent(&self) -> Vec<Finding> {
        let known: BTreeSet<&str> = self.snapshot.instances.iter().map(|node| node.name.as_str()).collect();
        let mut held: BTreeMap<&str, usize> = BTreeMap::new();
        for fire in &self.snapshot.fired {
            *held.entry(fire.instance.as_str()).or_default() += 1;
        }
        let orphans = held.iter().filter(|(name, _)| !known.contains(*name)).map(|(name, count)| {
            let detail = format!("{count} fires belong to this node, which is not registered");
            // A node of Quartz that was declared dead may live, and fire without being registered.
            let mut fires = self.snapshot.fired.iter().filter(|fire| fire.instance == **name);
            match fires.all(|fire| is_fire_id(&fire.fire_id)) {
                true => Finding::new("orphan_fires", name, detail).repairable(),
                false => {
                    let next = match self.alive.is_empty() {
                        true => "no node is alive to take them over: start one",
                        false => "a running node takes them over in time",
                    };
                    Finding::new("orphan_fires", name, format!("{detail}; {next}"))
                }
            }
        });
        let silent = self.snapshot.instances.iter().filter(|node| !self.alive.contains(node.name.as_str()));
        let silent = silent.map(|node| {
            let count = held.get(node.name.as_str()).copied().unwrap_or(0);
            let next = if self.alive.is_empty() { "; no other node is alive to take over" } else { "" };
            let detail = format!("it stopped checking in and holds {count} fires{next}");
            let finding = Finding::new("silent_instance", &node.name, detail);
            if self.dead.contains(node.name.as_str()) { finding.repairable() } else { finding }
        });
        orphans.chain(silent).collect()
    }

    /// A cluster that has fired and does not any more, since no node is alive. A restart of all
    /// nodes is no finding, nor is work that waits for the first node.
    pub(super) fn none_alive(&self, store: &JobStore, late: &Late) -> Option<Finding> {
        if self.is_any_alive() || late.most_ms <= RESTART_MS {
            return None;
        }
        let detail = format!(
            "no node is alive, and {} triggers are overdue, the oldest for {}: start one",
            late.overdue,
            span(late.most_ms)
        );
        Some(Finding::new("no_node", &store.settings.scheduler.instance_name, detail))
    }

    /// Nodes of Quartz write the time of their own clock; those are off whose check-ins come from
    /// the future, or are older than their interval.
    pub(super) fn foreign_clocks(&self, now_ms: i64) -> Vec<Finding> {
        let is_foreign = |node: &&InstanceRow| node.incarnation.is_none() && self.alive.contains(node.name.as_str());
        let look = |node: &InstanceRow| {
            let age_ms = now_ms.saturating_sub(node.last_checkin_ms);
            let detail = if age_ms < -SKEW_LIMIT_MS {
                format!("its clock is at least {} ahead of the database's", span(-age_ms))
            } else if age_ms > node.checkin_interval_ms.saturating_add(SKEW_LIMIT_MS) {
                format!("its last check-in is {} old: it is late, or its clock is behind the database's", span(age_ms))
            } else {
                return None;
            };
            let danger = "; a node of Quartz convicts others by its own clock";
            Some(Finding::new("clock_skew", &node.name, format!("{detail}{danger}")))
        };
        self.snapshot.instances.iter().filter(is_foreign).filter_map(look).collect()
    }
}
