//! Definitions that change while a cluster runs: job types come and go, and data changes its form.

use crate::scheduler::fixture::{Cluster, LONG, job, now};
use crate::support::wait_until;
use carnelian::clock::{Clock, SystemClock};
use carnelian::definitions::Orphan;
use carnelian::listener::SchedulerListener;
use carnelian::{
    Error, GroupMatcher, IfExists, JobContext, JobDataMap, JobDetail, JobError, JobKey, JobType, Scheduler,
    SchedulerBuilder, Trigger, TriggerKey, TriggerState,
};
use crossbeam_channel::{Sender, unbounded};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// Notes runs as `node job type data`.
#[derive(Clone)]
struct Note {
    node: &'static str,
    runs: Sender<String>,
}

impl carnelian::Job for Note {
    fn execute(&self, ctx: &mut JobContext) -> Result<carnelian::Outcome, JobError> {
        let data: String = ctx.data().iter().map(|(key, value)| format!(" {key}={value}")).collect();
        Ok(self.runs.send(format!("{} {} {}{data}", self.node, ctx.job().key().name(), ctx.job().job_type()))?.into())
    }
}

/// Hears which jobs are orphans.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl SchedulerListener for Recorder {
    fn name(&self) -> &str {
        "recorder"
    }
    fn orphaned_jobs(&self, orphans: &[Orphan]) {
        self.0.lock().extend(orphans.iter().map(|orphan| orphan.job.name().to_owned()));
    }
}

impl Recorder {
    fn await_alarm(&self, job: &str) {
        wait_until(&format!("an alarm for {job}"), LONG, || self.0.lock().iter().any(|heard| heard == job));
    }
}

/// With check-ins that follow each other closely, so that audits do.
fn hasty(mut cluster: Cluster) -> Cluster {
    cluster.checkin_interval = Duration::from_millis(100);
    cluster
}

fn node(cluster: &Cluster, name: &str, recorder: &Recorder) -> SchedulerBuilder {
    cluster.node(name, 2).scheduler_listener(recorder.clone())
}

/// `to` becomes `recipient`.
fn to_recipient(data: &mut JobDataMap) -> Result<(), JobError> {
    let to = data.remove("to").ok_or_else(|| JobError::new("no `to`"))?;
    data.put("recipient", to);
    Ok(())
}

fn durable(name: &str, job_type: &str) -> JobDetail {
    JobDetail::builder(JobKey::new("g", name), job_type).durable(true).data("to", name).build().unwrap()
}

/// Half an hour away: long before that, somebody must have said that nobody can run it.
fn later(job: &JobDetail) -> Trigger {
    starting_in(job, Duration::from_secs(30 * 60))
}

fn starting_in(job: &JobDetail, time: Duration) -> Trigger {
    let ms = SystemClock::default().wall_ms() + i64::try_from(time.as_millis()).unwrap();
    let start = chrono::DateTime::from_timestamp_millis(ms).unwrap();
    Trigger::builder(TriggerKey::new("g", job.key().name()), job.key().clone()).start_at(start).build().unwrap()
}

fn key(name: &str) -> JobKey {
    JobKey::new("g", name)
}

/// S9, DS-90…98: old nodes without the new type, new nodes without the old, and data in two forms.
/// Nothing goes to `ERROR`, each job runs on the node that knows it, and what nobody knows is named
/// before it is due.
fn rolling_upgrade(cluster: Cluster) {
    let cluster = hasty(cluster);
    let (runs, ran) = unbounded();
    let note = |node| Note { node, runs: runs.clone() };
    let next = || ran.recv_timeout(LONG).unwrap();
    let (old_ear, new_ear) = (Recorder::default(), Recorder::default());
    let old = node(&cluster, "old", &old_ear).job("mail", note("old")).job("legacy", note("old")).build().unwrap();
    old.start().unwrap();
    for (name, job_type) in [("m1", "mail"), ("l1", "legacy"), ("r1", "report")] {
        let detail = durable(name, job_type);
        old.schedule_job(detail.clone(), later(&detail)).unwrap();
    }
    // The program that stores work may be ahead of those that run it.
    old_ear.await_alarm("r1");
    assert_eq!(old.orphans().unwrap().jobs[0].reason(), "no live node has job type `report`");
    assert!(old.health().orphans == 1 && old.health().counters.orphaned_jobs >= 1);

    let mail = JobType::new(note("new")).upgrade(1, to_recipient);
    let new = node(&cluster, "new", &new_ear).job_type("mail", mail).job("report", note("new")).build().unwrap();
    new.start().unwrap();
    assert_eq!(new.orphans().unwrap().jobs, [], "they are published with the registration");
    old.trigger_job(&key("r1"), JobDataMap::new()).unwrap();
    assert_eq!(next(), "new r1 report to=r1");
    new.trigger_job(&key("l1"), JobDataMap::new()).unwrap();
    assert_eq!(next(), "old l1 legacy to=l1");
    // Data in the new form are left to the new node, however busy it is; in the old form they run
    // anywhere.
    let detail = JobDetail::builder(key("m2"), "mail").durable(true).data("recipient", "m2").build().unwrap();
    new.add_job(&detail, IfExists::Refuse).unwrap();
    for _ in 0..5 {
        old.trigger_job(&key("m2"), JobDataMap::new()).unwrap();
    }
    assert_eq!([next(), next(), next(), next(), next()], ["new m2 mail recipient=m2"; 5]);
    for _ in 0..5 {
        old.trigger_job(&key("m1"), JobDataMap::new()).unwrap();
        let run = next();
        assert!(["old m1 mail to=m1", "new m1 mail recipient=m1"].contains(&run.as_str()), "{run}");
    }

    cluster.await_quiet();
    assert!(old.shutdown_and_wait().is_clean());
    new_ear.await_alarm("l1");
    let orphans = new.orphans().unwrap().jobs;
    assert_eq!(orphans.iter().map(|orphan| orphan.job.clone()).collect::<Vec<_>>(), [key("l1")]);
    // The new type takes over what is stored under the old name, and then the name goes as well.
    new.register_job_alias("legacy", "mail").unwrap();
    wait_until("the old name is known", LONG, || new.orphans().unwrap().jobs.is_empty());
    new.trigger_job(&key("l1"), JobDataMap::new()).unwrap();
    assert_eq!(next(), "new l1 legacy recipient=l1");
    cluster.await_quiet();
    assert_eq!(new.preview_migration("legacy", "mail").unwrap().changed, [key("l1")]);
    assert_eq!(new.migrate_jobs("legacy", "mail").unwrap().changed, [key("l1")]);
    let migrated = new.job(&key("l1")).unwrap().unwrap();
    assert_eq!(
        (migrated.job_type(), migrated.version(), migrated.data().text("recipient")),
        ("mail", Some(2), Some("l1"))
    );
    new.trigger_job(&key("l1"), JobDataMap::new()).unwrap();
    assert_eq!(next(), "new l1 mail recipient=l1");

    cluster.await_quiet();
    let states = new.triggers(&GroupMatcher::Any).unwrap();
    let states: Vec<_> = states.iter().map(|trigger| (trigger.key.name(), trigger.state.as_str())).collect();
    assert_eq!(states, [("l1", "WAITING"), ("m1", "WAITING"), ("r1", "WAITING")]);
    assert_eq!(old.health().counters.failed + new.health().counters.failed, 0);
    assert!(new.shutdown_and_wait().is_clean());
    cluster.assert_sound();
}

#[test]
fn a_rolling_upgrade_on_memory() {
    rolling_upgrade(Cluster::new());
}

#[cfg(feature = "sqlite")]
#[test]
fn a_rolling_upgrade_on_sqlite() {
    rolling_upgrade(Cluster::on_sqlite());
}

#[cfg(feature = "postgres")]
#[test]
fn a_rolling_upgrade_on_postgres() {
    rolling_upgrade(Cluster::on_server(&crate::support::postgres_url()));
}

#[cfg(feature = "mysql")]
#[test]
fn a_rolling_upgrade_on_mysql() {
    rolling_upgrade(Cluster::on_server(&crate::support::mysql_url()));
}

/// A run stores its data in the form that it saw.
#[test]
fn upgraded_data_are_stored_by_a_job_that_persists_them() {
    let cluster = Cluster::new();
    let (runs, ran) = unbounded();
    let earlier = cluster.node("n1", 1).build().unwrap();
    let detail = |name| JobDetail::builder(key(name), "mail").durable(true).data("to", name);
    earlier.add_job(&detail("kept").persist_job_data_after_execution(true).build().unwrap(), IfExists::Refuse).unwrap();
    earlier.add_job(&detail("plain").build().unwrap(), IfExists::Refuse).unwrap();
    let mail = JobType::new(Note { node: "n2", runs }).upgrade(1, to_recipient).upgrade(2, |data| {
        data.put("copies", 1);
        Ok(())
    });
    let node = cluster.node("n2", 1).job_type("mail", mail).build().unwrap();
    node.start().unwrap();
    for _ in 0..2 {
        for name in ["kept", "plain"] {
            node.trigger_job(&key(name), JobDataMap::new()).unwrap();
            assert_eq!(ran.recv_timeout(LONG).unwrap(), format!("n2 {name} mail copies=1 recipient={name}"));
            cluster.await_quiet();
        }
    }
    let stored = |name: &str| node.job(&key(name)).unwrap().unwrap();
    assert_eq!((stored("kept").version(), stored("kept").data().text("recipient")), (Some(3), Some("kept")));
    assert_eq!((stored("plain").version(), stored("plain").data().text("to")), (Some(1), Some("plain")));
    assert!(node.shutdown_and_wait().is_clean());
}

/// The run fails, and its reason says why; the job's code does not see half of an upgrade.
#[test]
fn data_that_cannot_be_upgraded_fail_the_run() {
    let cluster = Cluster::new();
    let (ends, ended) = unbounded();
    struct Ends(Sender<Option<String>>);
    impl carnelian::listener::JobListener for Ends {
        fn name(&self) -> &str {
            "ends"
        }
        fn job_was_executed(&self, _: &carnelian::listener::FireEvent<'_>, end: &carnelian::listener::FireEnd) {
            let _ = self.0.send(end.error.clone());
        }
    }
    let mail = JobType::new(|_: &mut JobContext| -> Result<(), JobError> { panic!("it must not see this") })
        .upgrade(1, to_recipient);
    let node = cluster.node("n1", 1).job_type("mail", mail).job_listener(Ends(ends)).build().unwrap();
    node.start().unwrap();
    let detail = JobDetail::builder(key("j"), "mail").version(1).persist_job_data_after_execution(true);
    let detail = detail.durable(true).data("n", 1).build().unwrap();
    node.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    let why = ended.recv_timeout(LONG).unwrap().unwrap();
    assert_eq!(why, "the job's data cannot be upgraded from version 1: no `to`");
    cluster.await_quiet();
    assert_eq!(node.job(&key("j")).unwrap().unwrap(), detail);
    let migrated = node.migrate_jobs("mail", "mail").unwrap();
    assert_eq!(migrated.failed, [(key("j"), why)]);
    assert!(node.shutdown_and_wait().is_clean());
}

/// DS-97.
#[test]
fn a_deprecated_type_drains() {
    let cluster = Cluster::new();
    let (runs, ran) = unbounded();
    let detail = job("j", "letter");
    let nobody = cluster.node("n1", 1).build().unwrap();
    nobody.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    let letter = JobType::new(Note { node: "n2", runs }).deprecated("use `mail`");
    let node = cluster.node("n2", 1).job_type("letter", letter).build().unwrap();
    node.start().unwrap();
    assert_eq!(ran.recv_timeout(LONG).unwrap(), "n2 j letter");
    let other = job("k", "letter");
    let error = node.schedule_job(other.clone(), now("u", &other)).unwrap_err();
    assert!(matches!(error, Error::Refused(_)) && error.to_string().contains("is deprecated: use `mail`"), "{error}");
    assert!(node.submit(carnelian::Submission::new("letter")).is_err());
    let forced = other.to_builder().even_if_deprecated().build().unwrap();
    node.schedule_job(forced, now("u", &other)).unwrap();
    assert_eq!(ran.recv_timeout(LONG).unwrap(), "n2 k letter");
    cluster.await_quiet();
    assert!(node.shutdown_and_wait().is_clean());
}

/// DS-98, DS-100: what nobody has been able to run for long is deleted, if the settings say so.
#[test]
fn unresolved_jobs_are_deleted_when_the_settings_say_so() {
    let cluster = hasty(Cluster::new());
    let recorder = Recorder::default();
    let settings =
        |more: &str| format!("threadPool.threadCount = 1\ncarnelian.jobStore.orphanAuditInterval = 10ms\n{more}");
    let keeping = cluster.node_with("n1", &settings("")).scheduler_listener(recorder.clone()).build().unwrap();
    keeping.start().unwrap();
    keeping.add_job(&durable("j", "gone"), IfExists::Refuse).unwrap();
    // An idle one is named by the audits, again and again.
    wait_until("three alarms", LONG, || recorder.0.lock().len() >= 3);
    assert!(keeping.job_exists(&key("j")).unwrap());
    assert!(keeping.orphans().unwrap().jobs[0].since_ms.is_some());
    assert!(keeping.shutdown_and_wait().is_clean());

    let deleting = settings("carnelian.jobStore.deleteUnresolvedAfter = 50ms");
    let deleting = cluster.node_with("n2", &deleting).build().unwrap();
    deleting.start().unwrap();
    wait_until("it is deleted", LONG, || !deleting.job_exists(&key("j")).unwrap());
    wait_until("health says so", LONG, || deleting.health().orphans == 0);
    assert!(deleting.shutdown_and_wait().is_clean());
}

/// An orphan that is due soon is named at once, and once. Orphans that wait for long are left to
/// the audit of the day.
#[test]
fn an_alarm_is_given_once_before_a_job_is_due() {
    let cluster = hasty(Cluster::new());
    let recorder = Recorder::default();
    let node = node(&cluster, "n1", &recorder).build().unwrap();
    node.start().unwrap();
    let first = durable("first", "gone");
    node.schedule_job(first.clone(), later(&first)).unwrap();
    recorder.await_alarm("first");
    let (far, second) = (durable("far", "gone"), durable("second", "gone"));
    let tomorrow = starting_in(&far, Duration::from_secs(24 * 3600));
    node.schedule_job(far, tomorrow).unwrap();
    node.schedule_job(second.clone(), later(&second)).unwrap();
    recorder.await_alarm("second");
    assert_eq!(*recorder.0.lock(), ["first", "second"]);
    assert_eq!(node.trigger_state(&TriggerKey::new("g", "first")).unwrap(), Some(TriggerState::Waiting));
    assert!(node.shutdown_and_wait().is_clean());
}

#[test]
fn a_renamed_job_is_told_of_as_two() {
    let cluster = Cluster::new();
    #[derive(Clone, Default)]
    struct Names(Arc<Mutex<Vec<String>>>);
    impl SchedulerListener for Names {
        fn name(&self) -> &str {
            "names"
        }
        fn job_added(&self, job: &JobDetail) {
            self.0.lock().push(format!("+{}", job.key().name()));
        }
        fn job_deleted(&self, job: &JobKey) {
            self.0.lock().push(format!("-{}", job.name()));
        }
    }
    let names = Names::default();
    let node: Scheduler = cluster.node("n1", 1).scheduler_listener(names.clone()).build().unwrap();
    let detail = durable("old", "mail");
    node.schedule_job(detail.clone(), later(&detail)).unwrap();
    assert_eq!(node.preview_rename(&key("old"), &key("new")).unwrap().triggers, 1);
    assert_eq!(node.rename_job(&key("old"), &key("new")).unwrap().triggers, 1);
    assert_eq!(*names.0.lock(), ["+old", "-old", "+new"]);
    assert!(node.rename_job(&key("old"), &key("new")).unwrap_err().is_not_found());
}

#[test]
fn what_is_wrong_with_a_type_is_said_when_it_is_registered() {
    let cluster = Cluster::new();
    let nothing = || JobType::new(|_: &mut JobContext| Ok(()));
    let error = cluster.node("n1", 1).job_type("t", nothing().upgrade(2, |_| Ok(()))).build().unwrap_err();
    assert!(error.to_string().contains("add `.upgrade(1, …)`"), "{error}");
    let error = cluster.node("n1", 1).job_alias("old", "t").build().unwrap_err();
    assert!(error.to_string().contains("register the type before its old names"), "{error}");
    let node = cluster.node("n1", 1).job_type("t", nothing()).job_alias("old", "t").build().unwrap();
    assert_eq!(node.job_types(), ["t", "old"]);
}
