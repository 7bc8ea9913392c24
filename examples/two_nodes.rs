//! Two nodes on one SQLite file share the work: every fire is run by one of them.
#![allow(clippy::disallowed_methods, reason = "an example is an application: it may read clocks and sleep")]

use carnelian::clock::SystemClock;
use carnelian::settings::{InstanceIdSetting, Settings};
use carnelian::{JobContext, JobDetail, JobError, JobKey, Scheduler, Trigger, TriggerKey};
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const FIRES: usize = 40;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let text = format!(
        "scheduler.instanceName = two-nodes
         scheduler.batchTriggerAcquisitionMaxCount = 2
         threadPool.threadCount = 2
         jobStore.class = JobStoreTX
         jobStore.isClustered = true
         jobStore.dataSource = file
         dataSource.file.URL = sqlite:{}",
        folder.path().join("jobs.db").display()
    );
    let settings = Settings::from_text("two_nodes", &text, |_| None)?;
    let store = carnelian::store::open(&settings, Arc::new(SystemClock::default()))?;
    store.database().migrate()?;

    // Who ran which fire; in one process, so that the example can look at it.
    let runs: Arc<Mutex<BTreeMap<String, Vec<String>>>> = Arc::default();
    let node = |name: &str| {
        let (mut settings, runs) = (settings.clone(), Arc::clone(&runs));
        settings.scheduler.instance_id = InstanceIdSetting::Fixed(name.to_owned());
        let work = move |ctx: &mut JobContext| -> Result<(), JobError> {
            let mut runs = runs.lock().unwrap_or_else(PoisonError::into_inner);
            runs.entry(ctx.trigger().key().to_string()).or_default().push(ctx.instance_id().to_owned());
            drop(runs);
            if ctx.wait(Duration::from_millis(20)) { Ok(()) } else { Err(JobError::new("told to stop")) }
        };
        Scheduler::builder().settings(settings).job("two_nodes.work", work).build()
    };
    let nodes = [node("left")?, node("right")?];

    let job = JobDetail::builder(JobKey::named("work"), "two_nodes.work").build()?;
    let triggers: carnelian::Result<Vec<Trigger>> = (0..FIRES)
        .map(|number| Trigger::builder(TriggerKey::named(number.to_string()), job.key().clone()).build())
        .collect();
    store.catalogue().schedule(vec![(job, triggers?)], false)?;
    for node in &nodes {
        node.start()?;
    }
    for _ in 0..200 {
        std::thread::sleep(Duration::from_millis(50));
        if store.catalogue().trigger_summaries(&carnelian::GroupMatcher::any())?.is_empty() {
            break;
        }
    }
    for node in &nodes {
        node.shutdown_and_wait();
    }

    let runs = runs.lock().unwrap_or_else(PoisonError::into_inner);
    let count = |name: &str| runs.values().flatten().filter(|node| *node == name).count();
    println!("{} fires: {} on left, {} on right", runs.len(), count("left"), count("right"));
    if runs.len() != FIRES || runs.values().any(|nodes| nodes.len() != 1) {
        return Err("a fire was lost or run twice".into());
    }
    Ok(())
}
