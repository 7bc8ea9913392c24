//! Hazards of peers that need several sessions at once. Each hazard is a bug that a scheduler of
//! this kind has had.
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql"))]

use crate::support::{self, kept_log};
use carnelian::clock::SystemClock;
use carnelian::settings::{PollingStrategy, Settings};
use carnelian::store::faults::Fault;
use carnelian::store::row::FastPathWork;
use carnelian::store::{
    AcquireRequest, CompletionInstruction, Database, Heartbeats, JobStore, Lock, Membership, Owner, Session,
    SqlDatabase, TxMode, violations,
};
use carnelian::{FailureClass, JobDetail, JobKey, SimpleSchedule, Trigger, TriggerKey};
use chrono::DateTime;
use crossbeam_channel::bounded;
use diesel::connection::SimpleConnection;
use diesel::sql_types::Text;
use diesel::{Connection, PgConnection, QueryableByName, RunQueryDsl, sql_query};
use std::collections::BTreeSet;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread::{scope, spawn};
use std::time::Duration;

fn store(url: &str, name: &str) -> JobStore {
    store_and_database(url, name, PollingStrategy::default()).0
}

/// The store, and its database, in which faults can be planned.
fn store_and_database(url: &str, name: &str, polling_strategy: PollingStrategy) -> (JobStore, Arc<SqlDatabase>) {
    let clock = Arc::new(SystemClock::default());
    let mut settings = Settings::in_database(name, url.parse().unwrap());
    settings.job_store.polling_strategy = polling_strategy;
    let database = Arc::new(SqlDatabase::open(&settings, clock.clone()).unwrap());
    database.migrate().unwrap();
    (JobStore::new(Arc::clone(&database) as Arc<dyn Database>, clock, settings), database)
}

fn join(store: &JobStore, instance: &str) -> Owner {
    let mut me = Membership::new(instance);
    store.upkeep().check_in(&mut me).unwrap();
    me.owner().unwrap()
}

/// Fires what is due, ends it, and says which moments of which triggers it was.
fn fire_and_end(store: &JobStore, owner: &Owner, max: usize) -> Vec<(TriggerKey, i64)> {
    let (types, quarantined) = (vec!["t".to_owned()], BTreeSet::new());
    let request = AcquireRequest {
        max,
        prefetch: None,
        look_ahead_ms: 0,
        fire_ahead_ms: 0,
        job_types: &types,
        quarantined: &quarantined,
    };
    let fired = store.firing().acquire(owner, &request).unwrap().fired;
    let ends: Vec<_> = fired.iter().map(|f| f.completion(CompletionInstruction::NoInstruction, None)).collect();
    store.firing().complete(owner, &ends).unwrap();
    fired.into_iter().map(|f| (f.trigger.key().clone(), f.scheduled_ms)).collect()
}

/// H1: Quartz's nodes acquire single triggers without a lock, and two of them can fire the same
/// moment twice. Here four nodes drain one backlog, each at its own batch size; every trigger fires
/// once.
fn nobody_fires_twice(url: &str) {
    let name = support::fresh_name("h1");
    let first = store(url, &name);
    let job = JobDetail::builder(JobKey::named("j"), "t").durable(true).build().unwrap();
    let trigger = |i| Trigger::builder(TriggerKey::named(format!("t{i}")), job.key().clone()).build().unwrap();
    first.catalogue().schedule(vec![(job.clone(), (0..300).map(trigger).collect())], false).unwrap();
    let fired: Vec<TriggerKey> = scope(|threads| {
        let drain = |batch: usize| {
            let store = store(url, &name);
            let owner = join(&store, &format!("node-{batch}"));
            let mut mine = Vec::new();
            loop {
                let fired = fire_and_end(&store, &owner, batch);
                if fired.is_empty() {
                    return mine;
                }
                mine.extend(fired.into_iter().map(|(key, _)| key));
            }
        };
        let nodes: Vec<_> = [1, 3, 8, 20].into_iter().map(|batch| threads.spawn(move || drain(batch))).collect();
        nodes.into_iter().flat_map(|node| node.join().unwrap()).collect()
    });
    let distinct: BTreeSet<_> = fired.iter().collect();
    assert_eq!((fired.len(), distinct.len()), (300, 300));
    assert_eq!(violations(&first.upkeep().snapshot().unwrap()), []);
    first.database().forget_scheduler().unwrap();
}

#[test]
fn nobody_fires_twice_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    nobody_fires_twice(&format!("sqlite:{}", folder.path().join("h1.db").display()));
}

#[test]
fn nobody_fires_twice_on_postgres() {
    nobody_fires_twice(&support::postgres_url());
}

#[test]
fn nobody_fires_twice_on_mysql() {
    nobody_fires_twice(&support::mysql_url());
}

/// A call that is a transaction of its own may be on its way when its connection is given up. The
/// call may arrive when its work was stored in another way, and has run. A second store would make
/// the work run twice.
#[test]
fn a_call_that_comes_late_stores_nothing() {
    let name = support::fresh_name("late");
    let (store, database) = store_and_database(&support::postgres_url(), &name, PollingStrategy::default());
    let owner = join(&store, "node");
    let job = JobDetail::builder(JobKey::named("j"), "t").durable(true).build().unwrap();
    store.catalogue().add_job(&job, false).unwrap();
    let tokens = || -> BTreeSet<String> {
        let text = "SELECT token FROM QRTZ_CN_COMMITS WHERE sched_name = $1";
        let mut connection = PgConnection::establish(&support::postgres_url()).unwrap();
        let rows: Vec<Token> = sql_query(text).bind::<Text, _>(&name).load(&mut connection).unwrap();
        rows.into_iter().map(|row| row.token).collect()
    };
    let before = tokens();

    // Lost on its way: its caller, who cannot know, stores the trigger by a transaction.
    database.faults().plan(1, Fault::CommitLostNotApplied);
    store
        .catalogue()
        .add_trigger(Trigger::builder(TriggerKey::named("t"), job.key().clone()).build().unwrap(), false)
        .unwrap();
    assert!(!database.faults().cancel(), "the fault has happened");
    let trigger = store.upkeep().snapshot().unwrap().triggers.remove(0);
    let token = tokens().difference(&before).next().cloned().expect("the caller notes the token");
    assert_eq!(fire_and_end(&store, &owner, 1).len(), 1);

    let work = FastPathWork { triggers: vec![trigger], ..FastPathWork::default() };
    let late =
        database.transact("store it", TxMode::SingleStatement, &mut |s| s.store_fast_path(&work, &token).map(drop));
    assert_eq!(late.unwrap_err().failure_class(), Some(FailureClass::UniqueViolation));
    assert_eq!(store.upkeep().snapshot().unwrap().triggers, []);
    database
        .transact("store it", TxMode::SingleStatement, &mut |s| s.store_fast_path(&work, "another token").map(drop))
        .unwrap();
    assert_eq!(store.upkeep().snapshot().unwrap().triggers.len(), 1, "it was the token that stood in its way");
    store.database().forget_scheduler().unwrap();
}

#[derive(QueryableByName)]
struct Token {
    #[diesel(sql_type = Text)]
    token: String,
}

/// A server that becomes a standby keeps its connections and answers, but takes no writes. The
/// connections are given up, so that new ones find the server that took its place. Calls that
/// failed meanwhile may be tried again.
#[test]
fn a_server_that_takes_no_writes_any_more_is_left() {
    let database = support::fresh_name("carnelian_test_standby");
    let mut server = PgConnection::establish(&support::postgres_url()).unwrap();
    let mut run = |text: &str| server.batch_execute(text).unwrap();
    run(&format!("CREATE DATABASE \"{database}\""));
    let url = support::postgres_url();
    let (before, _) = url.rsplit_once('/').unwrap();
    let url = format!("{before}/{database}");
    drop(store(&url, "standby"));

    run(&format!("ALTER DATABASE \"{database}\" SET default_transaction_read_only = on"));
    let clock = Arc::new(SystemClock::default());
    let mut settings = Settings::in_database("standby", url.parse().unwrap());
    settings.data_source.as_mut().unwrap().max_connections = 1;
    let store = JobStore::new(Arc::new(SqlDatabase::open(&settings, clock.clone()).unwrap()), clock, settings);
    let error = store.catalogue().pause_all().unwrap_err();
    assert_eq!(error.failure_class(), Some(FailureClass::Unavailable), "{error}");
    run(&format!("ALTER DATABASE \"{database}\" RESET default_transaction_read_only"));
    store.catalogue().pause_all().expect("the only connection leads to a server that takes writes");
    drop(store);
    run(&format!("DROP DATABASE \"{database}\" WITH (FORCE)"));
}

/// H18: a session that held the lock and stopped kept the whole cluster of a peer waiting,
/// silently. Here the server cuts it off, and the others go on while it still sleeps.
fn a_stopped_holder_of_the_lock_is_cut_off(url: &str, begin: TxMode) {
    let name = support::fresh_name("h18");
    let store = store(url, &name);
    let holder = store.clone();
    let (locked, is_locked) = channel();
    let (done, is_done) = channel();
    let stopped = spawn(move || {
        holder.database().transact("hold the lock", begin, &mut |_| {
            locked.send(()).unwrap();
            let others_went_on = is_done.recv_timeout(Duration::from_secs(60)).is_ok();
            assert!(others_went_on, "the lock was not taken from a session that stopped");
            Ok(())
        })
    });
    is_locked.recv().unwrap();
    store.catalogue().pause_all().unwrap();
    done.send(()).unwrap();
    let end = stopped.join().unwrap();
    let error = end.expect_err("the transaction of the stopped session was committed");
    assert!(error.is_transient(), "{error:?}");
    store.database().forget_scheduler().unwrap();
}

/// A check-in that suspects nobody asks for no lock: it goes through while another session holds
/// both.
fn a_check_in_waits_for_no_lock(url: &str) {
    let name = support::fresh_name("qz40");
    let store = store(url, &name);
    let mut me = Membership::new("A");
    assert!(store.upkeep().check_in(&mut me).unwrap().registered);
    let before = store.upkeep().instances().unwrap()[0].last_checkin;
    let holder = store.clone();
    let (locked, is_locked) = channel();
    let (done, is_done) = channel::<()>();
    let holds = spawn(move || {
        holder.database().transact("hold the locks", TxMode::Exclusive(Lock::StateAccess), &mut |s| {
            s.lock(Lock::TriggerAccess)?;
            locked.send(()).unwrap();
            is_done.recv_timeout(Duration::from_secs(4)).expect("the check-in waited for a lock");
            Ok(())
        })
    });
    is_locked.recv().unwrap();
    let checkin = store.upkeep().check_in(&mut me).unwrap();
    assert!(!checkin.registered && !checkin.failed_out);
    assert!(store.upkeep().instances().unwrap()[0].last_checkin > before, "its time is written");
    done.send(()).unwrap();
    holds.join().unwrap().unwrap();
    store.database().forget_scheduler().unwrap();
}

/// Threads of the application wait for a lock, each with a connection, as many as the pool has. The
/// check-in and the beats of the node, which need no lock, waited until one was free: their node
/// was taken for dead.
fn check_ins_and_beats_find_connections(url: &str) {
    let name = support::fresh_name("spare");
    let clock = Arc::new(SystemClock::default());
    let mut settings = Settings::in_database(&name, url.parse().unwrap());
    let source = settings.data_source.as_mut().unwrap();
    (source.max_connections, source.connection_timeout) = (2, Duration::from_secs(2));
    let database = Arc::new(SqlDatabase::open(&settings, clock.clone()).unwrap());
    database.migrate().unwrap();
    let store = JobStore::new(database, clock, settings);
    let mut me = Membership::new("A");
    assert!(store.upkeep().check_in(&mut me).unwrap().registered);
    let (owner, mut seen, go_on) = (me.owner().unwrap(), Heartbeats::default(), Barrier::new(3));
    let (held, is_held) = channel();
    scope(|threads| {
        for _ in 0..2 {
            let (store, go_on, held) = (&store, &go_on, held.clone());
            threads.spawn(move || {
                let hold = &mut |_: &mut dyn Session| {
                    held.send(()).unwrap();
                    go_on.wait();
                    Ok(())
                };
                store.database().transact("hold a connection", TxMode::Autocommit, hold).unwrap();
            });
        }
        (0..2).for_each(|_| is_held.recv_timeout(Duration::from_secs(60)).unwrap());
        let checkin = store.upkeep().check_in(&mut me);
        let looked = store.upkeep().watch_heartbeats(&owner, &mut seen);
        let beaten = store.upkeep().heartbeat(&owner, &[], &mut seen);
        // The next beat or check-in waits for these as well.
        let (fires, upkeep) = (["f".to_owned()], store.upkeep());
        let others = [
            upkeep.cancels("A").map(drop),
            upkeep.fires_gone(&owner, &fires).map(drop),
            upkeep.abandon(&owner, &fires).map(drop),
        ];
        go_on.wait();
        others.into_iter().for_each(|done| done.unwrap());
        assert!(!checkin.unwrap().failed_out);
        assert_eq!((looked.unwrap().recovered, beaten.unwrap().recovered), (Vec::new(), Vec::new()));
    });
    store.database().forget_scheduler().unwrap();
}

#[test]
fn check_ins_and_beats_find_connections_on_postgres() {
    check_ins_and_beats_find_connections(&support::postgres_url());
}

#[test]
fn check_ins_and_beats_find_connections_on_mysql() {
    check_ins_and_beats_find_connections(&support::mysql_url());
}

/// The server has no connection for it beside those that the pool may have: a check-in waited for
/// one of its own, and passed over the first of the pool's that came back.
#[test]
fn a_check_in_takes_the_first_connection_that_comes_back() {
    if !support::is_alone(module_path!(), "a_check_in_takes_the_first_connection_that_comes_back") {
        return;
    }
    let url = support::postgres_url().replace("carnelian:carnelian@", "carnelian_few:carnelian_few@");
    let clock = Arc::new(SystemClock::default());
    let name = support::fresh_name("few");
    // The tables belong to the other user.
    drop(store(&support::postgres_url(), &name));
    let mut settings = Settings::in_database(&name, url.parse().unwrap());
    settings.data_source.as_mut().unwrap().max_connections = 2;
    let database = Arc::new(SqlDatabase::open(&settings, clock.clone()).unwrap());
    let store = JobStore::new(database, clock, settings);
    let mut me = Membership::new("A");
    assert!(store.upkeep().check_in(&mut me).unwrap().registered);
    kept_log::keep(log::LevelFilter::Warn);
    let (held, is_held) = channel();
    scope(|threads| {
        let (go_on, may_go_on) = bounded::<()>(0);
        for _ in 0..2 {
            let (store, may_go_on, held) = (&store, may_go_on.clone(), held.clone());
            threads.spawn(move || {
                let hold = &mut |_: &mut dyn Session| {
                    held.send(()).unwrap();
                    let _ = may_go_on.recv();
                    Ok(())
                };
                store.database().transact("hold a connection", TxMode::Autocommit, hold).unwrap();
            });
        }
        (0..2).for_each(|_| is_held.recv_timeout(Duration::from_secs(60)).unwrap());
        let checkin = threads.spawn(|| store.upkeep().check_in(&mut me).map(|done| done.failed_out));
        support::wait_until("the server has no third connection", Duration::from_secs(30), || {
            !kept_log::lines_with(&["too many connections for role"]).is_empty()
        });
        drop(go_on);
        assert!(!checkin.join().unwrap().unwrap());
    });
    store.database().forget_scheduler().unwrap();
}

#[test]
fn a_check_in_waits_for_no_lock_on_postgres() {
    a_check_in_waits_for_no_lock(&support::postgres_url());
}

#[test]
fn a_check_in_waits_for_no_lock_on_mysql() {
    a_check_in_waits_for_no_lock(&support::mysql_url());
}

#[test]
fn a_stopped_holder_of_the_lock_is_cut_off_on_postgres() {
    a_stopped_holder_of_the_lock_is_cut_off(&support::postgres_url(), TxMode::Exclusive(Lock::TriggerAccess));
}

#[test]
fn a_stopped_acquisition_is_cut_off_on_postgres() {
    a_stopped_holder_of_the_lock_is_cut_off(&support::postgres_url(), TxMode::BesideClaims);
}

#[test]
fn a_stopped_sharer_of_the_lock_is_cut_off_on_postgres() {
    a_stopped_holder_of_the_lock_is_cut_off(&support::postgres_url(), TxMode::Claiming);
}

#[test]
fn a_stopped_holder_of_the_lock_is_cut_off_on_mysql() {
    a_stopped_holder_of_the_lock_is_cut_off(&support::mysql_url(), TxMode::Exclusive(Lock::TriggerAccess));
}

#[test]
fn a_stopped_acquisition_is_cut_off_on_mysql() {
    a_stopped_holder_of_the_lock_is_cut_off(&support::mysql_url(), TxMode::BesideClaims);
}

#[test]
fn a_stopped_sharer_of_the_lock_is_cut_off_on_mysql() {
    a_stopped_holder_of_the_lock_is_cut_off(&support::mysql_url(), TxMode::Claiming);
}

/// Quartz inserts a lock row that is missing, and two of its nodes can both do so. Here `migrate`
/// makes it, and nothing is done without it.
fn without_its_lock_row_nothing_is_done(url: &str) {
    let name = support::fresh_name("lock");
    let store = store(url, &name);
    store.database().forget_scheduler().unwrap();
    let job = JobDetail::builder(JobKey::named("j"), "t").durable(true).build().unwrap();
    let error = store.catalogue().add_job(&job, false).unwrap_err().to_string();
    for part in ["TRIGGER_ACCESS", name.as_str(), "LOCKS", "carnelian migrate"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(!store.catalogue().job_exists(job.key()).unwrap());
    store.database().migrate().unwrap();
    store.catalogue().add_job(&job, false).unwrap();
    store.database().forget_scheduler().unwrap();
}

#[test]
fn without_its_lock_row_nothing_is_done_on_postgres() {
    without_its_lock_row_nothing_is_done(&support::postgres_url());
}

#[test]
fn without_its_lock_row_nothing_is_done_on_mysql() {
    without_its_lock_row_nothing_is_done(&support::mysql_url());
}

/// H17: deadlocks came up to the user of a peer, and the failed transaction was tried again without
/// a rollback. A real one, made on purpose: the loser is told apart, rolled back, and succeeds when
/// it tries again.
fn a_deadlock_is_told_apart_and_rolled_back(url: &str) {
    let name = support::fresh_name("h17");
    let store = store(url, &name);
    let owners = [join(&store, "one"), join(&store, "two")];
    let both_hold_one = Barrier::new(2);
    let touch = |first: &Owner, second: &Owner, at_once: bool| {
        store.database().transact("touch both", TxMode::OwnRows, &mut |s| {
            let now = s.now_ms()?;
            s.touch_instance(first, now, None)?;
            if at_once {
                both_hold_one.wait();
            }
            s.touch_instance(second, now, None).map(drop)
        })
    };
    let [one, two] = &owners;
    let (a, b) = scope(|threads| {
        let a = threads.spawn(|| touch(one, two, true));
        let b = threads.spawn(|| touch(two, one, true));
        (a.join().unwrap(), b.join().unwrap())
    });
    let failed: Vec<_> = [a, b].into_iter().filter_map(Result::err).collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0].failure_class(), Some(FailureClass::Deadlock), "{failed:?}");
    touch(one, two, false).unwrap();
    touch(two, one, false).unwrap();
    store.database().forget_scheduler().unwrap();
}

#[test]
fn a_deadlock_is_told_apart_and_rolled_back_on_postgres() {
    a_deadlock_is_told_apart_and_rolled_back(&support::postgres_url());
}

#[test]
fn a_deadlock_is_told_apart_and_rolled_back_on_mysql() {
    a_deadlock_is_told_apart_and_rolled_back(&support::mysql_url());
}

/// H22: when one trigger of a batch fails, a peer swallows the error and commits the rest; on
/// MariaDB the failed statement does not even spoil the transaction, and 17 of 278 fires were lost.
/// Here any error of any statement gives the whole step back.
fn an_error_in_a_batch_gives_the_whole_batch_back(url: &str) {
    let (store, database) = store_and_database(url, &support::fresh_name("h22"), PollingStrategy::default());
    let owner = join(&store, "node");
    let job = JobDetail::builder(JobKey::named("j"), "t").durable(true).build().unwrap();
    let every_hour = SimpleSchedule::every(Duration::from_secs(3600));
    let trigger = |i| {
        let key = TriggerKey::named(format!("t{i}"));
        Trigger::builder(key, job.key().clone()).schedule(every_hour.clone()).build().unwrap()
    };
    store.catalogue().schedule(vec![(job.clone(), (0..5).map(trigger).collect())], false).unwrap();
    let triggers = || {
        let mut rows = store.upkeep().snapshot().unwrap().triggers;
        rows.sort_by(|a, b| a.key.cmp(&b.key));
        rows
    };
    let before = triggers();
    let (types, quarantined) = (vec!["t".to_owned()], BTreeSet::new());
    let request = AcquireRequest {
        max: 5,
        prefetch: None,
        look_ahead_ms: 0,
        fire_ahead_ms: 0,
        job_types: &types,
        quarantined: &quarantined,
    };
    let mut statements = 0;
    loop {
        statements += 1;
        database.faults().plan(statements, Fault::Statement(FailureClass::Permanent));
        let outcome = store.firing().acquire(&owner, &request);
        if database.faults().cancel() {
            assert_eq!(outcome.unwrap().fired.len(), 5, "without a fault all five fire");
            break;
        }
        outcome.expect_err("the failure of a statement was swallowed");
        assert_eq!(triggers(), before, "statement {statements} failed and something was changed");
        assert!(store.upkeep().fired_triggers().unwrap().is_empty(), "statement {statements}");
    }
    assert!(statements > 4, "{statements}");
    store.database().forget_scheduler().unwrap();
}

#[test]
fn an_error_in_a_batch_gives_the_whole_batch_back_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    an_error_in_a_batch_gives_the_whole_batch_back(&format!("sqlite:{}", folder.path().join("h22.db").display()));
}

#[test]
fn an_error_in_a_batch_gives_the_whole_batch_back_on_postgres() {
    an_error_in_a_batch_gives_the_whole_batch_back(&support::postgres_url());
}

#[test]
fn an_error_in_a_batch_gives_the_whole_batch_back_on_mysql() {
    an_error_in_a_batch_gives_the_whole_batch_back(&support::mysql_url());
}

/// S15, PA-05: fifty threads ask for one thing at the same moment; it is stored once, and all get
/// the same answer.
fn one_request_of_fifty_threads_is_taken_once(url: &str) {
    let name = support::fresh_name("s15");
    let first = store(url, &name);
    let start = Barrier::new(50);
    let answers: Vec<_> = scope(|threads| {
        let ask = |i: usize| {
            let (start, store) = (&start, &first);
            let job = JobDetail::builder(JobKey::named(format!("j{i}")), "t").build().unwrap();
            let trigger = Trigger::builder(TriggerKey::named(format!("t{i}")), job.key().clone()).build().unwrap();
            let request =
                carnelian::store::Request { request_id: Some("one".to_owned()), job, trigger, then: Vec::new() };
            threads.spawn(move || {
                start.wait();
                store.catalogue().take_requests(&[request]).unwrap().remove(0)
            })
        };
        let asked: Vec<_> = (0..50).map(ask).collect();
        asked.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(answers.iter().filter(|answer| answer.is_new).count(), 1);
    assert!(answers.iter().all(|answer| answer.job == answers[0].job && answer.trigger == answers[0].trigger));
    assert_eq!(first.upkeep().snapshot().unwrap().jobs.len(), 1);
    first.database().forget_scheduler().unwrap();
}

#[test]
fn one_request_of_fifty_threads_is_taken_once_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    one_request_of_fifty_threads_is_taken_once(&format!("sqlite:{}", folder.path().join("s15.db").display()));
}

#[test]
fn one_request_of_fifty_threads_is_taken_once_on_postgres() {
    one_request_of_fifty_threads_is_taken_once(&support::postgres_url());
}

#[test]
fn one_request_of_fifty_threads_is_taken_once_on_mysql() {
    one_request_of_fifty_threads_is_taken_once(&support::mysql_url());
}

/// Law 3: the clock is read when the lock has been granted. A wait for the lock must not make `now`
/// old: what is due would be late, and a check-in would seem older than it is.
fn now_is_read_after_the_wait_for_the_lock(url: &str) {
    let name = support::fresh_name("now");
    let (holder, waiter) = (store(url, &name), store(url, &name));
    for begin in [TxMode::Exclusive(Lock::TriggerAccess), TxMode::Exclusive(Lock::StateAccess), TxMode::BesideClaims] {
        let (held, holds) = channel();
        let hold = || {
            let mut begun_ms = 0;
            let work = &mut |s: &mut dyn Session| {
                begun_ms = s.now_ms()?;
                held.send(()).unwrap();
                #[expect(clippy::disallowed_methods, reason = "the lock is held in real time")]
                std::thread::sleep(Duration::from_millis(300));
                Ok(())
            };
            holder.database().transact("hold", begin, work).unwrap();
            begun_ms
        };
        let wait = || {
            let mut now_ms = 0;
            let work = &mut |s: &mut dyn Session| {
                now_ms = s.now_ms()?;
                Ok(())
            };
            waiter.database().transact("wait", begin, work).unwrap();
            now_ms
        };
        let (begun_ms, now_ms) = scope(|threads| {
            let holding = threads.spawn(hold);
            holds.recv().unwrap();
            let now_ms = wait();
            (holding.join().unwrap(), now_ms)
        });
        assert!(now_ms - begun_ms >= 299, "{begin:?}: {} ms after the lock was taken", now_ms - begun_ms);
    }
    holder.database().forget_scheduler().unwrap();
}

#[test]
fn now_is_read_after_the_wait_for_the_lock_on_postgres() {
    now_is_read_after_the_wait_for_the_lock(&support::postgres_url());
}

#[test]
fn now_is_read_after_the_wait_for_the_lock_on_mysql() {
    now_is_read_after_the_wait_for_the_lock(&support::mysql_url());
}

/// A fence is drawn under one lock by those who fire and under the other by those who join; MySQL
/// reads it with the lock. No two are the same, whoever draws when, and nobody waits for ever.
fn fences_are_drawn_once_under_either_lock(url: &str) {
    let name = support::fresh_name("fence");
    let stores: Vec<JobStore> = (0..6).map(|_| store(url, &name)).collect();
    let draw = |i: usize, store: &JobStore| {
        let (begin, counts): (TxMode, &[usize]) = match i % 3 {
            0 => (TxMode::Exclusive(Lock::TriggerAccess), &[1, 3]),
            1 => (TxMode::BesideClaims, &[2, 1]),
            _ => (TxMode::Exclusive(Lock::StateAccess), &[1]),
        };
        let mut all = Vec::new();
        for _ in 0..40 {
            let mut drawn = Vec::new();
            let work = &mut |s: &mut dyn Session| {
                drawn.clear();
                for count in counts {
                    let first = s.draw_fences(None, *count)?.unwrap();
                    drawn.extend((first..).take(*count));
                }
                Ok(())
            };
            store.database().transact("draw", begin, work).unwrap();
            assert!(drawn.is_sorted());
            all.append(&mut drawn);
        }
        all
    };
    let mut drawn: Vec<i64> = scope(|threads| {
        let drawing: Vec<_> =
            stores.iter().enumerate().map(|(i, store)| threads.spawn(move || draw(i, store))).collect();
        drawing.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    drawn.sort_unstable();
    assert_eq!(drawn, (1..=640).collect::<Vec<i64>>());
    stores[0].database().forget_scheduler().unwrap();
}

#[test]
fn fences_are_drawn_once_under_either_lock_on_postgres() {
    fences_are_drawn_once_under_either_lock(&support::postgres_url());
}

#[test]
fn fences_are_drawn_once_under_either_lock_on_mysql() {
    fences_are_drawn_once_under_either_lock(&support::mysql_url());
}

/// A node that takes without the lock looks page by page, while others fire and move triggers on,
/// so that a page may show a trigger again. The node once tried to take such a trigger twice, was
/// refused, and tried again until it gave up everything that was due.
fn a_trigger_that_moves_on_during_the_look_is_taken_once(url: &str, strategy: PollingStrategy) {
    let name = support::fresh_name("pages");
    let (store, database) = store_and_database(url, &name, strategy);
    let other = self::store(url, &name);
    let (here, there) = (join(&store, "here"), join(&other, "there"));
    let plain = JobDetail::builder(JobKey::named("plain"), "t").durable(true).build().unwrap();
    let one_at_a_time = JobDetail::builder(JobKey::named("one-at-a-time"), "t");
    let one_at_a_time = one_at_a_time.durable(true).disallow_concurrent_execution(true).build().unwrap();
    store.catalogue().schedule(vec![(plain.clone(), Vec::new()), (one_at_a_time.clone(), Vec::new())], false).unwrap();
    let mut nth = 0;
    loop {
        nth += 1;
        let now_ms = store.now_ms().unwrap();
        let due = |seconds_ago: i64| DateTime::from_timestamp_millis(now_ms - 1000 * seconds_ago).unwrap();
        let trigger = |name: &str, job: &JobDetail, seconds_ago| {
            Trigger::builder(TriggerKey::named(format!("{name}-{nth}")), job.key().clone()).start_at(due(seconds_ago))
        };
        // A page of three that brings two, so that another is read; and the first, once it is moved
        // on, is in that one.
        let moves = trigger("moves", &plain, 30).schedule(SimpleSchedule::every(Duration::from_secs(10)).repeat(1));
        let others = [("a", &one_at_a_time, 29), ("b", &one_at_a_time, 28), ("c", &plain, 25)];
        let moves = store.catalogue().add_trigger(moves.build().unwrap(), false).unwrap();
        for (name, job, seconds_ago) in others {
            store.catalogue().add_trigger(trigger(name, job, seconds_ago).build().unwrap(), false).unwrap();
        }
        let (fired_there, fires_there) = channel();
        let (other, there) = (other.clone(), there.clone());
        let meanwhile = move || fire_and_end(&other, &there, 1).into_iter().for_each(|f| fired_there.send(f).unwrap());
        database.faults().meanwhile("look for due triggers", nth, meanwhile);
        let mut fired = fire_and_end(&store, &here, 3);
        let is_over = database.faults().cancel();
        fired.extend(fires_there.try_iter());
        for _ in 0..10 {
            fired.extend(fire_and_end(&store, &here, 3));
        }
        let count = fired.len();
        fired.sort();
        fired.dedup();
        assert_eq!((fired.len(), count), (5, 5), "{fired:?}");
        assert!(!store.catalogue().trigger_exists(moves.key()).unwrap());
        if is_over {
            break;
        }
    }
    assert!(nth > 3, "there was no look by pages: {nth}");
    assert_eq!(violations(&store.upkeep().snapshot().unwrap()), []);
    store.database().forget_scheduler().unwrap();
}

#[test]
fn a_trigger_that_moves_on_during_the_look_is_claimed_once_on_postgres() {
    a_trigger_that_moves_on_during_the_look_is_taken_once(&support::postgres_url(), PollingStrategy::LockAndFetch);
}

#[test]
fn a_trigger_that_moves_on_during_the_look_is_claimed_once_on_mysql() {
    a_trigger_that_moves_on_during_the_look_is_taken_once(&support::mysql_url(), PollingStrategy::LockAndFetch);
}

/// Isolated completions are recorded while another session acquires, and the other way about.
/// Nobody goes on beside the holder of the exclusive lock, and no two sessions acquire at the same
/// time.
fn plain_ends_are_recorded_beside_acquisitions(url: &str) {
    let name = support::fresh_name("beside");
    let (holder, other) = (store(url, &name), store(url, &name));
    let alone = TxMode::Exclusive(Lock::TriggerAccess);
    let (acquiring, plain) = (TxMode::BesideClaims, TxMode::Claiming);
    for (held, asked, goes_on) in [
        (acquiring, plain, true),
        (plain, acquiring, true),
        (plain, plain, true),
        (acquiring, acquiring, false),
        (acquiring, alone, false),
        (plain, alone, false),
        (alone, acquiring, false),
        (alone, plain, false),
    ] {
        let ((holds, is_held), (release, released), (begun, begins)) = (channel(), channel(), channel());
        let (holder, other) = (&holder, &other);
        scope(|threads| {
            threads.spawn(move || {
                let work = &mut |_: &mut dyn Session| {
                    holds.send(()).unwrap();
                    released.recv().unwrap();
                    Ok(())
                };
                holder.database().transact("hold", held, work).unwrap();
            });
            is_held.recv().unwrap();
            threads.spawn(move || {
                let work = &mut |_: &mut dyn Session| {
                    begun.send(()).unwrap();
                    Ok(())
                };
                other.database().transact("ask", asked, work).unwrap();
            });
            let wait = Duration::from_millis(if goes_on { 4_000 } else { 100 });
            assert_eq!(begins.recv_timeout(wait).is_ok(), goes_on, "{asked:?} beside {held:?}");
            release.send(()).unwrap();
        });
    }
    holder.database().forget_scheduler().unwrap();
}

#[test]
fn plain_ends_are_recorded_beside_acquisitions_on_postgres() {
    plain_ends_are_recorded_beside_acquisitions(&support::postgres_url());
}

#[test]
fn plain_ends_are_recorded_beside_acquisitions_on_mysql() {
    plain_ends_are_recorded_beside_acquisitions(&support::mysql_url());
}

/// Ends that are recorded beside an acquisition wait for none of its rows, whatever it has written
/// by then. MariaDB's planner went through all of the small table of fires to delete 128 of them,
/// and waited for those that the acquisition had begun.
fn ends_wait_for_no_row_of_an_acquisition(url: &str) {
    let name = support::fresh_name("rows");
    let (store, database) = store_and_database(url, &name, PollingStrategy::default());
    let owner = join(&store, "node");
    let job = JobDetail::builder(JobKey::named("j"), "t").durable(true).build().unwrap();
    store.catalogue().add_job(&job, false).unwrap();
    let (types, quarantined) = (vec!["t".to_owned()], BTreeSet::new());
    let request = AcquireRequest {
        max: 150,
        prefetch: None,
        look_ahead_ms: 0,
        fire_ahead_ms: 0,
        job_types: &types,
        quarantined: &quarantined,
    };
    // With how many statements it took; more if the server ended its session and it was tried
    // again.
    let take = || {
        let before = database.counts().statements;
        let fired = store.firing().acquire(&owner, &request).unwrap().fired;
        assert_eq!(fired.len(), 150);
        let ends = fired.iter().map(|f| f.completion(CompletionInstruction::NoInstruction, None));
        (ends.collect::<Vec<_>>(), database.counts().statements - before)
    };
    for nth in 1.. {
        let trigger =
            |i| Trigger::builder(TriggerKey::named(format!("t{nth}-{i}")), job.key().clone()).build().unwrap();
        store.catalogue().schedule(vec![(job.clone(), (0..300).map(trigger).collect())], true).unwrap();
        let (ended, undisturbed) = take();
        // A store of its own, so that it is not its turn to queue for the lock.
        let (other, other_database) = store_and_database(url, &name, PollingStrategy::default());
        let (its, (done, is_done)) = (owner.clone(), channel());
        database.faults().meanwhile("acquire triggers", nth + 2, move || {
            let outcomes = other.firing().complete(&its, &ended).unwrap().outcomes;
            done.send((outcomes.len(), other_database.counts().commits)).unwrap();
        });
        let (next, statements) = take();
        if database.faults().cancel() {
            assert!(nth > 2, "{nth}");
            break;
        }
        let what = format!("before statement {} of the acquisition", nth + 2);
        assert_eq!((is_done.recv().unwrap(), statements), ((150, 1), undisturbed), "{what}");
        store.firing().complete(&owner, &next).unwrap();
    }
    store.database().forget_scheduler().unwrap();
}

#[test]
fn ends_wait_for_no_row_of_an_acquisition_on_postgres() {
    ends_wait_for_no_row_of_an_acquisition(&support::postgres_url());
}

#[test]
fn ends_wait_for_no_row_of_an_acquisition_on_mysql() {
    ends_wait_for_no_row_of_an_acquisition(&support::mysql_url());
}
