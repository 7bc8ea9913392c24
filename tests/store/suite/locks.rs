//! Locks of the application: one holder, fences that grow, ends that are the store's.

use super::*;
use carnelian::Error;
#[cfg(feature = "test-util")]
use carnelian::FailureClass;
#[cfg(feature = "test-util")]
use carnelian::store::faults::Fault;
use carnelian::store::row::LockRow;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

fn take(node: &Node, name: &str) -> Option<LockRow> {
    node.store.locks().try_lock(name, &node.me.instance, TTL).unwrap()
}

fn key(row: &LockRow) -> (String, String) {
    (row.name.clone(), row.holder.clone())
}

on_each_database!(one_holds_a_lock_and_fences_grow);
/// LT-41, LT-43: one holds it, others are refused, until it is released or its time is over; each
/// fence is larger.
fn one_holds_a_lock_and_fences_grow() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.stranger("A"), cluster.stranger("B"));
    let first = take(&a, "stock").unwrap();
    assert_eq!((first.instance.as_str(), first.expires_ms), ("A", NOW + 30 * SECOND));
    assert_eq!((take(&a, "stock"), take(&b, "stock")), (None, None));
    let other = take(&b, "till").unwrap();
    assert!(other.fence > first.fence);
    assert_eq!(cluster.store.locks().held().unwrap(), (NOW, vec![first.clone(), other.clone()]));

    assert!(!a.store.locks().release("stock", &other.holder).unwrap());
    assert!(a.store.locks().release("stock", &first.holder).unwrap());
    assert!(!a.store.locks().release("stock", &first.holder).unwrap());
    let second = take(&b, "stock").unwrap();
    assert!(second.fence > other.fence);

    // LT-42: it ends unless it is renewed, and then may be taken over, with a larger fence.
    cluster.advance(20 * SECOND);
    assert_eq!(b.store.locks().renew(&[key(&second), key(&other)]).unwrap(), []);
    cluster.advance(29 * SECOND);
    assert_eq!(take(&a, "stock"), None);
    cluster.advance(SECOND);
    let third = take(&a, "stock").unwrap();
    assert!(third.fence > second.fence);
    // The holder of before learns it, and takes nothing away.
    assert_eq!(b.store.locks().renew(&[key(&second), key(&other)]).unwrap(), [key(&second), key(&other)]);
    assert!(!b.store.locks().release("stock", &second.holder).unwrap());
    assert_eq!(cluster.store.locks().held().unwrap().1, std::slice::from_ref(&third));

    let broken = cluster.store.locks().break_lock("stock").unwrap();
    assert_eq!(broken, Some(third.clone()));
    assert_eq!(cluster.store.locks().break_lock("stock").unwrap(), None);
    assert_eq!(a.store.locks().renew(&[key(&third)]).unwrap(), [key(&third)]);
    // Also when nothing is left of the row, the fence goes on growing.
    assert!(take(&b, "stock").unwrap().fence > third.fence);
    cluster.advance(31 * SECOND);
    assert_eq!(cluster.store.locks().break_lock("stock").unwrap(), None, "nobody holds it any more");
}

on_each_database!(locks_are_forgotten_a_day_after_their_time);
/// Locks that nobody has released are forgotten in time; those that are held stay; they have
/// nothing to do with jobs.
fn locks_are_forgotten_a_day_after_their_time() {
    let cluster = Cluster::new(open());
    let a = cluster.stranger("A");
    take(&a, "old").unwrap();
    cluster.advance(24 * 60 * MINUTE + 31 * SECOND);
    take(&a, "new").unwrap();
    let names = || {
        let mut names = Vec::new();
        cluster.tamper(|s| {
            names = s.rows::<LockRow>().by(&["name"]).list()?.into_iter().map(|row| row.name).collect();
            Ok(())
        });
        names
    };
    assert_eq!(names(), ["new", "old"]);
    cluster.store.upkeep().clean_up().unwrap();
    cluster.store.catalogue().clear().unwrap();
    assert_eq!(names(), ["new"]);
}

on_each_database!(names_and_times_that_cannot_be_stored_are_refused);
fn names_and_times_that_cannot_be_stored_are_refused() {
    let cluster = Cluster::new(open());
    let too_long = "x".repeat(191);
    for (name, ttl) in [("", TTL), (too_long.as_str(), TTL), ("a", Duration::from_millis(99)), ("a", Duration::MAX)] {
        let refused = cluster.store.locks().try_lock(name, "A", ttl).unwrap_err();
        assert!(matches!(refused, Error::Invalid { .. }), "{refused}");
    }
}

on_each_database!(of_many_that_try_at_once_one_holds_it);
/// The unique key decides: of many that try at the same moment one has it (LT-41).
fn of_many_that_try_at_once_one_holds_it() {
    let cluster = Cluster::new(open());
    for round in 0..3 {
        let name = format!("contended{round}");
        let start = std::sync::Barrier::new(6);
        let taken: Vec<LockRow> = std::thread::scope(|scope| {
            let take = |i: usize| {
                let (store, name, start) = (cluster.store.clone(), &name, &start);
                scope.spawn(move || {
                    start.wait();
                    store.locks().try_lock(name, &format!("n{i}"), TTL).unwrap()
                })
            };
            let threads: Vec<_> = (0..6).map(take).collect();
            threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(taken.len(), 1, "{taken:?}");
    }
}

#[cfg(feature = "test-util")]
on_each_database!(faults_leave_a_lock_taken_or_free);
/// A lock is taken, renewed, released whole or not at all, whichever statement fails; an answer
/// that was lost is looked up.
#[cfg(feature = "test-util")]
fn faults_leave_a_lock_taken_or_free() {
    let cluster = Cluster::new(open());
    let a = cluster.stranger("A");
    let plan = || cluster.opened.database.plan();
    let faults = [
        Fault::Statement(FailureClass::Permanent),
        Fault::Statement(FailureClass::Deadlock),
        Fault::Statement(FailureClass::ConnectionLost),
        Fault::CommitLostApplied,
        Fault::CommitLostNotApplied,
    ];
    for (f, fault) in faults.into_iter().enumerate() {
        for n in 1..20 {
            let name = format!("lock{f}-{n}");
            let held = || cluster.store.locks().held().unwrap().1.into_iter().find(|row| row.name == name);
            plan().plan(n, fault);
            let taken = a.store.locks().try_lock(&name, "A", TTL);
            let was_late = plan().cancel();
            match taken {
                Ok(row) => assert_eq!(held(), Some(row.expect("nobody else wants it")), "{fault:?} {n}"),
                Err(_) => assert_eq!(held(), None, "{fault:?} {n}"),
            }
            let Some(row) = held().or_else(|| take(&a, &name)) else { panic!("{fault:?} {n}") };

            plan().plan(n, fault);
            let renewed = a.store.locks().renew(&[key(&row)]);
            plan().cancel();
            assert!(renewed.is_err() || renewed.unwrap().is_empty(), "{fault:?} {n}");
            assert_eq!(held().unwrap().holder, row.holder);

            plan().plan(n, fault);
            let released = a.store.locks().release(&name, &row.holder);
            let was_late = plan().cancel() && was_late;
            match released {
                Ok(released) => assert!(released && held().is_none(), "{fault:?} {n}"),
                Err(_) => assert!(a.store.locks().release(&name, &row.holder).unwrap(), "{fault:?} {n}"),
            }
            if was_late {
                break;
            }
            assert!(n < 19, "no end");
        }
    }
}
