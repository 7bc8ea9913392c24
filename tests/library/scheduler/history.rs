//! The history of real runs: their logs, their four times, vetoes, and the rows that a node deletes
//! by itself.

use crate::scheduler::fixture::{Cluster, LONG, job, now};
use crate::support::{self, wait_until};
use carnelian::history::{CaptureLog, FireOutcome, HistoryQuery, HistoryRow, LogLine};
use carnelian::listener::{FireEvent, TriggerListener};
use carnelian::{IfExists, JobContext, JobDataMap, JobDetail, JobError, JobPolicy, KeyMatcher, Scheduler};
use crossbeam_channel::bounded;
use log::{LevelFilter, Log, Metadata, Record};
use std::time::Duration;

/// A logger of the program that wants nothing but warnings.
struct Deaf;

impl Log for Deaf {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Warn
    }

    fn log(&self, record: &Record<'_>) {
        assert!(record.level() <= log::Level::Warn, "{}", record.args());
    }

    fn flush(&self) {}
}

fn store(node: &Scheduler, detail: &JobDetail) {
    node.schedule_jobs(vec![(detail.clone(), vec![now(detail.key().name(), detail)])], IfExists::Refuse).unwrap();
}

fn with_policy(name: &str, job_type: &str, policy: JobPolicy) -> JobDetail {
    job(name, job_type).to_builder().policy(policy).build().unwrap()
}

/// The rows of a job, when there are so many, the oldest first.
fn rows(node: &Scheduler, detail: &JobDetail, count: usize) -> Vec<HistoryRow> {
    let query = HistoryQuery::new().job(detail.key().clone());
    wait_until("the ends are recorded", LONG, || node.history(&query).unwrap().len() >= count);
    let mut rows = node.history(&query).unwrap();
    rows.sort_by_key(|row| (row.fired_ms, row.attempt));
    rows
}

fn log_of(node: &Scheduler, detail: &JobDetail) -> Vec<LogLine> {
    let fire_id = rows(node, detail, 1).remove(0).fire_id;
    node.run_record(&fire_id).unwrap().unwrap().log
}

fn messages(lines: &[LogLine]) -> Vec<&str> {
    lines.iter().map(|line| line.message.as_str()).collect()
}

/// LT-58, LT-106: what the program logs on the run's thread, and what the job says itself; also of
/// a run that panicked.
#[test]
fn a_run_has_what_was_logged_while_it_went_on() {
    if !support::is_alone(module_path!(), "a_run_has_what_was_logged_while_it_went_on") {
        return;
    }
    let cluster = Cluster::new();
    CaptureLog::new(Deaf).install(LevelFilter::Debug).unwrap();
    let speak = |ctx: &mut JobContext| {
        log::info!(target: "shop", "in {}", ctx.instance_id());
        log::debug!(target: "shop", "too small");
        ctx.log(log::Level::Warn, "by itself");
        std::thread::spawn(|| log::info!("elsewhere")).join().unwrap();
        if ctx.job().key().name() == "loud" { panic!("no ink") } else { Ok::<_, JobError>(()) }
    };
    let node = cluster.node("n1", 1).job_fn("speak", speak).build().unwrap();
    node.start().unwrap();
    let policy = JobPolicy::new().capture_log(LevelFilter::Info);
    let (loud, good) = (with_policy("loud", "speak", policy.clone()), with_policy("good", "speak", policy));
    let silent = job("silent", "speak");
    for detail in [&loud, &good, &silent] {
        store(&node, detail);
    }
    for (detail, outcome) in [(&loud, FireOutcome::Failed), (&good, FireOutcome::Succeeded)] {
        assert_eq!(rows(&node, detail, 1)[0].outcome, outcome);
        let lines = log_of(&node, detail);
        assert_eq!(messages(&lines), ["in n1", "by itself"]);
        assert_eq!((lines[0].target.as_str(), lines[1].target.as_str()), ("shop", "speak"));
        assert!(lines[0].at_ms <= rows(&node, detail, 1)[0].ended_ms);
    }
    assert_eq!(log_of(&node, &silent), [], "nothing is kept unless it is asked for");
    cluster.assert_sound();
}

/// A setting for all jobs, which a policy may turn off, bounded.
#[test]
fn the_setting_is_for_all_jobs_that_say_nothing() {
    let cluster = Cluster::new();
    let speak = |ctx: &mut JobContext| {
        (0..1_000).for_each(|i| ctx.log(log::Level::Info, format!("line {i}")));
        Ok::<_, JobError>(())
    };
    let properties = "carnelian.history.log = info\ncarnelian.history.logMaxBytes = 2000\nthreadPool.threadCount = 1";
    let node = cluster.node_with("n1", properties).job_fn("speak", speak).build().unwrap();
    node.start().unwrap();
    let plain = job("plain", "speak");
    let off = with_policy("off", "speak", JobPolicy::new().capture_log(LevelFilter::Off));
    let small = with_policy("small", "speak", JobPolicy::new().log_max_bytes(1_000));
    for detail in [&plain, &off, &small] {
        store(&node, detail);
    }
    let kept = log_of(&node, &plain);
    assert_eq!((kept[0].message.as_str(), kept[kept.len() - 1].message.as_str()), ("line 0", "line 999"));
    assert!(kept.iter().any(|line| line.message.ends_with("lines are left out here …")), "{kept:?}");
    assert!((20..60).contains(&kept.len()), "{}", kept.len());
    assert_eq!(log_of(&node, &off), []);
    assert!(log_of(&node, &small).len() < kept.len());
}

/// LT-58: a run whose worker was given up, since it does not end, has what it logged until then.
#[test]
fn a_run_that_was_given_up_has_its_log() {
    let cluster = Cluster::new();
    let (go, gone) = bounded::<()>(0);
    let stubborn = move |ctx: &mut JobContext| {
        ctx.log(log::Level::Info, "before");
        let _ = gone.recv();
        Ok::<_, JobError>(())
    };
    let properties = "threadPool.threadCount = 1\ncarnelian.job.stopAttempts = 1\ncarnelian.job.stopWait = 10ms";
    let node = cluster.node_with("n1", properties).job_fn("stubborn", stubborn).build().unwrap();
    node.start().unwrap();
    let policy = JobPolicy::new().capture_log(LevelFilter::Info).timeout(Duration::from_millis(50));
    let detail = with_policy("j", "stubborn", policy);
    store(&node, &detail);
    assert_eq!(rows(&node, &detail, 1)[0].outcome, FireOutcome::TimedOut);
    assert_eq!(messages(&log_of(&node, &detail)), ["before"]);
    drop(go);
}

/// LT-53, LT-58: a row from the start; then four times, of which the third is that of the worker,
/// also after repetitions.
#[test]
fn a_run_is_seen_from_its_start_and_has_four_times() {
    let cluster = Cluster::new();
    let ((begun, begins), (go, goes)) = (bounded::<()>(1), bounded::<()>(1));
    let wait = move |ctx: &mut JobContext| {
        if ctx.refire_count() == 0 {
            begun.send(()).unwrap();
            goes.recv().unwrap();
            return Err(JobError::new("again").refire_immediately());
        }
        Ok(())
    };
    let node = cluster.node("n1", 1).job_fn("wait", wait).build().unwrap();
    node.start().unwrap();
    let detail = job("j", "wait");
    store(&node, &detail);
    begins.recv_timeout(LONG).unwrap();
    let running = node.history(&HistoryQuery::new().running(true)).unwrap();
    assert_eq!(running.len(), 1, "{running:?}");
    assert_eq!((running[0].outcome, running[0].instance.as_deref()), (FireOutcome::Running, Some("n1")));
    let looked = running[0].ended_ms;
    go.send(()).unwrap();
    let row = &rows(&node, &detail, 1)[0];
    let started = row.started_ms().unwrap();
    assert!(row.scheduled_ms <= row.fired_ms.unwrap(), "{row:?}");
    assert!(started <= looked + 1 && looked <= row.ended_ms + 1, "{row:?} began before {looked}");
    assert_eq!(row.outcome, FireOutcome::Succeeded);
}

struct No;

impl TriggerListener for No {
    fn name(&self) -> &str {
        "no"
    }

    fn veto_job_execution(&self, _: &FireEvent<'_>) -> bool {
        true
    }
}

/// LT-54.
#[test]
fn a_veto_is_in_the_history() {
    let cluster = Cluster::new();
    let never = |_: &mut JobContext| -> Result<(), JobError> { panic!("a veto") };
    let node = cluster.node("n1", 1).job_fn("never", never).build().unwrap();
    node.listeners().add_trigger_listener(KeyMatcher::Everything, No);
    node.start().unwrap();
    let detail = job("j", "never");
    store(&node, &detail);
    let row = &rows(&node, &detail, 1)[0];
    assert_eq!((row.outcome, row.run_ms), (FireOutcome::Vetoed, None));
    assert!(row.fired_ms.is_some());
}

/// LT-86: the node that serves longest forgets by itself.
#[test]
fn a_node_forgets_what_is_too_much() {
    let cluster = Cluster::new();
    let nothing = |_: &mut JobContext| Ok::<_, JobError>(());
    let properties = "threadPool.threadCount = 2\ncarnelian.history.cleanUpInterval = 1s";
    let node = cluster.node_with("n1", properties).job_fn("nothing", nothing).build().unwrap();
    let detail = with_policy("j", "nothing", JobPolicy::new().keep_history(2)).to_builder().durable(true);
    node.add_job(&detail.build().unwrap(), IfExists::Refuse).unwrap();
    let other = job("other", "nothing").to_builder().durable(true).build().unwrap();
    node.add_job(&other, IfExists::Refuse).unwrap();
    let of = |name: &str| HistoryQuery::new().job(job(name, "nothing").key().clone());
    node.start().unwrap();
    for _ in 0..6 {
        node.trigger_job(job("j", "nothing").key(), JobDataMap::new()).unwrap();
        node.trigger_job(other.key(), JobDataMap::new()).unwrap();
    }
    wait_until("all have run", LONG, || node.history(&of("other")).unwrap().len() == 6);
    cluster.await_quiet();
    wait_until("two are left", LONG, || node.history(&of("j")).unwrap().len() == 2);
    assert_eq!(node.history(&of("other")).unwrap().len(), 6);
}
