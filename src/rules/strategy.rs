//! Strategies: which nodes take part in a tick of a job, what part each has, and how that is told by a trigger.

use crate::data_map::JobDataMap;
use crate::hash::fnv1a;
use crate::job::{ExecutionStrategy, JobDetail};
use crate::key::{BROADCAST_GROUP, RERUN_GROUPS, TriggerKey};
use crate::rules::placement::{ClusterView, may_run, takes_any};
use std::collections::{BTreeMap, BTreeSet};

/// The data keys by which the trigger of a part says which it is.
pub(crate) mod part_keys {
    pub const NODE: &str = "CN_PART_NODE";
    pub const INDEX: &str = "CN_PART_INDEX";
    pub const COUNT: &str = "CN_PART_COUNT";
    pub const TRIGGER: &str = "CN_PART_TRIGGER";
}

/// How the names of parts begin that any node may take.
pub(crate) const FOR_ANY: &str = "any-";

/// What one node does of a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its instance id.
    pub node: String,
    /// Which part it is, from 0.
    pub index: usize,
    /// How many there are.
    pub count: usize,
}

/// Whether a fire of the trigger is a tick, which is spread, and not work of one node: a part, or work that runs again.
pub(crate) fn is_tick(job: &JobDetail, trigger: &TriggerKey) -> bool {
    let is_of_one = trigger.group() == BROADCAST_GROUP || RERUN_GROUPS.contains(&trigger.group());
    job.policy().execution_strategy() != ExecutionStrategy::Preempt && !is_of_one
}

/// The living nodes that may run the job now, in order of their instance ids. A node that does not say what types it has
/// counts as one that has any.
pub(crate) fn eligible(
    job: &JobDetail,
    view: &ClusterView,
    types: &BTreeMap<String, BTreeSet<String>>,
    now_ms: i64,
) -> Vec<String> {
    let takes = |node: &&crate::rules::placement::NodeIdentity| {
        takes_any(node, &view.bars, now_ms).is_ok()
            && job.policy().placed().is_none_or(|placement| may_run(placement, node).is_ok())
            && types.get(&node.instance).is_none_or(|types| types.contains(job.job_type()))
    };
    let nodes: BTreeSet<&String> = view.alive.iter().filter(takes).map(|node| &node.instance).collect();
    nodes.into_iter().cloned().collect()
}

/// A part for each of these nodes, in their order.
pub(crate) fn parts(nodes: &[String]) -> Vec<Part> {
    let part = |(index, node): (usize, &String)| Part { node: node.clone(), index, count: nodes.len() };
    nodes.iter().enumerate().map(part).collect()
}

/// How the names of the parts of a node begin.
pub(crate) fn prefix(instance: &str) -> String {
    format!("{:016x}-", hash(&[instance]))
}

/// The trigger of a node's part of a tick: the same whoever names it, so that there cannot be two.
pub(crate) fn part_key(node: &str, tick: &TriggerKey, scheduled_ms: i64) -> TriggerKey {
    TriggerKey::new(BROADCAST_GROUP, format!("{}{}{scheduled_ms}", prefix(node), middle(tick)))
}

/// The same part, for any node to take.
pub(crate) fn for_any(part: &TriggerKey) -> TriggerKey {
    TriggerKey::new(BROADCAST_GROUP, format!("{FOR_ANY}{}", part.name()))
}

/// Whether a node may take the trigger, as far as that is a part.
pub(crate) fn is_for(trigger: &TriggerKey, prefix: &str) -> bool {
    trigger.group() != BROADCAST_GROUP || trigger.name().starts_with(prefix) || trigger.name().starts_with(FOR_ANY)
}

/// Whether the trigger is a part that the node has of some tick of `tick`.
pub(crate) fn is_part_of(trigger: &TriggerKey, node: &str, tick: &TriggerKey) -> bool {
    trigger.group() == BROADCAST_GROUP && trigger.name().starts_with(&format!("{}{}", prefix(node), middle(tick)))
}

/// What the trigger of a part tells its job besides the data of the tick's trigger.
pub(crate) fn tell(data: &mut JobDataMap, part: &Part, tick: &TriggerKey) {
    data.put(part_keys::NODE, part.node.as_str());
    data.put(part_keys::INDEX, part.index.to_string());
    data.put(part_keys::COUNT, part.count.to_string());
    data.put(part_keys::TRIGGER, tick.to_string());
}

/// Which part of how many the data of a trigger tell of; the whole if of none.
pub(crate) fn told(data: &JobDataMap) -> (usize, usize) {
    let number = |key| data.text(key).and_then(|text| text.parse::<usize>().ok());
    match (number(part_keys::INDEX), number(part_keys::COUNT)) {
        (Some(index), Some(count)) if index < count => (index, count),
        _ => (0, 1),
    }
}

fn middle(tick: &TriggerKey) -> String {
    format!("{:016x}-", hash(&[tick.group(), tick.name()]))
}

fn hash(texts: &[&str]) -> u64 {
    fnv1a(texts.iter().flat_map(|text| text.bytes().chain([0xff])))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::job::{JobPolicy, Placement};
    use crate::key::JobKey;
    use crate::node::NodeRole;
    use crate::rules::placement::NodeIdentity;
    use crate::store::row::{BarKind, BarRow};

    fn node(instance: &str, role: NodeRole) -> NodeIdentity {
        NodeIdentity { role, ..NodeIdentity::of_instance(instance) }
    }

    fn job(placement: Placement) -> JobDetail {
        let policy = JobPolicy::new().strategy(ExecutionStrategy::Broadcast).placement(placement);
        JobDetail::builder(JobKey::named("j"), "work").policy(policy).build().unwrap()
    }

    /// LT-13, LT-71: who takes part, by every reason not to.
    #[test]
    fn those_take_part_that_live_work_and_may() {
        let bar = |node: &str, kind, until_ms| BarRow {
            node: node.to_owned(),
            kind,
            reason: None,
            who: "ann".to_owned(),
            until_ms,
            made_ms: 0,
        };
        let alive = vec![
            node("c", NodeRole::Worker),
            node("a", NodeRole::Worker),
            node("b", NodeRole::Worker),
            node("watcher", NodeRole::Observer),
        ];
        let any = BTreeMap::new();
        let other = BTreeMap::from([("b".to_owned(), BTreeSet::from(["other".to_owned()]))]);
        let only = Placement::new().allow_node("a").allow_node("gone");
        for (bars, placement, types, expected) in [
            (vec![], Placement::new(), &any, vec!["a", "b", "c"]),
            (vec![bar("b", BarKind::Blacklist, None)], Placement::new(), &any, vec!["a", "c"]),
            (vec![bar("b", BarKind::Blacklist, Some(9))], Placement::new(), &any, vec!["a", "b", "c"]),
            (vec![bar("c", BarKind::Drain, None)], Placement::new(), &any, vec!["a", "b"]),
            (vec![], only.clone(), &any, vec!["a"]),
            (vec![bar("a", BarKind::Drain, None)], only, &any, vec![]),
            (vec![], Placement::new(), &other, vec!["a", "c"]),
        ] {
            let view = ClusterView { alive: alive.clone(), bars, ..ClusterView::default() };
            assert_eq!(eligible(&job(placement), &view, types, 10), expected);
        }
    }

    /// LT-79, LT-108.
    #[test]
    fn parts_have_names_of_their_own_and_tell_what_they_are() {
        let nodes = ["a".to_owned(), "b".to_owned()];
        let tick = TriggerKey::named("t");
        let parts = parts(&nodes);
        let keys: BTreeSet<_> = (0..2)
            .flat_map(|ms| parts.iter().map(move |part| (part.node.clone(), ms)))
            .map(|(node, ms)| part_key(&node, &TriggerKey::named("t"), ms).name().to_owned())
            .collect();
        assert_eq!(keys.len(), 4);
        let key = part_key("a", &tick, 7);
        assert_eq!(key, part_key("a", &tick, 7));
        assert!(is_for(&key, &prefix("a")) && !is_for(&key, &prefix("b")));
        assert!(is_for(&for_any(&key), &prefix("b")) && is_for(&tick, &prefix("b")));
        assert!(is_part_of(&key, "a", &tick) && !is_part_of(&key, "b", &tick));
        assert!(!is_part_of(&key, "a", &TriggerKey::named("u")));
        let mut data = JobDataMap::new();
        assert_eq!(told(&data), (0, 1));
        tell(&mut data, &parts[1], &tick);
        assert_eq!(told(&data), (1, 2));
        data.put(part_keys::INDEX, "2");
        assert_eq!(told(&data), (0, 1), "what cannot be is not believed");
    }
}
