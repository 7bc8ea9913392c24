//! Taking a backlog ahead of the workers: what was taken and does not begin is given back, and runs once.

use crate::fixture::{Cluster, LONG, job};
use crate::support::wait_until;
use carnelian::{FireOutcome, HistoryQuery, JobContext, Overlap, Scheduler, Trigger, TriggerKey};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const FIRES: usize = 600;

/// What the runs share: once more than ten fires are on the node, though it has two workers, they hang.
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
    fn begin(cluster: &Cluster, overlap: Overlap) -> (Self, Scheduler) {
        let jam = Self::default();
        // However slow this machine is, what waits begins in time, until it jams.
        let node = jam.node(cluster, "n1", true, "carnelian.scheduler.takeAhead = 1s");
        let detail = job("j", "note");
        let trigger = |n: usize| {
            let key = TriggerKey::new("g", format!("t{n}"));
            Trigger::builder(key, detail.key().clone()).data("n", n.to_string()).overlap(overlap).build().unwrap()
        };
        node.schedule_jobs(vec![(detail.clone(), (0..FIRES).map(trigger).collect())], false).unwrap();
        node.start().unwrap();
        wait_until("both hang", LONG, || jam.hanging.load(Ordering::SeqCst) == 2);
        (jam, node)
    }

    fn given_back(cluster: &Cluster) -> usize {
        let query = HistoryQuery::new().limit(2 * FIRES);
        let history = cluster.store().history(&query).unwrap();
        let waited = |error: &Option<String>| error.as_ref().is_some_and(|error| error.contains("it had not begun"));
        history.iter().filter(|one| one.outcome == FireOutcome::Interrupted && waited(&one.error)).count()
    }

    #[track_caller]
    fn assert_each_once(&self, cluster: &Cluster) {
        cluster.await_quiet();
        cluster.assert_sound();
        let runs = self.runs.lock();
        assert_eq!((runs.len(), runs.values().max()), (FIRES, Some(&1)));
    }
}

/// The story of mixed work: jobs were short, and suddenly they are long. Another node has nothing to do.
fn what_waits_behind_long_jobs_runs_elsewhere(cluster: &Cluster) {
    let (jam, n1) = Jam::begin(cluster, Overlap::AllowAll);
    let n2 = jam.node(cluster, "n2", false, "");
    n2.start().unwrap();
    wait_until("the other node has run the rest", 2 * LONG, || jam.runs.lock().len() == FIRES);
    assert_eq!(n1.running_here().len(), 2, "only what hangs is still there");
    let waited = Jam::given_back(cluster);
    assert!(waited >= 5, "{waited} of more than ten had not begun");
    jam.released.store(true, Ordering::SeqCst);
    jam.assert_each_once(cluster);
    assert!(n1.shutdown(true).is_clean());
    assert!(n2.shutdown(true).is_clean());
    assert_eq!(Jam::given_back(cluster), waited, "nothing was given back twice");
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
    let (jam, n1) = Jam::begin(&cluster, Overlap::AllowAll);
    let released = Arc::clone(&jam.released);
    std::thread::scope(|scope| {
        let ended = scope.spawn(|| n1.shutdown(true));
        wait_until("only what hangs is still there", LONG, || n1.running_here().len() == 2);
        released.store(true, Ordering::SeqCst);
        assert!(ended.join().unwrap().is_clean());
    });
    assert_eq!(jam.hanging.load(Ordering::SeqCst), 2, "nothing began any more");
    let n2 = jam.node(&cluster, "n2", false, "");
    n2.start().unwrap();
    wait_until("the next node has run the rest", 2 * LONG, || jam.runs.lock().len() == FIRES);
    jam.assert_each_once(&cluster);
    assert!(n2.shutdown(true).is_clean());
}

#[test]
fn a_node_that_stands_by_gives_back_what_waits_and_takes_it_again() {
    let cluster = Cluster::new();
    let (jam, n1) = Jam::begin(&cluster, Overlap::AllowAll);
    n1.standby();
    wait_until("only what hangs is still there", LONG, || n1.running_here().len() == 2);
    jam.released.store(true, Ordering::SeqCst);
    cluster.await_quiet();
    assert!(jam.runs.lock().len() < FIRES);
    n1.start().unwrap();
    wait_until("it has run the rest", 2 * LONG, || jam.runs.lock().len() == FIRES);
    jam.assert_each_once(&cluster);
    assert!(n1.shutdown(true).is_clean());
}

/// A trigger that says whether its runs may meet is not given back: its run would have another trigger. And what was asked
/// to stop while it waited does not begin.
#[test]
fn what_is_stopped_while_it_waits_does_not_begin() {
    let cluster = Cluster::new();
    let (jam, n1) = Jam::begin(&cluster, Overlap::Skip);
    let waiting: Vec<_> = n1.running_here().into_iter().filter(|fire| fire.running_for.is_none()).collect();
    assert!(waiting.len() >= 5, "{waiting:?}");
    let stopped = &waiting[waiting.len() - 1];
    assert!(n1.interrupt_fire(&stopped.fire_id));
    jam.released.store(true, Ordering::SeqCst);
    wait_until("the others have run", LONG, || jam.runs.lock().len() == FIRES - 1);
    cluster.await_quiet();
    cluster.assert_sound();
    assert_eq!(jam.runs.lock().get(stopped.trigger.name().trim_start_matches('t')), None);
    assert_eq!((jam.runs.lock().values().max(), Jam::given_back(&cluster)), (Some(&1), 0));
    let of_it = cluster.store().history(&HistoryQuery::new().trigger(stopped.trigger.clone())).unwrap();
    assert_eq!((of_it.len(), of_it[0].outcome, of_it[0].run_ms), (1, FireOutcome::Cancelled, None));
    assert!(n1.shutdown(true).is_clean());
}

/// Without it a node takes no more than it has free workers, and jobs never wait.
#[test]
fn nothing_is_taken_ahead_where_that_is_not_wanted() {
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
    node.schedule_jobs(vec![(detail.clone(), triggers)], false).unwrap();
    node.start().unwrap();
    wait_until("all have run", LONG, || ran.load(Ordering::SeqCst) == FIRES);
    assert!(most.load(Ordering::SeqCst) <= 2);
    assert!(node.shutdown(true).is_clean());
}
