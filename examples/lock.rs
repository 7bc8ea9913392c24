//! A lock of the application: two nodes on one SQLite file write a report in turn, never both at
//! once; and a holder that stood still is refused by its fence.

use carnelian::Scheduler;
use carnelian::settings::Settings;
use std::error::Error;
use std::sync::Mutex;
use std::time::Duration;

/// The resource that the lock guards: it keeps the largest fence that it has seen, and refuses
/// smaller ones.
#[derive(Default)]
struct Report {
    fence: i64,
    lines: Vec<String>,
}

impl Report {
    fn write(&mut self, fence: i64, line: String) -> Result<(), String> {
        if fence < self.fence {
            return Err(format!("refused: fence {fence} is older than {}", self.fence));
        }
        self.fence = fence;
        self.lines.push(line);
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("jobs.db").display().to_string();
    let node = |name: &str| -> Result<Scheduler, Box<dyn Error>> {
        let text =
            format!("jobStore.class = JobStoreTX\njobStore.dataSource = db\ndataSource.db.URL = sqlite:{file}\n");
        let settings = Settings::from_text("example", &text, |_| None)?;
        // Locks need no started node.
        let scheduler = Scheduler::builder().settings(settings).instance_id(name).build()?;
        scheduler.migrate()?;
        Ok(scheduler)
    };
    let (a, b) = (node("A")?, node("B")?);
    let report = Mutex::new(Report::default());

    std::thread::scope(|scope| {
        let writers = [&a, &b].map(|node| {
            let report = &report;
            scope.spawn(move || -> carnelian::Result<()> {
                for round in 1..=3 {
                    let guard = node.lock("report", Duration::from_secs(30))?;
                    guard.check()?;
                    if let Ok(mut report) = report.lock() {
                        let line = format!("{} wrote line {round} with fence {}", node.instance_id(), guard.fence());
                        report.write(guard.fence(), line).ok();
                    }
                    guard.release()?;
                }
                Ok(())
            })
        });
        writers.into_iter().try_for_each(|writer| writer.join().unwrap_or(Ok(())))
    })?;

    // As if A's process had stood still for longer than its lock holds: an operator takes it away,
    // and B goes on.
    let old = a.lock("report", Duration::from_secs(30))?;
    a.store().locks().break_lock("report")?;
    let new = b.lock("report", Duration::from_secs(30))?;
    let mut report = report.lock().map_err(|_| "a writer panicked")?;
    report.write(new.fence(), "B took over".to_owned())?;
    let refused = report.write(old.fence(), "A goes on".to_owned());
    report.lines.iter().for_each(|line| println!("{line}"));
    println!("A, which stood still, is {}", refused.err().unwrap_or_default());
    println!("released by A: {}, by B: {}", old.release()?, new.release()?);
    Ok(())
}
