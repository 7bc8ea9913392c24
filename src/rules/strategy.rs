//! Strategies: the nodes that take part in a tick of a job, the part of each, and its form in the
//! data of a trigger.

use crate::data_map::JobDataMap;
use crate::error::shorten;
use crate::guarded::guarded;
use crate::hash::HashMap;
use crate::hash::fnv1a;
use crate::job::{EligibleNode, ExecutionStrategy, JobDetail, NodePart, Strategy, Tick};
use crate::key::{BROADCAST_GROUP, RERUN_GROUPS, TriggerKey};
use crate::rules::placement::{ClusterView, may_run, takes_any};
use std::collections::BTreeSet;

/// The data keys by which the trigger of a part says which it is.
pub(crate) mod part_keys {
    pub const NODE: &str = "CN_PART_NODE";
    pub const INDEX: &str = "CN_PART_INDEX";
    pub const COUNT: &str = "CN_PART_COUNT";
    pub const TRIGGER: &str = "CN_PART_TRIGGER";
    pub const PARAMETER: &str = "CN_PART_PARAMETER";
    /// The name of the part, which reruns and recoveries keep.
    pub const NAME: &str = "CN_PART_NAME";
}

/// The beginning of the names of parts that any node may take.
pub(crate) const FOR_ANY: &str = "any-";

/// The length of the beginning of a part's name: its node and its trigger.
const TICK_END: usize = 34;

/// A part by its tick, and by its place in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartId {
    /// The trigger and the time of the tick.
    pub tick: String,
    /// The node that the part was made for.
    pub part: String,
}

/// The part that a trigger runs, or runs again; none if it runs none.
pub(crate) fn part_id(trigger: &TriggerKey, data: Option<&JobDataMap>) -> Option<PartId> {
    let by_key = Some(trigger.name()).filter(|_| trigger.group() == BROADCAST_GROUP);
    let name = by_key.or_else(|| data?.text(part_keys::NAME))?;
    let mut pieces = name.strip_prefix(FOR_ANY).unwrap_or(name).split('-');
    let (part, trigger, time) = (pieces.next()?, pieces.next()?, pieces.next()?);
    Some(PartId { tick: format!("{trigger}-{time}"), part: part.to_owned() })
}

/// The part of a tick that one node does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The instance id of the node.
    pub node: String,
    /// The index of the part, from 0.
    pub index: usize,
    /// The number of parts.
    pub count: usize,
    /// The parameter for the run.
    pub parameter: Option<String>,
}

/// True if a fire of the trigger is a tick, which is fanned out, and not work of one node: a part,
/// or work that runs again.
pub(crate) fn is_tick(job: &JobDetail, trigger: &TriggerKey) -> bool {
    job.policy().is_spread() && may_be_tick(trigger)
}

/// The groups of triggers whose fires are work of one node, whatever the strategy of their jobs.
pub(crate) fn groups_of_one() -> impl Iterator<Item = &'static str> {
    RERUN_GROUPS.into_iter().chain([BROADCAST_GROUP])
}

/// True if a fire of the trigger would be a tick if its job had a strategy.
pub(crate) fn may_be_tick(trigger: &TriggerKey) -> bool {
    groups_of_one().all(|group| group != trigger.group())
}

/// The living nodes that may run the job now, in order of their instance ids, as the node `me` sees
/// them, which fires. A node that does not say what types it has counts as one that has any.
pub(crate) fn eligible(
    me: &str,
    job: &JobDetail,
    view: &ClusterView,
    types: &HashMap<String, BTreeSet<String>>,
    now_ms: i64,
) -> Vec<String> {
    let takes = |node: &&crate::rules::placement::NodeIdentity| {
        (node.instance == me || node.activity.fires())
            && takes_any(node, &view.blacklist, now_ms).is_ok()
            && job.policy().placed().is_none_or(|placement| may_run(placement, node).is_ok())
            && types.get(&node.instance).is_none_or(|types| types.contains(job.job_type()))
    };
    let nodes: BTreeSet<&String> = view.alive.iter().filter(takes).map(|node| &node.instance).collect();
    nodes.into_iter().cloned().collect()
}

/// The parts that a strategy says the tick has; why it says none otherwise.
pub(crate) fn ask(
    strategy: &dyn ExecutionStrategy,
    tick: &Tick<'_>,
    nodes: &[EligibleNode],
) -> Result<Vec<Part>, String> {
    let said = match guarded(|| strategy.parts(tick, nodes).map_err(|why| why.to_string())) {
        Ok(answer) => answer.map_err(|why| format!("has no answer: {}", shorten(&why, 1000)))?,
        Err(panic) => return Err(format!("panicked: {panic}")),
    };
    if said.is_empty() {
        return Err("names no node: expected at least one of those that it was given".to_owned());
    }
    let known: BTreeSet<&String> = nodes.iter().map(|node| &node.instance).collect();
    let mut named = BTreeSet::new();
    for NodePart { instance, parameter } in &said {
        if !known.contains(instance) {
            let known: Vec<&str> = known.iter().map(|name| name.as_str()).collect();
            let known = shorten(&known.join(", "), 200);
            return Err(format!("names the node `{instance}`: expected one of those that it was given, {known}"));
        }
        if !named.insert(instance) {
            return Err(format!("names the node `{instance}` twice: expected one part for a node at most"));
        }
        let chars = parameter.as_ref().map_or(0, |text| text.chars().count());
        if chars > NodePart::MAX_PARAMETER_CHARS {
            let most = NodePart::MAX_PARAMETER_CHARS;
            return Err(format!(
                "gives the node `{instance}` a parameter of {chars} characters: expected {most} at most"
            ));
        }
    }
    let count = said.len();
    let part = |(index, part): (usize, NodePart)| Part { node: part.instance, index, count, parameter: part.parameter };
    Ok(said.into_iter().enumerate().map(part).collect())
}

/// The beginning of the names of the parts of a node.
pub(crate) fn prefix(instance: &str) -> String {
    format!("{:016x}-", hash(&[instance]))
}

/// The trigger of a node's part of a tick: the same whoever names it, so that there cannot be two.
pub(crate) fn part_key(node: &str, tick: &TriggerKey, scheduled_ms: i64) -> TriggerKey {
    TriggerKey::new(BROADCAST_GROUP, format!("{}{}{scheduled_ms}", prefix(node), middle(tick)))
}

/// True if a fire of the trigger is a node's part that no other node may do.
pub(crate) fn stays(strategy: &Strategy, trigger: &TriggerKey) -> bool {
    *strategy == Strategy::Broadcast && trigger.group() == BROADCAST_GROUP
}

/// The key of the trigger that runs a part again on its node: `part` is the key of the part, or of
/// a rerun of it.
pub(crate) fn rerun_of_part(part: &TriggerKey, stem: &str, fire_id: &str) -> TriggerKey {
    let tick = part.name().get(..TICK_END).unwrap_or(part.name());
    let time = part.name().get(TICK_END..).and_then(|rest| rest.split('-').next()).unwrap_or_default();
    TriggerKey::new(BROADCAST_GROUP, format!("{tick}{time}-{stem}_{fire_id}"))
}

/// The stem of the name of a rerun of a part; none if the trigger is a part itself, or no part.
pub(crate) fn rerun_stem(trigger: &TriggerKey) -> Option<&str> {
    let rest = trigger.name().get(TICK_END..).filter(|_| trigger.group() == BROADCAST_GROUP)?;
    rest.split_once('-').and_then(|(_, rerun)| rerun.split_once('_')).map(|(stem, _)| stem)
}

/// True if the trigger runs work again, also a part on its node.
pub(crate) fn is_rerun(trigger: &TriggerKey) -> bool {
    RERUN_GROUPS.contains(&trigger.group()) || rerun_stem(trigger).is_some()
}

/// The key of the part when any node may take it.
pub(crate) fn for_any(part: &TriggerKey) -> TriggerKey {
    TriggerKey::new(BROADCAST_GROUP, format!("{FOR_ANY}{}", part.name()))
}

/// True if a node may take the trigger, as far as that is a part.
pub(crate) fn is_for(trigger: &TriggerKey, prefix: &str) -> bool {
    trigger.group() != BROADCAST_GROUP || trigger.name().starts_with(prefix) || trigger.name().starts_with(FOR_ANY)
}

/// True if the trigger is a part that the node has of some tick of `tick`.
pub(crate) fn is_part_of(trigger: &TriggerKey, node: &str, tick: &TriggerKey) -> bool {
    trigger.group() == BROADCAST_GROUP && trigger.name().starts_with(&format!("{}{}", prefix(node), middle(tick)))
}

/// Writes into the data of a part's trigger what its job must know besides the data of the tick's
/// trigger.
pub(crate) fn tell(data: &mut JobDataMap, part: &Part, tick: &TriggerKey) {
    data.put(part_keys::NODE, part.node.as_str());
    data.put(part_keys::INDEX, part.index.to_string());
    data.put(part_keys::COUNT, part.count.to_string());
    data.put(part_keys::TRIGGER, tick.to_string());
    match &part.parameter {
        Some(parameter) => drop(data.put(part_keys::PARAMETER, parameter.as_str())),
        None => drop(data.remove(part_keys::PARAMETER)),
    }
}

/// The index of the part and the number of parts in the data of a trigger; the whole if the data
/// has none.
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
    use crate::job::{EveryNode, JobPolicy, Placement, Strategy, StrategyError};
    use crate::key::JobKey;
    use crate::node::{NodeActivity, NodeInfo, NodeRole};
    use crate::rules::placement::NodeIdentity;
    use crate::store::row::{BlacklistKind, BlacklistRow};
    use chrono::DateTime;

    fn node(instance: &str, role: NodeRole) -> NodeIdentity {
        NodeIdentity { role, ..NodeIdentity::of_instance(instance) }
    }

    fn job(placement: Placement) -> JobDetail {
        let policy = JobPolicy::new().strategy(Strategy::Broadcast).placement(placement);
        JobDetail::builder(JobKey::named("j"), "work").policy(policy).build().unwrap()
    }

    /// LT-13, LT-71: who takes part, by every reason not to.
    #[test]
    fn those_take_part_that_live_work_and_may() {
        let entry = |node: &str, kind, until_ms| BlacklistRow {
            node: node.to_owned(),
            kind,
            reason: None,
            who: "ann".to_owned(),
            until_ms,
            made_ms: 0,
        };
        let does = |instance, activity| NodeIdentity { activity, ..node(instance, NodeRole::Worker) };
        let alive = vec![
            node("c", NodeRole::Worker),
            // The node that asks may have begun to fire since its last check-in.
            does("a", NodeActivity::Passive),
            node("b", NodeRole::Worker),
            node("watcher", NodeRole::Observer),
            does("deputy", NodeActivity::Passive),
            does("standby", NodeActivity::Standby),
        ];
        let any = HashMap::default();
        let other = HashMap::from_iter([("b".to_owned(), BTreeSet::from(["other".to_owned()]))]);
        let only = Placement::new().allow_node("a").allow_node("gone");
        for (blacklist, placement, types, expected) in [
            (vec![], Placement::new(), &any, vec!["a", "b", "c"]),
            (vec![entry("b", BlacklistKind::Blacklist, None)], Placement::new(), &any, vec!["a", "c"]),
            (vec![entry("b", BlacklistKind::Blacklist, Some(9))], Placement::new(), &any, vec!["a", "b", "c"]),
            (vec![entry("c", BlacklistKind::Drain, None)], Placement::new(), &any, vec!["a", "b"]),
            (vec![], only.clone(), &any, vec!["a"]),
            (vec![entry("a", BlacklistKind::Drain, None)], only, &any, vec![]),
            (vec![], Placement::new(), &other, vec!["a", "c"]),
        ] {
            let view = ClusterView { alive: alive.clone(), blacklist, ..ClusterView::default() };
            assert_eq!(eligible("a", &job(placement), &view, types, 10), expected);
        }
    }

    /// LT-79, LT-108.
    #[test]
    fn parts_have_names_of_their_own_and_tell_what_they_are() {
        let nodes = ["a".to_owned(), "b".to_owned()];
        let tick = TriggerKey::named("t");
        let eligible = nodes.map(|name| EligibleNode::new(name, NodeInfo::default()));
        let whole = job(Placement::new());
        let parts = ask(&EveryNode, &Tick::new(&tick, DateTime::UNIX_EPOCH, &whole), &eligible).unwrap();
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
        let again = rerun_of_part(&key, "retry", "f-1");
        assert_eq!(again.name(), format!("{}-retry_f-1", key.name()));
        assert_eq!(rerun_of_part(&again, "again", "g"), rerun_of_part(&key, "again", "g"));
        assert!(is_for(&again, &prefix("a")) && !is_for(&again, &prefix("b")) && is_part_of(&again, "a", &tick));
        assert_eq!([&key, &again, &tick].map(rerun_stem), [None, Some("retry"), None]);
        let id = part_id(&key, None).unwrap();
        assert_eq!(part_id(&again, None), Some(id.clone()));
        assert_eq!(part_id(&for_any(&key), None), Some(id.clone()));
        let mut kept = JobDataMap::new();
        kept.put(part_keys::NAME, key.name());
        assert_eq!(part_id(&TriggerKey::named("recover_a_1"), Some(&kept)), Some(id.clone()));
        assert_eq!(part_id(&tick, Some(&JobDataMap::new())), None);
        let other = part_id(&part_key("b", &tick, 7), None).unwrap();
        assert!(other.tick == id.tick && other.part != id.part);
        let mut data = JobDataMap::new();
        assert_eq!(told(&data), (0, 1));
        tell(&mut data, &parts[1], &tick);
        assert_eq!((told(&data), data.text(part_keys::PARAMETER)), ((1, 2), None));
        data.put(part_keys::INDEX, "2");
        assert_eq!(told(&data), (0, 1), "what cannot be is not believed");
    }
    /// An answer of a strategy counts if it makes sense, whatever else the strategy does.
    #[test]
    fn an_answer_that_makes_no_sense_is_none() {
        type Rule = fn(&Tick<'_>, &[EligibleNode]) -> Result<Vec<NodePart>, StrategyError>;
        let nodes = ["a", "b", "c"].map(|name| EligibleNode::new(name, NodeInfo::default()));
        let (trigger, job) = (TriggerKey::named("t"), job(Placement::new()));
        let tick = Tick::new(&trigger, DateTime::UNIX_EPOCH, &job);
        let last_first: Rule = |_, nodes| Ok(nodes.iter().skip(1).rev().map(|n| NodePart::of(n).with("x")).collect());
        let part = |node: &str, index| Part { node: node.to_owned(), index, count: 2, parameter: Some("x".to_owned()) };
        assert_eq!(ask(&last_first, &tick, &nodes).unwrap(), [part("c", 0), part("b", 1)]);
        let rules: [(Rule, &str); 6] = [
            (|_, _| Ok(Vec::new()), "names no node"),
            (|_, _| Ok(vec![NodePart::of(&EligibleNode::new("z", NodeInfo::default()))]), "`z`: expected one of those"),
            (|_, nodes| Ok(vec![NodePart::of(&nodes[0]), NodePart::of(&nodes[0])]), "`a` twice"),
            (|_, nodes| Ok(vec![NodePart::of(&nodes[1]).with("x".repeat(1001))]), "`b` a parameter of 1001 characters"),
            (|_, _| Err("no zone is free".into()), "has no answer: no zone is free"),
            (|_, nodes| Ok(vec![NodePart::of(&nodes[3])]), "panicked: index out of bounds"),
        ];
        for (rule, expected) in rules {
            let why = ask(&rule, &tick, &nodes).unwrap_err();
            assert!(why.contains(expected), "expected {expected}, got {why}");
        }
    }
}
