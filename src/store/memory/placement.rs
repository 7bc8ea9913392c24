//! Nodes that take no work and limits of groups in maps.

use super::MemorySession;
use crate::error::Result;
use crate::node::NodeIdentity;
use crate::rules::strategy::{is_for, may_be_tick};
use crate::store::database::PlacementRows;
use crate::store::row::{Exclusions, FiredState, GroupRuns, NodeRow, PlacementView, TriggerRow};

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
        let identity = |row: NodeRow| NodeIdentity::of_info(row.instance, &row.info);
        Ok(PlacementView {
            nodes: self.tables.rows().map(identity).collect(),
            blacklist: self.tables.rows().collect(),
            limits: self.tables.rows().collect(),
        })
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
