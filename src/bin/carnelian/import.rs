//! `import`: stores what job files say.

use crate::args::Import;
use crate::bar::Bar;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, time};
use crate::schedule;
use carnelian::JobDetail;
use carnelian::definitions::Imported;
use carnelian::job_file::{JobFile, JobFlags};
use carnelian::store::JobStore;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Read;

/// The most bytes that are read from standard input: one more than a job file may have.
const MOST_BYTES: u64 = 16 * 1024 * 1024 + 1;

/// Reads all files, and then stores them one after the other, each whole or not at all.
pub fn run(store: &JobStore, output: Output, options: &Import) -> Outcome {
    let mut done = Vec::new();
    store.job_types().learn(false)?;
    let files = read(store, options)?;
    let bar = Bar::new(output);
    bar.begin("importing files", Some(files.len() as u64));
    for file in files {
        match store.catalogue().import(&file) {
            Ok(imported) => {
                done.push((file, imported));
                bar.set(done.len());
            }
            Err(error) => {
                drop(bar);
                // Files that were stored before the error are reported.
                if !done.is_empty() {
                    say(store, output, &done)?;
                }
                return Err(error.into());
            }
        }
    }
    drop(bar);
    say(store, output, &done)
}

/// Every file, or the problems of all of them.
fn read(store: &JobStore, options: &Import) -> Outcome<Vec<JobFile>> {
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    let flags = |job_type: &str| {
        let is_named = |types: &[String]| types.iter().any(|named| named == job_type);
        let flags = JobFlags {
            disallow_concurrent_execution: is_named(&options.non_concurrent),
            persist_job_data_after_execution: is_named(&options.persist_data),
        };
        Some(flags).filter(|flags| *flags != JobFlags::default())
    };
    let zone = store.settings().scheduler.time_zone;
    for path in &options.files {
        let file = match path.to_str() {
            Some("-") => JobFile::parse("standard input", &standard_input()?, zone),
            _ => JobFile::read_in_zone(path, zone),
        };
        match file {
            Ok(file) => {
                let mut file = file.keep_unchanged(options.keep_unchanged).with_flags(flags);
                for group in &options.protect {
                    file = file.never_delete_job_group(group).never_delete_trigger_group(group);
                }
                files.push(file);
            }
            Err(errors) => problems.push(errors.to_string()),
        }
    }
    if problems.is_empty() { Ok(files) } else { Err(Failure::Usage(problems.join("\n"))) }
}

/// The job file on standard input.
fn standard_input() -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MOST_BYTES).read_to_end(&mut bytes);
    read.map_err(|error| Failure::Usage(format!("standard input: {error}")))?;
    Ok(bytes)
}

fn say(store: &JobStore, output: Output, done: &[(JobFile, Imported)]) -> Outcome {
    for remark in done.iter().flat_map(|(_, imported)| &imported.remarks) {
        output.warn(&remark.to_string());
    }
    let types: BTreeSet<&str> = done.iter().flat_map(|(_, imported)| &imported.jobs).map(JobDetail::job_type).collect();
    schedule::nobody_has(store, &types)?.iter().for_each(|warning| output.warn(warning));
    let documents: Vec<Value> = done.iter().map(|(file, imported)| document(file, imported)).collect();
    let text: String = done.iter().map(|(file, imported)| lines(file, imported)).collect();
    output.done(Value::Array(documents), text.trim_end())
}

fn document(file: &JobFile, imported: &Imported) -> Value {
    let trigger = |trigger: &carnelian::Trigger| {
        json!({
            "trigger": trigger.key().to_string(),
            "job": trigger.job_key().to_string(),
            "next_fire_ms": trigger.next_fire_time().map(|time| time.timestamp_millis()),
        })
    };
    json!({
        "file": file.name(),
        "deleted_jobs": texts(&imported.deleted_jobs),
        "deleted_triggers": texts(&imported.deleted_triggers),
        "jobs": imported.jobs.iter().map(|job| job.key().to_string()).collect::<Vec<_>>(),
        "triggers": imported.triggers.iter().map(trigger).collect::<Vec<_>>(),
        "ignored_jobs": texts(&imported.ignored_jobs),
        "ignored_triggers": texts(&imported.ignored_triggers),
        "unchanged": texts(&imported.unchanged),
        "remarks": imported.remarks,
    })
}

fn texts(keys: &[impl ToString]) -> Vec<String> {
    keys.iter().map(ToString::to_string).collect()
}

fn lines(file: &JobFile, imported: &Imported) -> String {
    let mut lines = vec![format!("{}:", file.name())];
    let mut all = |what: &str, keys: Vec<String>| lines.extend(keys.iter().map(|key| format!("  {what} {key}")));
    all("deleted job", texts(&imported.deleted_jobs));
    all("deleted trigger", texts(&imported.deleted_triggers));
    all("stored job", imported.jobs.iter().map(|job| job.key().to_string()).collect());
    let shown = |trigger: &carnelian::Trigger| {
        let next = trigger.next_fire_time().map(|time| time.timestamp_millis());
        format!("{} for {}: fires at {}", trigger.key(), trigger.job_key(), time(next))
    };
    all("stored trigger", imported.triggers.iter().map(shown).collect());
    all("passed over job", texts(&imported.ignored_jobs));
    all("passed over trigger", texts(&imported.ignored_triggers));
    all("left alone trigger", texts(&imported.unchanged));
    if lines.len() == 1 {
        lines.push("  nothing to do".to_owned());
    }
    lines.join("\n") + "\n"
}
