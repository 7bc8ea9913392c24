//! Transactions of callers beside those of nodes: what each stores or ends is not there yet for the
//! other. Servers only, since SQLite has one writer at a time.

use super::{App, LONG, end, failed, recoverable};
use crate::support;
use carnelian::clock::{Clock, SystemClock};
use carnelian::database::CallersConnection;
use carnelian::{
    Continuation, IfExists, JobContext, JobDataMap, JobDetail, JobError, JobKey, On, Scheduler, Trigger, TriggerKey,
    TriggerState,
};
use chrono::TimeDelta;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::time::Duration;

pub fn all(app: impl Fn() -> App) {
    a_job_stays_for_a_trigger_that_is_stored_while_its_run_ends(&app());
    a_job_stays_for_a_trigger_that_is_stored_while_its_end_is_open(&app());
    a_trigger_that_is_put_in_the_place_of_a_due_one_stays(&app());
    a_trigger_that_is_put_in_the_place_of_a_running_one_stays(&app());
    a_child_that_waits_for_a_run_of_its_own_is_let_go(&app());
    a_fire_that_another_node_deletes_at_the_same_time_is_not_ended_twice(&app());
}

fn in_an_hour(key: TriggerKey, job: &JobDetail) -> Trigger {
    let at = SystemClock::default().wall_time() + TimeDelta::hours(1);
    Trigger::builder(key, job.key().clone()).start_at(at).build().unwrap()
}

/// The code of a job.
trait Work: Fn(&mut JobContext) -> Result<(), JobError> + Send + Sync + 'static {}

impl<F: Fn(&mut JobContext) -> Result<(), JobError> + Send + Sync + 'static> Work for F {}

/// A job that says that it runs, and goes on when it may.
fn gated() -> (impl Work, Receiver<String>, Sender<()>) {
    let ((runs, running), (go, gate)) = (unbounded(), unbounded());
    let work = move |ctx: &mut JobContext| {
        runs.send(ctx.job().key().name().to_owned())?;
        Ok(gate.recv()?)
    };
    (work, running, go)
}

/// A job that ends in a transaction of its own, says that it is in there, and commits when it may.
fn ends_in_a_transaction(app: &App) -> (impl Work, Receiver<()>, Sender<()>) {
    let its = app.clone();
    let ((inside, is_inside), (go, gate)) = (unbounded(), unbounded::<()>());
    let work = move |ctx: &mut JobContext| {
        let end = |connection: CallersConnection<'_>| {
            ctx.complete_in(connection)?;
            inside.send(())?;
            Ok(gate.recv()?)
        };
        its.write_and(&mut { end }).map_err(failed)
    };
    (work, is_inside, go)
}

fn nothing_runs(scheduler: &Scheduler) {
    let is_over = || scheduler.health().unrecorded == 0 && scheduler.running_fires().unwrap().is_empty();
    support::wait_until("all is recorded", LONG, is_over);
}

/// The run ends while a caller stores its job anew, with another trigger. Nobody else sees that
/// trigger yet.
fn a_job_stays_for_a_trigger_that_is_stored_while_its_run_ends(app: &App) {
    let (work, running, go) = gated();
    let scheduler = app.scheduler().job_fn("work", work).build().unwrap();
    scheduler.start().unwrap();
    let (job, trigger) = recoverable("j");
    scheduler.schedule_job(job.clone(), trigger).unwrap();
    running.recv_timeout(LONG).unwrap();
    let next = Trigger::builder(TriggerKey::named("next"), job.key().clone()).build().unwrap();
    app.write_and(&mut |connection| {
        scheduler.schedule_in(connection, vec![(job.clone(), vec![next.clone()])], IfExists::Replace)?;
        go.send(())?;
        nothing_runs(&scheduler);
        Ok(())
    })
    .unwrap();
    scheduler.wake();
    running.recv_timeout(LONG).expect("the next trigger fires");
    go.send(()).unwrap();
    nothing_runs(&scheduler);
    assert!(!scheduler.job_exists(job.key()).unwrap());
    end(app, &scheduler);
}

/// The run ends in a transaction of its own. Until that is committed, others see a job that is
/// there.
fn a_job_stays_for_a_trigger_that_is_stored_while_its_end_is_open(app: &App) {
    let (work, is_inside, go) = ends_in_a_transaction(app);
    let scheduler = app.scheduler().job_fn("work", work).build().unwrap();
    scheduler.start().unwrap();
    let (job, trigger) = recoverable("j");
    scheduler.schedule_job(job.clone(), trigger).unwrap();
    is_inside.recv_timeout(LONG).unwrap();
    let next = Trigger::builder(TriggerKey::named("next"), job.key().clone()).build().unwrap();
    scheduler.schedule_trigger(next).unwrap();
    go.send(()).unwrap();
    is_inside.recv_timeout(LONG).expect("the next trigger fires");
    go.send(()).unwrap();
    support::wait_until("the job is gone", LONG, || !scheduler.job_exists(job.key()).unwrap());
    nothing_runs(&scheduler);
    end(app, &scheduler);
}

/// A caller puts the time of a trigger back that is due and waits for a worker. A worker becomes
/// free before the caller commits, and the node takes the trigger as the node sees it.
fn a_trigger_that_is_put_in_the_place_of_a_due_one_stays(app: &App) {
    let (work, running, go) = gated();
    let scheduler = app.scheduler().job_fn("work", work).build().unwrap();
    scheduler.start().unwrap();
    for name in ["busy", "too"] {
        let (job, trigger) = recoverable(name);
        scheduler.schedule_job(job, trigger).unwrap();
        running.recv_timeout(LONG).unwrap();
    }
    let (job, key) = (JobDetail::builder(JobKey::named("j"), "work").build().unwrap(), TriggerKey::named("t"));
    let due = Trigger::builder(key.clone(), job.key().clone()).build().unwrap();
    scheduler.schedule_job(job.clone(), due).unwrap();
    let new = in_an_hour(key.clone(), &job);
    app.write_and(&mut |connection| {
        scheduler.schedule_in(connection, vec![(job.clone(), vec![new.clone()])], IfExists::Replace)?;
        go.send(())?;
        // The end may be recorded with what is taken next, which waits.
        let is_free = || scheduler.health().unrecorded > 0 || scheduler.running_fires().unwrap().len() == 1;
        support::wait_until("a worker is free", LONG, is_free);
        // The node waits for the row of the trigger now, and nothing tells of that.
        let (clock, free) = super::watch();
        support::wait_until("the node waits", LONG, || clock.ticks() > free + Duration::from_millis(300));
        Ok(())
    })
    .unwrap();
    // The node has its answer once another trigger has fired.
    let (other, at_once) = recoverable("other");
    scheduler.schedule_job(other, at_once).unwrap();
    assert_eq!(running.recv_timeout(LONG).unwrap(), "other");
    (0..2).for_each(|_| go.send(()).unwrap());
    nothing_runs(&scheduler);
    assert_eq!(scheduler.trigger(&key).unwrap().unwrap().next_fire_time(), Some(new.start_time()));
    scheduler.unschedule(&key).unwrap();
    end(app, &scheduler);
}

/// The last run of a trigger ends while a caller stores another trigger under its key.
fn a_trigger_that_is_put_in_the_place_of_a_running_one_stays(app: &App) {
    let (work, running, go) = gated();
    let scheduler = app.scheduler().job_fn("work", work).build().unwrap();
    scheduler.start().unwrap();
    let (job, trigger) = recoverable("j");
    let key = trigger.key().clone();
    scheduler.schedule_job(job.clone(), trigger).unwrap();
    running.recv_timeout(LONG).unwrap();
    let new = in_an_hour(key.clone(), &job);
    app.write_and(&mut |connection| {
        scheduler.schedule_in(connection, vec![(job.clone(), vec![new.clone()])], IfExists::Replace)?;
        go.send(())?;
        nothing_runs(&scheduler);
        Ok(())
    })
    .unwrap();
    assert_eq!(scheduler.trigger_state(&key).unwrap(), Some(TriggerState::Waiting));
    assert_eq!(scheduler.trigger(&key).unwrap().unwrap().next_fire_time(), Some(new.start_time()));
    scheduler.unschedule(&key).unwrap();
    end(app, &scheduler);
}

/// A child runs once at a time, and does when its parent ends in a transaction of its own. The
/// child's run ends before that is committed, and does not see who waits for it.
fn a_child_that_waits_for_a_run_of_its_own_is_let_go(app: &App) {
    let (parent, is_inside, go) = ends_in_a_transaction(app);
    let (child, running, end_child) = gated();
    let scheduler = app.scheduler().job_fn("parent", parent).job_fn("child", child).build().unwrap();
    scheduler.start().unwrap();
    let job =
        |name: &str| JobDetail::builder(JobKey::named(name), name).durable(true).disallow_concurrent_execution(true);
    let (first, second) = (job("parent").build().unwrap(), job("child").build().unwrap());
    scheduler.add_job(&first, IfExists::Refuse).unwrap();
    scheduler.add_job(&second, IfExists::Refuse).unwrap();
    scheduler.follow(&Continuation::new(first.key().clone(), second.key().clone()).on(On::Success)).unwrap();
    scheduler.trigger_job(second.key(), JobDataMap::new()).unwrap();
    running.recv_timeout(LONG).unwrap();
    scheduler.trigger_job(first.key(), JobDataMap::new()).unwrap();
    is_inside.recv_timeout(LONG).unwrap();
    end_child.send(()).unwrap();
    let is_over = || scheduler.running_fires().unwrap().iter().all(|fire| fire.job.as_ref() != Some(second.key()));
    support::wait_until("the child's run is recorded", LONG, is_over);
    go.send(()).unwrap();
    running.recv_timeout(super::SOON).expect("the child follows, and waits for no audit");
    end_child.send(()).unwrap();
    nothing_runs(&scheduler);
    scheduler.store().catalogue().clear().unwrap();
    end(app, &scheduler);
}

/// Another node takes the fire over, and deletes its row, while the job's transaction ends it. On
/// MySQL the read of that transaction sees a row that its deletion does not find.
fn a_fire_that_another_node_deletes_at_the_same_time_is_not_ended_twice(app: &App) {
    let (its, (begins, begun), (go, gate)) = (app.clone(), unbounded(), unbounded::<()>());
    let work = move |ctx: &mut JobContext| {
        begins.send(ctx.fire_id().to_owned())?;
        gate.recv()?;
        its.write_and(&mut |connection| Ok(ctx.complete_in(connection)?)).map_err(failed)
    };
    let scheduler = app.scheduler().job_fn("work", work).build().unwrap();
    scheduler.start().unwrap();
    let (job, trigger) = recoverable("j");
    scheduler.schedule_job(job, trigger).unwrap();
    let fire_id = begun.recv_timeout(LONG).unwrap();
    let delete = format!("DELETE FROM QRTZ_FIRED_TRIGGERS WHERE ENTRY_ID = '{fire_id}'");
    app.run_and(&delete, &mut |_| {
        go.send(())?;
        // The job's transaction waits for the row now, and nothing tells of that.
        let (clock, free) = super::watch();
        support::wait_until("the job waits", LONG, || clock.ticks() > free + Duration::from_millis(300));
        Ok(())
    })
    .unwrap();
    nothing_runs(&scheduler);
    assert_eq!(app.effects(), 0, "its transaction was rolled back");
    scheduler.store().catalogue().clear().unwrap();
    end(app, &scheduler);
}
