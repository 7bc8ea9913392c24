//! The first day with the library: what is missing or wrong is told at once, as what it is.
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql"))]

use crate::support::kept_log::lines_with;
use crate::support::{self, kept_log};
use carnelian::clock::{Clock, SystemClock};
use carnelian::settings::{Settings, ZoneSource};
use carnelian::{
    CalendarIntervalSchedule, CronSchedule, Error, FailureClass, IfExists, IntervalUnit, JobDefinition, JobDetail,
    JobKey, RetryPolicy, Schedule, Scheduler, Submission, Trigger, TriggerKey,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Longer than anything takes that is told at once, and far shorter than the pool waits.
const AT_ONCE: Duration = Duration::from_secs(10);

fn settings(lines: &str) -> Settings {
    Settings::from_text("first.properties", lines, |_| None).unwrap()
}

/// In the folder, with tables.
fn on_sqlite(folder: &tempfile::TempDir, lines: &str) -> Scheduler {
    let url = format!("sqlite:{}", folder.path().join("jobs.db").display());
    let scheduler = Scheduler::builder().settings(settings(lines)).database(url).build().unwrap();
    scheduler.migrate().unwrap();
    scheduler
}

fn job() -> JobDetail {
    JobDetail::builder(JobKey::named("report"), "report").build().unwrap()
}

fn daily() -> Trigger {
    let schedule = CronSchedule::new("0 0 3 * * ?").unwrap();
    Trigger::builder(TriggerKey::named("daily"), JobKey::named("report")).schedule(schedule).build().unwrap()
}

/// The failure of a start without retries, and what it says.
fn refused_at_once(url: &str) -> String {
    let clock = SystemClock::default();
    let error = Scheduler::builder().database(url).build().unwrap().start().unwrap_err();
    assert!(clock.ticks() < AT_ONCE, "{error} after {:?}", clock.ticks());
    assert_eq!(error.failure_class(), Some(FailureClass::Permanent), "{error}");
    error.to_string()
}

#[test]
fn a_missing_folder_is_named_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no/such");
    let error = refused_at_once(&format!("sqlite:{}", missing.join("jobs.db").display()));
    let expected = format!("its folder `{}` does not exist", missing.display());
    assert!(error.contains("jobs.db") && error.contains(&expected), "{error}");
    assert!(refused_at_once(&format!("sqlite:{}", folder.path().display())).contains("it is a folder"));
}

#[test]
fn the_log_promises_no_next_try_where_there_is_none() {
    if !support::is_alone(module_path!(), "the_log_promises_no_next_try_where_there_is_none") {
        return;
    }
    kept_log::keep(log::LevelFilter::Info);
    let folder = tempfile::tempdir().unwrap();
    refused_at_once(&format!("sqlite:{}", folder.path().join("no/jobs.db").display()));
    let lines = lines_with(&["database="]);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("WARN") && lines[0].contains("does not exist: make the folder"), "{lines:?}");
    assert!(!lines[0].contains("next try"), "{lines:?}");
}

#[test]
fn a_server_that_refuses_is_told_at_once() {
    for url in [support::postgres_url(), support::mysql_url()] {
        let (server, _) = url.rsplit_once('/').unwrap();
        let error = refused_at_once(&format!("{server}/no_such_database"));
        assert!(error.contains("no_such_database"), "{error}");
    }
}

/// MariaDB's client library knows no `ssl_mode`, and connected in clear text whatever the URL said.
#[test]
fn encryption_that_cannot_be_had_is_refused() {
    for (mode, reasons) in [
        ("required", ["session is not encrypted", "SSL is required"]),
        ("verify_identity", ["cannot be told to verify the server", "SSL is required"]),
    ] {
        let error = refused_at_once(&format!("{}?ssl_mode={mode}", support::mysql_url()));
        assert!(reasons.iter().any(|reason| error.contains(reason)), "{error}");
    }
}

#[test]
fn a_server_that_does_not_answer_is_in_the_log_at_the_first_try() {
    if !support::is_alone(module_path!(), "a_server_that_does_not_answer_is_in_the_log_at_the_first_try") {
        return;
    }
    kept_log::keep(log::LevelFilter::Info);
    let url = format!("postgres://ada:S3NT1NEL@127.0.0.1:{}/jobs", support::free_port());
    let scheduler = Scheduler::builder()
        .settings(settings(
            "jobStore.dataSource = d\ndataSource.d.URL = sqlite:x\ncarnelian.dataSource.connectionTimeout = 1500ms",
        ))
        .database(url)
        .build()
        .unwrap();
    let clock = SystemClock::default();
    let error = scheduler.schedule_job(job(), daily()).unwrap_err();
    // One wait for the database is a failure of the database: it is not waited for six times.
    assert!(clock.ticks() < AT_ONCE, "{error} after {:?}", clock.ticks());
    assert!(error.is_transient() && error.to_string().contains("no connection within 1500 ms"), "{error}");
    let lines = lines_with(&["no connection to the database", "next try within"]);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("WARN") && lines[0].contains("ada:***@127.0.0.1"), "{lines:?}");
    assert_eq!(lines_with(&["S3NT1NEL"]), Vec::<String>::new());
}

#[test]
fn missing_tables_are_told_with_the_way_to_make_them() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("jobs.db").display());
    let scheduler = Scheduler::builder().database(url).build().unwrap();
    for error in [scheduler.schedule_job(job(), daily()).unwrap_err(), scheduler.start().unwrap_err()] {
        let text = error.to_string();
        assert!(matches!(error, Error::Schema(_)) && text.contains("QRTZ_"), "{text}");
        assert!(text.contains("Scheduler::migrate") && text.contains("carnelian migrate"), "{text}");
    }
    scheduler.migrate().unwrap();
    scheduler.schedule_job(job(), daily()).unwrap();
}

/// `main() -> Result` shows the `Debug` of its error.
#[test]
fn a_main_that_fails_shows_every_mistake_on_a_line_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("carnelian.properties");
    std::fs::write(&file, "threadPool.threadCont = 5\njobStore.misfireThreshold = soon\n").unwrap();
    let error = Scheduler::builder().settings_file(&file).build().unwrap_err();
    let shown = format!("{:?}", Box::<dyn std::error::Error>::from(error));
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert!(shown.lines().all(|line| line.starts_with(file.to_str().unwrap())), "{shown}");
    let errors = Settings::from_file(&file).unwrap_err();
    assert_eq!(format!("{errors:?}"), errors.to_string());
}

#[test]
fn the_log_has_warnings_of_the_file_jobs_that_nobody_can_run_and_one_line_for_the_start() {
    if !support::is_alone(
        module_path!(),
        "the_log_has_warnings_of_the_file_jobs_that_nobody_can_run_and_one_line_for_the_start",
    ) {
        return;
    }
    kept_log::keep(log::LevelFilter::Info);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("carnelian.properties");
    let lines =
        "scheduler.instanceName = first\nscheduler.jmx.export = true\ncarnelian.scheduler.timeZone = Asia/Tokyo\n";
    std::fs::write(&file, lines).unwrap();
    let mistyped = JobDetail::builder(JobKey::named("mistyped"), "no.such.type").build().unwrap();
    let scheduler = Scheduler::builder()
        .settings_file(&file)
        .database(format!("sqlite:{}", folder.path().join("jobs.db").display()))
        .workers(3)
        .job_fn("report", |_| Ok(()))
        .define(JobDefinition::new(mistyped).cron("0 0 3 * * ?").unwrap())
        .build()
        .unwrap();
    let warnings = lines_with(&["WARN", "scheduler.jmx.export"]);
    assert_eq!(warnings.len(), 1, "{warnings:?}");

    scheduler.migrate().unwrap();
    scheduler.start().unwrap();
    let named = lines_with(&["WARN", "no live node has its type", "DEFAULT.mistyped", "no.such.type"]);
    assert_eq!(named.len(), 1, "{named:?}");
    let started = lines_with(&["INFO", "started"]);
    assert_eq!(started.len(), 1, "{started:?}");
    for fact in [
        "scheduler=first",
        "jobs.db",
        "workers=3",
        "members=1",
        "zone=Asia/Tokyo",
        "zone_from=\"carnelian.scheduler.timeZone\"",
        env!("CARGO_PKG_VERSION"),
    ] {
        assert!(started[0].contains(fact), "{fact}: {started:?}");
    }
    assert!(started[0].contains(&format!("instance={}", scheduler.instance_id())), "{started:?}");

    let taken = scheduler.submit(Submission::new("no.such.type")).unwrap();
    assert_eq!(taken.warning.as_deref(), Some("no live node has job type `no.such.type`"));
    assert_eq!(scheduler.submit(Submission::new("report")).unwrap().warning, None);
    scheduler.shutdown_and_wait();
}

/// The zone of a stored trigger.
fn zone_of(scheduler: &Scheduler, name: &str) -> String {
    match scheduler.trigger(&TriggerKey::named(name)).unwrap().unwrap().schedule() {
        Schedule::Cron(cron) => cron.zone().name().to_owned(),
        Schedule::CalendarInterval(interval) => interval.zone().name().to_owned(),
        other => panic!("{other:?}"),
    }
}

/// A cron expression without a zone is read in the scheduler's zone, whoever stores it, and keeps
/// that zone.
#[test]
fn schedules_without_a_zone_are_read_in_the_scheduler_s_zone() {
    let folder = tempfile::tempdir().unwrap();
    let scheduler = on_sqlite(&folder, "carnelian.scheduler.timeZone = America/New_York");
    let monthly = CalendarIntervalSchedule::every(1, IntervalUnit::Month);
    let monthly = Trigger::builder(TriggerKey::named("monthly"), JobKey::named("report")).schedule(monthly).build();
    let utc = CronSchedule::new("0 0 3 * * ?").unwrap().in_zone(chrono_tz::UTC);
    let utc = Trigger::builder(TriggerKey::named("utc"), JobKey::named("report")).schedule(utc).build().unwrap();
    let triggers = vec![daily(), monthly.unwrap(), utc];
    let stored = scheduler.schedule_jobs(vec![(job(), triggers)], IfExists::Refuse).unwrap();
    let hour = |trigger: &Trigger, zone: chrono_tz::Tz| {
        trigger.next_fire_time().unwrap().with_timezone(&zone).format("%H:%M").to_string()
    };
    assert_eq!(hour(&stored[0], chrono_tz::America::New_York), "03:00");
    assert_eq!(hour(&stored[2], chrono_tz::UTC), "03:00");
    let zones = ["America/New_York", "America/New_York", "UTC"];
    assert_eq!(["daily", "monthly", "utc"].map(|name| zone_of(&scheduler, name)), zones);

    // Stored schedules keep their zone when the default changes; definitions of a program follow.
    let defined = || {
        let detail = JobDetail::builder(JobKey::named("defined"), "report").build().unwrap();
        JobDefinition::new(detail).cron("0 0 3 * * ?").unwrap()
    };
    let url = format!("sqlite:{}", folder.path().join("jobs.db").display());
    for (zone, updated) in [("America/New_York", 0), ("America/New_York", 0), ("Asia/Tokyo", 1)] {
        let settings = settings(&format!("carnelian.scheduler.timeZone = {zone}"));
        let node = Scheduler::builder().settings(settings).database(&url).define(defined()).build().unwrap();
        let report = node.sync_definitions().unwrap();
        assert_eq!(report.updated.len(), updated, "{zone}: {report:?}");
        let next = node.triggers_of_job(&JobKey::named("defined")).unwrap()[0].next_fire_time().unwrap();
        assert_eq!(next.with_timezone(&zone.parse::<chrono_tz::Tz>().unwrap()).format("%H:%M").to_string(), "03:00");
        assert_eq!(["daily", "monthly", "utc"].map(|name| zone_of(&node, name)), zones);
    }
}

#[test]
fn the_origin_of_the_zone_is_known() {
    assert_eq!(settings("carnelian.scheduler.timeZone = UTC").scheduler.time_zone_source, ZoneSource::Property);
    assert_ne!(settings("").scheduler.time_zone_source, ZoneSource::Property);
}

/// Work from a request handler: with a request id, and tried again.
#[test]
fn a_submission_has_retries_a_timeout_and_a_delay() {
    let runs = std::sync::Arc::new(AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&runs);
    let flaky = move |_: &mut carnelian::JobContext| match counted.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => Err(carnelian::JobError::new("busy")),
        _ => Ok(()),
    };
    let scheduler = Scheduler::builder().job_fn("mail", flaky).build().unwrap();
    let retry = RetryPolicy::exponential(Duration::from_millis(10), 1.0).max_attempts(5);
    let mail = Submission::new("mail").request_id("order-17").retry(retry).timeout(Duration::from_secs(60));
    let before = SystemClock::default().wall_time();
    let submitted = scheduler.submit(mail.after(Duration::from_millis(50)).priority(7)).unwrap();
    assert!(submitted.is_new);
    let job = scheduler.job(&submitted.job).unwrap().unwrap();
    assert_eq!(job.policy().timeout_limit(), Some(Duration::from_secs(60)));
    let trigger = scheduler.triggers_of_job(&submitted.job).unwrap().remove(0);
    // Times are stored in whole milliseconds.
    let delay = trigger.start_time() - before;
    assert!(delay.num_milliseconds() >= 49, "{delay}");
    assert_eq!(trigger.priority(), 7);
    let at = before + chrono::TimeDelta::hours(3);
    let later = scheduler.submit(Submission::new("mail").request_id("order-18").at(at)).unwrap();
    let later = scheduler.triggers_of_job(&later.job).unwrap().remove(0);
    assert_eq!(later.next_fire_time().map(|time| time.timestamp_millis()), Some(at.timestamp_millis()));
    scheduler.start().unwrap();
    support::wait_until("the third try succeeds", AT_ONCE, || runs.load(Ordering::SeqCst) == 3);
    scheduler.shutdown_and_wait();
}
