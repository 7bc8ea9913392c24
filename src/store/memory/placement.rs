//! Nodes that take no work and limits of groups in maps.

use super::MemorySession;
use crate::error::Result;
use crate::rules::strategy::{is_for, may_be_tick};
use crate::store::database::PlacementRows;
use crate::store::row::{
    BlacklistKind, BlacklistRow, FiredState, GroupRuns, LeftAlone, LimitRow, NodePlace, NodeRow, TriggerRow,
    Whereabouts,
};

impl MemorySession<'_> {
    pub(super) fn is_left(&self, trigger: &TriggerRow, left: &LeftAlone) -> bool {
        let policy = self.tables.jobs.get(&trigger.job).and_then(|job| job.policy.as_deref());
        left.parts_but.as_ref().is_some_and(|prefix| !is_for(&trigger.key, prefix))
            || left.leaves(trigger.job.group(), policy, trigger.next_ms)
            || may_be_tick(&trigger.key) && left.ticks.iter().any(|one| policy == Some(one))
    }
}

impl PlacementRows for MemorySession<'_> {
    fn whereabouts(&mut self) -> Result<Whereabouts> {
        self.reads()?;
        let place = |row: &NodeRow| NodePlace {
            instance: row.instance.clone(),
            node_name: row.info.node_name.clone(),
            labels: row.info.labels.clone(),
            role: row.info.role,
        };
        Ok(Whereabouts {
            nodes: self.tables.nodes.values().map(place).collect(),
            blacklist: self.tables.blacklist.values().cloned().collect(),
            limits: self.tables.limits.values().cloned().collect(),
        })
    }

    fn blacklist(&mut self) -> Result<Vec<BlacklistRow>> {
        self.reads()?;
        Ok(self.tables.blacklist.values().cloned().collect())
    }

    fn put_on_blacklist(&mut self, row: &BlacklistRow) -> Result<()> {
        self.delete_from_blacklist(&row.node, row.kind.replaces())?;
        self.tables.blacklist.put((row.node.clone(), row.kind), row.clone());
        Ok(())
    }

    fn delete_from_blacklist(&mut self, node: &str, kinds: &[BlacklistKind]) -> Result<usize> {
        self.reads()?;
        Ok(self.tables.blacklist.remove_if(|(name, kind), _| name == node && kinds.contains(kind)))
    }

    fn forget_blacklist(&mut self, before_ms: i64) -> Result<usize> {
        self.reads()?;
        Ok(self.tables.blacklist.remove_if(|_, entry| entry.until_ms.is_some_and(|until_ms| until_ms <= before_ms)))
    }

    fn limits(&mut self) -> Result<Vec<LimitRow>> {
        self.reads()?;
        Ok(self.tables.limits.values().cloned().collect())
    }

    fn put_limit(&mut self, row: &LimitRow) -> Result<()> {
        self.reads()?;
        self.tables.limits.put(row.group.clone(), row.clone());
        Ok(())
    }

    fn delete_limit(&mut self, group: &str) -> Result<bool> {
        self.reads()?;
        Ok(self.tables.limits.remove(group).is_some())
    }

    fn runs_of_groups(&mut self, groups: &[String]) -> Result<Vec<GroupRuns>> {
        self.reads()?;
        let mut runs: Vec<GroupRuns> = Vec::new();
        for fire in self.tables.fired.values().filter(|fire| fire.state == FiredState::Executing) {
            let Some(group) = fire.job.as_ref().map(|job| job.group()) else { continue };
            if !groups.iter().any(|one| one == group) {
                continue;
            }
            match runs.iter_mut().find(|one| one.group == group && one.instance == fire.instance) {
                Some(one) => one.running += 1,
                None => {
                    let instance = fire.instance.clone();
                    runs.push(GroupRuns { group: group.to_owned(), instance, running: 1 });
                }
            }
        }
        runs.sort_by(|a, b| (&a.group, &a.instance).cmp(&(&b.group, &b.instance)));
        Ok(runs)
    }
}
