//! A caller's transaction beside nodes of Quartz, which rely on `TRIGGER_ACCESS` alone: the
//! transaction takes that lock and keeps it to its end.

use super::*;

/// Takes `TRIGGER_ACCESS` as a node of Quartz does, and waits for it.
const LOCK: &str = "SELECT LOCK_NAME AS name FROM QRTZ_LOCKS WHERE LOCK_NAME = 'TRIGGER_ACCESS' AND SCHED_NAME = ";

#[derive(QueryableByName)]
struct Granted {
    #[diesel(sql_type = diesel::sql_types::Text)]
    #[allow(dead_code, reason = "that it comes is the answer")]
    name: String,
}

/// A node of Quartz is a member for as long as the test may last.
fn java_joins(app: &App) {
    let now_ms = SystemClock::default().wall_time().timestamp_millis();
    app.run(&format!(
        "INSERT INTO QRTZ_SCHEDULER_STATE (SCHED_NAME, INSTANCE_NAME, LAST_CHECKIN_TIME, CHECKIN_INTERVAL) \
         VALUES ('{}', 'java', {now_ms}, 3600000)",
        app.scheduler_name
    ));
}

/// Beside nodes of Quartz a type is named like a class of Java's.
fn of_java(name: &str) -> (JobDetail, Trigger) {
    let (job, trigger) = recoverable(name);
    (job.to_builder().job_type("com.acme.Work").build().unwrap(), trigger)
}

/// True if another session is granted the lock, waiting for it or not; gives the lock back at once.
fn takes_lock(app: &App, waits: bool) -> bool {
    let nowait = if waits { "" } else { " NOWAIT" };
    let text = format!("{LOCK}'{}' FOR UPDATE{nowait}", app.scheduler_name);
    let taken: Result<(), Problem> = match &app.pool {
        CallersPool::Sqlite(pool) => {
            let mut own = pool.get().unwrap();
            own.batch_execute(if waits { "PRAGMA busy_timeout = 30000" } else { "PRAGMA busy_timeout = 0" }).unwrap();
            own.immediate_transaction(|_| Ok(()))
        }
        CallersPool::Postgres(pool) => pool.get().unwrap().transaction(|c| Ok(c.batch_execute(&text)?)),
        CallersPool::Mysql(pool) => pool.get().unwrap().transaction(|c| {
            diesel::sql_query(&text).get_results::<Granted>(c)?;
            Ok(())
        }),
        _ => unreachable!(),
    };
    taken.is_ok()
}

/// Does `last` after an effect, in a transaction that holds the lock from then on; a second session
/// waits for its end.
fn holds_lock(
    app: &App,
    is_committed: bool,
    last: &mut dyn FnMut(CallersConnection<'_>) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let (waited, waits) = unbounded();
    let done = app.write_and(&mut |connection| {
        last(connection)?;
        assert!(!takes_lock(app, false), "the lock is free in the transaction");
        let (peer, waited) = (app.clone(), waited.clone());
        std::thread::spawn(move || waited.send(takes_lock(&peer, true)));
        assert!(waits.recv_timeout(Duration::from_millis(200)).is_err(), "the second session did not wait");
        if is_committed { Ok(()) } else { Err("changed my mind".into()) }
    });
    assert!(waits.recv_timeout(LONG).unwrap(), "the second session is not granted the lock after the end");
    done
}

/// All that changes rows in a caller's transaction, committed and rolled back: nothing is lost,
/// nothing is left.
pub fn changes_take_the_lock_to_their_end(app: &App) {
    let its = app.clone();
    let work = move |ctx: &mut JobContext| {
        let is_committed = !ctx.data().flag("undone").unwrap_or_default();
        let done = holds_lock(&its, is_committed, &mut |connection| Ok(ctx.complete_in(connection)?));
        assert_eq!(done.is_ok(), is_committed, "{done:?}");
        Ok(())
    };
    let scheduler = app.scheduler().job_fn("com.acme.Work", work).build().unwrap();
    java_joins(app);
    scheduler.start().unwrap();
    support::wait_until("the node sees Java's", LONG, || scheduler.store().is_beside_quartz());
    for (round, is_committed) in [(0, true), (1, false)] {
        let (job, trigger) = of_java(&format!("j{round}"));
        let job = job.to_builder().data("undone", !is_committed).build().unwrap();
        scheduler.schedule_job(job, trigger).unwrap();
        support::wait_until("it has run", LONG, || scheduler.health().counters.succeeded == round + 1);
        support::wait_until("it is recorded", LONG, || scheduler.running_fires().unwrap().is_empty());
        assert_eq!(app.effects(), 1, "of what was committed only");
    }
    assert_eq!(scheduler.health().counters.fenced_writes, 0);
    stores_under_the_lock(app, &scheduler, 1);
    end(app, &scheduler);
}

/// A program that submits and runs nothing takes the lock too, although no check-in has told it of
/// the nodes of Quartz.
pub fn a_program_that_only_submits_takes_the_lock(app: &App) {
    let scheduler = app.scheduler().build().unwrap();
    java_joins(app);
    assert!(!scheduler.store().is_beside_quartz());
    stores_under_the_lock(app, &scheduler, 0);
    end(app, &scheduler);
}

fn stores_under_the_lock(app: &App, scheduler: &Scheduler, effects: i64) {
    for (n, is_committed) in [(1, true), (1, false)] {
        let job = JobDetail::builder(JobKey::named("later"), "com.acme.Nobodys").build().unwrap();
        let far = chrono::DateTime::from_timestamp_millis(4_102_444_800_000).unwrap();
        let trigger = Trigger::builder(TriggerKey::named("later"), job.key().clone()).start_at(far).build().unwrap();
        let stored = holds_lock(app, is_committed, &mut |connection| {
            Ok(scheduler
                .schedule_in(connection, vec![(job.clone(), vec![trigger.clone()])], IfExists::Refuse)
                .map(drop)?)
        });
        assert_eq!(stored.is_ok(), is_committed, "{stored:?}");
        assert_eq!(scheduler.job_exists(job.key()).unwrap(), is_committed);
        scheduler.delete_job(job.key()).unwrap();
        let submitted = holds_lock(app, is_committed, &mut |connection| {
            Ok(scheduler.submit_in(connection, [Submission::new("com.acme.Nobodys").tag("mail")]).map(drop)?)
        });
        assert_eq!(submitted.is_ok(), is_committed, "{submitted:?}");
        let found = scheduler.find_jobs(&JobFilter::new().tag("mail")).unwrap();
        assert_eq!(found.len(), usize::from(is_committed));
        scheduler.store().catalogue().clear().unwrap();
        assert_eq!(app.effects(), effects + 2 * n, "of what was committed only");
    }
}

/// The lock is somebody else's for longer than the caller may wait: the error says so, and nothing
/// of it stays.
pub fn a_lock_that_is_not_granted_is_an_error(app: &App) {
    let limit = match &app.pool {
        CallersPool::Sqlite(_) => return, // the caller's own BEGIN IMMEDIATE has waited
        CallersPool::Mysql(_) => "SET SESSION innodb_lock_wait_timeout = 1",
        _ => "SET LOCAL lock_timeout = '200ms'",
    };
    let scheduler = app.scheduler().build().unwrap();
    java_joins(app);
    let (go, gate) = unbounded::<()>();
    let (held, holds) = unbounded();
    let holder = app.clone();
    let thread = std::thread::spawn(move || {
        let text = format!("{LOCK}'{}' FOR UPDATE", holder.scheduler_name);
        let done: Result<(), Problem> = transaction!(holder, c => {
            diesel::sql_query(&text).get_results::<Granted>(c).map(drop)?;
            held.send(())?;
            gate.recv()?;
            Ok(())
        });
        done.unwrap();
    });
    holds.recv_timeout(LONG).unwrap();
    let (job, trigger) = of_java("j");
    let schedule = |limit: &str| -> Result<(), Problem> {
        let (effect, work) =
            (format!("INSERT INTO {} VALUES ('j', 1)", app.table), (job.clone(), vec![trigger.clone()]));
        transaction!(app, c => {
            c.batch_execute(limit)?;
            c.batch_execute(&effect)?;
            Ok(scheduler.schedule_in(c, vec![work.clone()], IfExists::Refuse).map(drop)?)
        })
    };
    let error = fallen(schedule(limit).unwrap_err());
    assert_eq!(error.failure_class(), Some(carnelian::FailureClass::LockWait), "{error}");
    assert!(error.to_string().contains("schedule jobs"), "{error}");
    assert!(!scheduler.job_exists(job.key()).unwrap());
    assert_eq!(app.effects(), 0);
    go.send(()).unwrap();
    thread.join().unwrap();
    schedule(limit).unwrap();
    assert!(scheduler.job_exists(job.key()).unwrap());
    assert_eq!(app.effects(), 1);
    scheduler.store().catalogue().clear().unwrap();
    end(app, &scheduler);
}

/// The server ends a session that stops while it holds the lock; nodes of Quartz go on.
pub fn a_session_that_stops_gives_the_lock_up(app: &App) {
    if !matches!(app.pool, CallersPool::Postgres(_)) {
        return;
    }
    let scheduler = app.scheduler().build().unwrap();
    java_joins(app);
    let (job, trigger) = of_java("j");
    let effect = format!("INSERT INTO {} VALUES ('j', 1)", app.table);
    let done: Result<(), Problem> = transaction!(app, c => {
        c.batch_execute("SET LOCAL idle_in_transaction_session_timeout = '300ms'")?;
        c.batch_execute(&effect)?;
        scheduler.schedule_in(c, vec![(job.clone(), vec![trigger.clone()])], IfExists::Refuse)?;
        assert!(takes_lock(app, true), "the lock was not given up");
        Ok(())
    });
    assert!(done.is_err(), "a transaction whose session has ended was committed");
    assert!(!scheduler.job_exists(job.key()).unwrap());
    assert_eq!(app.effects(), 0);
    end(app, &scheduler);
}
