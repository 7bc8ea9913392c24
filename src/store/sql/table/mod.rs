//! The statements, a file per table.
//!
//! Every selected column has an alias in small letters: SQLite names a column as its table was
//! written, and others wrote it in capitals.

mod candidates;
mod changes;
mod claims;
mod continuations;
mod declared;
mod executing;
mod executions;
pub(super) mod fast_path;
mod fired;
mod fired_row;
mod history;
mod instances;
mod job_versions;
mod jobs;
mod listing;
mod marks;
mod members;
mod monitor;
mod now_in;
mod options;
mod place;
mod placement;
mod policies;
mod polls;
mod recurrences;
mod row_beside;
mod schedules;
mod selected_triggers;
mod snapshot;
mod stray;
mod trigger_row;
mod triggers;
mod waiting;

use super::statement::Value;
use crate::key::{JobKey, TriggerKey};

/// "None" in the columns of times, as Quartz writes it.
const NO_TIME: i64 = -1;

/// The columns of a trigger's key.
const BARE_KEY: [&str; 2] = ["trigger_name", "trigger_group"];

/// The columns of a job's key.
const JOB_KEY: [&str; 2] = ["job_name", "job_group"];

/// A time that may be Quartz's "none".
fn time(ms: Option<i64>) -> Option<i64> {
    ms.filter(|ms| *ms > 0)
}

/// The rows as the store has them.
fn converted<R, T: From<R>>(rows: Vec<R>) -> Vec<T> {
    rows.into_iter().map(T::from).collect()
}

fn trigger_keys(keys: &[TriggerKey]) -> Vec<Vec<Value>> {
    keys.iter().map(|key| vec![key.name().into(), key.group().into()]).collect()
}

fn job_keys(keys: &[JobKey]) -> Vec<Vec<Value>> {
    keys.iter().map(|key| vec![key.name().into(), key.group().into()]).collect()
}

fn texts(texts: &[String]) -> Vec<Vec<Value>> {
    texts.iter().map(|text| vec![text.into()]).collect()
}
