//! Nodes see the work of others at once, and idle nodes cost next to nothing, on every database.
//!
//! Figures: `CARNELIAN_REMOTE_SAMPLES=100 CARNELIAN_REMOTE_SECONDS=40 ./tests/run --test remote
//! --no-capture figures` (alone on an idle machine). Without the variables a few samples show that
//! the way works.
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql", feature = "test-util"))]

use crate::support::{self, wait_until};
use carnelian::clock::{Clock, Signal, SystemClock, Woken};
use carnelian::history::{FireOutcome, HistoryQuery};
use carnelian::monitoring::ServiceState;
use carnelian::settings::{DataSourceUrl, Settings};
use carnelian::store::{
    Database, Heartbeats, JobStore, Membership, NotificationSource, Session, SqlDatabase, StatementCounts, TxMode,
};
use carnelian::{IfExists, JobContext, JobDetail, JobKey, Result, Scheduler, Trigger, TriggerKey};
use crossbeam_channel::{Receiver, unbounded};
use diesel::connection::{Connection, SimpleConnection};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

/// Nothing that happens by the time: what is found, is found since it was announced.
const ONLY_NEWS: &str = "scheduler.idleWaitTime = 86400000\ncarnelian.scheduler.pollInterval = 1d\n";

/// Counts everything that is sent, `BEGIN` and `COMMIT` too.
struct Counting {
    inner: SqlDatabase,
    transactions: AtomicU64,
}

impl Database for Counting {
    fn transact(
        &self,
        purpose: &'static str,
        begin: TxMode,
        work: &mut dyn FnMut(&mut dyn Session) -> Result<()>,
    ) -> Result<()> {
        if begin != TxMode::Autocommit {
            self.transactions.fetch_add(1, Ordering::SeqCst);
        }
        self.inner.transact(purpose, begin, work)
    }
    fn migrate(&self) -> Result<Vec<String>> {
        self.inner.migrate()
    }
    fn check_schema(&self) -> Result<()> {
        self.inner.check_schema()
    }
    fn forget_scheduler(&self) -> Result<()> {
        self.inner.forget_scheduler()
    }
    fn notification_source(&self) -> Option<Box<dyn NotificationSource>> {
        self.inner.notification_source()
    }
    fn counts(&self) -> StatementCounts {
        self.inner.counts()
    }
    fn describe(&self) -> String {
        self.inner.describe()
    }
}

impl Counting {
    fn sent(&self) -> u64 {
        self.inner.counts().statements + 2 * self.transactions.load(Ordering::SeqCst)
    }
}

/// A scheduler name on a database.
struct Cluster {
    url: String,
    name: String,
    _folder: Option<tempfile::TempDir>,
}

/// A node and the database as it sees it.
struct Node {
    scheduler: Scheduler,
    database: Arc<Counting>,
    /// The fires that have begun, and when.
    begins: Receiver<(String, i64)>,
}

impl Cluster {
    fn all() -> [Cluster; 3] {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = format!("sqlite:{}", folder.path().join("jobs.db").display());
        [(sqlite, Some(folder)), (support::postgres_url(), None), (support::mysql_url(), None)]
            .map(|(url, _folder)| Cluster { url, name: support::fresh_name("remote"), _folder })
    }

    fn postgres() -> Cluster {
        let name = support::fresh_name("remote");
        let url = support::postgres_url();
        let mark = if url.contains('?') { '&' } else { '?' };
        Cluster { url: format!("{url}{mark}application_name={name}"), name, _folder: None }
    }

    fn open(&self) -> (Arc<Counting>, JobStore) {
        let clock = Arc::new(SystemClock::default());
        let settings = Settings::in_database(&self.name, self.url.parse().unwrap());
        let inner = SqlDatabase::open(&settings, clock.clone()).unwrap();
        let database = Arc::new(Counting { inner, transactions: AtomicU64::new(0) });
        let store = JobStore::new(Arc::clone(&database) as _, clock, settings);
        store.database().migrate().unwrap();
        (database, store)
    }

    /// A node whose job type `t` says that it has begun, and for the job `long` goes on until it is
    /// told to stop.
    fn node(&self, instance: &str, properties: &str) -> Node {
        let (database, store) = self.open();
        let settings = Settings::from_text("test", properties, |_| None).unwrap();
        let (begun, begins) = unbounded();
        let run = move |ctx: &mut JobContext| {
            begun.send((ctx.fire_id().to_owned(), SystemClock::default().wall_time().timestamp_millis())).unwrap();
            while ctx.job().key().name() == "long" && !ctx.is_interrupted() {
                ctx.wait(Duration::from_secs(60));
            }
            ctx.check()
        };
        let builder = Scheduler::builder().settings(settings).store(store).instance_id(instance).job_fn("t", run);
        Node { scheduler: builder.build().unwrap(), database, begins }
    }

    /// A node that runs nothing and one that does, on every database.
    fn pair(&self, properties: &str) -> (Node, Node) {
        let (teller, runner) = (self.node("teller", ""), self.node("runner", properties));
        runner.scheduler.start().unwrap();
        (teller, runner)
    }

    /// Statements as another program would send them.
    fn run_sql(&self, text: &str) {
        let text = text.replace("{name}", &self.name);
        let (url, _) = DataSourceUrl::parse(&self.url, None, None).unwrap();
        let url = url.reveal();
        if self.url.starts_with("sqlite") {
            let mut connection = diesel::SqliteConnection::establish(url).unwrap();
            connection.batch_execute("PRAGMA busy_timeout = 10000").unwrap();
            connection.batch_execute(&text).unwrap();
        } else if self.url.starts_with("postgres") {
            diesel::PgConnection::establish(url).unwrap().batch_execute(&text).unwrap();
        } else {
            diesel::MysqlConnection::establish(url).unwrap().batch_execute(&text).unwrap();
        }
    }
}

impl Node {
    fn hears(&self) -> bool {
        let services = self.scheduler.health().services;
        services
            .iter()
            .any(|s| s.name == "notification-listener" && s.state == ServiceState::Waiting && s.errors_in_a_row == 0)
    }

    fn passes(&self, service: &str) -> u64 {
        self.scheduler.health().services.iter().filter(|s| s.name == service).map(|s| s.runs).sum()
    }

    /// Waits until the acquirer has looked and waits for news.
    fn await_idle(&self) {
        let idle = |name| {
            let services = self.scheduler.health().services;
            services.iter().any(|s| s.name == name && s.runs > 0 && s.state == ServiceState::Waiting)
        };
        wait_until("the node waits", LONG, || idle("acquirer") && idle("heartbeat"));
    }
}

fn job(name: &str) -> JobDetail {
    JobDetail::builder(JobKey::named(name), "t").durable(true).build().unwrap()
}

fn due(name: &str, job: &JobDetail, in_ms: i64) -> Trigger {
    let at = SystemClock::default().wall_time() + chrono::TimeDelta::milliseconds(in_ms);
    Trigger::builder(TriggerKey::named(name), job.key().clone()).start_at(at).build().unwrap()
}

/// Has a job run by another node; returns the fire.
fn run_remotely(teller: &Node, runner: &Node, name: &str) -> String {
    let job = job(name);
    teller.scheduler.add_job(&job, IfExists::Replace).unwrap();
    teller.scheduler.schedule_trigger(due(&support::fresh_name(name), &job, 0)).unwrap();
    runner.begins.recv_timeout(LONG).expect("it begins on the other node").0
}

/// DS-42: schedule, pause, resume, unschedule and cancel on one node are seen by the other, on
/// every database; and what is reserved in its memory is let go when it was taken back.
#[test]
fn what_one_node_does_the_other_sees() {
    for cluster in Cluster::all() {
        // With heartbeats a day apart only news can bring an order to stop.
        let (teller, runner) = cluster.pair("carnelian.scheduler.heartbeatInterval = 1d\n");
        run_remotely(&teller, &runner, "short");

        let (soon, short) = (TriggerKey::named("soon"), job("short"));
        let reserved = |count| move |node: &Node| node.scheduler.health().reserved == count;
        teller.scheduler.schedule_trigger(due("soon", &short, 3_600_000)).unwrap();
        for round in 0..2 {
            let again = due("soon", &short, 1_900);
            teller.scheduler.reschedule(&soon, again).unwrap();
            wait_until("it is reserved", LONG, || reserved(1)(&runner) || !runner.begins.is_empty());
            match round {
                0 => assert!(teller.scheduler.pause_trigger(&soon).unwrap()),
                _ => assert!(teller.scheduler.unschedule(&soon).unwrap() || !runner.begins.is_empty()),
            }
            wait_until("it is reserved no longer", LONG, || reserved(0)(&runner));
            if round == 0 && runner.begins.is_empty() {
                assert!(teller.scheduler.resume_trigger(&soon).unwrap());
                runner.begins.recv_timeout(LONG).expect("it begins once it is resumed");
                teller.scheduler.schedule_trigger(due("soon", &short, 3_600_000)).ok();
            }
        }

        let fire = run_remotely(&teller, &runner, "long");
        assert!(teller.scheduler.cancel_fire(&fire).unwrap());
        wait_until("it was cancelled", LONG, || {
            let query = HistoryQuery::new().fire(&fire);
            teller.scheduler.history(&query).unwrap().iter().any(|row| row.outcome == FireOutcome::Cancelled)
        });
        assert!(runner.scheduler.shutdown_and_wait().is_clean());
        teller.database.forget_scheduler().unwrap();
    }
}

/// A node all of whose workers are busy hears of an order to stop as well.
#[test]
fn a_busy_node_sees_orders_to_stop() {
    for cluster in Cluster::all() {
        let busy = "threadPool.threadCount = 1\ncarnelian.scheduler.heartbeatInterval = 1d\n";
        let (teller, runner) = cluster.pair(busy);
        let fire = run_remotely(&teller, &runner, "long");
        wait_until("it has no worker left", LONG, || runner.scheduler.health().free_workers == 0);
        runner.scheduler.standby();
        assert!(teller.scheduler.cancel_fire(&fire).unwrap());
        wait_until("it was cancelled", LONG, || runner.scheduler.health().counters.cancelled == 1);
        assert!(runner.scheduler.shutdown_and_wait().is_clean());
        teller.database.forget_scheduler().unwrap();
    }
}

/// On PostgreSQL news is heard, not found by looking; a listening session that is killed is
/// replaced, and what was announced meanwhile is found.
#[test]
fn what_is_announced_is_heard_also_after_the_ear_was_killed() {
    let cluster = Cluster::postgres();
    let (teller, runner) = cluster.pair(&format!("{ONLY_NEWS}carnelian.scheduler.heartbeatInterval = 1d\n"));
    wait_until("it hears", LONG, || runner.hears());
    for round in 0..3 {
        runner.await_idle();
        run_remotely(&teller, &runner, &format!("heard{round}"));
        let failed = || {
            runner
                .scheduler
                .health()
                .services
                .iter()
                .filter(|s| s.name == "notification-listener")
                .map(|s| s.errors)
                .sum::<u64>()
        };
        let before = failed();
        cluster.run_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}' AND query LIKE 'LISTEN%'",
        );
        // Perhaps before it has noticed.
        run_remotely(&teller, &runner, &format!("missed{round}"));
        wait_until("it has noticed", LONG, || failed() > before);
        wait_until("it hears again", LONG, || runner.hears());
    }
    let fire = run_remotely(&teller, &runner, "long");
    assert!(teller.scheduler.cancel_fire(&fire).unwrap());
    wait_until("it was cancelled", LONG, || runner.scheduler.health().counters.cancelled == 1);
    assert!(runner.scheduler.shutdown_and_wait().is_clean());
    teller.database.forget_scheduler().unwrap();
}

/// New work that a poll of every node sees in time is not announced, nor is any where the settings
/// say so.
#[test]
fn what_is_due_later_is_not_announced() {
    const SILENT: &str = "carnelian.scheduler.notify = false\n";
    for (properties, in_ms, is_heard) in [("", 20_000, true), ("", 3_600_000, false), (SILENT, 20_000, false)] {
        let cluster = Cluster::postgres();
        let (name, url) = (&cluster.name, &cluster.url);
        let text = format!(
            "scheduler.instanceName = {name}\njobStore.dataSource = db\ndataSource.db.URL = {url}\n{properties}"
        );
        let settings = Settings::from_text("test", &text, |_| None).unwrap();
        let store = carnelian::store::open(&settings, Arc::new(SystemClock::default())).unwrap();
        store.database().migrate().unwrap();
        let mut source = store.database().notification_source().unwrap();
        source.connect().unwrap();
        let later = job("later");
        let trigger = due("t", &later, in_ms);
        assert!(store.database().has_fast_path());
        store.catalogue().schedule(vec![(later, vec![trigger])], false).unwrap();
        // Of another kind, on the same channel, and so the last that is heard.
        cluster.run_sql(
            "SELECT pg_notify(substring(query FROM 'carnelian_[0-9a-f]+'), 'cancels') FROM pg_stat_activity \
             WHERE application_name = '{name}' AND query LIKE 'LISTEN%'",
        );
        let (mut change, mut cancel) = (false, false);
        wait_until("the last is heard", LONG, || {
            let heard = source.received().unwrap();
            (change, cancel) = (change || heard.change, cancel || heard.cancel);
            cancel
        });
        assert_eq!(change, is_heard, "{properties} in {in_ms} ms");
        store.database().forget_scheduler().unwrap();
    }
}

/// A notification ends the wait for it, whatever time is left.
#[test]
fn a_notification_is_heard_when_it_comes() {
    let cluster = Cluster::postgres();
    let (_database, store) = cluster.open();
    let mut source = store.database().notification_source().unwrap();
    source.connect().unwrap();
    assert!(source.hears_at_once());
    let (clock, signal) = (SystemClock::default(), Signal::default());
    let soon = job("soon");
    let trigger = due("t", &soon, 0);
    store.catalogue().schedule(vec![(soon, vec![trigger])], false).unwrap();
    let until = Some(clock.ticks() + LONG);
    while !source.received().unwrap().change {
        assert_eq!(source.wait(&clock, &signal, until), Woken::Raised);
    }
    source.connect().unwrap();
    assert!(source.hears_at_once(), "after a new connection too");
    signal.stop();
    assert_eq!(source.wait(&clock, &signal, None), Woken::Stopped);
    store.database().forget_scheduler().unwrap();
}

/// A change that nobody announces, as a node of Quartz makes them, is found by the look at what is
/// due, whether the node listens or not.
#[test]
fn what_is_not_announced_is_found() {
    let [sqlite, postgres, mysql] = Cluster::all();
    for (cluster, properties) in
        [(&sqlite, ""), (&postgres, ""), (&postgres, "carnelian.scheduler.listen = false\n"), (&mysql, "")]
    {
        let (teller, runner) = cluster.pair(properties);
        let quiet = job("quiet");
        let all = carnelian::GroupMatcher::any();
        teller.scheduler.pause_all().unwrap();
        teller.scheduler.schedule_job(quiet.clone(), due("t", &quiet, 0)).unwrap();
        runner.await_idle();
        if !properties.is_empty() {
            assert!(runner.scheduler.health().services.iter().all(|service| service.name != "notification-listener"));
        }
        cluster.run_sql("UPDATE QRTZ_TRIGGERS SET TRIGGER_STATE = 'WAITING' WHERE SCHED_NAME = '{name}'");
        runner.begins.recv_timeout(LONG).expect("it is found");
        teller.scheduler.resume_triggers(&all).unwrap();
        assert!(runner.scheduler.shutdown_and_wait().is_clean());
        teller.database.forget_scheduler().unwrap();
        drop(teller);
    }
}

/// A counter that is as large as a number can be, and one that is not there, keep nothing from
/// being changed; the first goes on from the beginning and is seen to.
#[test]
fn counters_that_overflow_or_are_missing_do_no_harm() {
    for cluster in Cluster::all() {
        let (teller, runner) = cluster.pair("carnelian.scheduler.heartbeatInterval = 300ms\n");
        let full = "UPDATE QRTZ_CN_CHANGES SET CHANGES = 9223372036854775807, CANCELS = 9223372036854775807";
        for damage in [full, "DELETE FROM QRTZ_CN_CHANGES"] {
            cluster.run_sql(&format!("{damage} WHERE SCHED_NAME = '{{name}}'"));
            let fire = run_remotely(&teller, &runner, "long");
            assert!(teller.scheduler.cancel_fire(&fire).unwrap());
            wait_until("it was cancelled", LONG, || {
                let query = HistoryQuery::new().fire(&fire);
                teller.scheduler.history(&query).unwrap().iter().any(|row| row.outcome == FireOutcome::Cancelled)
            });
            if damage == full {
                let look = teller.scheduler.store().firing().poll(None, "", &[]).unwrap();
                assert!((1..100).contains(&look.changes) && look.cancels == 1, "{look:?}");
            }
        }
        assert!(runner.scheduler.shutdown_and_wait().is_clean());
        teller.database.forget_scheduler().unwrap();
    }
}

/// The statements of an idle node, pass by pass. A poll is one statement and nothing else. A
/// check-in has four with `BEGIN` and `COMMIT`, and one more for the row of the node. The search
/// for silent fires, the search for misfires, the search for stuck triggers and the monitor have
/// one each. At 160 ms, 15 s, 10 s, 60 s, 60 s and 15 s that leaves room below eight a second.
#[test]
fn an_idle_node_sends_few_statements() {
    for cluster in Cluster::all() {
        let (database, store) = cluster.open();
        let sent = |work: &mut dyn FnMut()| {
            let before = database.sent();
            work();
            database.sent() - before
        };
        let mut me = Membership::new("idle");
        store.upkeep().check_in(&mut me).unwrap();
        let owner = me.owner().unwrap();
        let mut beats = Heartbeats::default();
        let look = sent(&mut || assert!(store.firing().poll(None, "", &["t".to_owned()]).is_ok()));
        let check_in = sent(&mut || drop(store.upkeep().check_in(&mut me).unwrap()));
        let beat = sent(&mut || drop(store.upkeep().watch_heartbeats(&owner, &mut beats).unwrap()));
        let misfires = sent(&mut || drop(store.upkeep().handle_misfires().unwrap()));
        let mend = sent(&mut || drop(store.upkeep().mend().unwrap()));
        let load = sent(&mut || drop(store.upkeep().cluster_load(Duration::from_secs(5), 10_000).unwrap()));
        let states = sent(&mut || drop(store.upkeep().trigger_states().unwrap()));
        let tidy = sent(&mut || store.upkeep().sweep().map(drop).unwrap());
        let orphans = sent(&mut || drop(store.job_types().imminent_orphans(Duration::from_secs(3600)).unwrap()));
        println!("idle tidy={tidy} orphans={orphans}");
        println!("idle look={look} check_in={check_in} beat={beat} misfires={misfires} mend={mend}");
        assert_eq!((look, beat, misfires, mend, states), (1, 1, 1, 1, 1), "{}", cluster.url);
        assert!(check_in <= 4 && load <= 1 && tidy <= 1 && orphans <= 5, "{}", cluster.url);
        // Each poll is up to 5 % shorter: half of it on average.
        let looks = 1000.0 / 160.0 / (1.0 - 0.025);
        let rest = (check_in + 1) as f64 / 15.0 + beat as f64 / 10.0 + (misfires + mend) as f64 / 60.0;
        let rest = rest + load as f64 / 15.0 + states as f64 / 60.0;
        let per_second = looks + rest + (mend + tidy + orphans) as f64 / 240.0;
        println!("idle database={} statements_per_second={per_second:.2}", cluster.url.split(':').next().unwrap());
        assert!(per_second < 8.0, "{per_second}");

        let runner = cluster.node("runner", "scheduler.idleWaitTime = 1000\njobStore.misfireThreshold = 60000\n");
        runner.scheduler.start().unwrap();
        runner.await_idle();
        let services = ["acquirer", "cluster", "heartbeat", "misfire", "completer", "monitor", "clean-up"];
        let passes = || services.map(|name| runner.passes(name));
        let (before, sent) = (passes(), runner.database.sent());
        wait_until("it has looked some more", LONG, || runner.passes("acquirer") >= before[0] + 8);
        let (sent, after) = (runner.database.sent() - sent, passes());
        let most: u64 =
            [1, 5, 1, 1, 0, 4, 9].iter().zip(before.iter().zip(after)).map(|(n, (a, b))| n * (b - a + 1)).sum();
        assert!(sent <= most, "{sent} statements in {before:?} to {after:?} passes");
        assert!(runner.scheduler.shutdown_and_wait().is_clean());
        store.database().forget_scheduler().unwrap();
    }
}

fn wanted(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Prints how long it takes from the call of schedule on one node to the start on another, and what
/// an idle node sends.
#[test]
fn figures() {
    let (samples, seconds) = (wanted("CARNELIAN_REMOTE_SAMPLES", 3), wanted("CARNELIAN_REMOTE_SECONDS", 0));
    for cluster in Cluster::all() {
        let database = cluster.url.split(':').next().unwrap().to_owned();
        let (teller, runner) = cluster.pair("");
        run_remotely(&teller, &runner, "warm");
        let clock = SystemClock::default();
        let mut waits = Vec::new();
        for sample in 0..samples {
            // Not in step with the looks.
            wait_until("some time has passed", LONG, {
                let until = clock.ticks() + Duration::from_millis(300 + getrandom::u64().unwrap() % 300);
                let clock = &clock;
                move || clock.ticks() >= until
            });
            let job = job("warm");
            let began = clock.wall_time().timestamp_millis();
            teller.scheduler.schedule_trigger(due(&format!("s{sample}"), &job, 0)).unwrap();
            let (_, started) = runner.begins.recv_timeout(LONG).unwrap();
            waits.push(started - began);
        }
        waits.sort_unstable();
        let at = |percent: usize| waits.get((waits.len() * percent / 100).min(waits.len() - 1)).copied().unwrap_or(0);
        println!(
            "figures database={database} samples={samples} p50_ms={} p99_ms={} max_ms={}",
            at(50),
            at(99),
            at(100)
        );
        if seconds > 0 {
            let (sent, from) = (runner.database.sent(), clock.ticks());
            let until = from + Duration::from_secs(seconds);
            wait_until("the time is over", LONG + Duration::from_secs(seconds), || clock.ticks() >= until);
            let took = (clock.ticks() - from).as_secs_f64();
            let rate = (runner.database.sent() - sent) as f64 / took;
            println!("figures database={database} idle_statements_per_second={rate:.2} seconds={took:.0}");
        }
        assert!(runner.scheduler.shutdown_and_wait().is_clean());
        teller.database.forget_scheduler().unwrap();
    }
}
