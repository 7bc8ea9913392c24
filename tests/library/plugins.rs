//! Quartz's own plugins at work: a node starts from the unchanged files of a Java service, and the
//! log has the lines of the logging plugins.
#![cfg(all(feature = "sqlite", feature = "job-files", feature = "quartz-plugins"))]

use crate::support::{self, wait_until};
use carnelian::listener::{FireEvent, TriggerListener};
use carnelian::settings::{Settings, SettingsLoader};
use carnelian::{
    GroupMatcher, IfExists, Job, JobContext, JobDataMap, JobDetail, JobError, JobKey, JobPolicy, Scheduler,
    SimpleSchedule, StopReason, Trigger, TriggerKey,
};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

/// The lines of the history, of all tests of this program.
struct Lines(Mutex<Vec<String>>);

static LINES: Lines = Lines(Mutex::new(Vec::new()));

impl log::Log for Lines {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target() == "carnelian::history"
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            self.0.lock().push(format!("{} {}", record.level(), record.args()));
        }
    }

    fn flush(&self) {}
}

fn listen() {
    // The first test of the program installs it.
    let _ = log::set_logger(&LINES);
    log::set_max_level(log::LevelFilter::Info);
}

fn said(words: &str) -> bool {
    LINES.0.lock().iter().any(|line| line.contains(words))
}

/// The runs: job, trigger, and a text of the data.
type Ran = Arc<Mutex<Vec<(String, String, Option<String>)>>>;

/// Stands for a Java class of the service; it may not run twice at a time.
struct Noting(Ran);

impl Job for Noting {
    fn execute(&self, ctx: &mut JobContext) -> Result<carnelian::Outcome, JobError> {
        let ran =
            (ctx.job().key().to_string(), ctx.trigger().key().to_string(), ctx.data().text("site").map(str::to_owned));
        self.0.lock().push(ran);
        ctx.set_result("all counted");
        Ok(carnelian::Outcome::Succeeded)
    }

    fn flags(&self) -> Option<carnelian::job_file::JobFlags> {
        let alone = carnelian::job_file::JobFlags { disallow_concurrent_execution: true, ..Default::default() };
        Some(alone)
    }
}

#[test]
fn a_node_starts_from_the_files_of_a_java_service_as_they_are_and_its_jobs_run() {
    if !support::is_alone(module_path!(), "a_node_starts_from_the_files_of_a_java_service_as_they_are_and_its_jobs_run")
    {
        return;
    }
    listen();
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("warehouse.db").display().to_string();
    for (name, text) in [
        ("warehouse.properties", include_str!("../testdata/warehouse.properties")),
        ("quartz_data.xml", include_str!("../testdata/quartz_data.xml")),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let environment = |name: &str| (name == "WAREHOUSE_DB").then(|| database.clone());
    let settings = SettingsLoader::new().environment(environment).file(folder.path().join("warehouse.properties"));
    let ran = Ran::default();
    let class = |name: &str| format!("com.example.warehouse.jobs.{name}");
    let scheduler = Scheduler::builder()
        .settings(settings.unwrap_or_else(|errors| panic!("{errors}")))
        .job(class("StockReportJob"), Noting(Arc::clone(&ran)))
        .job(class("HeartbeatJob"), Noting(Arc::clone(&ran)))
        .job(class("InventoryJob"), Noting(Arc::clone(&ran)))
        .build()
        .unwrap();
    scheduler.store().database().migrate().unwrap();
    scheduler.start().unwrap();

    // Loaded before anything fires, and with what Java has as annotations.
    let jobs = scheduler.jobs(&GroupMatcher::Any).unwrap();
    let keys: Vec<_> = jobs.iter().map(|job| job.key().to_string()).collect();
    assert_eq!(keys, ["DEFAULT.Heartbeat", "warehouse.Inventory", "warehouse.StockReport"]);
    assert!(jobs.iter().all(JobDetail::disallows_concurrent_execution));
    assert!(scheduler.health().services.iter().any(|service| service.name == "job-files"));
    assert_eq!(scheduler.triggers(&GroupMatcher::Any).unwrap().len(), 4);

    // One whose time is now, and one whose time was years ago and is begun anew by its misfire
    // instruction.
    let has_run = |job: &str, trigger: &str| ran.lock().iter().any(|(j, t, _)| j == job && t == trigger);
    wait_until("the jobs run", LONG, || {
        has_run("DEFAULT.Heartbeat", "DEFAULT.heartbeat") && has_run("warehouse.Inventory", "warehouse.inventory")
    });
    wait_until("the history tells of it", LONG, || {
        said("INFO DEFAULT.Heartbeat starts, fired by DEFAULT.heartbeat for  ")
            && said("INFO DEFAULT.Heartbeat is done and says: all counted")
            && said("INFO Trigger DEFAULT.heartbeat fired job DEFAULT.Heartbeat at:  ")
            && said("INFO DEFAULT.heartbeat completed DEFAULT.Heartbeat with DO NOTHING")
            && said("INFO Trigger warehouse.inventory misfired job warehouse.Inventory  at:  ")
    });
    let misfire = LINES.0.lock().iter().find(|line| line.contains("warehouse.inventory misfired")).cloned().unwrap();
    assert!(misfire.contains("Should have fired at:  ") && misfire.ends_with("/09/2020"), "{misfire}");
    // `useProperties`: the data is text in the table.
    let report = scheduler.job(&JobKey::new("warehouse", "StockReport")).unwrap().unwrap();
    assert_eq!(report.data().text("query"), Some("select * from stock where amount < 10 && open"));
    assert!(scheduler.shutdown_and_wait().is_clean());
}

struct Veto;

impl TriggerListener for Veto {
    fn name(&self) -> &str {
        "veto"
    }

    fn veto_job_execution(&self, fire: &FireEvent<'_>) -> bool {
        fire.trigger().key().name() == "vetoed"
    }
}

#[test]
fn failures_and_vetoes_have_their_own_words() {
    if !support::is_alone(module_path!(), "failures_and_vetoes_have_their_own_words") {
        return;
    }
    listen();
    let properties = "plugin.h.class = LoggingJobHistoryPlugin\n\
         plugin.h.jobFailedMessage = {1}.{0} failed at {2,date,yyyy}, re-fired {7} times: {8}\n\
         plugin.h.jobWasVetoedMessage = {1}.{0} of {4}.{3} may not run, next {6}\n";
    let fail = |_: &mut JobContext| Err::<(), _>(JobError::new("no paper"));
    let scheduler = Scheduler::builder()
        .settings(Settings::from_text("test", properties, |_| None).unwrap())
        .job_fn("fail", fail)
        .trigger_listener(Veto)
        .build()
        .unwrap();
    scheduler.start().unwrap();
    for name in ["failing", "vetoed"] {
        let job = JobDetail::builder(JobKey::new("words", name), "fail").build().unwrap();
        let trigger = Trigger::builder(TriggerKey::new("words", name), job.key().clone());
        let trigger = trigger.schedule(SimpleSchedule::once()).build().unwrap();
        scheduler.schedule_job(job, trigger).unwrap();
    }
    wait_until("both are told", LONG, || {
        said("INFO words.vetoed of words.vetoed may not run, next null") && said("re-fired 0 times: no paper")
    });
    let failed = LINES.0.lock().iter().find(|line| line.contains("no paper")).cloned().unwrap();
    assert!(failed.starts_with("WARN words.failing failed at 20"), "{failed}");
    scheduler.shutdown_and_wait();
}

/// The runs that have ended, and the reason for which each was told to stop.
type Stopped = Arc<Mutex<Vec<(String, Option<StopReason>)>>>;

/// LT-83: `JobInterruptMonitorPlugin` as Quartz has it: who asks for it in the job's data is
/// interrupted after `MaxRunTime`, or after the plugin's own time; nobody else.
#[test]
fn runs_that_take_too_long_are_interrupted_as_the_plugin_says() {
    let properties = "plugin.m.class = org.quartz.plugins.interrupt.JobInterruptMonitorPlugin\n\
         plugin.m.defaultMaxRunTime = 300\n";
    let settings = Settings::from_text("test", properties, |_| None).unwrap();
    assert!(settings.warnings().is_empty(), "{:?}", settings.warnings());
    let stopped = Stopped::default();
    let noted = Arc::clone(&stopped);
    let until_stopped = move |ctx: &mut JobContext| {
        while ctx.wait(Duration::from_secs(60)) {}
        noted.lock().push((ctx.job().key().name().to_owned(), ctx.stop_reason()));
        Ok::<(), JobError>(())
    };
    let scheduler = Scheduler::builder().settings(settings).job_fn("loop", until_stopped).build().unwrap();
    scheduler.start().unwrap();
    let job = |name: &str| JobDetail::builder(JobKey::named(name), "loop").durable(true);
    let own = JobPolicy::new().timeout(Duration::from_secs(600));
    let jobs = [
        job("by the plugin").data("AutoInterruptable", true),
        job("by its data").data("AutoInterruptable", "true").data("MaxRunTime", 200_i64),
        job("by text").data("AutoInterruptable", "TRUE").data("MaxRunTime", "200"),
        job("in an hour").data("AutoInterruptable", true).data("MaxRunTime", 3_600_000_i64),
        job("by its policy").data("AutoInterruptable", true).policy(own),
        job("not asked").data("AutoInterruptable", false).data("MaxRunTime", 1_i64),
        job("never heard of it"),
    ];
    for job in jobs {
        let job = job.build().unwrap();
        let key = job.key().clone();
        scheduler.add_job(&job, IfExists::Refuse).unwrap();
        scheduler.trigger_job(&key, JobDataMap::new()).unwrap();
    }
    wait_until("three are interrupted", LONG, || stopped.lock().len() >= 3);
    let mut interrupted = stopped.lock().clone();
    interrupted.sort_by(|a, b| a.0.cmp(&b.0));
    let timed_out = |name: &str| (name.to_owned(), Some(StopReason::TimedOut));
    assert_eq!(interrupted, ["by its data", "by text", "by the plugin"].map(timed_out));
    wait_until("the others run on", LONG, || scheduler.running_here().len() == 4);
    let running = scheduler.running_here();
    assert!(running.iter().all(|run| scheduler.interrupt_fire(&run.fire_id)));
    assert!(scheduler.shutdown_and_wait().is_clean());
}
