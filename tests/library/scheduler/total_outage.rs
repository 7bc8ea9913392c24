//! A total outage (scenario 10), on every database: no node is left while ten thousand triggers
//! come due. The first node afterwards says so, and drains the triggers in order of priority. Then
//! everything is as before.

use crate::scheduler::fixture::{Cluster, LONG, job};
use crate::support::{mysql_url, postgres_url, wait_until};
use carnelian::listener::SchedulerListener;
use carnelian::recovery::Outage;
use carnelian::store::Membership;
use carnelian::{JobContext, SimpleSchedule, Trigger, TriggerKey};
use chrono::DateTime;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

const MISSED: usize = 10_000;
const WORKERS: usize = 50;

#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>, Arc<Mutex<Vec<Outage>>>);

impl SchedulerListener for Recorder {
    fn name(&self) -> &str {
        "recorder"
    }
    fn outage_ended(&self, outage: &Outage) {
        self.1.lock().push(outage.clone());
    }
    fn recovery_started(&self) {
        self.0.lock().push("started".to_owned());
    }
    fn recovery_ended(&self) {
        self.0.lock().push("ended".to_owned());
    }
}

/// The clock of the nodes and of the database's file are this process's; a server has its own.
fn missed_by_all(mut cluster: Cluster) {
    cluster.checkin_interval = Duration::from_millis(300);
    cluster.tolerance = Duration::from_millis(900);
    cluster.misfire_threshold = Duration::from_secs(3_600);
    let store = cluster.store();
    // Two nodes that are not heard of again.
    let mut gone = [Membership::new("a"), Membership::new("b")];
    for node in &mut gone {
        assert!(store.upkeep().check_in(node).unwrap().registered);
    }
    let due = store.upkeep().instances().unwrap().iter().map(|node| node.last_checkin).max().unwrap();
    let work = job("work", "work");
    for chunk in 0..MISSED / 1_000 {
        let trigger = |n: usize| {
            let name = format!("t{n:05}");
            let builder = Trigger::builder(TriggerKey::new("g", name), work.key().clone());
            builder.start_at(due).priority(1 + (n % 9) as i32).schedule(SimpleSchedule::once()).build().unwrap()
        };
        let triggers = (chunk * 1_000..(chunk + 1) * 1_000).map(trigger).collect();
        store.catalogue().schedule(vec![(work.clone(), triggers)], true).unwrap();
    }
    wait_until("nobody was heard of for a whole window", LONG, || {
        store.upkeep().instances().unwrap().iter().all(|node| !node.alive)
    });

    let ran: Arc<Mutex<Vec<(i32, String)>>> = Arc::default();
    let (note, recorder) = (Arc::clone(&ran), Recorder::default());
    let properties = format!(
        "threadPool.threadCount = {WORKERS}\ncarnelian.monitor.interval = 200ms\ncarnelian.monitor.overdueAfter = 100ms\n"
    );
    let node = cluster.node_with("c", &properties).scheduler_listener(recorder.clone());
    let run = move |ctx: &mut JobContext| {
        note.lock().push((ctx.trigger().priority(), ctx.trigger().key().name().to_owned()));
        Ok(())
    };
    let node = node.job_fn("work", run).build().unwrap();
    let asked = cluster.clock.ticks();
    node.start().unwrap();
    assert!(node.store().is_in_recovery_mode(), "before anything is taken");
    wait_until("all have run and the mode is left", Duration::from_secs(60), || {
        ran.lock().len() >= MISSED && recorder.0.lock().len() == 2
    });
    println!("drained in {:?}", cluster.clock.ticks() - asked);

    let told = recorder.1.lock().clone();
    let outage = &told[0];
    assert_eq!((told.len(), outage.start_time(), outage.instance.as_str()), (1, due, "c"));
    assert!(outage.end_time() >= due + Duration::from_millis(1_200));
    assert_eq!((outage.overdue, outage.fire_now, outage.fire_each, outage.skipped), (10_000, 10_000, 0, 0));
    assert_eq!((outage.interrupted, outage.uncounted), (0, false));
    assert_eq!(node.outages().unwrap(), told);

    let ran = ran.lock().clone();
    let names: BTreeSet<&String> = ran.iter().map(|(_, name)| name).collect();
    assert_eq!((ran.len(), names.len()), (MISSED, MISSED), "nobody lost, nobody doubled");
    // Workers begin what is taken together in any order, and the next batch while the last goes on.
    let mut before: BTreeMap<i32, usize> = BTreeMap::new();
    for (n, (priority, name)) in ran.iter().enumerate() {
        let overtaken: usize = before.range(..priority).map(|(_, count)| count).sum();
        *before.entry(*priority).or_default() += 1;
        assert!(overtaken <= 2 * WORKERS, "{name} of priority {priority} was the {n}th, after {overtaken} of less");
    }
    assert_eq!(*recorder.0.lock(), ["started", "ended"]);
    assert_eq!((node.store().is_in_recovery_mode(), node.recovery_mode().unwrap()), (false, None));

    // By command, and back.
    assert!(node.start_recovery().unwrap().since_ms.is_some());
    wait_until("nothing is overdue, so it ends by itself", LONG, || node.recovery_mode().unwrap().is_none());
    assert!(node.shutdown_and_wait().is_clean());
    cluster.assert_sound();
    cluster.store().database().forget_scheduler().unwrap();
}

/// DS-80, DS-82, DS-83, DS-84.
#[test]
fn a_total_outage_is_drained_by_priority_on_sqlite() {
    missed_by_all(Cluster::on_sqlite());
}

#[test]
fn a_total_outage_is_drained_by_priority_on_postgres() {
    missed_by_all(Cluster::on_server(&postgres_url()));
}

#[test]
fn a_total_outage_is_drained_by_priority_on_mysql() {
    missed_by_all(Cluster::on_server(&mysql_url()));
}

/// DS-82: with a rate, no second begins more than that.
#[test]
fn a_rate_is_kept_while_a_backlog_is_drained() {
    let cluster = Cluster::new();
    let work = job("work", "work");
    let store = cluster.store();
    // Later than `overdueAfter`, and not misfired.
    let late = DateTime::from_timestamp_millis(store.now_ms().unwrap() - 30_000).unwrap();
    let triggers = || {
        let trigger = |n| {
            let builder = Trigger::builder(TriggerKey::new("g", format!("t{n}")), work.key().clone());
            builder.start_at(late).build().unwrap()
        };
        (0..30).map(trigger).collect()
    };
    store.catalogue().schedule(vec![(work.clone(), triggers())], true).unwrap();
    let ran: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let (note, clock, recorder) = (Arc::clone(&ran), Arc::clone(&cluster.clock), Recorder::default());
    let properties = "threadPool.threadCount = 10\ncarnelian.recovery.rate = 20\ncarnelian.monitor.interval = 1h\n";
    let node = cluster.node_with("c", properties).scheduler_listener(recorder);
    let run = move |_: &mut JobContext| {
        note.lock().push(clock.ticks());
        Ok(())
    };
    store.outages().start_recovery("test").unwrap();
    let node = node.job_fn("work", run).build().unwrap();
    node.start().unwrap();
    wait_until("all have run", LONG, || ran.lock().len() == 30);
    let ran = ran.lock().clone();
    // A second's worth may have been saved up; the other ten take half a second.
    let took = *ran.last().unwrap() - *ran.first().unwrap();
    assert!(took >= Duration::from_millis(450), "{took:?}");
    assert!(node.shutdown_and_wait().is_clean());
}
