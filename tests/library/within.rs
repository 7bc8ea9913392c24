//! Work inside a caller's transaction: effects that happen exactly once, and jobs that are stored
//! with them.
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql"))]

use crate::support;
use carnelian::clock::{Clock, SystemClock};
use carnelian::database::{CallersConnection, CallersPool};
use carnelian::history::FireOutcome;
use carnelian::placement::Strategy;
use carnelian::settings::Settings;
use carnelian::store::{JobStore, Membership, violations};
use carnelian::{
    Continuation, Error, IfExists, JobContext, JobDataMap, JobDetail, JobError, JobFilter, JobKey, JobPolicy, On,
    Overlap, Scheduler, SimpleSchedule, Submission, Trigger, TriggerKey, TriggerState,
};
use crossbeam_channel::{Receiver, Sender, unbounded};
use diesel::connection::SimpleConnection;
use diesel::r2d2::{ConnectionManager, Pool};
use diesel::sql_types::BigInt;
use diesel::{Connection, MysqlConnection, PgConnection, QueryableByName, RunQueryDsl, SqliteConnection};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

/// The time by which everything is done that is not held up.
const SOON: Duration = Duration::from_secs(2);

/// A clock, and its ticks now.
fn watch() -> (SystemClock, Duration) {
    let clock = SystemClock::default();
    let begun = clock.ticks();
    (clock, begun)
}

type Problem = Box<dyn std::error::Error + Send + Sync>;

/// A database with a table of the application's and the scheduler's tables.
#[derive(Clone)]
struct App {
    pool: CallersPool,
    table: String,
    scheduler_name: String,
}

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

/// Does the same on whichever connection it is, inside a transaction.
macro_rules! transaction {
    ($app:expr, $connection:ident => $work:expr) => {
        match &$app.pool {
            CallersPool::Sqlite(pool) => {
                let mut own = pool.get().unwrap();
                own.batch_execute("PRAGMA busy_timeout = 10000").unwrap();
                own.immediate_transaction(|c| {
                    let $connection: &mut SqliteConnection = c;
                    $work
                })
            }
            CallersPool::Postgres(pool) => pool.get().unwrap().transaction(|c| {
                let $connection: &mut PgConnection = c;
                $work
            }),
            CallersPool::Mysql(pool) => {
                let mut own = pool.get().unwrap();
                own.batch_execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").unwrap();
                own.transaction(|c| {
                    let $connection: &mut MysqlConnection = c;
                    $work
                })
            }
            _ => unreachable!(),
        }
    };
}

mod beside_quartz;
mod side_by_side;

impl App {
    fn new(pool: impl Into<CallersPool>) -> Self {
        let name = support::fresh_name("within");
        let app = Self { pool: pool.into(), table: format!("effects_{name}"), scheduler_name: name };
        app.scheduler().build().unwrap().migrate().unwrap();
        app.run(&format!("CREATE TABLE {} (job VARCHAR(100), scheduled_ms BIGINT)", app.table));
        app
    }

    fn scheduler(&self) -> carnelian::SchedulerBuilder {
        self.node("AUTO")
    }

    fn node(&self, instance: &str) -> carnelian::SchedulerBuilder {
        let name = &self.scheduler_name;
        let text =
            format!("scheduler.instanceName = {name}\nscheduler.instanceId = {instance}\nthreadPool.threadCount = 2");
        let settings = Settings::from_text("test", &text, |_| None).unwrap();
        Scheduler::builder().settings(settings).pool(self.pool.clone())
    }

    fn effects(&self) -> i64 {
        let text = format!("SELECT COUNT(*) AS n FROM {}", self.table);
        let counted: Result<i64, Problem> =
            transaction!(self, c => Ok(diesel::sql_query(&text).get_result::<Count>(c)?.n));
        counted.unwrap()
    }

    /// Runs a statement on its own: MySQL ends a transaction at CREATE TABLE.
    fn run(&self, text: &str) {
        match &self.pool {
            CallersPool::Sqlite(pool) => pool.get().unwrap().batch_execute(text).unwrap(),
            CallersPool::Postgres(pool) => pool.get().unwrap().batch_execute(text).unwrap(),
            CallersPool::Mysql(pool) => pool.get().unwrap().batch_execute(text).unwrap(),
            _ => unreachable!(),
        }
    }

    /// Writes one effect, and then does `last` in the same transaction.
    fn write_and(&self, last: &mut dyn FnMut(CallersConnection<'_>) -> Result<(), Problem>) -> Result<(), Problem> {
        self.run_and(&format!("INSERT INTO {} VALUES ('j', 1)", self.table), last)
    }

    /// Runs a statement, and then does `last` in the same transaction.
    fn run_and(
        &self,
        text: &str,
        last: &mut dyn FnMut(CallersConnection<'_>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        transaction!(self, c => {
            c.batch_execute(text)?;
            last(c.into())
        })
    }

    /// A peer takes the fires of every node away, as if they were dead.
    fn convict(&self, store: &JobStore) {
        for table in ["CN_INSTANCES", "SCHEDULER_STATE"] {
            self.run(&format!("DELETE FROM QRTZ_{table} WHERE SCHED_NAME = '{}'", self.scheduler_name));
        }
        // A node that registers recovers fires of nodes without a row.
        let mut judge = Membership::new("judge");
        store.upkeep().check_in(&mut judge).unwrap();
        store.upkeep().leave(&judge.owner().unwrap()).unwrap();
    }
}

fn failed(problem: Problem) -> JobError {
    JobError::new(problem.to_string())
}

fn recoverable(name: &str) -> (JobDetail, Trigger) {
    let job = JobDetail::builder(JobKey::named(name), "work").requests_recovery(true).build().unwrap();
    let trigger = Trigger::builder(TriggerKey::named(name), job.key().clone()).build().unwrap();
    (job, trigger)
}

fn end(app: &App, scheduler: &Scheduler) {
    assert!(scheduler.shutdown_and_wait().is_clean());
    let found = violations(&scheduler.store().upkeep().snapshot().unwrap());
    assert!(found.is_empty(), "{found:?}");
    scheduler.store().database().forget_scheduler().unwrap();
    app.run(&format!("DROP TABLE {}", app.table));
}

/// The effect and the end of the fire are one.
fn a_fire_ends_with_its_effect(app: &App) {
    let its = app.clone();
    let work =
        move |ctx: &mut JobContext| its.write_and(&mut |connection| Ok(ctx.complete_in(connection)?)).map_err(failed);
    let scheduler = app.scheduler().job_fn("work", work).build().unwrap();
    scheduler.start().unwrap();
    for n in 0..5 {
        let (job, trigger) = recoverable(&format!("j{n}"));
        scheduler.schedule_job(job, trigger).unwrap();
    }
    support::wait_until("all have run", LONG, || scheduler.health().counters.succeeded == 5);
    support::wait_until("all are recorded", LONG, || scheduler.health().unrecorded == 0);
    assert_eq!(app.effects(), 5);
    assert_eq!(scheduler.health().counters.fenced_writes, 0);
    assert!(scheduler.running_fires().unwrap().is_empty());
    assert!(scheduler.jobs(&carnelian::GroupMatcher::Any).unwrap().is_empty());
    end(app, &scheduler);
}

/// The end that a job records in its own transaction is followed like any other: once, and only if
/// it is committed (LT-12).
fn an_end_in_the_jobs_transaction_is_followed(app: &App) {
    let its = app.clone();
    let work = move |ctx: &mut JobContext| {
        ctx.set_result("five crowns");
        if ctx.data().flag("undone") == Some(true) {
            let undone = its.write_and(&mut |connection| {
                ctx.complete_in(connection)?;
                Err("changed my mind".into())
            });
            assert!(undone.is_err());
            return Err(JobError::new("changed my mind"));
        }
        its.write_and(&mut |connection| Ok(ctx.complete_in(connection)?)).map_err(failed)
    };
    let (ran, runs) = unbounded();
    let child = move |ctx: &mut JobContext| {
        let parent = ctx.parent().ok_or_else(|| JobError::new("no parent"))?;
        Ok(ran.send((ctx.job().key().name().to_owned(), parent.job.name().to_owned(), parent.result))?)
    };
    let scheduler = app.scheduler().job_fn("work", work).job_fn("child", child).build().unwrap();
    scheduler.start().unwrap();
    for name in ["good", "bad"] {
        scheduler
            .add_job(&JobDetail::builder(JobKey::named(name), "child").durable(true).build().unwrap(), IfExists::Refuse)
            .unwrap();
    }
    for (name, undone, follower) in [("done", false, "good"), ("undone", true, "bad")] {
        let job = JobDetail::builder(JobKey::named(name), "work").durable(true).data("undone", undone).build().unwrap();
        scheduler.add_job(&job, IfExists::Refuse).unwrap();
        for (child, on) in [("good", On::Success), ("bad", On::Failure)] {
            scheduler.follow(&Continuation::new(job.key().clone(), JobKey::named(child)).on(on)).unwrap();
        }
        scheduler.trigger_job(job.key(), JobDataMap::new()).unwrap();
        let (child, parent, result) = runs.recv_timeout(LONG).unwrap();
        assert_eq!((child.as_str(), parent.as_str(), result.as_deref()), (follower, name, Some("five crowns")));
    }
    let quiet = || scheduler.health().unrecorded == 0 && scheduler.running_fires().unwrap().is_empty();
    support::wait_until("all are recorded", LONG, quiet);
    assert!(runs.try_recv().is_err(), "a child ran twice");
    let left = scheduler.store().upkeep().snapshot().unwrap().triggers;
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(app.effects(), 1);
    scheduler.store().catalogue().clear().unwrap();
    end(app, &scheduler);
}

/// A fire that comes due while a job's own transaction ends the one before waits for that one, and
/// begins once the transaction is committed.
fn what_came_to_wait_for_an_uncommitted_end_goes_on(app: &App) {
    let its = app.clone();
    let (inside, is_inside) = unbounded();
    let (go, gate) = unbounded::<()>();
    let work = move |ctx: &mut JobContext| {
        let end = |connection: CallersConnection<'_>| {
            ctx.complete_in(connection)?;
            inside.send(())?;
            gate.recv()?;
            Ok(())
        };
        its.write_and(&mut { end }).map_err(failed)
    };
    let scheduler = app.scheduler().job_fn("work", work).build().unwrap();
    scheduler.start().unwrap();
    let key = TriggerKey::named("t");
    let (job, _) = recoverable("j");
    let every = SimpleSchedule::every(Duration::from_millis(500)).repeat(1);
    let trigger = Trigger::builder(key.clone(), job.key().clone()).schedule(every).overlap(Overlap::BufferOne);
    scheduler.schedule_job(job, trigger.build().unwrap()).unwrap();
    is_inside.recv_timeout(LONG).unwrap();
    support::wait_until("the second fire waits", LONG, || {
        scheduler.trigger_state(&key).unwrap() == Some(TriggerState::Blocked)
    });
    go.send(()).unwrap();
    is_inside.recv_timeout(LONG).expect("the second fire begins");
    go.send(()).unwrap();
    support::wait_until("both are recorded", LONG, || scheduler.health().unrecorded == 0 && app.effects() == 2);
    end(app, &scheduler);
}

/// The last two parts of a tick end in transactions that do not see each other: a child of the
/// whole tick follows once.
fn parts_that_end_at_the_same_moment_are_one_tick(app: &App) {
    let (ran, runs) = unbounded();
    let ended = Arc::new(AtomicUsize::new(0));
    let nodes = ["a", "b"].map(|instance| {
        let (its, ended, ran) = (app.clone(), Arc::clone(&ended), ran.clone());
        let work = move |ctx: &mut JobContext| {
            let last = |connection: CallersConnection<'_>| {
                ctx.complete_in(connection)?;
                ended.fetch_add(1, Ordering::SeqCst);
                support::wait_until("both have ended", LONG, || ended.load(Ordering::SeqCst) == 2);
                Ok(())
            };
            its.write_and(&mut { last }).map_err(failed)
        };
        let child = move |ctx: &mut JobContext| Ok(ran.send(ctx.parent().map(|parent| parent.outcome))?);
        app.node(instance).job_fn("work", work).job_fn("child", child).build().unwrap()
    });
    nodes.iter().for_each(|node| node.start().unwrap());
    let [node, _] = &nodes;
    support::wait_until("both take work", LONG, || {
        node.instances().unwrap().iter().filter(|one| one.takes_work).count() == 2
    });
    let whole = JobDetail::builder(JobKey::named("whole"), "child").durable(true).build().unwrap();
    node.add_job(&whole, IfExists::Refuse).unwrap();
    let policy = JobPolicy::new().strategy(Strategy::Broadcast);
    let job = JobDetail::builder(JobKey::named("spread"), "work").durable(true).policy(policy).build().unwrap();
    node.add_job(&job, IfExists::Refuse).unwrap();
    let follows = Continuation::new(job.key().clone(), whole.key().clone()).on(On::Any).once_per_tick(true);
    node.follow(&follows).unwrap();
    node.trigger_job(job.key(), JobDataMap::new()).unwrap();
    assert_eq!(runs.recv_timeout(LONG).unwrap(), Some(FireOutcome::Succeeded));
    let quiet = || node.running_fires().unwrap().is_empty() && nodes.iter().all(|one| one.health().unrecorded == 0);
    support::wait_until("all are recorded", LONG, quiet);
    assert!(runs.try_recv().is_err(), "the child ran twice");
    assert_eq!(app.effects(), 2);
    let [first, second] = nodes;
    first.store().catalogue().clear().unwrap();
    assert!(first.shutdown_and_wait().is_clean());
    end(app, &second);
}

/// A node that was declared dead while its job ran: its effect is refused, the successor's is the
/// one.
fn a_node_that_was_declared_dead_leaves_no_effect(app: &App) {
    let its = app.clone();
    let (begun, begins): (Sender<String>, Receiver<String>) = unbounded();
    let (go, gate) = unbounded::<()>();
    let (refused, refusals) = unbounded();
    let work = move |ctx: &mut JobContext| {
        begun.send(ctx.fire_id().to_owned())?;
        // The node is a member again soon, and may run the recovery itself: once the gate is gone.
        gate.recv().ok();
        let outcome = its.write_and(&mut |connection| Ok(ctx.complete_in(connection)?));
        refused.send(outcome.as_ref().is_err_and(|e| e.downcast_ref::<Error>().is_some_and(Error::is_fenced))).ok();
        outcome.map_err(failed)
    };
    let scheduler = app.scheduler().job_fn("work", work).build().unwrap();
    scheduler.start().unwrap();
    let (job, trigger) = recoverable("j");
    scheduler.schedule_job(job, trigger).unwrap();
    begins.recv_timeout(LONG).unwrap();
    app.convict(scheduler.store());
    go.send(()).unwrap();
    assert!(refusals.recv_timeout(LONG).unwrap(), "the effect of a lost fire was accepted");
    assert_eq!(app.effects(), 0);
    // The fire comes back with the next check-in of its node or another: here a second node
    // recovers it.
    let second = app.scheduler().instance_id("second");
    let again = app.clone();
    let second = second.job_fn("work", move |ctx: &mut JobContext| {
        again.write_and(&mut |connection| Ok(ctx.complete_in(connection)?)).map_err(failed)
    });
    let second = second.build().unwrap();
    drop(go);
    second.start().unwrap();
    support::wait_until("it is done once", LONG, || app.effects() == 1 && second.running_fires().unwrap().is_empty());
    assert!(scheduler.shutdown_now().leave_error.is_none());
    end(app, &second);
}

/// The job's transaction is rolled back after it had ended the fire in it: nothing of it stays, and
/// the fire ends by the job's return.
fn an_end_that_is_rolled_back_did_not_happen(app: &App) {
    let its = app.clone();
    let work = move |ctx: &mut JobContext| {
        let undone = its.write_and(&mut |connection| {
            ctx.complete_in(connection)?;
            Err("changed my mind".into())
        });
        assert!(undone.is_err());
        Ok(())
    };
    let scheduler = app.scheduler().job_fn("work", work).build().unwrap();
    scheduler.start().unwrap();
    let (job, trigger) = recoverable("j");
    scheduler.schedule_job(job, trigger).unwrap();
    support::wait_until("it has run", LONG, || scheduler.health().counters.succeeded == 1);
    support::wait_until("it is recorded", LONG, || scheduler.running_fires().unwrap().is_empty());
    assert_eq!(app.effects(), 0);
    end(app, &scheduler);
}

/// While a guarded transaction is open nobody can take the fire away; afterwards one that begins
/// with a guard is refused.
fn a_guard_keeps_the_fire_until_the_transaction_ends(app: &App) {
    let its = app.clone();
    let (inside, is_inside) = unbounded();
    let (go, gate) = unbounded::<()>();
    let (after, afterwards) = unbounded();
    let work = move |ctx: &mut JobContext| {
        its.write_and(&mut |connection| {
            ctx.guard(connection)?;
            inside.send(())?;
            gate.recv()?;
            Ok(())
        })
        .map_err(failed)?;
        gate.recv()?;
        let late = its.write_and(&mut |connection| Ok(ctx.guard(connection)?));
        after.send(late.is_err_and(|e| e.downcast_ref::<Error>().is_some_and(Error::is_fenced)))?;
        Ok(())
    };
    let scheduler = app.scheduler().job_fn("work", work).build().unwrap();
    scheduler.start().unwrap();
    let (job, trigger) = recoverable("j");
    scheduler.schedule_job(job, trigger).unwrap();
    is_inside.recv_timeout(LONG).unwrap();
    let store = scheduler.store().clone();
    let peer = app.clone();
    let fires = || scheduler.running_fires().unwrap().len();
    // SQLite has one writer: there the peer waits for the transaction.
    if matches!(app.pool, CallersPool::Sqlite(_)) {
        go.send(()).unwrap();
        support::wait_until("the guarded transaction has ended", LONG, || app.effects() == 1);
        peer.convict(&store);
    } else {
        let (clock, begun) = watch();
        peer.convict(&store);
        let took = clock.ticks() - begun;
        assert!(took < SOON, "a guard has held up a peer for {:?}", took);
        assert_eq!(fires(), 1, "a guarded fire was taken away");
        let error = scheduler.fail_fire(&scheduler.running_fires().unwrap()[0].fire_id, "too late").unwrap_err();
        assert!(error.to_string().contains("held by a transaction"), "{error}");
        go.send(()).unwrap();
        support::wait_until("the guarded transaction has ended", LONG, || app.effects() == 1);
        peer.convict(&store);
        let mut peer = Membership::new("peer");
        support::wait_until("a peer comes back to it", LONG, || {
            store.upkeep().check_in(&mut peer).unwrap();
            fires() == 0
        });
    }
    assert_eq!(app.effects(), 1);
    go.send(()).unwrap();
    assert!(afterwards.recv_timeout(LONG).unwrap(), "a guard passed after the fire was lost");
    assert_eq!(app.effects(), 1);
    scheduler.shutdown_now();
    scheduler.store().catalogue().clear().unwrap();
    scheduler.store().database().forget_scheduler().unwrap();
}

/// The end of a fire and new work, in a transaction that then stands still: nothing else waits for
/// it.
fn a_transaction_that_stands_still_holds_up_nobody(app: &App) {
    if matches!(app.pool, CallersPool::Sqlite(_)) {
        return; // one writer
    }
    let its = app.clone();
    let (inside, is_inside) = unbounded();
    let (go, gate) = unbounded::<()>();
    let slow = move |ctx: &mut JobContext| {
        its.write_and(&mut |connection| {
            ctx.complete_in(connection)?;
            inside.send(())?;
            gate.recv()?;
            Ok(())
        })
        .map_err(failed)
    };
    let (ran, runs) = unbounded();
    let quick = move |ctx: &mut JobContext| Ok(ran.send(ctx.job().key().name().to_owned())?);
    let scheduler = app.scheduler().job_fn("slow", slow).job_fn("work", quick).build().unwrap();
    scheduler.start().unwrap();
    let lone = JobDetail::builder(JobKey::named("slow"), "slow").disallow_concurrent_execution(true);
    let every = carnelian::SimpleSchedule::every(Duration::from_secs(3600));
    let hourly = Trigger::builder(TriggerKey::named("slow"), JobKey::named("slow")).schedule(every).build().unwrap();
    scheduler.schedule_job(lone.build().unwrap(), hourly).unwrap();
    is_inside.recv_timeout(LONG).unwrap();
    let (job, trigger) = recoverable("later");
    let stored = app.write_and(&mut |connection| {
        scheduler.schedule_in(connection, vec![(job.clone(), vec![trigger.clone()])], IfExists::Refuse)?;
        // While it is open, everything else goes on.
        for n in 0..6 {
            let (clock, begun) = watch();
            let name = format!("j{n}");
            let (job, trigger) = recoverable(&name);
            if n % 2 == 0 {
                scheduler.schedule_job(job, trigger)?;
            } else {
                scheduler.schedule_jobs(vec![(job, vec![trigger])], IfExists::Replace)?;
            }
            scheduler.pause_trigger(&TriggerKey::named("nobody"))?;
            assert_eq!(runs.recv_timeout(LONG)?, name);
            let took = clock.ticks() - begun;
            assert!(took < SOON, "{name} was held up for {:?}", took);
        }
        let mut peer = Membership::new("peer");
        let (clock, begun) = watch();
        scheduler.store().upkeep().check_in(&mut peer)?;
        scheduler.store().upkeep().leave(&peer.owner().ok_or("not registered")?)?;
        let took = clock.ticks() - begun;
        assert!(took < SOON, "a node was held up for {:?}", took);
        Ok(())
    });
    stored.unwrap();
    go.send(()).unwrap();
    scheduler.wake();
    assert_eq!(runs.recv_timeout(LONG).unwrap(), "later");
    let quiet = || scheduler.health().unrecorded == 0 && scheduler.running_fires().unwrap().is_empty();
    support::wait_until("all are recorded", LONG, quiet);
    assert_eq!(app.effects(), 2);
    assert_eq!(scheduler.health().counters.fenced_writes, 0);
    scheduler.store().catalogue().clear().unwrap();
    end(app, &scheduler);
}

/// A transaction that does not see what others have committed cannot end a fire (finding by its
/// level, not by its reads).
fn another_isolation_level_is_refused(app: &App) {
    let level = match &app.pool {
        CallersPool::Sqlite(_) => return,
        CallersPool::Mysql(_) => "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        _ => "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    };
    let scheduler = app.scheduler().build().unwrap();
    let (job, trigger) = recoverable("j");
    let work = vec![(job, vec![trigger])];
    let refused: Result<Vec<Trigger>, Error> = match &app.pool {
        CallersPool::Postgres(_) => {
            let mut own = PgConnection::establish(&support::postgres_url()).unwrap();
            own.batch_execute(level).unwrap();
            own.batch_execute("BEGIN").unwrap();
            own.batch_execute("ROLLBACK").unwrap();
            own.transaction(|c| scheduler.schedule_in(c, work.clone(), IfExists::Refuse).map_err(Problem::from))
                .map_err(fallen)
        }
        _ => {
            let mut own = MysqlConnection::establish(&support::mysql_url()).unwrap();
            own.batch_execute(level).unwrap();
            own.transaction(|c| scheduler.schedule_in(c, work.clone(), IfExists::Refuse).map_err(Problem::from))
                .map_err(fallen)
        }
    };
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("isolation level") && error.contains("READ COMMITTED"), "{error}");
    assert!(!scheduler.job_exists(&JobKey::named("j")).unwrap());
    end(app, &scheduler);
}

fn fallen(problem: Problem) -> Error {
    *problem.downcast::<Error>().expect("an error of ours")
}

/// The server ends a session that stops in such a transaction; the caller's own limit goes before.
fn a_session_that_stops_has_a_limit(app: &App) {
    if !matches!(app.pool, CallersPool::Postgres(_)) {
        return;
    }
    #[derive(QueryableByName)]
    struct Limits {
        #[diesel(sql_type = diesel::sql_types::Text)]
        idle: String,
    }
    let scheduler = app.scheduler().build().unwrap();
    let limit = "SELECT current_setting('idle_in_transaction_session_timeout') AS idle";
    let mut own = PgConnection::establish(&support::postgres_url()).unwrap();
    // A guard has set 59 s before.
    for (before, expected) in [("0", "5s"), ("77s", "77s"), ("59s", "5s")] {
        own.batch_execute(&format!("SET idle_in_transaction_session_timeout = '{before}'")).unwrap();
        let (job, trigger) = recoverable(&format!("j{before}"));
        let inside: Result<String, Problem> = own.transaction(|c| {
            scheduler.schedule_in(&mut *c, vec![(job, vec![trigger])], IfExists::Refuse)?;
            Ok(diesel::sql_query(limit).get_result::<Limits>(c)?.idle)
        });
        assert_eq!(inside.unwrap(), expected);
        let after = diesel::sql_query(limit).get_result::<Limits>(&mut own).unwrap().idle;
        assert_eq!(after, before, "it goes with the transaction");
    }
    scheduler.store().catalogue().clear().unwrap();
    end(app, &scheduler);
}

/// Work is stored with what the caller writes, or not at all.
fn work_is_stored_with_what_the_caller_writes(app: &App) {
    let (ran, runs) = unbounded();
    let work = move |ctx: &mut JobContext| Ok(ran.send(ctx.job().key().name().to_owned())?);
    let scheduler = app.scheduler().job_fn("work", work).build().unwrap();
    scheduler.start().unwrap();
    let store = |name: &str, fails: bool| {
        let (job, trigger) = recoverable(name);
        app.write_and(&mut |connection| {
            scheduler.schedule_in(connection, vec![(job.clone(), vec![trigger.clone()])], IfExists::Refuse)?;
            if fails { Err("no".into()) } else { Ok(()) }
        })
    };
    assert!(store("undone", true).is_err());
    assert!(!scheduler.job_exists(&JobKey::named("undone")).unwrap());
    store("done", false).unwrap();
    scheduler.wake();
    assert_eq!(runs.recv_timeout(LONG).unwrap(), "done");
    assert_eq!(app.effects(), 1);
    // Two of one name: the error undoes what the caller wrote before.
    let existing = JobDetail::builder(JobKey::named("kept"), "work").durable(true).build().unwrap();
    scheduler.add_job(&existing, IfExists::Refuse).unwrap();
    let error = store("kept", false).unwrap_err();
    assert!(error.to_string().contains("kept"), "{error}");
    assert_eq!(app.effects(), 1);
    support::wait_until("it is recorded", LONG, || scheduler.running_fires().unwrap().is_empty());
    end(app, &scheduler);
}

/// PA-10, X-06: work is submitted with what the caller writes, or not at all; and a request id that
/// was rolled back is free.
fn work_is_submitted_with_what_the_caller_writes(app: &App) {
    let (ran, runs) = unbounded();
    let work = move |ctx: &mut JobContext| Ok(ran.send(ctx.data().text("n").unwrap_or_default().to_owned())?);
    let scheduler = app.scheduler().job_fn("work", work).build().unwrap();
    scheduler.start().unwrap();
    let submit = |n: &str, fails: bool| {
        let mut taken = Vec::new();
        let done = app.write_and(&mut |connection| {
            let work = Submission::new("work").data("n", n).request_id("r").biz_key("order-17").tag("mail");
            taken = scheduler.submit_in(connection, [work])?;
            if fails { Err("no".into()) } else { Ok(()) }
        });
        done.map(|()| taken.pop().unwrap())
    };
    assert!(submit("undone", true).is_err());
    let by_key = JobFilter::new().biz_key("order-17").tag("mail");
    assert!(scheduler.find_jobs(&by_key).unwrap().is_empty());
    let first = submit("done", false).unwrap();
    scheduler.wake();
    assert_eq!(runs.recv_timeout(LONG).unwrap(), "done");
    let second = submit("again", false).unwrap();
    assert!(first.is_new && !second.is_new && first.job == second.job);
    assert_eq!(app.effects(), 2);
    support::wait_until("it is recorded", LONG, || scheduler.running_fires().unwrap().is_empty());
    assert!(scheduler.find_jobs(&by_key).unwrap().is_empty(), "its marks went with it");
    assert!(runs.try_recv().is_err());
    end(app, &scheduler);
}

fn outside_of_a_transaction_nothing_is_done(app: &App) {
    let scheduler = app.scheduler().build().unwrap();
    let (job, trigger) = recoverable("j");
    let work = vec![(job, vec![trigger])];
    let error = match &app.pool {
        CallersPool::Sqlite(pool) => scheduler.schedule_in(&mut *pool.get().unwrap(), work.clone(), IfExists::Refuse),
        CallersPool::Postgres(pool) => scheduler.schedule_in(&mut *pool.get().unwrap(), work.clone(), IfExists::Refuse),
        CallersPool::Mysql(pool) => scheduler.schedule_in(&mut *pool.get().unwrap(), work.clone(), IfExists::Refuse),
        _ => unreachable!(),
    };
    let error = error.unwrap_err();
    assert!(error.to_string().contains("no transaction is open"), "{error}");
    if !matches!(app.pool, CallersPool::Sqlite(_)) {
        let mut other = SqliteConnection::establish(":memory:").unwrap();
        let error =
            other.transaction(|c| scheduler.schedule_in(c, work.clone(), IfExists::Refuse).map_err(Problem::from));
        let error = error.unwrap_err();
        assert!(error.to_string().contains("the connection is to SQLite"), "{error}");
    }
    assert!(!scheduler.job_exists(&JobKey::named("j")).unwrap());
    end(app, &scheduler);
}

/// All but what needs two transactions that write at once, which SQLite has not.
fn everything(app: impl Fn() -> App) {
    outside_of_a_transaction_nothing_is_done(&app());
    a_fire_ends_with_its_effect(&app());
    an_end_that_is_rolled_back_did_not_happen(&app());
    an_end_in_the_jobs_transaction_is_followed(&app());
    work_is_stored_with_what_the_caller_writes(&app());
    work_is_submitted_with_what_the_caller_writes(&app());
    a_node_that_was_declared_dead_leaves_no_effect(&app());
    a_guard_keeps_the_fire_until_the_transaction_ends(&app());
    a_transaction_that_stands_still_holds_up_nobody(&app());
    another_isolation_level_is_refused(&app());
    a_session_that_stops_has_a_limit(&app());
}

fn beside_quartz(app: impl Fn() -> App) {
    beside_quartz::changes_take_the_lock_to_their_end(&app());
    beside_quartz::a_program_that_only_submits_takes_the_lock(&app());
    beside_quartz::a_lock_that_is_not_granted_is_an_error(&app());
    beside_quartz::a_session_that_stops_gives_the_lock_up(&app());
}

fn on_a_postgres() -> App {
    let manager = ConnectionManager::<PgConnection>::new(support::postgres_url());
    App::new(Pool::builder().max_size(6).build(manager).unwrap())
}

fn on_a_mysql() -> App {
    let manager = ConnectionManager::<MysqlConnection>::new(support::mysql_url());
    App::new(Pool::builder().max_size(6).build(manager).unwrap())
}

fn on_an_sqlite(folder: &tempfile::TempDir) -> App {
    let file = folder.path().join(support::fresh_name("db")).display().to_string();
    App::new(Pool::builder().max_size(6).build(ConnectionManager::<SqliteConnection>::new(file)).unwrap())
}

#[test]
fn on_postgres() {
    everything(on_a_postgres);
    parts_that_end_at_the_same_moment_are_one_tick(&on_a_postgres());
    what_came_to_wait_for_an_uncommitted_end_goes_on(&on_a_postgres());
    side_by_side::all(on_a_postgres);
}

#[test]
fn on_mysql() {
    everything(on_a_mysql);
    parts_that_end_at_the_same_moment_are_one_tick(&on_a_mysql());
    what_came_to_wait_for_an_uncommitted_end_goes_on(&on_a_mysql());
    side_by_side::all(on_a_mysql);
}

#[test]
fn on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    everything(|| on_an_sqlite(&folder));
}

#[test]
fn beside_quartz_on_postgres() {
    beside_quartz(on_a_postgres);
}

#[test]
fn beside_quartz_on_mysql() {
    beside_quartz(on_a_mysql);
}

#[test]
fn beside_quartz_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    beside_quartz(|| on_an_sqlite(&folder));
}

#[test]
fn a_store_in_memory_has_no_transactions_of_the_callers() {
    let scheduler = Scheduler::builder().build().unwrap();
    let (job, trigger) = recoverable("j");
    let mut db = SqliteConnection::establish(":memory:").unwrap();
    let error = db
        .transaction(|c| scheduler.schedule_in(c, vec![(job, vec![trigger])], IfExists::Refuse).map_err(Problem::from));
    assert!(error.unwrap_err().to_string().contains("not in a database of the caller's"));
}
