//! A job as surfaces show it: its definition, its flags, its data, and the jobs that follow it.

use crate::data_map::JobDataMap;
use crate::job::{Continuation, JobDetail};
use crate::key::JobKey;
use serde_json::{Map, Value, json};

/// The JSON form of a job in a list: its definition with its marks, without its data.
pub fn job(job: &JobDetail) -> Map<String, Value> {
    let entries = [
        ("job", json!(job.key().to_string())),
        ("type", json!(job.job_type())),
        ("description", json!(job.description())),
        ("durable", json!(job.is_durable())),
        ("recover", json!(job.requests_recovery())),
        ("non_concurrent", json!(job.disallows_concurrent_execution())),
        ("persist_data", json!(job.persists_job_data_after_execution())),
        ("policy", json!(job.policy())),
    ];
    entries.into_iter().chain(marks(job)).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The flags of a job that are set, in one line.
pub fn job_flags(job: &JobDetail) -> String {
    let set = [
        (job.requests_recovery(), "recover"),
        (job.disallows_concurrent_execution(), "non-concurrent"),
        (job.persists_job_data_after_execution(), "persist-data"),
        (job.is_durable(), "durable"),
    ];
    set.iter().filter(|(yes, _)| *yes).map(|(_, name)| *name).collect::<Vec<_>>().join(" ")
}

/// A data map as JSON, every value as text.
pub fn job_data(data: &JobDataMap) -> Value {
    Value::Object(data.iter().map(|(key, value)| (key.to_owned(), value.to_string().into())).collect())
}

/// Continuations as JSON, each with the key of the job at its other end.
pub fn continuations<'a>(found: impl Iterator<Item = &'a Continuation>, end: fn(&Continuation) -> &JobKey) -> Value {
    let one = |c: &Continuation| {
        json!({
            "job": end(c).to_string(),
            "on": c.follows_on().name(),
            "per_tick": c.is_once_per_tick(),
            "data": job_data(c.passed_data()),
        })
    };
    Value::Array(found.map(one).collect())
}

/// The marks as entries of a JSON document.
fn marks(job: &JobDetail) -> [(&'static str, Value); 5] {
    let marks = job.marks();
    [
        ("biz_key", json!(marks.get_biz_key())),
        ("name", json!(marks.get_name())),
        ("owner", json!(marks.get_owner())),
        ("tags", json!(marks.tags().collect::<Vec<_>>())),
        ("metadata", json!(marks.get_metadata())),
    ]
}
