//! Locks of the application with real nodes: no update is lost under a lock, a node that stops
//! loses its lock, and the fence tells.
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql", feature = "test-util"))]

use crate::support::{self, wait_until};
use carnelian::clock::{Clock, SystemClock};
use carnelian::settings::{DataSourceUrl, Settings};
use carnelian::store::{Database, JobStore, MemoryDatabase, SqlDatabase};
use carnelian::{Error, Scheduler};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);
const TTL: Duration = Duration::from_secs(20);

/// Leads to a database, for a scheduler of this name.
type Open = Box<dyn Fn(&str) -> Arc<dyn Database>>;

/// A scheduler name on a database.
struct Cluster {
    name: String,
    open: Open,
    _folder: Option<tempfile::TempDir>,
}

impl Cluster {
    fn all() -> Vec<Cluster> {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = format!("sqlite:{}", folder.path().join("jobs.db").display());
        let memory: Arc<dyn Database> = Arc::new(MemoryDatabase::new(Arc::new(SystemClock::default())));
        let mut clusters: Vec<Cluster> =
            [(sqlite, Some(folder)), (support::postgres_url(), None), (support::mysql_url(), None)]
                .into_iter()
                .map(|(url, _folder)| {
                    let (url, _) = DataSourceUrl::parse(&url, None, None).unwrap();
                    let open = move |name: &str| -> Arc<dyn Database> {
                        let settings = Settings::in_database(name, url.clone());
                        Arc::new(SqlDatabase::open(&settings, Arc::new(SystemClock::default())).unwrap())
                    };
                    Cluster { name: support::fresh_name("locks"), open: Box::new(open), _folder }
                })
                .collect();
        let open = Box::new(move |_: &str| Arc::clone(&memory));
        clusters.push(Cluster { name: support::fresh_name("locks"), open, _folder: None });
        clusters
    }

    /// A node that is not started: locks need none.
    fn node(&self, instance: &str) -> Scheduler {
        self.node_with(instance, Arc::new(SystemClock::default()))
    }

    fn node_with(&self, instance: &str, clock: Arc<dyn Clock>) -> Scheduler {
        let store = JobStore::new((self.open)(&self.name), Arc::clone(&clock), Settings::named(&self.name));
        let scheduler = Scheduler::builder().store(store).clock(clock).instance_id(instance).build().unwrap();
        scheduler.migrate().unwrap();
        scheduler
    }
}

/// LT-41, LT-43: what many threads of several nodes add up under a lock, reading and writing in two
/// steps, comes out right, and the fences that they had only grow.
#[test]
fn a_counter_under_a_lock_loses_nothing() {
    for cluster in Cluster::all() {
        let nodes: Vec<Scheduler> = (0..3).map(|i| cluster.node(&format!("n{i}"))).collect();
        let (counter, largest) = (AtomicI64::new(0), AtomicI64::new(0));
        let (threads, rounds) = (2, 4);
        std::thread::scope(|scope| {
            for node in &nodes {
                for _ in 0..threads {
                    scope.spawn(|| {
                        for _ in 0..rounds {
                            let guard = node.lock_within("counter", TTL, LONG).unwrap();
                            let read = counter.load(Ordering::SeqCst);
                            std::thread::yield_now();
                            assert!(largest.swap(guard.fence(), Ordering::SeqCst) < guard.fence());
                            guard.check().unwrap();
                            counter.store(read + 1, Ordering::SeqCst);
                            assert!(guard.release().unwrap(), "released by its holder, in time");
                        }
                    });
                }
            }
        });
        assert_eq!(counter.into_inner(), 3 * threads * rounds);
        assert_eq!(nodes[0].store().locks().held().unwrap().1, []);
    }
}

/// LT-42: a lock is renewed for as long as its guard lives, far beyond its time; it is not
/// re-entrant; dropping the guard releases it; one that is not had in time is an error that names
/// the holder.
#[test]
fn a_guard_keeps_its_lock_and_gives_it_back() {
    for cluster in Cluster::all() {
        let (a, b) = (cluster.node("A"), cluster.node("B"));
        let ttl = Duration::from_secs(3);
        let guard = a.lock("kept", ttl).unwrap();
        let expires = || b.store().locks().held().unwrap().1.first().map_or(0, |row| row.expires_ms);
        let first = expires();
        wait_until("it was renewed twice", LONG, || expires() > first + 1_200 || !guard.is_held());
        guard.check().unwrap();
        assert!(a.try_lock("kept", ttl).unwrap().is_none());
        let refused = b.lock_within("kept", ttl, Duration::from_millis(50)).unwrap_err();
        assert!(matches!(&refused, Error::Locked { name, holder, .. } if name == "kept" && holder == "A"), "{refused}");
        let fence = guard.fence();
        drop(guard);
        let next = b.try_lock("kept", ttl).unwrap().expect("it is free");
        assert!(next.fence() > fence);
        b.shutdown_now();
        next.check().unwrap();
        assert!(next.release().unwrap());
        assert!(matches!(b.try_lock("kept", ttl), Err(Error::ShutDown(_))));
    }
}

/// A holder whose process stood still for longer than its lock's time has lost it, knows it at
/// once, has the smaller fence, and takes nothing from the next one.
#[test]
fn a_holder_that_was_paused_has_lost_its_lock() {
    for cluster in Cluster::all() {
        let (a, b) = (cluster.node("A"), cluster.node("B"));
        let guard = a.try_lock("paused", Duration::from_secs(6)).unwrap().unwrap();
        // A stop of its process, or an operator, makes the lock's row another's.
        assert!(b.store().locks().break_lock("paused").unwrap().is_some());
        let next = b.try_lock("paused", Duration::from_secs(6)).unwrap().expect("it is free");
        assert!(next.fence() > guard.fence());
        wait_until("its keeper learns it", LONG, || !guard.is_held());
        assert!(guard.check().unwrap_err().is_fenced());
        assert!(!guard.release().unwrap());
        next.check().unwrap();
        assert!(next.release().unwrap());
    }
}

/// The holder's own monotonic clock tells that the lock is lost, without any word from the store.
#[test]
fn a_lock_that_could_not_be_renewed_is_lost_by_the_clock() {
    let clock = Arc::new(carnelian::clock::ManualClock::at(1_800_000_000_000));
    let database: Arc<dyn Database> = Arc::new(MemoryDatabase::new(Arc::clone(&clock) as _));
    let cluster = Cluster { name: "paused".to_owned(), open: Box::new(move |_| Arc::clone(&database)), _folder: None };
    let (a, b) = (cluster.node_with("A", Arc::clone(&clock) as _), cluster.node_with("B", Arc::clone(&clock) as _));
    let guard = a.try_lock("stopped", TTL).unwrap().unwrap();
    // Renewals come when a third is over; this is as if the process had stood still for all of it.
    clock.advance(TTL);
    assert!(!guard.is_held());
    let next = b.try_lock("stopped", TTL).unwrap().expect("its time is over");
    assert!(next.fence() > guard.fence());
    assert!(guard.check().unwrap_err().is_fenced());
    assert!(!guard.release().unwrap());
    assert!(next.is_held());
    assert!(next.release().unwrap());
}

/// A guard that is released while its keeper renews it is not told to have lost it.
#[test]
fn releases_do_not_race_renewals() {
    for cluster in Cluster::all() {
        let node = cluster.node("A");
        // Held all the time, so that the keeper renews every few milliseconds.
        let busy = node.try_lock("busy", Duration::from_secs(5)).unwrap().unwrap();
        for round in 0..40 {
            let guard = node.try_lock("raced", Duration::from_millis(1_000)).unwrap().expect("it is free");
            guard.check().unwrap();
            assert!(guard.release().unwrap(), "round {round}");
        }
        busy.check().unwrap();
        assert!(busy.release().unwrap());
    }
}
