//! Monitoring: a program shows of its scheduler metrics and health for its own endpoints, a file
//! for a liveness probe, alarms as they come. Ends by itself.

use carnelian::listener::SchedulerListener;
use carnelian::monitoring::Alarm;
use carnelian::settings::Settings;
use carnelian::{JobContext, JobDetail, JobKey, Scheduler, Trigger, TriggerKey};
use std::sync::mpsc;
use std::time::Duration;

/// A real program would wake somebody here.
struct Pager(mpsc::Sender<Alarm>);

impl SchedulerListener for Pager {
    fn name(&self) -> &str {
        "pager"
    }

    fn alarm(&self, alarm: &Alarm) {
        let _ = self.0.send(alarm.clone());
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = "
        org.quartz.threadPool.threadCount = 2
        carnelian.alarm.minNodes = 2
        carnelian.metrics.groupLabel = true
    ";
    let (page, pages) = mpsc::channel();
    let (done, runs) = mpsc::channel();
    let scheduler = Scheduler::builder()
        .settings(Settings::from_text("example", settings, |_| None)?)
        .scheduler_listener(Pager(page))
        .job_fn("greet", move |ctx: &mut JobContext| Ok(done.send(ctx.fire_id().to_owned())?))
        .build()?;
    scheduler.start()?;
    let job = JobDetail::builder(JobKey::new("billing", "greet"), "greet").build()?;
    scheduler.schedule_job(job.clone(), Trigger::builder(TriggerKey::named("now"), job.key().clone()).build()?)?;
    runs.recv_timeout(Duration::from_secs(30))?;

    // There should be two nodes, and there is one.
    let alarm = pages.recv_timeout(Duration::from_secs(30))?;
    println!("alarm {}: {}", alarm.kind, alarm.detail);
    // A program without a server touches a file every ten seconds, and the probe looks at its age.
    // No probe asks the database: its absence is no reason to end a process.
    let alive = std::env::temp_dir().join("carnelian-alive");
    if scheduler.health().is_live() {
        std::fs::write(&alive, b"alive\n")?;
    }
    println!("{} is there: {}", alive.display(), alive.exists());
    // Recorded, and so counted.
    let report = scheduler.shutdown_and_wait();
    println!("stopped cleanly: {}", report.is_clean());
    let health = scheduler.health();
    println!("GET /health\n{:#}", health.to_json());
    println!("GET /livez: {}, GET /readyz: {}", health.is_live(), health.is_ready());
    let text = scheduler.metrics_text();
    let fires = text.lines().filter(|line| line.contains("carnelian_fires_total"));
    println!("GET /metrics\n{}\n…", fires.collect::<Vec<_>>().join("\n"));
    Ok(())
}
