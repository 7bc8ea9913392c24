//! The nodes that may run a job, the reasons of the others, and the jobs that no node may run.

use crate::epoch::millis;
use crate::error::Result;
use crate::hash::HashMap;
use crate::job::{JobDetail, Placement};
use crate::key::JobKey;
use crate::node::NodeIdentity;
use crate::rules::failover::is_dead;
use crate::rules::placement::{ClusterView, Refusal, Verdict, Work, decide};
use crate::store::row::{InstanceRow, InstanceSelection, JobSelection, PlacementView};
use crate::store::{ClusterPlacement, Session};
use std::collections::BTreeSet;

/// The answer of one living node to a fire.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MayRun {
    /// The instance id.
    pub instance: String,
    /// Why it may not; none if it may.
    pub refusal: Option<Refusal>,
    /// The answer is a guess, since the node's name and labels are not known here.
    pub is_guess: bool,
}

/// A job that no living node may run, for the sake of its placement.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnplaceableJob {
    /// The job.
    pub job: JobKey,
    /// The nodes on which the job may run.
    pub placement: Placement,
    /// The living nodes, and why each may not.
    pub nodes: Vec<MayRun>,
}

impl ClusterPlacement<'_> {
    /// The living nodes of ours that may take a fire of the job that is due at `due_ms`, by the
    /// rule that acquisition goes by.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn who_may_run(&self, job: &JobDetail, due_ms: i64) -> Result<Vec<MayRun>> {
        self.store.read("look who may run a job", |s| {
            let (members, found) = s.read_members()?;
            let now_ms = members.now_ms;
            let view = self.cluster_view(members.instances, found, now_ms);
            let group = job.key().group();
            let limited = view.limits.iter().any(|limit| limit.group == group);
            let runs = if limited { s.runs_of_groups(&[group.to_owned()])? } else { Vec::new() };
            let work = Work { placement: job.policy().placed(), group, due_ms };
            Ok(view.alive.iter().map(|node| may_run(node, decide(work, node, &view, &runs, now_ms))).collect())
        })
    }

    /// The jobs with a placement that no living node may run; none while no node lives, and none
    /// that a node of which too little is known might run.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn unplaceable_jobs(&self) -> Result<Vec<UnplaceableJob>> {
        self.store.read("look for jobs that no node may run", |s| {
            let now_ms = s.now_ms()?;
            let view = self.read_cluster(s, now_ms)?;
            let mut unplaceable = Vec::new();
            if view.alive.is_empty() {
                return Ok(unplaceable);
            }
            for row in s.jobs(JobSelection::All)?.into_iter().filter(|row| row.policy.is_some()) {
                // A job that cannot be read is named elsewhere.
                let Ok(job) = self.store.job_detail(&row) else { continue };
                let Some(placement) = job.policy().placed() else { continue };
                let work = Work { placement: Some(placement), group: job.key().group(), due_ms: now_ms };
                let nodes: Vec<MayRun> =
                    view.alive.iter().map(|node| may_run(node, decide(work, node, &view, &[], now_ms))).collect();
                let may = |node: &MayRun| node.is_guess || node.refusal.as_ref().is_none_or(Refusal::is_for_now);
                if !nodes.iter().any(may) {
                    unplaceable.push(UnplaceableJob { job: row.key, placement: placement.clone(), nodes });
                }
            }
            Ok(unplaceable)
        })
    }

    /// The cluster as its rows show it now.
    pub(in crate::store) fn read_cluster(&self, s: &mut dyn Session, now_ms: i64) -> Result<ClusterView> {
        let (instances, found) = (s.instances(InstanceSelection::All)?, s.placement_view()?);
        Ok(self.cluster_view(instances, found, now_ms))
    }

    fn cluster_view(&self, instances: Vec<InstanceRow>, found: PlacementView, now_ms: i64) -> ClusterView {
        let lives = |row: &InstanceRow| !is_dead(row, millis(self.store.tolerance()), now_ms);
        let instances: Vec<InstanceRow> = instances.into_iter().filter(lives).collect();
        let of_quartz = instances.iter().filter(|row| row.incarnation.is_none());
        let of_quartz: BTreeSet<&str> = of_quartz.map(|row| row.name.as_str()).collect();
        let nodes = identities(found.nodes, &instances).into_iter();
        ClusterView {
            alive: nodes.filter(|node| !of_quartz.contains(node.instance.as_str())).collect(),
            blacklist: found.blacklist,
            limits: found.limits,
            grace_ms: millis(self.store.settings.job_store.checkin_interval),
        }
    }
}

/// The identities of these instances, by what they say of themselves.
pub(in crate::store) fn identities(said: Vec<NodeIdentity>, instances: &[InstanceRow]) -> Vec<NodeIdentity> {
    let mut said: HashMap<String, NodeIdentity> = said.into_iter().map(|node| (node.instance.clone(), node)).collect();
    let identity = |row: &InstanceRow| {
        let of_ours = said.remove(&row.name).filter(|_| row.incarnation.is_some());
        of_ours.unwrap_or_else(|| NodeIdentity::of_instance(&row.name))
    };
    instances.iter().map(identity).collect()
}

fn may_run(node: &NodeIdentity, verdict: Verdict) -> MayRun {
    let refusal = verdict.err();
    // The name may be allowed after all, its labels may be the right ones.
    let is_guess = match refusal {
        Some(Refusal::NotAllowed { .. }) => node.node_name.is_none(),
        Some(Refusal::Label { .. }) => node.labels.is_none(),
        _ => false,
    };
    MayRun { instance: node.instance.clone(), refusal, is_guess }
}
