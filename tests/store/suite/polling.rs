//! Polling: the ways and the order in which due triggers are taken beside other nodes (DS-41,
//! DS-46, DS-48, DS-65).

use super::*;
use carnelian::settings::{PollingStrategy, TriggerOrder};
use carnelian::store::row::{CandidateSelection, DueQuery, Exclusions, TriggerSelection, TypeVersions};
use carnelian::store::{CompletionInstruction, CompletionOutcome, TxMode};
use carnelian::{MisfireInstruction, TriggerKey};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

on_each_strategy!(among_equals_the_order_is_that_of_the_keys);
/// DS-46: equals go by group and name, on every database, whatever the order in which they were
/// stored.
fn among_equals_the_order_is_that_of_the_keys() {
    for order in [TriggerOrder::TimeThenPriority, TriggerOrder::PriorityThenTime] {
        let cluster = Cluster::with(open(), |settings| settings.job_store.trigger_order = order);
        let a = cluster.node("A");
        cluster.schedule(job("a"), ["m", "b", "Z", "a", "y"].map(|name| once(name, "a", NOW)));
        assert_eq!(names(&a.acquire().fired), ["Z", "a", "b", "m", "y"], "{order:?}");
    }
}

on_each_strategy!(racing_nodes_fire_each_trigger_once);
/// DS-41, S3: many nodes see the same backlog; each fire begins once, and the invariants hold.
fn racing_nodes_fire_each_trigger_once() {
    let cluster = Cluster::new(open());
    let one_shots = if cluster.opened.database.claims_rows().unwrap() { 1_500 } else { 150 };
    let nodes: Vec<Node> = ["A", "B", "C", "D"].map(|name| cluster.node(name)).into();
    race(&cluster, &nodes, one_shots);
}

on_each_strategy!(nodes_of_different_strategies_share_a_backlog);
/// In a rolling change of the setting nodes of every strategy meet.
fn nodes_of_different_strategies_share_a_backlog() {
    let cluster = Cluster::new(open());
    let nodes: Vec<Node> = PollingStrategy::ALL.map(|strategy| cluster.node_polling(strategy.name(), strategy)).into();
    race(&cluster, &nodes, 150);
}

fn race(cluster: &Cluster, nodes: &[Node], one_shots: usize) {
    let shots = (0..one_shots).map(|i| {
        let ignoring = once(&format!("s{i}"), "plain", NOW - i64::try_from(i % 7).unwrap());
        ignoring.misfire(MisfireInstruction::Ignore).build().unwrap()
    });
    let plain = job("plain").durable(true).build().unwrap();
    let lone = lone_job("lone").durable(true).build().unwrap();
    let lone_shots = (0..20).map(|i| once(&format!("l{i}"), "lone", NOW).build().unwrap());
    // Each has thirty times behind it, all of which are made up for.
    let repeating = (0..10).map(|i| {
        let trigger = minutely(&format!("r{i}"), "often", NOW - 30 * MINUTE).end_at(at(NOW + SECOND));
        trigger.misfire(MisfireInstruction::Ignore).build().unwrap()
    });
    let often = job("often").durable(true).build().unwrap();
    let all = vec![(plain, shots.collect()), (lone, lone_shots.collect()), (often, repeating.collect())];
    cluster.store.catalogue().schedule(all, false).unwrap();

    let fires: Mutex<BTreeMap<(TriggerKey, i64), usize>> = Mutex::default();
    let fences: Mutex<BTreeMap<TriggerKey, Vec<(i64, i64)>>> = Mutex::default();
    let total = one_shots + 20 + 10 * 31;
    std::thread::scope(|scope| {
        for node in nodes {
            let (fires, fences) = (&fires, &fences);
            scope.spawn(move || {
                // A lone job of another node, or triggers that others hold, may leave nothing for a
                // while.
                for _ in 0..100_000 {
                    let fired = match node.try_acquire(17) {
                        Ok(brought) => brought.fired,
                        Err(error) if error.is_transient() => continue,
                        Err(error) => panic!("{error}"),
                    };
                    for bundle in &fired {
                        let key = bundle.trigger.key().clone();
                        *fires.lock().unwrap().entry((key.clone(), bundle.scheduled_ms)).or_default() += 1;
                        fences.lock().unwrap().entry(key).or_default().push((bundle.scheduled_ms, bundle.fence));
                    }
                    let ends: Vec<_> =
                        fired.iter().map(|f| f.completion(CompletionInstruction::NoInstruction, None)).collect();
                    if !ends.is_empty() {
                        let outcomes = node.complete_all(&ends);
                        assert!(outcomes.iter().all(|outcome| *outcome == CompletionOutcome::Recorded));
                    }
                    if fires.lock().unwrap().len() >= total {
                        return;
                    }
                }
            });
        }
    });
    let fires = fires.into_inner().unwrap();
    assert_eq!(fires.len(), total, "every one");
    let twice: Vec<_> = fires.iter().filter(|(_, times)| **times != 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    for (trigger, mut drawn) in fences.into_inner().unwrap() {
        drawn.sort_unstable();
        assert!(drawn.windows(2).all(|pair| pair[0].1 < pair[1].1), "fences of {trigger} grow: {drawn:?}");
    }
    assert!(cluster.snapshot().triggers.is_empty() && cluster.snapshot().fired.is_empty());
}

on_each_strategy!(definitions_change_while_nodes_race);
/// Law 1: pauses, replacements and deletions that come while nodes take triggers side by side leave
/// nothing half done.
fn definitions_change_while_nodes_race() {
    let cluster = Cluster::new(open());
    let nodes: Vec<Node> = ["A", "B", "C"].map(|name| cluster.node(name)).into();
    let often = |name: &str| {
        let trigger = minutely(name, "j", NOW - 500 * MINUTE);
        trigger.misfire(MisfireInstruction::Ignore).build().unwrap()
    };
    let j = || job("j").durable(true).build().unwrap();
    let triggers: Vec<String> = (0..8).map(|i| format!("t{i}")).collect();
    cluster.store.catalogue().schedule(vec![(j(), triggers.iter().map(|name| often(name)).collect())], false).unwrap();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let fired = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for node in &nodes {
            let (is_over, fired) = (&is_over, &fired);
            scope.spawn(move || {
                while !is_over.load(std::sync::atomic::Ordering::SeqCst) {
                    let taken = match node.try_acquire(3) {
                        Ok(brought) => brought.fired,
                        Err(error) if error.is_transient() => continue,
                        Err(error) => panic!("{error}"),
                    };
                    fired.fetch_add(taken.len(), std::sync::atomic::Ordering::SeqCst);
                    taken.iter().for_each(|bundle| {
                        let outcome = node.complete(bundle);
                        assert_eq!(outcome, CompletionOutcome::Recorded);
                    });
                }
            });
        }
        let _ends = EndOnDrop(&is_over);
        let doubly = |what: &dyn Fn() -> carnelian::Result<()>| {
            for _ in 0..20 {
                match what() {
                    Err(error) if error.is_transient() => {}
                    done => return done.unwrap(),
                }
            }
            panic!("it never got its turn");
        };
        let rounds = if cluster.opened.database.claims_rows().unwrap() { 12 } else { 3 };
        // Until they have met, which on a fast store may take some rounds more.
        for round in 0..10_000 {
            if round >= rounds && fired.load(std::sync::atomic::Ordering::SeqCst) > 0 {
                break;
            }
            let key = trigger_key(&triggers[round % triggers.len()]);
            let other = trigger_key(&triggers[(round + 3) % triggers.len()]);
            doubly(&|| cluster.store.catalogue().pause_triggers(std::slice::from_ref(&key)).map(drop));
            assert_eq!(cluster.state_of(&key), "PAUSED", "nobody takes a paused trigger");
            let next = cluster.next(key.name());
            doubly(&|| cluster.store.catalogue().unschedule(std::slice::from_ref(&other)).map(drop));
            assert_eq!(cluster.state_of(&other), "-", "a deleted trigger stays deleted");
            doubly(&|| cluster.store.catalogue().add_trigger(often(other.name()), true).map(drop));
            cluster.check();
            assert_eq!((cluster.state_of(&key).as_str(), cluster.next(key.name())), ("PAUSED", next));
            doubly(&|| cluster.store.catalogue().resume_triggers(std::slice::from_ref(&key), false).map(drop));
        }
        doubly(&|| cluster.store.catalogue().pause_all());
        let done = fired.load(std::sync::atomic::Ordering::SeqCst);
        assert!(done > 0, "they did race");
    });
    cluster.check();
}

/// Ends the others, also if the test fails.
struct EndOnDrop<'a>(&'a std::sync::atomic::AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::SeqCst);
    }
}

on_each_strategy!(a_node_that_was_declared_dead_while_it_looked_takes_nothing);
/// QZ-45: a node that was declared dead after it has seen what is due takes none of it.
fn a_node_that_was_declared_dead_while_it_looked_takes_nothing() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    let mut b = cluster.node("B");
    cluster.schedule(job("j"), [minutely("t", "j", NOW)]);
    let purpose = match cluster.store.polling_strategy().unwrap() {
        PollingStrategy::LockAndFetch => "claim triggers",
        _ => "acquire triggers",
    };
    // The node has been silent for too long, and nobody has noticed until it begins its
    // transaction.
    cluster.advance(15 * SECOND);
    b.check_in();
    cluster.advance(WINDOW - 14 * SECOND);
    cluster.hold_up(&mut a, purpose, move || assert_eq!(b.recovers().len(), 1));
    assert!(a.try_acquire(10).unwrap_err().is_fenced());
    assert!(cluster.fires().is_empty());
}

on_each_strategy!(what_another_took_meanwhile_is_not_taken_again);
/// DS-48: what another was faster to take is passed over, and is counted.
fn what_another_took_meanwhile_is_not_taken_again() {
    let cluster = Cluster::new(open());
    let (mut a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("j"), [once("t", "j", NOW), minutely("u", "j", NOW)]);
    let purpose = match cluster.store.polling_strategy().unwrap() {
        PollingStrategy::Lock => "look for nothing",
        _ => "claim triggers",
    };
    let taken = std::sync::Arc::new(Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&taken);
    cluster.hold_up(&mut a, purpose, move || {
        let brought = b.try_acquire(10).unwrap();
        seen.lock().unwrap().extend(brought.fired);
    });
    let brought = a.try_acquire(10).unwrap();
    match cluster.store.polling_strategy().unwrap() {
        PollingStrategy::Lock => assert_eq!((brought.fired.len(), brought.overtaken), (2, 0)),
        _ => {
            assert_eq!(names(&taken.lock().unwrap()), ["t", "u"]);
            assert_eq!((brought.fired.len(), brought.overtaken), (0, 2));
        }
    }
}

on_each_strategy!(on_a_database_with_one_writer_every_strategy_is_the_lock);
/// The settings are taken at their word only where they mean something.
fn on_a_database_with_one_writer_every_strategy_is_the_lock() {
    let cluster = Cluster::with(open(), |settings| settings.job_store.polling_strategy = PollingStrategy::LockAndFetch);
    let a = cluster.node("A");
    let has_rows_to_lock = cluster.opened.database.claims_rows().unwrap();
    let strategy = a.store.polling_strategy().unwrap();
    assert_eq!(strategy == PollingStrategy::LockAndFetch, has_rows_to_lock);
    cluster.schedule(job("j"), [once("t", "j", NOW)]);
    let commits = cluster.opened.database.counts().commits;
    assert_eq!(names(&a.acquire().fired), ["t"]);
    let commits = cluster.opened.database.counts().commits - commits;
    assert_eq!(commits, if has_rows_to_lock { 2 } else { 1 }, "fences, then the claim");
}

on_each_strategy!(beside_a_node_of_quartz_every_strategy_is_the_lock);
/// A node of Quartz knows nothing of claims: while one is there, triggers are taken under the lock
/// as it does.
fn beside_a_node_of_quartz_every_strategy_is_the_lock() {
    let cluster = Cluster::with(open(), |settings| settings.job_store.polling_strategy = PollingStrategy::LockAndFetch);
    let mut a = cluster.node("A");
    cluster.schedule(job("j"), [once("t", "j", NOW)]);
    super::beside_quartz::java_joins(&cluster, &mut a);
    assert_eq!(a.store.polling_strategy().unwrap(), PollingStrategy::Lock);
    let before = cluster.opened.database.counts().commits;
    let fired = a.acquire().fired;
    assert_eq!((names(&fired), cluster.opened.database.counts().commits - before), (vec!["t"], 1));
    a.complete(&fired[0]);
}

on_each_database!(a_search_finds_what_is_due_page_by_page_in_its_order);
/// Late triggers that ignore misfires, and those that are not late, are searched apart on some
/// databases; the pages are those of one search all the same.
fn a_search_finds_what_is_due_page_by_page_in_its_order() {
    let cluster = Cluster::new(open());
    let now_ms = NOW + 100 * SECOND;
    let late_s = [95, 61, 60, 30, 0, -5];
    let mut due = Vec::new();
    let trigger = |at: i32| {
        let next_ms = now_ms - late_s[at as usize % 6] * SECOND + i64::from(at);
        let ignores = at % 4 == 0;
        let (priority, key) = (at * 7 % 40, format!("t{at}"));
        if next_ms <= now_ms + 2 * SECOND && (ignores || next_ms >= now_ms - 60 * SECOND) {
            due.push((next_ms, priority, key.clone()));
        }
        let misfire = if ignores { MisfireInstruction::Ignore } else { MisfireInstruction::Smart };
        once(&key, "j", next_ms).priority(priority).misfire(misfire)
    };
    let triggers: [_; 40] = std::array::from_fn(|at| at as i32).map(trigger);
    cluster.schedule(job("j").durable(true), triggers);
    assert_eq!(due.len(), 24);
    for order in [TriggerOrder::TimeThenPriority, TriggerOrder::PriorityThenTime] {
        due.sort_by_key(|(next_ms, priority, _)| match order {
            TriggerOrder::TimeThenPriority => (0, *next_ms, i64::from(-priority)),
            TriggerOrder::PriorityThenTime => (i64::from(*next_ms > now_ms), i64::from(-priority), *next_ms),
        });
        for (limit, offset) in [(1, 0), (3, 0), (3, 3), (7, 14), (10, 20), (24, 0), (100, 0), (5, 24)] {
            let query = DueQuery {
                no_later_than_ms: now_ms + 2 * SECOND,
                misfired_before_ms: now_ms - 60 * SECOND,
                job_types: &["work".to_owned()],
                versions: &TypeVersions::default(),
                excluded: &Exclusions::default(),
                among: None,
                order,
                now_ms,
                limit,
                offset,
            };
            let expected: Vec<_> = due.iter().skip(offset).take(limit).map(|(_, _, key)| trigger_key(key)).collect();
            let database = Arc::clone(&cluster.opened.database);
            let look = &mut |s: &mut dyn carnelian::store::Session| {
                let keys = s.trigger_keys(TriggerSelection::Due(&query))?;
                let rows = s.candidates(CandidateSelection::Due(query.clone()))?;
                assert_eq!(keys, expected, "{order:?}, {limit} behind {offset}");
                let found: BTreeSet<TriggerKey> = rows.into_iter().map(|row| row.trigger.key.clone()).collect();
                assert_eq!(found, expected.iter().cloned().collect(), "{order:?}, {limit} behind {offset}");
                Ok(())
            };
            database.transact("look", TxMode::ReadOnly, look).unwrap();
        }
    }
}

on_each_strategy!(what_is_held_by_another_is_passed_over);
/// A claim waits for those only who hold the lock alone.
fn what_is_held_by_another_is_passed_over() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    if !cluster.opened.database.claims_rows().unwrap() {
        return;
    }
    cluster.schedule(job("j"), [once("t", "j", NOW), once("u", "j", NOW)]);
    let database = std::sync::Arc::clone(&cluster.opened.database);
    let mut inner = None;
    let hold = |key: &str| vec![(trigger_key(key), NOW)];
    database
        .transact("hold", TxMode::Claiming, &mut |s| {
            assert_eq!(s.trigger_keys(TriggerSelection::FreeWaiting(&hold("t")))?, [trigger_key("t")]);
            if cluster.store.settings().job_store.polling_strategy == PollingStrategy::LockAndFetch {
                inner = Some(a.try_acquire(10)?);
            }
            Ok(())
        })
        .unwrap();
    if let Some(brought) = inner {
        assert_eq!((names(&brought.fired), brought.overtaken), (vec!["u"], 1));
        assert_eq!(names(&a.acquire().fired), ["t"], "what was let go is taken by the next look");
    }
}

#[cfg(feature = "test-util")]
on_each_strategy!(a_look_of_which_a_part_fails_brings_what_has_begun);
/// Fires that have begun are run even if the rest of the look fails, and whoever runs them is told
/// to look for others of which nobody knows.
#[cfg(feature = "test-util")]
fn a_look_of_which_a_part_fails_brings_what_has_begun() {
    use carnelian::FailureClass;
    use carnelian::store::faults::Fault;
    let mut parts = 0;
    for n in 1.. {
        let cluster =
            Cluster::with(open(), |settings| settings.job_store.polling_strategy = PollingStrategy::LockAndFetch);
        let a = cluster.node("A");
        let claims = a.store.polling_strategy().unwrap() == PollingStrategy::LockAndFetch;
        cluster.schedule(job("j"), [once("t", "j", NOW)]);
        cluster.schedule(lone_job("k"), [once("u", "k", NOW)]);
        cluster.opened.database.plan().plan(n, Fault::Statement(FailureClass::Permanent));
        let brought = a.try_acquire(10);
        let was_met = !cluster.opened.database.plan().cancel();
        match brought {
            Ok(brought) if brought.fired.len() == 2 => assert!(!brought.is_in_doubt && !was_met, "{n}"),
            Ok(brought) => {
                assert_eq!((names(&brought.fired), brought.is_in_doubt), (vec!["t"], true), "{n}");
                assert_eq!(cluster.fires(), ["t/EXECUTING@A"]);
                assert_eq!(names(&a.acquire().fired), ["u"], "the next look brings the rest");
                parts += 1;
            }
            Err(_) => assert!(cluster.fires().is_empty(), "{n}"),
        }
        if !was_met {
            assert_eq!(parts > 0, claims);
            return;
        }
    }
}
