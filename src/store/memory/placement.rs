//! Nodes that take no work and limits of groups in maps.

use super::MemorySession;
use crate::error::Result;
use crate::rules::strategy::{is_for, may_be_tick};
use crate::store::database::PlacementRows;
use crate::store::row::{
    BarKind, BarRow, Exclusions, FiredState, GroupRuns, LimitRow, NodePlace, NodeRow, PlacementView, TriggerRow,
};

impl MemorySession<'_> {
    pub(super) fn is_excluded(&self, trigger: &TriggerRow, excluded: &Exclusions) -> bool {
        let policy = self.tables.jobs.get(&trigger.job).and_then(|job| job.policy.as_deref());
        excluded.parts_but.as_ref().is_some_and(|prefix| !is_for(&trigger.key, prefix))
            || excluded.excludes(trigger.job.group(), policy, trigger.next_ms)
            || may_be_tick(&trigger.key) && excluded.ticks.iter().any(|one| policy == Some(one))
    }
}

impl PlacementRows for MemorySession<'_> {
    fn placement_view(&mut self) -> Result<PlacementView> {
        self.reads()?;
        let place = |row: &NodeRow| NodePlace {
            instance: row.instance.clone(),
            node_name: row.info.node_name.clone(),
            labels: row.info.labels.clone(),
            role: row.info.role,
        };
        Ok(PlacementView {
            nodes: self.tables.nodes.values().map(place).collect(),
            bars: self.tables.bars.values().cloned().collect(),
            limits: self.tables.limits.values().cloned().collect(),
        })
    }

    fn bars(&mut self) -> Result<Vec<BarRow>> {
        self.reads()?;
        Ok(self.tables.bars.values().cloned().collect())
    }

    fn put_bar(&mut self, row: &BarRow) -> Result<()> {
        self.delete_bars(&row.node, row.kind.replaces())?;
        self.tables.bars.put((row.node.clone(), row.kind), row.clone());
        Ok(())
    }

    fn delete_bars(&mut self, node: &str, kinds: &[BarKind]) -> Result<usize> {
        self.reads()?;
        Ok(self.tables.bars.remove_if(|(name, kind), _| name == node && kinds.contains(kind)))
    }

    fn forget_bars(&mut self, before_ms: i64) -> Result<usize> {
        self.reads()?;
        Ok(self.tables.bars.remove_if(|_, bar| bar.until_ms.is_some_and(|until_ms| until_ms <= before_ms)))
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
