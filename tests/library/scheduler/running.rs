//! One fire from its begin to its end.

use crate::scheduler::fixture::{Cluster, LONG, job, now};
use crate::support::wait_until;
use carnelian::history::{FireOutcome, HistoryQuery};
use carnelian::listener::{FireEnd, FireEvent, JobListener, SchedulerListener, TriggerListener};
use carnelian::store::CompletionInstruction;
use carnelian::{
    GroupMatcher, IfExists, JobContext, JobDetail, JobError, JobKey, SimpleSchedule, Submission, Trigger, TriggerKey,
    TriggerState,
};
use crossbeam_channel::{Receiver, Sender, unbounded};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// Writes down what it hears.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl Recorder {
    fn hear(&self, what: impl Into<String>) {
        self.0.lock().push(what.into());
    }
    fn heard(&self) -> Vec<String> {
        self.0.lock().clone()
    }
}

impl JobListener for Recorder {
    fn name(&self) -> &str {
        "recorder"
    }
    fn job_to_be_executed(&self, _: &FireEvent<'_>) {
        self.hear("to be executed");
    }
    fn job_execution_vetoed(&self, _: &FireEvent<'_>) {
        self.hear("vetoed");
    }
    fn job_was_executed(&self, _: &FireEvent<'_>, end: &FireEnd) {
        self.hear(format!("was executed: {} {:?}", end.outcome, end.result));
    }
}

impl TriggerListener for Recorder {
    fn name(&self) -> &str {
        "recorder"
    }
    fn trigger_fired(&self, _: &FireEvent<'_>) {
        self.hear("fired");
    }
    fn veto_job_execution(&self, fire: &FireEvent<'_>) -> bool {
        self.hear("asked");
        fire.job().key().name() == "unwanted"
    }
    fn trigger_complete(&self, _: &FireEvent<'_>, instruction: CompletionInstruction) {
        self.hear(format!("complete: {instruction:?}"));
    }
}

impl SchedulerListener for Recorder {
    fn name(&self) -> &str {
        "recorder"
    }
    fn trigger_finalized(&self, trigger: &TriggerKey) {
        self.hear(format!("finalized: {trigger}"));
    }
    fn scheduler_error(&self, message: &str) {
        self.hear(format!("error: {message}"));
    }
}

fn run_channel() -> (Sender<String>, Receiver<String>) {
    unbounded()
}

#[test]
fn a_due_trigger_runs_its_job_once_with_its_data_and_goes() {
    let (cluster, recorder) = (Cluster::new(), Recorder::default());
    let (sender, runs) = run_channel();
    let name = cluster.name.clone();
    let node = cluster
        .node("n1", 2)
        .job_fn("note", move |ctx: &mut JobContext| {
            assert!(ctx.holds_fire() && !ctx.should_stop());
            assert_eq!((ctx.instance_id(), ctx.scheduler_name(), ctx.attempt()), ("n1", name.as_str(), 0));
            ctx.set_result("fine");
            let text = format!("{} {}", ctx.data().text("a").unwrap(), ctx.data().text("b").unwrap());
            sender.send(text)?;
            Ok(())
        })
        .job_listener(recorder.clone())
        .trigger_listener(recorder.clone())
        .scheduler_listener(recorder.clone())
        .build()
        .unwrap();
    node.start().unwrap();
    let detail = JobDetail::builder(JobKey::named("j"), "note").data("a", "1").data("b", "2").build().unwrap();
    let trigger = Trigger::builder(TriggerKey::named("t"), detail.key().clone()).data("b", "3").build().unwrap();
    node.schedule_job(detail, trigger).unwrap();
    assert_eq!(runs.recv_timeout(LONG).unwrap(), "1 3");
    wait_until("the trigger is finalized", LONG, || recorder.heard().iter().any(|line| line.starts_with("finalized")));
    assert_eq!(
        recorder.heard(),
        [
            "fired",
            "asked",
            "to be executed",
            "was executed: succeeded Some(\"fine\")",
            "complete: NoInstruction",
            "finalized: DEFAULT.t"
        ]
    );
    assert!(!node.trigger_exists(&TriggerKey::named("t")).unwrap());
    assert!(!node.job_exists(&JobKey::named("j")).unwrap());
    assert!(node.shutdown_and_wait().is_clean());
    assert!(node.health().services.iter().all(|service| service.errors + service.panics == 0));
    assert_eq!(node.health().counters.succeeded, 1);
    cluster.assert_sound();
}

#[test]
fn a_veto_keeps_the_job_from_running_and_the_fire_still_ends() {
    let (cluster, recorder) = (Cluster::new(), Recorder::default());
    let node = cluster
        .node("n1", 1)
        .job_fn("never", |_: &mut JobContext| -> Result<(), JobError> { panic!("it was vetoed") })
        .job_listener_for(GroupMatcher::equals("g"), recorder.clone())
        .trigger_listener(recorder.clone())
        .build()
        .unwrap();
    node.start().unwrap();
    let unwanted = job("unwanted", "never");
    node.schedule_job(unwanted.clone(), now("t", &unwanted)).unwrap();
    wait_until("it was vetoed", LONG, || node.health().counters.vetoed == 1);
    cluster.await_quiet();
    assert_eq!(recorder.heard(), ["fired", "asked", "vetoed"]);
    assert!(!node.trigger_exists(&TriggerKey::new("g", "t")).unwrap());
    cluster.assert_sound();
}

/// As in Quartz, listeners are told and asked again before a job runs again in the same fire.
#[test]
fn a_veto_ends_a_job_that_asks_for_ever_to_run_again() {
    struct Enough;
    impl TriggerListener for Enough {
        fn name(&self) -> &str {
            "enough"
        }
        fn veto_job_execution(&self, fire: &FireEvent<'_>) -> bool {
            fire.refire_count() == 2
        }
    }
    let (cluster, recorder) = (Cluster::new(), Recorder::default());
    let node = cluster
        .node("n1", 1)
        .job_fn("for ever", |_: &mut JobContext| Err::<(), _>(JobError::new("again").refire_immediately()))
        .job_listener(recorder.clone())
        .trigger_listener(recorder.clone())
        .trigger_listener(Enough)
        .build()
        .unwrap();
    node.start().unwrap();
    let job = job("stubborn", "for ever");
    node.schedule_job(job.clone(), now("t", &job)).unwrap();
    wait_until("it was vetoed", LONG, || node.health().counters.vetoed == 1);
    cluster.await_quiet();
    let round = ["fired", "asked", "to be executed", "was executed: failed None", "complete: NoInstruction"];
    assert_eq!(recorder.heard(), [&round[..], &round[..], &["fired", "asked", "vetoed"]].concat());
    let ended = node.history(&HistoryQuery::new()).unwrap();
    assert_eq!(
        ended.iter().map(|run| (run.outcome, run.run_ms.is_some())).collect::<Vec<_>>(),
        [(FireOutcome::Vetoed, true)]
    );
    assert!(!node.trigger_exists(&TriggerKey::new("g", "t")).unwrap());
    cluster.assert_sound();
}

struct Clumsy;
impl JobListener for Clumsy {
    fn name(&self) -> &str {
        "clumsy"
    }
    fn job_to_be_executed(&self, _: &FireEvent<'_>) {
        panic!("before");
    }
    fn job_was_executed(&self, _: &FireEvent<'_>, _: &FireEnd) {
        std::panic::panic_any(17);
    }
}
impl TriggerListener for Clumsy {
    fn name(&self) -> &str {
        "clumsy"
    }
    fn veto_job_execution(&self, _: &FireEvent<'_>) -> bool {
        panic!("undecided");
    }
}

#[test]
fn panics_of_jobs_and_listeners_leak_neither_fire_nor_worker() {
    let (cluster, recorder) = (Cluster::new(), Recorder::default());
    let node = cluster
        .node("n1", 1)
        .job_fn("bomb", |_: &mut JobContext| -> Result<(), JobError> { panic!("no good") })
        .job_listener(Clumsy)
        .trigger_listener(Clumsy)
        .scheduler_listener(recorder.clone())
        .build()
        .unwrap();
    node.start().unwrap();
    let detail = JobDetail::builder(JobKey::new("g", "j"), "bomb")
        .disallow_concurrent_execution(true)
        .durable(true)
        .build()
        .unwrap();
    let triggers = (0..5).map(|n| now(&format!("t{n}"), &detail)).collect();
    node.schedule_jobs(vec![(detail, triggers)], IfExists::Refuse).unwrap();
    wait_until("all have failed", LONG, || node.health().counters.failed == 5);
    cluster.await_quiet();
    wait_until("the worker is free", LONG, || node.health().free_workers == 1);
    assert!(node.triggers(&GroupMatcher::Any).unwrap().is_empty());
    assert!(
        recorder.heard().contains(&"error: job `g.j` panicked: panic: no good".to_owned()),
        "{:?}",
        recorder.heard()
    );
    cluster.assert_sound();
}

#[test]
fn what_a_job_error_asks_for_is_done() {
    let (cluster, recorder) = (Cluster::new(), Recorder::default());
    let node = cluster
        .node("n1", 1)
        .job_fn("again", |ctx: &mut JobContext| match ctx.refire_count() {
            3 => Ok(()),
            _ => Err(JobError::new("once more").refire_immediately()),
        })
        .job_fn("no more", |_: &mut JobContext| Err::<(), _>(JobError::new("enough").unschedule_all_triggers()))
        .job_fn("not I", |_: &mut JobContext| Err::<(), _>(JobError::new("enough").unschedule_firing_trigger()))
        .trigger_listener(recorder.clone())
        .build()
        .unwrap();
    node.start().unwrap();
    let again = job("again", "again");
    node.schedule_job(again.clone(), now("again", &again)).unwrap();
    cluster.await_quiet();
    wait_until("it was repeated", LONG, || node.health().counters.succeeded == 1);
    assert_eq!(node.health().counters.failed, 3);
    assert_eq!(recorder.heard().iter().filter(|line| *line == "fired").count(), 4, "before each run");

    let for_ever = |name: &str, job: &JobDetail| {
        Trigger::builder(TriggerKey::new("g", name), job.key().clone())
            .schedule(SimpleSchedule::every(Duration::from_secs(3600)))
            .build()
            .unwrap()
    };
    for (job_type, gone) in [("no more", vec!["a", "b"]), ("not I", vec!["a"])] {
        let detail = JobDetail::builder(JobKey::new("g", "j"), job_type).durable(true).build().unwrap();
        let later = Trigger::builder(TriggerKey::new("g", "b"), detail.key().clone())
            .start_at(chrono::DateTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000))
            .build()
            .unwrap();
        node.schedule_jobs(vec![(detail.clone(), vec![for_ever("a", &detail), later])], IfExists::Replace).unwrap();
        for name in gone {
            let key = TriggerKey::new("g", name);
            wait_until("the trigger is gone or complete", LONG, || {
                matches!(node.trigger_state(&key).unwrap(), None | Some(TriggerState::Complete))
            });
        }
        cluster.await_quiet();
    }
    assert_eq!(node.trigger_state(&TriggerKey::new("g", "b")).unwrap(), Some(TriggerState::Waiting));
}

#[test]
fn data_is_kept_from_run_to_run_if_the_job_says_so() {
    let cluster = Cluster::new();
    let count = |ctx: &mut JobContext| {
        let n = ctx.job_data().integer("n").unwrap_or(0);
        ctx.job_data_mut().put("n", n + 1);
        if n % 2 == 0 { Ok(()) } else { Err(JobError::new("kept all the same")) }
    };
    let node = cluster.node("n1", 4).job_fn("count", count).build().unwrap();
    node.start().unwrap();
    for (name, persists, expected) in [("kept", true, Some(10)), ("lost", false, None)] {
        let detail = JobDetail::builder(JobKey::new("g", name), "count")
            .persist_job_data_after_execution(persists)
            .disallow_concurrent_execution(true)
            .durable(true)
            .build()
            .unwrap();
        let triggers = (0..10).map(|n| now(&format!("{name}{n}"), &detail)).collect();
        node.schedule_jobs(vec![(detail.clone(), triggers)], IfExists::Refuse).unwrap();
        wait_until("all triggers are gone", LONG, || node.triggers_of_job(detail.key()).unwrap().is_empty());
        cluster.await_quiet();
        assert_eq!(node.job(detail.key()).unwrap().unwrap().data().integer("n"), expected, "{name}");
    }
}

#[test]
fn a_trigger_that_is_due_soon_waits_for_its_millisecond() {
    let cluster = Cluster::new();
    let (sender, runs) = unbounded();
    let clock = Arc::clone(&cluster.clock);
    let node = cluster
        .node("n1", 2)
        .job_fn("note", move |ctx: &mut JobContext| {
            let late = clock.wall_time().timestamp_millis() - ctx.scheduled_fire_time().timestamp_millis();
            sender.send(late)?;
            Ok(())
        })
        .build()
        .unwrap();
    node.start().unwrap();
    let detail = job("j", "note");
    let start = cluster.clock.wall_time() + chrono::TimeDelta::milliseconds(400);
    let soon = Trigger::builder(TriggerKey::named("soon"), detail.key().clone()).start_at(start).build().unwrap();
    node.schedule_job(detail, soon).unwrap();
    wait_until("it is reserved", LONG, || node.health().reserved == 1);
    let late = runs.recv_timeout(LONG).unwrap();
    assert!((0..2000).contains(&late), "{late} ms late");
    cluster.await_quiet();
    assert_eq!(node.health().reserved, 0);
}

#[test]
fn an_interrupted_job_wakes_and_is_cancelled() {
    let cluster = Cluster::new();
    let outcomes = Arc::new(Mutex::new(Vec::new()));
    struct Outcomes(Arc<Mutex<Vec<FireOutcome>>>);
    impl JobListener for Outcomes {
        fn name(&self) -> &str {
            "outcomes"
        }
        fn job_was_executed(&self, _: &FireEvent<'_>, end: &FireEnd) {
            self.0.lock().push(end.outcome);
        }
    }
    let node = cluster
        .node("n1", 2)
        .job_fn("sleep", |ctx: &mut JobContext| match ctx.wait(Duration::from_secs(3600)) {
            true => Ok(()),
            false => Err(JobError::new("told to stop")),
        })
        .job_listener(Outcomes(Arc::clone(&outcomes)))
        .build()
        .unwrap();
    node.start().unwrap();
    let detail = job("j", "sleep");
    node.schedule_jobs(vec![(detail.clone(), vec![now("a", &detail), now("b", &detail)])], IfExists::Refuse).unwrap();
    wait_until("both run", LONG, || node.running_here().iter().filter(|run| run.running_for.is_some()).count() == 2);
    assert_eq!(node.running_fires().unwrap().len(), 2);
    assert_eq!(node.interrupt(&JobKey::named("other")), 0);
    assert!(!node.interrupt_fire("no such fire"));
    let first = node.running_here()[0].fire_id.clone();
    assert!(node.interrupt_fire(&first));
    wait_until("one has ended", LONG, || node.running_here().len() == 1);
    assert_eq!(node.interrupt(detail.key()), 1);
    wait_until("both have ended", LONG, || node.running_here().is_empty());
    assert_eq!(*outcomes.lock(), [FireOutcome::Cancelled; 2]);
    cluster.await_quiet();
}

/// A job that makes the next one: Quartz's chains of jobs are made by jobs, through the scheduler
/// in their context.
#[test]
fn a_job_schedules_another_and_finds_what_a_listener_left() {
    struct Mark(u32);
    #[derive(Clone)]
    struct Marks;
    impl JobListener for Marks {
        fn name(&self) -> &str {
            "marks"
        }
        fn job_to_be_executed(&self, fire: &FireEvent<'_>) {
            assert_eq!((fire.previous_fire_time(), fire.next_fire_time(), fire.calendar()), (None, None, None));
            assert_eq!(fire.data().text("x"), Some("trigger"));
            fire.values().put(Mark(7));
        }
        fn job_was_executed(&self, fire: &FireEvent<'_>, _: &FireEnd) {
            assert!(fire.values().get::<String>().is_some());
        }
    }
    let cluster = Cluster::new();
    let (ran, runs) = unbounded();
    let first = move |ctx: &mut JobContext| {
        let next = job("next", "second");
        let trigger = Trigger::builder(TriggerKey::new("g", "next"), next.key().clone()).data("x", "trigger");
        ctx.scheduler()?.schedule_job(next, trigger.build()?)?;
        let mark = ctx.values().get::<Mark>().ok_or_else(|| JobError::new("no mark"))?;
        ctx.values().put("done".to_owned());
        assert_eq!(mark.0, 7);
        Ok(())
    };
    let second = move |ctx: &mut JobContext| {
        ctx.values().put(String::new());
        Ok(ran.send(ctx.job().key().clone())?)
    };
    let node = cluster.node("n1", 1).job_fn("first", first).job_fn("second", second).job_listener(Marks);
    let node = node.build().unwrap();
    node.start().unwrap();
    let detail = JobDetail::builder(JobKey::new("g", "j"), "first").data("x", "job").build().unwrap();
    let trigger = Trigger::builder(TriggerKey::new("g", "t"), detail.key().clone()).data("x", "trigger");
    node.schedule_job(detail.clone(), trigger.build().unwrap()).unwrap();
    assert_eq!(runs.recv_timeout(LONG).unwrap(), JobKey::new("g", "next"));
    cluster.await_quiet();
    assert_eq!(node.health().counters.failed, 0);
    cluster.assert_sound();
}

/// PA-40: what a run kept is there for the next one of the same work, and gone when the work is
/// done.
#[test]
fn a_run_goes_on_from_the_last_checkpoint() {
    let cluster = Cluster::new();
    let (saw, sights) = unbounded();
    let steps = move |ctx: &mut JobContext| {
        let begin = ctx.resume::<u32>()?.unwrap_or(0);
        saw.send((begin, ctx.checkpoint_version()))?;
        for step in begin..4 {
            if step == 2 && ctx.refire_count() == 0 {
                return Err(JobError::new("half done").refire_immediately());
            }
            ctx.checkpoint(&(step + 1))?;
        }
        let wrong = ctx.resume::<String>().err().map(|error| error.to_string()).unwrap_or_default();
        assert!(wrong.contains("CN_CHECKPOINTS") && wrong.contains("version 4"), "{wrong}");
        Ok(())
    };
    let node = cluster.node("n1", 1).job_fn("steps", steps).build().unwrap();
    node.start().unwrap();
    for name in ["first", "second"] {
        let detail = job(name, "steps");
        node.schedule_job(detail.clone(), now(name, &detail)).unwrap();
        assert_eq!(sights.recv_timeout(LONG).unwrap(), (0, 0));
        assert_eq!(sights.recv_timeout(LONG).unwrap(), (2, 2));
    }
    cluster.await_quiet();
    assert_eq!(node.store().upkeep().audit().unwrap().swept, 0, "the checkpoints went with their fires");
    cluster.assert_sound();
}

#[test]
fn submitted_work_is_done_once_for_each_request() {
    let cluster = Cluster::new();
    let (ran, runs) = unbounded();
    let work = move |ctx: &mut JobContext| Ok(ran.send(ctx.data().integer("n").unwrap_or(-1))?);
    let node = cluster.node("n1", 4).job_fn("work", work).build().unwrap();
    node.start().unwrap();
    let all = |n: i64| Submission::new("work").data("n", n).request_id(format!("request {}", n / 2)).description("x");
    let taken = node.submit_all((0..20).map(all)).unwrap();
    assert_eq!(taken.iter().filter(|one| one.is_new).count(), 10);
    assert!(taken.chunks(2).all(|pair| pair[0].job == pair[1].job && pair[0].is_new && !pair[1].is_new));
    let mut seen: Vec<i64> = (0..10).map(|_| runs.recv_timeout(LONG).unwrap()).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..10).map(|n| n * 2).collect::<Vec<_>>());
    cluster.await_quiet();
    assert!(!node.submit(all(0)).unwrap().is_new, "it is known after it was done");
    assert!(node.submit(Submission::new("work")).unwrap().is_new);
    assert_eq!(runs.recv_timeout(LONG).unwrap(), -1);
    cluster.await_quiet();
    assert!(node.jobs(&GroupMatcher::Any).unwrap().is_empty());
    cluster.assert_sound();
}
