//! Placement: whether a node may take a fire of a job now, and why not.

use crate::epoch::{length, millis, moment};
use crate::job::{LabelRule, Placement};
pub use crate::node::NodeIdentity;
use crate::node::NodeRole;
use crate::store::row::{BlacklistKind, BlacklistRow, GroupRuns, LimitRow};
use chrono::{DateTime, SecondsFormat, Utc};
use std::fmt;
use std::time::Duration;

/// The state of the cluster when it was last read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterView {
    /// Nodes that take no work.
    pub blacklist: Vec<BlacklistRow>,
    /// The limits of running fires of groups of jobs.
    pub limits: Vec<LimitRow>,
    /// The living nodes.
    pub alive: Vec<NodeIdentity>,
    /// The time for which a fire waits for the node that its job prefers, unless the job names
    /// another; milliseconds.
    pub grace_ms: i64,
}

/// A fire that is to be taken.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// The placement of the job.
    pub placement: Option<&'a Placement>,
    /// The group of its job.
    pub group: &'a str,
    /// The due time, epoch milliseconds.
    pub due_ms: i64,
}

/// Why a node may not take a fire now.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The node is an observer.
    Observer,
    /// The node is drained.
    Drained {
        /// The name it is drained under.
        node: String,
        /// The person who drained it.
        who: String,
        /// True if the drain stops the node's runs too.
        stops: bool,
    },
    /// The node is on the blacklist.
    Blacklisted {
        /// The name it is there under.
        node: String,
        /// The person who blacklisted it.
        who: String,
        /// Why.
        reason: Option<String>,
        /// Until when; for good if none.
        until: Option<DateTime<Utc>>,
    },
    /// The job allows others only.
    NotAllowed {
        /// The nodes that the job allows.
        allowed: Vec<String>,
    },
    /// Something that the job asks of labels is not so, or is not known to be.
    Label {
        /// The rule that the labels do not satisfy.
        rule: LabelRule,
    },
    /// The job prefers another, which is alive and may run it.
    Prefers {
        /// The preferred node.
        node: String,
        /// Until when this one waits.
        until: DateTime<Utc>,
        /// The time for which a fire waits in all.
        grace: Duration,
    },
    /// The node already runs as many fires of the job's group as its limit allows.
    NodeFull {
        /// The group.
        group: String,
        /// The limit.
        limit: u32,
    },
    /// The cluster already runs as many fires of the job's group as its limit allows.
    ClusterFull {
        /// The group.
        group: String,
        /// The limit.
        limit: u32,
    },
}

/// True if a node may take a fire.
pub type Verdict = Result<(), Refusal>;

/// True if `node` may take `work` now, while `runs` are running of limited groups (LT-80).
pub fn decide(work: Work<'_>, node: &NodeIdentity, view: &ClusterView, runs: &[GroupRuns], now_ms: i64) -> Verdict {
    takes_any(node, &view.blacklist, now_ms)?;
    if let Some(placement) = work.placement {
        may_run(placement, node)?;
        prefers(placement, work.due_ms, node, view, now_ms)?;
    }
    has_room(work.group, &node.instance, &view.limits, runs)
}

/// True if `node` takes any work at all.
pub fn takes_any(node: &NodeIdentity, blacklist: &[BlacklistRow], now_ms: i64) -> Verdict {
    if node.role == NodeRole::Observer {
        return Err(Refusal::Observer);
    }
    let in_force =
        |entry: &&BlacklistRow| node.is_named(&entry.node) && entry.until_ms.is_none_or(|until_ms| now_ms < until_ms);
    let blacklist: Vec<&BlacklistRow> = blacklist.iter().filter(in_force).collect();
    // The strongest restriction comes first: a drain may stop what runs.
    let order = [BlacklistKind::DrainAndStop, BlacklistKind::Drain, BlacklistKind::Blacklist];
    match order.iter().find_map(|kind| blacklist.iter().find(|entry| entry.kind == *kind)) {
        None => Ok(()),
        Some(entry) if entry.kind == BlacklistKind::Blacklist => Err(Refusal::Blacklisted {
            node: entry.node.clone(),
            who: entry.who.clone(),
            reason: entry.reason.clone(),
            until: entry.until(),
        }),
        Some(entry) => Err(Refusal::Drained {
            node: entry.node.clone(),
            who: entry.who.clone(),
            stops: entry.kind == BlacklistKind::DrainAndStop,
        }),
    }
}

/// True if the job may run on `node` whatever the time.
pub(crate) fn may_run(placement: &Placement, node: &NodeIdentity) -> Verdict {
    if placement.allowed().next().is_some() && !placement.allowed().any(|name| node.is_named(name)) {
        return Err(Refusal::NotAllowed { allowed: placement.allowed().map(str::to_owned).collect() });
    }
    let holds = |rule: &LabelRule| node.labels.as_ref().is_some_and(|labels| rule.holds_for(labels));
    match placement.labels().find(|rule| !holds(rule)) {
        Some(rule) => Err(Refusal::Label { rule: rule.clone() }),
        None => Ok(()),
    }
}

/// True if another node goes before `node`.
fn prefers(placement: &Placement, due_ms: i64, node: &NodeIdentity, view: &ClusterView, now_ms: i64) -> Verdict {
    let Some(preferred) = placement.preferred().filter(|name| !node.is_named(name)) else { return Ok(()) };
    let goes_before = |other: &NodeIdentity| {
        other.is_named(preferred)
            && takes_any(other, &view.blacklist, now_ms).is_ok()
            && may_run(placement, other).is_ok()
    };
    let grace = placement.grace().unwrap_or(length(view.grace_ms));
    let until_ms = due_ms.saturating_add(millis(grace));
    if now_ms < until_ms && view.alive.iter().any(goes_before) {
        return Err(Refusal::Prefers { node: preferred.to_owned(), until: moment(until_ms), grace });
    }
    Ok(())
}

/// True if another run of the group may begin on the node.
fn has_room(group: &str, instance: &str, limits: &[LimitRow], runs: &[GroupRuns]) -> Verdict {
    let Some(limits) = limits.iter().find(|limit| limit.group == group) else { return Ok(()) };
    let running = |takes: &dyn Fn(&GroupRuns) -> bool| {
        let runs = runs.iter().filter(|runs| runs.group == group && takes(runs));
        runs.fold(0_u32, |sum, runs| sum.saturating_add(runs.running))
    };
    if let Some(limit) = limits.per_node.filter(|limit| running(&|runs| runs.instance == instance) >= *limit) {
        return Err(Refusal::NodeFull { group: group.to_owned(), limit });
    }
    match limits.per_cluster.filter(|limit| running(&|_| true) >= *limit) {
        Some(limit) => Err(Refusal::ClusterFull { group: group.to_owned(), limit }),
        None => Ok(()),
    }
}

impl Refusal {
    /// True if the reason passes by itself, without a change by anybody.
    pub fn is_for_now(&self) -> bool {
        matches!(self, Refusal::Prefers { .. } | Refusal::NodeFull { .. } | Refusal::ClusterFull { .. })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Observer => f.write_str("it is an observer (carnelian.scheduler.role)"),
            Refusal::Drained { node, who, stops } => {
                let runs = if *stops { "; what runs there is stopped" } else { "" };
                write!(f, "`{node}` is drained by {who}{runs}: `carnelian undrain {node}` ends that")
            }
            Refusal::Blacklisted { node, who, reason, until } => {
                write!(f, "`{node}` is on the blacklist by {who}")?;
                if let Some(until) = until {
                    write!(f, " until {}", until.to_rfc3339_opts(SecondsFormat::Millis, true))?;
                }
                if let Some(reason) = reason {
                    write!(f, " ({reason})")?;
                }
                Ok(())
            }
            Refusal::NotAllowed { allowed } => write!(f, "the job allows {} only", allowed.join(", ")),
            Refusal::Label { rule } => write!(f, "the job asks for the label `{rule}`"),
            Refusal::Prefers { node, until, .. } => {
                let until = until.to_rfc3339_opts(SecondsFormat::Millis, true);
                write!(f, "the job prefers `{node}`, which is alive; others wait until {until}")
            }
            Refusal::NodeFull { group, limit } => {
                write!(f, "{limit} runs of group `{group}` are on it, as many as there may be on a node")
            }
            Refusal::ClusterFull { group, limit } => {
                write!(f, "{limit} runs of group `{group}` are in the cluster, as many as there may be")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000_000;

    fn node(instance: &str, name: &str, labels: &str) -> NodeIdentity {
        let labels = Some(labels.parse().unwrap());
        NodeIdentity { node_name: Some(name.to_owned()), labels, ..NodeIdentity::of_instance(instance) }
    }

    fn entry(node: &str, kind: BlacklistKind, until_ms: Option<i64>) -> BlacklistRow {
        let (reason, who) = (Some("disk".to_owned()), "ann".to_owned());
        BlacklistRow { node: node.to_owned(), kind, reason, who, until_ms, made_ms: NOW }
    }

    fn view(blacklist: &[BlacklistRow]) -> ClusterView {
        let alive = vec![node("i1", "a", "zone=eu,gpu=1"), node("i2", "b", "zone=us")];
        let limit = |group: &str, per_node, per_cluster| LimitRow {
            group: group.to_owned(),
            per_node,
            per_cluster,
            who: "ann".to_owned(),
            made_ms: NOW,
        };
        let limits =
            vec![limit("per-node", Some(2), None), limit("per-cluster", None, Some(3)), limit("shut", None, Some(0))];
        ClusterView { blacklist: blacklist.to_vec(), limits, alive, grace_ms: 15_000 }
    }

    fn why(
        placement: &Placement,
        group: &str,
        due_ms: i64,
        of: &NodeIdentity,
        blacklist: &[BlacklistRow],
        runs: &[GroupRuns],
    ) -> String {
        let work = Work { placement: Some(placement), group, due_ms };
        decide(work, of, &view(blacklist), runs, NOW).map_or_else(|why| why.to_string(), |()| "takes".to_owned())
    }

    /// LT-17, LT-60, LT-80: one function decides, and says why.
    #[test]
    fn who_may_take_what() {
        let (a, b) = (node("i1", "a", "zone=eu,gpu=1"), node("i2", "b", "zone=us"));
        let unknown = NodeIdentity::of_instance("i3");
        let anywhere = Placement::new();
        let allow = |name: &str| Placement::new().allow_node(name);
        let label = |rule: &str| Placement::new().require_label(rule.parse().unwrap());
        let prefer = |name: &str| Placement::new().prefer_node(name);
        let observer = NodeIdentity { role: NodeRole::Observer, ..a.clone() };
        for (placement, due_ms, of, blacklist, expected) in [
            (anywhere.clone(), NOW, &a, vec![], "takes"),
            (anywhere.clone(), NOW, &observer, vec![], "observer"),
            (anywhere.clone(), NOW, &a, vec![entry("a", BlacklistKind::Drain, None)], "`a` is drained by ann: "),
            (
                anywhere.clone(),
                NOW,
                &a,
                vec![entry("i1", BlacklistKind::DrainAndStop, None)],
                "`i1` is drained by ann; what runs",
            ),
            (anywhere.clone(), NOW, &a, vec![entry("b", BlacklistKind::Drain, None)], "takes"),
            (
                anywhere.clone(),
                NOW,
                &a,
                vec![entry("a", BlacklistKind::Blacklist, None)],
                "`a` is on the blacklist by ann (disk)",
            ),
            (
                anywhere.clone(),
                NOW,
                &a,
                vec![entry("a", BlacklistKind::Blacklist, Some(NOW + 1))],
                "until 2027-01-15T08:00:00.001Z",
            ),
            (anywhere.clone(), NOW, &a, vec![entry("a", BlacklistKind::Blacklist, Some(NOW))], "takes"),
            (allow("a"), NOW, &a, vec![], "takes"),
            (allow("i1"), NOW, &a, vec![], "takes"),
            (allow("a"), NOW, &b, vec![], "the job allows a only"),
            (allow("a").allow_node("b"), NOW, &b, vec![], "takes"),
            (allow("a"), NOW, &unknown, vec![], "the job allows a only"),
            (label("zone=eu"), NOW, &a, vec![], "takes"),
            (label("zone=eu"), NOW, &b, vec![], "the job asks for the label `zone=eu`"),
            (label("gpu"), NOW, &a, vec![], "takes"),
            (label("!gpu"), NOW, &a, vec![], "`!gpu`"),
            (label("!gpu"), NOW, &b, vec![], "takes"),
            (label("!gpu"), NOW, &unknown, vec![], "`!gpu`"),
            (prefer("a"), NOW, &a, vec![], "takes"),
            (
                prefer("a"),
                NOW,
                &b,
                vec![],
                "the job prefers `a`, which is alive; others wait until 2027-01-15T08:00:15",
            ),
            (prefer("i1"), NOW + 60_000, &b, vec![], "prefers `i1`"),
            (prefer("a"), NOW - 14_999, &b, vec![], "prefers `a`"),
            (prefer("a"), NOW - 15_000, &b, vec![], "takes"),
            (prefer("a").prefer_grace(Duration::from_secs(1)), NOW - 1_000, &b, vec![], "takes"),
            (prefer("gone"), NOW, &b, vec![], "takes"),
            (prefer("a"), NOW, &b, vec![entry("a", BlacklistKind::Drain, None)], "takes"),
            (prefer("a").require_label("zone=us".parse().unwrap()), NOW, &b, vec![], "takes"),
        ] {
            let said = why(&placement, "g", due_ms, of, &blacklist, &[]);
            assert!(said.contains(expected), "{placement}: expected {expected}, got {said}");
        }
    }

    #[test]
    fn groups_have_limits_per_node_and_per_cluster() {
        let runs = |group: &str, instance: &str, running| GroupRuns {
            group: group.to_owned(),
            instance: instance.to_owned(),
            running,
        };
        let a = node("i1", "a", "");
        for (group, runs, expected) in [
            ("per-node", vec![runs("per-node", "i1", 1), runs("per-node", "i2", 9)], "takes"),
            ("per-node", vec![runs("per-node", "i1", 2)], "2 runs of group `per-node` are on it"),
            ("per-cluster", vec![runs("per-cluster", "i1", 1), runs("per-cluster", "i2", 1)], "takes"),
            ("per-cluster", vec![runs("per-cluster", "i1", 1), runs("per-cluster", "i2", 2)], "3 runs of group"),
            ("free", vec![runs("per-cluster", "i1", 100)], "takes"),
            ("shut", vec![], "0 runs of group `shut` are in the cluster"),
        ] {
            let said = why(&Placement::new(), group, NOW, &a, &[], &runs);
            assert!(said.contains(expected), "{group}: expected {expected}, got {said}");
        }
    }
}
