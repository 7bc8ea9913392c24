//! Ticks that are spread, and shares that are given on, whatever fails (LT-13, LT-79, LT-108).

use super::*;
use carnelian::{ExecutionStrategy, JobPolicy};

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

/// Two nodes and a job of two ticks, of which one is due.
fn spread_with(place: &Place, strategy: ExecutionStrategy, fault: Fault, n: u64) -> bool {
    let what = format!("{strategy:?} with {fault:?} at {n}");
    let c = place.cluster();
    let detail = a_job("spread").policy(JobPolicy::new().strategy(strategy));
    let detail = detail.requests_recovery(strategy == ExecutionStrategy::Sharded).build().unwrap();
    c.put(&detail, vec![once("t1", &detail, 0), once("t2", &detail, SECOND)]);
    let (a, b) = (c.node("A"), c.node("B"));
    let mut seen = Vec::new();
    c.database.faults().plan(n, fault);
    // Its caller does not know what became of it, and goes on.
    let unknown = a.try_acquire(20);
    let met = !c.database.faults().cancel();
    c.check();
    assert!(met || unknown.is_ok(), "{what}: {unknown:?}");
    assert!(unknown.is_err() || unknown.unwrap().fired.is_empty(), "{what}");
    run_all(&[&a, &b], &mut seen, &what);
    c.clock.advance(SECOND);
    run_all(&[&b, &a], &mut seen, &what);
    seen.sort();
    let expected = [ran("A", "0", 0), ran("A", "0", SECOND), ran("B", "1", 0), ran("B", "1", SECOND)];
    assert_eq!(seen, expected, "{what}: each tick once on each");
    assert!(c.look().triggers.is_empty() && !c.has_job("spread"), "{what}: nothing is left");
    met
}

/// B dies before it has begun its share, and A recovers it.
fn given_on_with(place: &Place, fault: Fault, n: u64) -> bool {
    let what = format!("a death with {fault:?} at {n}");
    let c = place.cluster();
    let policy = JobPolicy::new().strategy(ExecutionStrategy::Sharded);
    let detail = a_job("spread").policy(policy).requests_recovery(true).build().unwrap();
    c.put(&detail, vec![once("t1", &detail, 0)]);
    let (mut a, _b) = (c.node("A"), c.node("B"));
    let mut seen = Vec::new();
    run_all(&[&a], &mut seen, &what);
    c.clock.advance(WINDOW / 2);
    a.check_in();
    c.clock.advance(WINDOW / 2 + SECOND);
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
    let faults = [
        Fault::Statement(FailureClass::Permanent),
        Fault::Statement(FailureClass::ConnectionLost),
        Fault::CommitLostApplied,
        Fault::CommitLostNotApplied,
    ];
    for fault in faults {
        let count = |case: &dyn Fn(u64) -> bool| (1..200).take_while(|n| case(*n)).count();
        let met = [
            count(&|n| spread_with(&place, ExecutionStrategy::Broadcast, fault, n)),
            count(&|n| spread_with(&place, ExecutionStrategy::Sharded, fault, n)),
            count(&|n| given_on_with(&place, fault, n)),
        ];
        let least = if matches!(fault, Fault::Statement(_)) { 6 } else { 1 };
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
