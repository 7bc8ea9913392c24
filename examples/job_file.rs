//! A job file of Quartz: read, looked at, stored; its jobs run under their Java class names.

use carnelian::job_file::{JobFile, JobFlags};
use carnelian::{Job, JobContext, JobError, Outcome, Scheduler};
use std::error::Error;
use std::time::Duration;

/// The `quartz_data.xml` of a Java team.
const QUARTZ_DATA: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<job-scheduling-data xmlns="http://www.quartz-scheduler.org/xml/JobSchedulingData" version="2.0">
    <schedule>
        <job>
            <name>StockReport</name>
            <group>warehouse</group>
            <job-class>com.example.warehouse.StockReportJob</job-class>
            <job-data-map>
                <entry><key>hall</key><value>7</value></entry>
            </job-data-map>
        </job>
        <trigger>
            <simple>
                <name>thrice</name>
                <job-name>StockReport</job-name>
                <job-group>warehouse</job-group>
                <repeat-count>2</repeat-count>
                <repeat-interval>500</repeat-interval>
            </simple>
        </trigger>
    </schedule>
</job-scheduling-data>"#;

/// Stands for the Java class, with what its annotations say.
struct StockReport;

impl Job for StockReport {
    fn execute(&self, ctx: &mut JobContext) -> Result<Outcome, JobError> {
        let hall = ctx.data().integer("hall").ok_or_else(|| JobError::new("no `hall` in the data"))?;
        println!("{}: the stock of hall {hall}", ctx.scheduled_fire_time().format("%H:%M:%S%.3f"));
        Ok(Outcome::Succeeded)
    }

    fn flags(&self) -> Option<JobFlags> {
        Some(JobFlags { disallow_concurrent_execution: true, persist_job_data_after_execution: false })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // A file on disk is read by `JobFile::read`, or by the node itself if its properties name the
    // plugin.
    let file = JobFile::parse("quartz_data.xml", QUARTZ_DATA.as_bytes(), chrono_tz::UTC)?;
    let scheduler = Scheduler::builder().job("com.example.warehouse.StockReportJob", StockReport).build()?;
    let imported = scheduler.import(&file)?;
    println!("stored {} job and {} trigger", imported.jobs.len(), imported.triggers.len());
    scheduler.start()?;
    std::thread::sleep(Duration::from_secs(2));
    scheduler.shutdown_and_wait();

    // A mistake is named with its place, and nothing is stored.
    let wrong = QUARTZ_DATA.replace("<repeat-interval>500<", "<repeat-interval>often<");
    if let Err(errors) = JobFile::parse("quartz_data.xml", wrong.as_bytes(), chrono_tz::UTC) {
        println!("{errors}");
    }
    Ok(())
}
