//! Strategies of the user's own (LT-13, LT-71, LT-79, LT-108).

use super::*;
use carnelian::node::NodeReport;
use carnelian::placement::{EligibleNode, ExecutionStrategy, NodePart, StrategyError, Tick};
use carnelian::store::{CompletionOutcome, FireBundle};
use carnelian::{Error, JobDetailBuilder, JobPolicy, SimpleSchedule, TriggerBuilder};
use std::sync::{Arc, Mutex as Guarded};
use std::time::Duration;

type Answer = std::result::Result<Vec<NodePart>, StrategyError>;

fn own(name: &str) -> JobDetailBuilder {
    job(name).policy(JobPolicy::new().strategy("own")).requests_recovery(true)
}

fn secondly(name: &str, job: &str) -> TriggerBuilder {
    once(name, job, NOW).schedule(SimpleSchedule::every(Duration::from_secs(1)))
}

/// A node that says this of itself and has checked in, with a strategy or without.
fn node(cluster: &Cluster, name: &str, labels: &str, running: u32, own: Option<Arc<dyn ExecutionStrategy>>) -> Node {
    let mut node = cluster.stranger(name);
    let mut report = NodeReport::default();
    report.info.labels = labels.parse().unwrap();
    report.info.running = running;
    node.me.node = Some(report);
    if let Some(own) = own {
        node.store = node.store.with_execution_strategy("own", own).unwrap();
    }
    assert!(node.check_in().registered, "{name}");
    node
}

fn having<S>(rule: S) -> Option<Arc<dyn ExecutionStrategy>>
where
    S: Fn(&Tick<'_>, &[EligibleNode]) -> Answer + Send + Sync + 'static,
{
    Some(Arc::new(rule))
}

/// The nodes in front, the last first, each told how many there are behind.
fn fronts(_: &Tick<'_>, nodes: &[EligibleNode]) -> Answer {
    let is_front = |node: &&EligibleNode| node.info.labels.get("tier") == Some("front");
    let behind = nodes.iter().filter(|node| !is_front(node)).count();
    Ok(nodes.iter().rev().filter(is_front).map(|node| NodePart::of(node).with(format!("{behind} behind"))).collect())
}

fn least_loaded(_: &Tick<'_>, nodes: &[EligibleNode]) -> Answer {
    Ok(nodes.iter().min_by_key(|node| node.info.running).map(NodePart::of).into_iter().collect())
}

/// The part that each fire is, of how many, and its parameter.
fn parts(fires: &[FireBundle]) -> Vec<String> {
    let text = |fire: &FireBundle, key: &str| fire.trigger.data().text(key).unwrap_or("-").to_owned();
    let part = |fire: &FireBundle| {
        format!("{}/{} {}", text(fire, "CN_PART_INDEX"), text(fire, "CN_PART_COUNT"), text(fire, "CN_PART_PARAMETER"))
    };
    let mut parts: Vec<String> = fires.iter().map(part).collect();
    parts.sort();
    parts
}

/// The number of parts that nobody has begun.
fn waiting(cluster: &Cluster) -> usize {
    let is_part = |group: &str| group == carnelian::key::BROADCAST_GROUP;
    cluster.snapshot().triggers.iter().filter(|t| is_part(t.key.group()) && t.state == "WAITING").count()
}

on_each_database!(those_take_part_that_the_strategy_names_in_its_order);
fn those_take_part_that_the_strategy_names_in_its_order() {
    let cluster = Cluster::new(open());
    let (a, b) =
        (node(&cluster, "A", "tier=front", 0, having(fronts)), node(&cluster, "B", "tier=back", 0, having(fronts)));
    let c = node(&cluster, "C", "tier=front", 0, having(fronts));
    cluster.schedule(own("j"), [secondly("t", "j")]);
    assert_eq!((b.acquire().fanned_out, waiting(&cluster)), (1, 2));
    assert_eq!((b.acquire().fanned_out, b.acquire().fired.len()), (0, 0), "it is spread once, and has no part for B");
    assert_eq!(parts(&c.acquire().fired), ["0/2 1 behind"]);
    assert_eq!(parts(&a.acquire().fired), ["1/2 1 behind"]);

    // One joins, and one leaves before it has begun what it has of the tick.
    cluster.advance(SECOND);
    let d = node(&cluster, "D", "tier=front", 0, having(fronts));
    assert_eq!((d.acquire().fanned_out, waiting(&cluster)), (1, 3));
    d.store.upkeep().leave(&d.owner()).unwrap();
    assert_eq!(parts(&b.acquire().fired), ["0/3 1 behind"], "its share is any other's, with what it is told");
    assert_eq!(parts(&a.acquire().fired), ["2/3 1 behind"]);
    assert_eq!(parts(&c.acquire().fired), ["1/3 1 behind"]);
    cluster.advance(SECOND);
    assert_eq!((c.acquire().fanned_out, waiting(&cluster)), (1, 2));
}

on_each_database!(racing_nodes_run_each_tick_on_the_node_whose_turn_it_is);
/// LT-79: by all nodes at once, tick after tick, each on one node.
fn racing_nodes_run_each_tick_on_the_node_whose_turn_it_is() {
    const TICKS: i64 = 6;
    let cluster = Cluster::new(open());
    let in_turn = |tick: &Tick<'_>, nodes: &[EligibleNode]| -> Answer {
        let turn = usize::try_from((tick.scheduled.timestamp_millis() - NOW) / SECOND)?;
        Ok(vec![NodePart::of(&nodes[turn % nodes.len()])])
    };
    let nodes = ["A", "B", "C"].map(|name| node(&cluster, name, "", 0, having(in_turn)));
    cluster.schedule(own("j"), [secondly("t", "j")]);
    let seen = Guarded::new(Vec::new());
    let note = |node: &Node, fires: &[FireBundle]| {
        seen.lock().unwrap().extend(fires.iter().map(|fire| (fire.scheduled_ms, node.me.instance.clone())));
    };
    for _ in 0..TICKS {
        std::thread::scope(|scope| {
            for node in &nodes {
                scope.spawn(|| {
                    for _ in 0..3 {
                        let Ok(brought) = node.try_acquire(10) else { continue };
                        note(node, &brought.fired);
                    }
                });
            }
        });
        nodes.iter().for_each(|node| note(node, &node.acquire().fired));
        cluster.advance(SECOND);
    }
    let mut seen = seen.into_inner().unwrap();
    seen.sort();
    let turns = ["A", "B", "C"].into_iter().cycle();
    let expected: Vec<(i64, String)> =
        (0..TICKS).zip(turns).map(|(tick, name)| (NOW + tick * SECOND, name.to_owned())).collect();
    assert_eq!(seen, expected);
}

on_each_database!(ticks_are_left_to_nodes_that_have_the_strategy);
/// A node that does not have the strategy leaves its ticks alone, and nothing behind them; parts it
/// takes.
fn ticks_are_left_to_nodes_that_have_the_strategy() {
    let cluster = Cluster::new(open());
    let b = node(&cluster, "B", "tier=front", 0, None);
    let due = [0, 1, 2, 3, 4].map(|n| once(&format!("t{n}"), "j", NOW - SECOND + n));
    cluster.schedule(own("j"), due);
    cluster.schedule(own("k").description("another policy").durable(true), [once("u", "k", NOW - SECOND)]);
    cluster.schedule(job("plain"), [once("p", "plain", NOW)]);
    assert_eq!(names(&b.try_acquire(1).unwrap().fired), ["p"]);
    let brought = b.acquire();
    assert_eq!(
        (brought.fanned_out, brought.fired.len(), brought.reserved.len(), brought.unreadable.len()),
        (0, 0, 0, 0)
    );
    let earliest = |node: &Node| node.store.firing().poll(None, "", &["work".to_owned()]).unwrap().earliest_ms;
    assert_eq!(earliest(&b), None);

    let a = node(&cluster, "A", "tier=front", 0, having(fronts));
    assert_eq!((earliest(&a), a.acquire().fanned_out), (Some(NOW - SECOND), 6));
    assert_eq!(b.acquire().fired.len(), 6, "B has parts as any other node");
    assert_eq!(a.acquire().fired.len(), 6);
}

on_each_database!(a_tick_without_an_answer_stays_and_is_named);
/// An answer of a strategy that makes no sense costs nothing but its own tick, for now.
fn a_tick_without_an_answer_stays_and_is_named() {
    fn nobody(_: &Tick<'_>, _: &[EligibleNode]) -> Answer {
        Ok(Vec::new())
    }
    fn stranger(_: &Tick<'_>, nodes: &[EligibleNode]) -> Answer {
        Ok(vec![NodePart::of(&nodes[0]), NodePart::of(&EligibleNode::new("gone", nodes[0].info.clone()))])
    }
    fn twice(_: &Tick<'_>, nodes: &[EligibleNode]) -> Answer {
        Ok(vec![NodePart::of(&nodes[0]), NodePart::of(&nodes[0])])
    }
    fn refuses(_: &Tick<'_>, _: &[EligibleNode]) -> Answer {
        Err("not today".into())
    }
    fn panics(_: &Tick<'_>, _: &[EligibleNode]) -> Answer {
        panic!("at the {}nd", 2)
    }
    type Rule = fn(&Tick<'_>, &[EligibleNode]) -> Answer;
    let rules: [(&str, Rule, &str); 5] = [
        ("B", nobody, "names no node"),
        ("C", stranger, "names the node `gone`"),
        ("D", twice, "names the node `A` twice"),
        ("E", refuses, "has no answer: not today"),
        ("F", panics, "panicked: at the 2nd"),
    ];
    let cluster = Cluster::new(open());
    let a = node(&cluster, "A", "tier=front", 0, having(fronts));
    cluster.schedule(own("j"), [secondly("t", "j")]);
    for (name, rule, expected) in rules {
        let node = node(&cluster, name, "", 0, having(rule));
        let before = cluster.rows();
        let brought = node.acquire();
        assert_eq!((brought.fanned_out, brought.fired.len(), brought.reserved.len()), (0, 0, 0), "{name}");
        let [(key, why)] = brought.unreadable.as_slice() else { panic!("{name}: {:?}", brought.unreadable) };
        assert_eq!(key, &trigger_key("t"));
        assert!(why.contains(&format!("strategy `own` {expected}")), "{why}");
        assert_eq!(cluster.rows(), before, "{name}: nothing is written");

        // Other due work runs; the strategy is left alone and not asked again.
        cluster.schedule(job("plain"), [once("p", "plain", NOW)]);
        let brought = node.acquire();
        assert_eq!((names(&brought.fired), brought.unreadable.len()), (vec!["p"], 1));
        assert_eq!(node.complete(&brought.fired[0]), CompletionOutcome::Recorded);
        let left = [trigger_key("t")].into();
        let brought = node.acquire_with(100, |request| request.quarantined = &left).unwrap();
        assert_eq!((brought.fanned_out, brought.unreadable.len()), (0, 0));
    }
    assert_eq!((a.acquire().fanned_out, waiting(&cluster)), (1, 1), "another node may have an answer");
    assert_eq!(parts(&a.acquire().fired), ["0/1 5 behind"]);

    // Late ticks are misfires, by the instruction of their trigger: here they are left out.
    cluster.advance(2 * MINUTE);
    let f = cluster.stranger("F");
    assert!(!f.store.upkeep().handle_misfires().unwrap().more);
    assert!(cluster.next("t") >= Some(NOW + 2 * MINUTE), "{:?}", cluster.next("t"));
}

on_each_database!(a_lone_job_runs_where_its_strategy_says_one_at_a_time);
/// A job that runs one at a time may have a strategy that chooses one node; or its parts run one
/// after the other.
fn a_lone_job_runs_where_its_strategy_says_one_at_a_time() {
    let cluster = Cluster::new(open());
    let a = node(&cluster, "A", "", 7, having(least_loaded));
    let b = node(&cluster, "B", "", 3, having(least_loaded));
    cluster.schedule(own("j").disallow_concurrent_execution(true), [secondly("t", "j")]);
    assert_eq!((a.acquire().fanned_out, a.acquire().fired.len()), (1, 0));
    let run = b.fire_one();
    cluster.advance(SECOND);
    assert_eq!((a.acquire().fanned_out, cluster.state("t")), (0, "BLOCKED".to_owned()));
    assert_eq!(b.complete(&run), CompletionOutcome::Recorded);
    assert_eq!((a.acquire().fanned_out, parts(&b.acquire().fired)), (1, vec!["0/1 -".to_owned()]));

    let cluster = Cluster::new(open());
    let both = |_: &Tick<'_>, nodes: &[EligibleNode]| -> Answer { Ok(nodes.iter().map(NodePart::of).collect()) };
    let (a, b) = (node(&cluster, "A", "", 0, having(both)), node(&cluster, "B", "", 0, having(both)));
    cluster.schedule(own("j").disallow_concurrent_execution(true), [once("t", "j", NOW)]);
    assert_eq!(a.acquire().fanned_out, 1);
    let run = a.fire_one();
    assert_eq!(b.acquire().fired.len(), 0, "A is at its part");
    assert_eq!(a.complete(&run), CompletionOutcome::Recorded);
    let run = b.fire_one();
    assert_eq!(
        (parts(std::slice::from_ref(&run)), b.complete(&run)),
        (vec!["1/2 -".to_owned()], CompletionOutcome::Recorded)
    );
    assert_eq!(cluster.snapshot().triggers, []);
}

on_each_database!(names_of_strategies_are_each_given_once);
fn names_of_strategies_are_each_given_once() {
    let cluster = Cluster::new(open());
    let with = |store: carnelian::store::JobStore, name: &str| store.with_execution_strategy(name, Arc::new(fronts));
    for name in ["broadcast", "sharded", "preempt", "", "a b"] {
        assert!(matches!(with(cluster.store.clone(), name), Err(Error::Invalid { .. })), "{name}");
    }
    let error = with(with(cluster.store.clone(), "own").unwrap(), "own").err().unwrap();
    assert!(matches!(&error, Error::Refused(why) if why.contains("`own` is registered already")), "{error}");
    assert!(job("j").policy(JobPolicy::new().strategy("a b")).build().is_err());
}
