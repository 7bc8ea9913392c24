//! Submitted work, asked after by its request id.

use super::fixture::LONG;
use crate::support::wait_until;
use carnelian::history::{FireOutcome, HistoryQuery};
use carnelian::{JobContext, JobError, On, RetryPolicy, Scheduler, Submission, SubmissionState, SubmittedWork};
use crossbeam_channel::{Receiver, bounded};
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    id: u64,
    lines: Vec<(String, u32)>,
}

fn work(scheduler: &Scheduler) -> SubmittedWork {
    scheduler.submission("order-17").unwrap().expect("it was submitted")
}

fn waits_for(scheduler: &Scheduler, state: SubmissionState) {
    wait_until(state.name(), LONG, || work(scheduler).state == state);
}

#[test]
fn the_state_of_a_submission_is_told_by_its_request_id() {
    let (begin, began) = bounded(1);
    let (go, goes): (_, Receiver<Result<(), JobError>>) = bounded(1);
    let ship = move |ctx: &mut JobContext| {
        begin.send(ctx.payload::<Order>()?).ok();
        goes.recv_timeout(LONG)?
    };
    let scheduler = Scheduler::builder().job_fn("ship", ship).build().unwrap();
    assert!(scheduler.submission("order-17").unwrap().is_none());
    let order = Order { id: 17, lines: vec![("bolt".to_owned(), 12)] };
    let retry = RetryPolicy::fixed(Duration::from_millis(300)).max_attempts(2);
    let submission = Submission::new("ship").request_id("order-17").payload(&order).unwrap().retry(retry);
    let taken = scheduler.submit(submission).unwrap();
    assert_eq!((work(&scheduler).state, &work(&scheduler).job), (SubmissionState::Pending, &taken.job));
    scheduler.pause_job(&taken.job).unwrap();
    assert_eq!(work(&scheduler).state, SubmissionState::Paused);
    scheduler.resume_job(&taken.job).unwrap();

    scheduler.start().unwrap();
    assert_eq!(began.recv_timeout(LONG).unwrap(), order);
    let running = work(&scheduler);
    assert_eq!((running.state, running.state.is_over()), (SubmissionState::Running, false));
    assert_eq!(running.last_run.unwrap().instance.as_deref(), Some(scheduler.instance_id()));
    go.send(Err(JobError::new("no bolts"))).unwrap();
    waits_for(&scheduler, SubmissionState::Retrying);
    assert!(work(&scheduler).last_run.unwrap().error.unwrap().contains("no bolts"));
    began.recv_timeout(LONG).unwrap();
    assert_eq!(work(&scheduler).state, SubmissionState::Running);
    go.send(Ok(())).unwrap();
    waits_for(&scheduler, SubmissionState::Ended(FireOutcome::Succeeded));
    scheduler.shutdown_and_wait();
}

#[test]
fn work_without_a_payload_is_told_to_have_one() {
    let ship = |ctx: &mut JobContext| ctx.payload::<Order>().map(drop).map_err(JobError::from);
    let scheduler = Scheduler::builder().job_fn("ship", ship).build().unwrap();
    scheduler.start().unwrap();
    scheduler.submit(Submission::new("ship").request_id("order-17")).unwrap();
    waits_for(&scheduler, SubmissionState::Ended(FireOutcome::Failed));
    let error = work(&scheduler).last_run.unwrap().error.unwrap();
    assert!(error.contains("payload") && error.contains("submit the work with one"), "{error}");
    scheduler.shutdown_and_wait();
}

/// LT-106: every run of the work has the trace that the request came with, and is found by it.
#[test]
fn each_run_of_a_submission_has_its_trace() {
    const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let (tell, told) = bounded(2);
    let ship = move |ctx: &mut JobContext| {
        tell.send(ctx.traceparent().map(str::to_owned)).ok();
        if ctx.attempt() == 0 { Err(JobError::new("no bolts")) } else { Ok(()) }
    };
    let scheduler = Scheduler::builder().job_fn("ship", ship).build().unwrap();
    let refused = scheduler.submit(Submission::new("ship").traceparent("yesterday")).unwrap_err().to_string();
    assert!(refused.contains("traceparent") && refused.contains("yesterday"), "{refused}");
    let retry = RetryPolicy::fixed(Duration::from_millis(10)).max_attempts(2);
    let submission = Submission::new("ship").request_id("order-17").retry(retry).traceparent(TRACE);
    scheduler.submit(submission).unwrap();
    scheduler.start().unwrap();
    for _ in 0..2 {
        assert_eq!(told.recv_timeout(LONG).unwrap().as_deref(), Some(TRACE));
    }
    waits_for(&scheduler, SubmissionState::Ended(FireOutcome::Succeeded));
    let found = scheduler.history(&HistoryQuery::new().trace("0af7651916cd43dd8448eb211c80319c")).unwrap();
    assert_eq!(found.iter().map(|run| run.attempt).collect::<Vec<_>>(), [1, 0]);
    scheduler.shutdown_and_wait();
}

#[test]
fn work_that_follows_has_its_own_state() {
    let (go, goes): (_, Receiver<Result<(), JobError>>) = bounded(1);
    let pay = move |_: &mut JobContext| goes.recv_timeout(LONG)?;
    let scheduler = Scheduler::builder().job_fn("pay", pay).job_fn("mail", |_| Ok(())).build().unwrap();
    let next = |id: &str| Submission::new("mail").request_id(id);
    let early = Submission::new("pay").then(next("mail").after(LONG));
    assert!(scheduler.submit(early).unwrap_err().to_string().contains("time of work that follows"));
    let first = Submission::new("pay").request_id("order-17").then(next("mail")).then_on(On::Failure, next("alarm"));
    scheduler.submit(first).unwrap();
    let state = |id: &str| scheduler.submission(id).unwrap().expect("it was submitted").state;
    assert_eq!((state("mail"), state("alarm")), (SubmissionState::Following, SubmissionState::Following));
    scheduler.start().unwrap();
    go.send(Ok(())).unwrap();
    wait_until("the mail", LONG, || state("mail") == SubmissionState::Ended(FireOutcome::Succeeded));
    assert_eq!((state("order-17").name(), state("alarm")), ("succeeded", SubmissionState::Gone));
    scheduler.shutdown_and_wait();
}
