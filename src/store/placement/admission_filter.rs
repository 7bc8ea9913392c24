//! `AdmissionFilter`: what a store's node knows of where work may run, and the filter that each
//! acquisition goes through.
//!
//! Nodes that take no work and limits are read with each check-in, so that a change has effect
//! within one check-in interval and acquisition asks for none of it. The placement of a job comes
//! with the job. A fire that was refused once for the sake of its placement is left out by the
//! database from then on, as long as it would be refused: it cannot stand in the way of what is due
//! behind it.

use crate::epoch::millis;
use crate::error::Result;
use crate::job::{JobDetail, Placement};
use crate::key::{BROADCAST_GROUP, TriggerKey};
use crate::rules::placement::{ClusterView, NodeIdentity, Refusal, Verdict, Work, decide, takes_any};
use crate::rules::strategy::{is_for, is_tick, prefix};
use crate::store::row::{Exclusions, GroupRuns};
use crate::store::{NodeView, Session};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of refused placements that the database is told to leave out; other candidates are
/// read and left.
const MOST_EXCLUDED: usize = 64;

impl NodeView {
    /// Notes who the node is: what it says of itself with its check-in.
    pub(in crate::store) fn note_identity(&self, identity: NodeIdentity) {
        let mut placed = self.placed.write();
        if placed.me.as_deref() != Some(&identity) {
            placed.me = Some(Arc::new(identity));
        }
    }

    /// The node; one that said nothing of itself has this instance id.
    pub(in crate::store) fn identity(&self, instance: &str) -> Arc<NodeIdentity> {
        let said = self.placed.read().me.clone();
        said.unwrap_or_else(|| Arc::new(NodeIdentity::of_instance(instance)))
    }

    /// Notes what a check-in has read.
    pub(in crate::store) fn note_placement(&self, view: ClusterView) {
        self.placed.write().view = Arc::new(view);
    }

    /// Notes that there are parts of fanned-out ticks.
    pub(in crate::store) fn note_parts(&self) {
        if !self.placed.read().sees_parts {
            self.placed.write().sees_parts = true;
        }
    }

    /// Notes that the job's policy names a strategy that this node does not have, which may be one
    /// too many.
    fn note_foreign(&self, job: &JobDetail, policy: &str, too_many: bool) {
        let mut placed = self.placed.write();
        if too_many {
            // Some may be of jobs that are gone: those that are there are learned again.
            placed.foreign.clear();
        }
        if placed.foreign.insert(policy.to_owned()) {
            let strategy = job.policy().execution_strategy();
            log::info!("ticks are left to nodes that have the strategy strategy={strategy} job={}", job.key());
        }
    }

    /// True if there is a limit for the group.
    pub(in crate::store) fn has_limit(&self, group: &str) -> bool {
        self.placed.read().view.limits.iter().any(|limit| limit.group == group)
    }

    /// Nothing keeps this node from any work, as far as it knows.
    pub(in crate::store) fn is_open(&self) -> bool {
        if takes_any(&self.identity(""), &[], 0).is_err() {
            return false;
        }
        let placed = self.placed.read();
        let leaves_none = placed.refused.is_empty() && placed.foreign.is_empty() && !placed.sees_parts;
        placed.view.blacklist.is_empty() && placed.view.limits.is_empty() && leaves_none
    }

    /// The filter for one transaction. Asks the store for something only if there are limits.
    pub(in crate::store) fn admission_filter(
        &self,
        s: &mut dyn Session,
        instance: &str,
        now_ms: i64,
    ) -> Result<AdmissionFilter<'_>> {
        let me = self.identity(instance);
        let (view, refused, foreign, sees_parts) = {
            let placed = self.placed.read();
            (Arc::clone(&placed.view), placed.refused.clone(), placed.foreign.clone(), placed.sees_parts)
        };
        let is_shut = takes_any(&me, &view.blacklist, now_ms).is_err();
        let groups: Vec<String> = view.limits.iter().map(|limit| limit.group.clone()).collect();
        let runs = if groups.is_empty() || is_shut { Vec::new() } else { s.runs_of_groups(&groups)? };
        let mut admission = AdmissionFilter {
            node: self,
            me,
            view,
            runs,
            now_ms,
            is_shut,
            excluded: Exclusions::default(),
            seen: BTreeMap::new(),
            hidden: 0,
            hidden_by_policy: BTreeMap::new(),
        };
        admission.excluded.ticks = foreign.into_iter().collect();
        admission.excluded.parts_but = sees_parts.then(|| prefix(&admission.me.instance));
        for (policy, placement) in refused {
            if let Err(refusal) = admission.verdict(Some(&placement), "", now_ms) {
                admission.exclude_policy(&policy, &refusal);
            }
        }
        admission.excluded.groups =
            groups.into_iter().filter(|group| admission.verdict(None, group, now_ms).is_err()).collect();
        Ok(admission)
    }
}

/// Decides in one transaction what this node may take, and keeps count.
pub(in crate::store) struct AdmissionFilter<'a> {
    node: &'a NodeView,
    me: Arc<NodeIdentity>,
    view: Arc<ClusterView>,
    runs: Vec<GroupRuns>,
    now_ms: i64,
    /// Nothing may be taken.
    pub(in crate::store) is_shut: bool,
    /// The exclusions, as far as they are known by now.
    pub(in crate::store) excluded: Exclusions,
    /// The number of candidates of limited groups that were seen.
    seen: BTreeMap<String, usize>,
    /// The number of candidates that were seen and that the next page leaves out.
    pub(in crate::store) hidden: usize,
    /// The number of these that are of limited groups, and left out for their policy.
    hidden_by_policy: BTreeMap<String, usize>,
}

impl AdmissionFilter<'_> {
    /// True if there is a limit for the group: its fires are counted when they begin, so none is
    /// reserved before.
    pub(in crate::store) fn is_limited(&self, group: &str) -> bool {
        self.view.limits.iter().any(|limit| limit.group == group)
    }

    /// Notes that a candidate came with a page.
    pub(in crate::store) fn sees(&mut self, group: &str) {
        if self.is_limited(group) {
            *self.seen.entry(group.to_owned()).or_default() += 1;
        }
    }

    /// The trigger is no other node's part of a spread tick. A trigger that is another's part is
    /// left out of the next page.
    pub(in crate::store) fn admits_part(&mut self, trigger: &TriggerKey) -> bool {
        if trigger.group() != BROADCAST_GROUP {
            return true;
        }
        self.node.note_parts();
        let prefix = prefix(&self.me.instance);
        let is_for_me = is_for(trigger, &prefix);
        self.hidden += usize::from(!is_for_me);
        self.excluded.parts_but = Some(prefix);
        is_for_me
    }

    /// The trigger's fire is no tick of a strategy that this node does not have. A fire that is
    /// such a tick is left out of the next page, and its like with it.
    pub(in crate::store) fn admits_tick(
        &mut self,
        job: &JobDetail,
        policy: Option<&str>,
        trigger: &TriggerKey,
    ) -> bool {
        if !is_tick(job, trigger) || self.node.has_strategy_of(job) {
            return true;
        }
        let Some(policy) = policy else { return false };
        if !self.excluded.ticks.iter().any(|one| one == policy) {
            self.node.note_foreign(job, policy, self.excluded.ticks.len() >= MOST_EXCLUDED);
            if self.excluded.ticks.len() >= MOST_EXCLUDED {
                return false;
            }
            self.excluded.ticks.push(policy.to_owned());
        }
        self.hidden += 1;
        if self.is_limited(job.key().group()) {
            *self.hidden_by_policy.entry(job.key().group().to_owned()).or_default() += 1;
        }
        false
    }

    /// The fire may be taken. A fire that may not be taken is left out of the next page, and its
    /// like with it.
    pub(in crate::store) fn admits(&mut self, job: &JobDetail, policy: Option<&str>, due_ms: i64) -> bool {
        let placement = job.policy().placed();
        if placement.is_none() && self.view.limits.is_empty() && !self.is_shut {
            return true;
        }
        let group = job.key().group();
        let Err(refusal) = self.verdict(placement, group, due_ms) else { return true };
        if matches!(refusal, Refusal::NodeFull { .. } | Refusal::ClusterFull { .. }) {
            if self.excluded.groups.iter().any(|one| one == group) {
                self.hidden += 1;
            } else {
                self.excluded.groups.push(group.to_owned());
                // Some of them may be left out by their policy already.
                let by_policy = self.hidden_by_policy.get(group).copied().unwrap_or(0);
                self.hidden += self.seen.get(group).copied().unwrap_or(0).saturating_sub(by_policy);
            }
        } else if let Some((policy, placement)) = policy.zip(placement).filter(|_| !self.is_shut)
            && self.exclude_policy(policy, &refusal)
        {
            self.hidden += 1;
            if self.is_limited(group) {
                *self.hidden_by_policy.entry(group.to_owned()).or_default() += 1;
            }
            self.remember(policy, placement);
        }
        false
    }

    /// Notes that a fire of the group begins here.
    pub(in crate::store) fn begins(&mut self, group: &str) {
        if !self.is_limited(group) {
            return;
        }
        let instance = &self.me.instance;
        match self.runs.iter_mut().find(|runs| runs.group == group && runs.instance == *instance) {
            Some(runs) => runs.running = runs.running.saturating_add(1),
            None => {
                let (group, instance) = (group.to_owned(), instance.clone());
                self.runs.push(GroupRuns { group, instance, running: 1 });
            }
        }
    }

    fn verdict(&self, placement: Option<&Placement>, group: &str, due_ms: i64) -> Verdict {
        decide(Work { placement, group, due_ms }, &self.me, &self.view, &self.runs, self.now_ms)
    }

    /// Leaves out the fires of jobs with this policy; false if there are too many of the kind.
    fn exclude_policy(&mut self, policy: &str, refusal: &Refusal) -> bool {
        if self.excluded.policies.iter().any(|(one, _)| one == policy) {
            return true;
        }
        if self.excluded.policies.len() >= MOST_EXCLUDED {
            return false;
        }
        let after_ms = match refusal {
            // A fire that has been due for longer than the grace is not refused.
            Refusal::Prefers { grace, .. } => self.now_ms.saturating_sub(millis(*grace)),
            _ => i64::MIN,
        };
        self.excluded.policies.push((policy.to_owned(), after_ms));
        true
    }

    fn remember(&self, policy: &str, placement: &Placement) {
        let mut placed = self.node.placed.write();
        // Some may be of jobs that are gone: what is still refused is learned again.
        if placed.refused.len() >= MOST_EXCLUDED && !placed.refused.contains_key(policy) {
            placed.refused.clear();
        }
        placed.refused.entry(policy.to_owned()).or_insert_with(|| Arc::new(placement.clone()));
    }
}
