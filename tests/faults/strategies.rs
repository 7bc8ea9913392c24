//! Ticks that are spread, also by strategies of the user's, and shares that are given on, whatever
//! fails (LT-13, LT-79, LT-108).

use super::*;
use carnelian::JobPolicy;
use carnelian::placement::{EligibleNode, NodePart, Strategy, StrategyError, Tick};
use std::sync::Arc;

/// A node, its part, and the time of the tick.
type Ran = (String, Option<String>, i64);

fn run_all(nodes: &[&Node], ran: &mut Vec<Ran>, what: &str) {
    for _ in 0..4 {
        for node in nodes {
            for fire in node.try_acquire(20).unwrap_or_else(|error| panic!("{what}: {error}")).fired {
                let index = fire.trigger.data().text("CN_PART_INDEX").map(str::to_owned);
                ran.push((node.me.instance.clone(), index, fire.scheduled_ms - START));
                assert_eq!(node.complete(&fire), CompletionOutcome::Recorded, "{what}");
            }
        }
    }
}

fn ran(node: &str, index: &str, ms: i64) -> Ran {
    (node.to_owned(), Some(index.to_owned()), ms)
}

/// The last node first.
fn backwards(_: &Tick<'_>, nodes: &[EligibleNode]) -> Result<Vec<NodePart>, StrategyError> {
    Ok(nodes.iter().rev().map(NodePart::of).collect())
}

/// A node that has the strategy, which is registered.
fn having(c: &Cluster, name: &str) -> Node {
    let Node { store, me } = c.node(name);
    Node { store: store.with_execution_strategy("backwards", Arc::new(backwards)).unwrap(), me }
}

/// Two nodes and a job of two ticks, of which one is due.
fn spread_with(place: &Place, strategy: &Strategy, fault: Fault, n: u64) -> bool {
    let what = format!("{strategy:?} with {fault:?} at {n}");
    let c = place.cluster();
    let detail = a_job("spread").policy(JobPolicy::new().strategy(strategy.clone()));
    let detail = detail.requests_recovery(*strategy != Strategy::Broadcast).build().unwrap();
    c.put(&detail, vec![once("t1", &detail, 0), once("t2", &detail, SECOND)]);
    let (a, b) = (having(&c, "A"), having(&c, "B"));
    let mut seen = Vec::new();
    c.database.faults().plan(n, fault);
    // The caller does not know the outcome, and goes on.
    let unknown = a.try_acquire(20);
    let met = !c.database.faults().cancel();
    c.check();
    assert!(met || unknown.is_ok(), "{what}: {unknown:?}");
    assert!(unknown.is_err() || unknown.unwrap().fired.is_empty(), "{what}");
    run_all(&[&a, &b], &mut seen, &what);
    c.clock.advance(SECOND);
    run_all(&[&b, &a], &mut seen, &what);
    seen.sort();
    let [of_a, of_b] = if matches!(strategy, Strategy::Named(_)) { ["1", "0"] } else { ["0", "1"] };
    let expected = [ran("A", of_a, 0), ran("A", of_a, SECOND), ran("B", of_b, 0), ran("B", of_b, SECOND)];
    assert_eq!(seen, expected, "{what}: each tick once on each");
    assert!(c.look().triggers.is_empty() && !c.has_job("spread"), "{what}: nothing is left");
    met
}

/// A dies while it spreads a tick, and B goes on: the whole of the tick is done, each part once.
fn died_with(place: &Place, fault: Fault, n: u64) -> bool {
    let what = format!("a death while spreading with {fault:?} at {n}");
    let c = place.cluster();
    let policy = JobPolicy::new().strategy("backwards");
    let detail = a_job("spread").policy(policy).requests_recovery(true).build().unwrap();
    c.put(&detail, vec![once("t1", &detail, 0)]);
    let (a, mut b) = (having(&c, "A"), having(&c, "B"));
    c.database.faults().plan(n, fault);
    let unknown = a.try_acquire(20);
    let met = !c.database.faults().cancel();
    assert!(met || unknown.is_ok(), "{what}: {unknown:?}");
    c.clock.advance(WINDOW / 2);
    b.check_in();
    c.clock.advance(WINDOW / 2 + SECOND);
    b.check_in();
    c.check();
    let mut seen = Vec::new();
    run_all(&[&b], &mut seen, &what);
    seen.sort();
    // The tick was spread over both nodes, or is spread now over the one that is left.
    let (both, alone) = (vec![ran("B", "0", 0), ran("B", "1", 0)], vec![ran("B", "0", 0)]);
    assert!(seen == both || seen == alone, "{what}: {seen:?}");
    assert!(c.look().triggers.is_empty() && !c.has_job("spread"), "{what}: nothing is left");
    met
}

/// B dies before it has begun its share, and A recovers it.
fn given_on_with(place: &Place, fault: Fault, n: u64) -> bool {
    let what = format!("a death with {fault:?} at {n}");
    let c = place.cluster();
    let policy = JobPolicy::new().strategy(Strategy::Sharded);
    let detail = a_job("spread").policy(policy).requests_recovery(true).build().unwrap();
    c.put(&detail, vec![once("t1", &detail, 0)]);
    let (mut a, _b) = (c.node("A"), c.node("B"));
    let mut seen = Vec::new();
    run_all(&[&a], &mut seen, &what);
    falls_silent(&c, &mut a);
    c.database.faults().plan(n, fault);
    let first = a.try_check_in();
    let met = !c.database.faults().cancel();
    assert!(met || first.is_ok(), "{what}: {first:?}");
    c.check();
    a.check_in();
    run_all(&[&a], &mut seen, &what);
    assert_eq!(seen, [ran("A", "0", 0), ran("A", "1", 0)], "{what}: both shares, once");
    assert!(c.look().triggers.is_empty() && !c.has_job("spread"), "{what}: nothing is left");
    met
}

fn enumerate_spreads(server: Server) {
    let place = Place::new(server);
    let asked = places::asked_step().unwrap_or(1);
    let faults = [
        Fault::Statement(FailureClass::Permanent),
        Fault::Statement(FailureClass::ConnectionLost),
        Fault::CommitLostApplied,
        Fault::CommitLostNotApplied,
    ];
    for fault in faults {
        let is_of_statements = matches!(fault, Fault::Statement(_));
        let least = if is_of_statements { 6 } else { 1 };
        let is_cheap = server == Server::Memory || !is_of_statements;
        let step = if is_cheap { places::tenth(asked) } else { asked };
        let first = places::places(least, step).next().unwrap();
        let count = |case: &dyn Fn(u64) -> bool| {
            let places = (first..200).step_by(usize::try_from(step).unwrap());
            places.take_while(|n| case(*n)).count()
        };
        let met = [
            count(&|n| spread_with(&place, &Strategy::Broadcast, fault, n)),
            count(&|n| spread_with(&place, &Strategy::Sharded, fault, n)),
            count(&|n| spread_with(&place, &Strategy::from("backwards"), fault, n)),
            count(&|n| died_with(&place, fault, n)),
            count(&|n| given_on_with(&place, fault, n)),
        ];
        let least = usize::try_from(least / step).unwrap().max(1);
        assert!(met.iter().all(|met| *met >= least), "{fault:?}: {met:?}");
    }
}

#[test]
fn spreads_on_memory() {
    enumerate_spreads(Server::Memory);
}

#[cfg(feature = "sqlite")]
#[test]
fn spreads_on_sqlite() {
    enumerate_spreads(Server::Sqlite);
}

#[cfg(feature = "postgres")]
#[test]
fn spreads_on_postgres() {
    enumerate_spreads(Server::Postgres);
}

#[cfg(feature = "mysql")]
#[test]
fn spreads_on_mysql() {
    enumerate_spreads(Server::Mysql);
}
