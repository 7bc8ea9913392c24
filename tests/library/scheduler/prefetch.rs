//! Prefetch: fires beyond the free workers that do not begin are given back, and run once.

use crate::scheduler::fixture::{Cluster, LONG, job};
use crate::support::wait_until;
use carnelian::history::{FireOutcome, HistoryQuery};
use carnelian::{IfExists, JobContext, JobKey, Scheduler, Trigger, TriggerKey};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const FIRES: usize = 600;

/// The state that the runs share. As soon as more than ten fires are on the node, which has two
/// workers, the runs hang.
#[derive(Clone, Default)]
struct Jam {
    hangs: Arc<AtomicBool>,
    hanging: Arc<AtomicUsize>,
    released: Arc<AtomicBool>,
    runs: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl Jam {
    fn run(&self, ctx: &JobContext, jams: bool) {
        *self.runs.lock().entry(ctx.data().text("n").unwrap().to_owned()).or_default() += 1;
        if jams && (self.hangs.load(Ordering::SeqCst) || ctx.scheduler().unwrap().running_here().len() > 10) {
            self.hangs.store(true, Ordering::SeqCst);
            self.hanging.fetch_add(1, Ordering::SeqCst);
            wait_until("it may go on", 2 * LONG, || self.released.load(Ordering::SeqCst));
        }
    }

    fn node(&self, cluster: &Cluster, name: &str, jams: bool, properties: &str) -> Scheduler {
        let (own, properties) = (self.clone(), format!("threadPool.threadCount = 2\n{properties}"));
        let run = move |ctx: &mut JobContext| {
            own.run(ctx, jams);
            Ok(())
        };
        cluster.node_with(name, &properties).job_fn("note", run).build().unwrap()
    }

    /// A node of two workers that both hang, while more that it has taken waits.
    fn begin(cluster: &Cluster) -> (Self, Scheduler) {
        let jam = Self::default();
        // However slow this machine is, what waits begins in time, until it jams.
        let node = jam.node(cluster, "n1", true, "carnelian.scheduler.takeAhead = 1s");
        let detail = job("j", "note");
        let trigger = |n: usize| {
            let key = TriggerKey::new("g", format!("t{n}"));
            Trigger::builder(key, detail.key().clone()).data("n", n.to_string()).build().unwrap()
        };
        node.schedule_jobs(vec![(detail.clone(), (0..FIRES).map(trigger).collect())], IfExists::Refuse).unwrap();
        node.start().unwrap();
        wait_until("both hang", LONG, || jam.hanging.load(Ordering::SeqCst) == 2);
        (jam, node)
    }

    /// Each trigger has fired once, under its own key and for the first time, and there is no more
    /// in the history.
    #[track_caller]
    fn assert_nothing_shows(cluster: &Cluster) {
        let history = cluster.store().history().find(&HistoryQuery::new().limit(2 * FIRES)).unwrap();
        let is_plain = |one: &carnelian::history::HistoryRow| {
            one.trigger.group() == "g" && one.attempt == 0 && one.outcome == FireOutcome::Succeeded
        };
        let strange: Vec<_> = history.iter().filter(|one| !is_plain(one)).collect();
        assert!(strange.is_empty(), "{strange:?}");
        assert_eq!(history.len(), FIRES);
    }

    #[track_caller]
    fn assert_each_once(&self, cluster: &Cluster) {
        cluster.await_quiet();
        cluster.assert_sound();
        let runs = self.runs.lock();
        assert_eq!((runs.len(), runs.values().max()), (FIRES, Some(&1)));
    }
}

/// The story of mixed work: jobs were short, and suddenly they are long. Another node has nothing
/// to do.
fn what_waits_behind_long_jobs_runs_elsewhere(cluster: &Cluster) {
    let (jam, n1) = Jam::begin(cluster);
    let n2 = jam.node(cluster, "n2", false, "");
    n2.start().unwrap();
    wait_until("the other node has run the rest", 2 * LONG, || jam.runs.lock().len() == FIRES);
    assert_eq!(n1.running_here().len(), 2, "only what hangs is still there");
    jam.released.store(true, Ordering::SeqCst);
    jam.assert_each_once(cluster);
    assert!(n1.shutdown_and_wait().is_clean());
    assert!(n2.shutdown_and_wait().is_clean());
    Jam::assert_nothing_shows(cluster);
}

#[test]
fn what_waits_behind_long_jobs_runs_elsewhere_in_memory() {
    what_waits_behind_long_jobs_runs_elsewhere(&Cluster::new());
}

#[cfg(feature = "sqlite")]
#[test]
fn what_waits_behind_long_jobs_runs_elsewhere_on_sqlite() {
    what_waits_behind_long_jobs_runs_elsewhere(&Cluster::on_sqlite());
}

#[cfg(feature = "postgres")]
#[test]
fn what_waits_behind_long_jobs_runs_elsewhere_on_postgres() {
    what_waits_behind_long_jobs_runs_elsewhere(&Cluster::on_server(&crate::support::postgres_url()));
}

#[cfg(feature = "mysql")]
#[test]
fn what_waits_behind_long_jobs_runs_elsewhere_on_mysql() {
    what_waits_behind_long_jobs_runs_elsewhere(&Cluster::on_server(&crate::support::mysql_url()));
}

#[test]
fn a_node_that_ends_gives_back_what_waits() {
    let cluster = Cluster::new();
    let (jam, n1) = Jam::begin(&cluster);
    let released = Arc::clone(&jam.released);
    std::thread::scope(|scope| {
        let ended = scope.spawn(|| n1.shutdown_and_wait());
        wait_until("only what hangs is still there", LONG, || n1.running_here().len() == 2);
        released.store(true, Ordering::SeqCst);
        assert!(ended.join().unwrap().is_clean());
    });
    assert_eq!(jam.hanging.load(Ordering::SeqCst), 2, "nothing began any more");
    let n2 = jam.node(&cluster, "n2", false, "");
    n2.start().unwrap();
    wait_until("the next node has run the rest", 2 * LONG, || jam.runs.lock().len() == FIRES);
    jam.assert_each_once(&cluster);
    Jam::assert_nothing_shows(&cluster);
    assert!(n2.shutdown_and_wait().is_clean());
}

#[test]
fn a_node_that_stands_by_gives_back_what_waits_and_takes_it_again() {
    let cluster = Cluster::new();
    let (jam, n1) = Jam::begin(&cluster);
    n1.standby();
    wait_until("only what hangs is still there", LONG, || n1.running_here().len() == 2);
    jam.released.store(true, Ordering::SeqCst);
    cluster.await_quiet();
    assert!(jam.runs.lock().len() < FIRES);
    n1.start().unwrap();
    wait_until("it has run the rest", 2 * LONG, || jam.runs.lock().len() == FIRES);
    jam.assert_each_once(&cluster);
    Jam::assert_nothing_shows(&cluster);
    assert!(n1.shutdown_and_wait().is_clean());
}

/// A fire that was asked to stop while it waited does not begin, and is not given back.
#[test]
fn what_is_stopped_while_it_waits_does_not_begin() {
    let cluster = Cluster::new();
    let (jam, n1) = Jam::begin(&cluster);
    let waiting: Vec<_> = n1.running_here().into_iter().filter(|fire| fire.running_for.is_none()).collect();
    assert!(waiting.len() >= 5, "{waiting:?}");
    let stopped = &waiting[waiting.len() - 1];
    assert!(n1.interrupt_fire(&stopped.fire_id));
    jam.released.store(true, Ordering::SeqCst);
    wait_until("the others have run", LONG, || jam.runs.lock().len() == FIRES - 1);
    cluster.await_quiet();
    cluster.assert_sound();
    assert_eq!(jam.runs.lock().get(stopped.trigger.name().trim_start_matches('t')), None);
    assert_eq!(jam.runs.lock().values().max(), Some(&1));
    let of_it = cluster.store().history().find(&HistoryQuery::new().trigger(stopped.trigger.clone())).unwrap();
    assert_eq!((of_it.len(), of_it[0].outcome, of_it[0].run_ms), (1, FireOutcome::Cancelled, None));
    assert!(n1.shutdown_and_wait().is_clean());
}

/// Without it a node takes no more than it has free workers, and jobs never wait.
#[test]
fn nothing_is_prefetched_where_that_is_not_wanted() {
    let cluster = Cluster::new();
    let most = Arc::new(AtomicUsize::new(0));
    let ran = Arc::new(AtomicUsize::new(0));
    let (seen, count) = (Arc::clone(&most), Arc::clone(&ran));
    let run = move |ctx: &mut JobContext| {
        seen.fetch_max(ctx.scheduler().unwrap().running_here().len(), Ordering::SeqCst);
        count.fetch_add(1, Ordering::SeqCst);
        Ok(())
    };
    let properties = "threadPool.threadCount = 2\ncarnelian.scheduler.takeAhead = 0";
    let node = cluster.node_with("n1", properties).job_fn("note", run).build().unwrap();
    let detail = job("j", "note");
    let trigger = |n: usize| Trigger::builder(TriggerKey::new("g", format!("t{n}")), detail.key().clone()).build();
    let triggers = (0..FIRES).map(|n| trigger(n).unwrap()).collect();
    node.schedule_jobs(vec![(detail.clone(), triggers)], IfExists::Refuse).unwrap();
    node.start().unwrap();
    wait_until("all have run", LONG, || ran.load(Ordering::SeqCst) == FIRES);
    assert!(most.load(Ordering::SeqCst) <= 2);
    assert!(node.shutdown_and_wait().is_clean());
}

/// The story of a cluster whose jobs were short, and of ten long ones that are due together: who
/// has free workers takes them.
fn long_jobs_are_taken_for_free_workers_only(cluster: &Cluster) {
    let begun = Arc::new(Mutex::new(Vec::new()));
    let released = Arc::new(AtomicBool::new(false));
    let node = |name: &str| {
        let (begun, released) = (Arc::clone(&begun), Arc::clone(&released));
        let long = move |ctx: &mut JobContext| {
            let rerun = ctx.rerun().is_some();
            begun.lock().push((ctx.trigger().key().clone(), ctx.instance_id().to_owned(), rerun));
            wait_until("it may go on", 2 * LONG, || released.load(Ordering::SeqCst));
            Ok(())
        };
        let properties = "threadPool.threadCount = 5\ncarnelian.scheduler.takeAhead = 1s";
        cluster.node_with(name, properties).job_fn("long", long).job_fn("short", |_| Ok(())).build().unwrap()
    };
    let n1 = node("n1");
    n1.start().unwrap();
    let schedule = |name: &str, job_type: &str, count: usize| {
        let detail =
            carnelian::JobDetail::builder(JobKey::named(name), job_type).requests_recovery(true).build().unwrap();
        let trigger =
            |n| Trigger::builder(TriggerKey::new(name, format!("t{n}")), detail.key().clone()).build().unwrap();
        n1.schedule_jobs(vec![(detail.clone(), (0..count).map(trigger).collect())], IfExists::Refuse).unwrap();
    };
    schedule("warm", "short", 100);
    cluster.await_quiet();
    schedule("ten", "long", 10);
    wait_until("the first has as many as it has workers", LONG, || begun.lock().len() == 5);
    let n2 = node("n2");
    n2.start().unwrap();
    wait_until("all have begun", LONG, || begun.lock().len() == 10);
    released.store(true, Ordering::SeqCst);
    let mut keys: Vec<_> = begun.lock().iter().map(|(key, ..)| key.clone()).collect();
    keys.sort();
    assert_eq!(
        keys,
        (0..10).map(|n| TriggerKey::new("ten", format!("t{n}"))).collect::<Vec<_>>(),
        "under their own keys"
    );
    let on = |name: &str| begun.lock().iter().filter(|(_, instance, rerun)| instance == name && !rerun).count();
    assert_eq!((on("n1"), on("n2")), (5, 5));
    cluster.await_quiet();
    cluster.assert_sound();
    let history = cluster.store().history().find(&HistoryQuery::new().limit(1000)).unwrap();
    assert_eq!((history.len(), history.iter().filter(|one| one.outcome != FireOutcome::Succeeded).count()), (110, 0));
    assert!(n1.shutdown_and_wait().is_clean());
    assert!(n2.shutdown_and_wait().is_clean());
}

#[test]
fn long_jobs_are_taken_for_free_workers_only_in_memory() {
    long_jobs_are_taken_for_free_workers_only(&Cluster::new());
}

#[cfg(feature = "sqlite")]
#[test]
fn long_jobs_are_taken_for_free_workers_only_on_sqlite() {
    long_jobs_are_taken_for_free_workers_only(&Cluster::on_sqlite());
}

#[cfg(feature = "postgres")]
#[test]
fn long_jobs_are_taken_for_free_workers_only_on_postgres() {
    long_jobs_are_taken_for_free_workers_only(&Cluster::on_server(&crate::support::postgres_url()));
}

#[cfg(feature = "mysql")]
#[test]
fn long_jobs_are_taken_for_free_workers_only_on_mysql() {
    long_jobs_are_taken_for_free_workers_only(&Cluster::on_server(&crate::support::mysql_url()));
}

/// Ten fires of a type that was short, and is long now, on an idle node of five workers: the five
/// that begin say nothing of how long they take, so the node takes no more.
#[test]
fn what_has_begun_does_not_say_that_it_is_short() {
    let cluster = Cluster::new();
    let begun = Arc::new(AtomicUsize::new(0));
    let (hangs, released) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (count, is_long, goes_on) = (Arc::clone(&begun), Arc::clone(&hangs), Arc::clone(&released));
    let run = move |_: &mut JobContext| {
        count.fetch_add(1, Ordering::SeqCst);
        if is_long.load(Ordering::SeqCst) {
            wait_until("it may go on", 2 * LONG, || goes_on.load(Ordering::SeqCst));
        }
        Ok(())
    };
    let properties = "threadPool.threadCount = 5\ncarnelian.scheduler.takeAhead = 1s";
    let node = cluster.node_with("n1", properties).job_fn("note", run).build().unwrap();
    node.start().unwrap();
    let schedule = |name: &str, count: usize| {
        let detail = job(name, "note");
        let trigger = |n| Trigger::builder(TriggerKey::new(name, format!("t{n}")), detail.key().clone()).build();
        let triggers = (0..count).map(|n| trigger(n).unwrap()).collect();
        node.schedule_jobs(vec![(detail.clone(), triggers)], IfExists::Refuse).unwrap();
    };
    let passes = || node.health().services.iter().find(|service| service.name == "acquirer").unwrap().runs;
    let some_passes = || {
        let before = passes();
        wait_until("the acquirer has looked some more", LONG, || passes() >= before + 3);
    };
    schedule("warm", 100);
    wait_until("the short ones have run", LONG, || begun.load(Ordering::SeqCst) == 100);
    cluster.await_quiet();
    some_passes();
    hangs.store(true, Ordering::SeqCst);
    schedule("ten", 10);
    wait_until("it has as many as it has workers", LONG, || begun.load(Ordering::SeqCst) == 105);
    some_passes();
    assert_eq!(node.running_here().len(), 5, "the others are for whoever has a free worker");
    released.store(true, Ordering::SeqCst);
    wait_until("all have begun", LONG, || begun.load(Ordering::SeqCst) == 110);
    cluster.await_quiet();
    cluster.assert_sound();
    assert!(node.shutdown_and_wait().is_clean());
}
