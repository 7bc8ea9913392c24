//! Jobs that the program defines in its code: stored at the first start, left alone at the second,
//! updated by new code.
//!
//! `cargo run --example definitions`

use carnelian::settings::Settings;
use carnelian::{JobDefinition, JobDetail, JobKey, Scheduler};

/// The jobs that the program declares, in two versions of it.
fn nightly(hour: u32) -> carnelian::Result<JobDefinition> {
    let job =
        JobDetail::builder(JobKey::new("billing", "nightly"), "billing.close_day").requests_recovery(true).build()?;
    JobDefinition::new(job).cron(&format!("0 0 {hour} * * ?"))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let properties = format!(
        "org.quartz.jobStore.class = org.quartz.impl.jdbcjobstore.JobStoreTX\n\
         org.quartz.jobStore.dataSource = db\n\
         org.quartz.dataSource.db.URL = jdbc:sqlite:{}\n",
        folder.path().join("jobs.db").display()
    );
    let settings = Settings::from_text("example", &properties, |_| None)?;
    for hour in [2, 2, 3] {
        let scheduler = Scheduler::builder()
            .settings(settings.clone())
            .job_fn("billing.close_day", |_| Ok(()))
            .define(nightly(hour)?)
            .build()?;
        scheduler.migrate()?;
        let plan = scheduler.preview_definitions()?;
        println!("at {hour}: inserted={:?} updated={:?} left={:?}", plan.inserted, plan.updated, plan.left);
        scheduler.start()?;
        scheduler.shutdown_and_wait();
    }
    Ok(())
}
