//! The fast path of PostgreSQL: new work without special demands, stored by one call of a function.
//!
//! A caller that schedules waits for each of its statements in turn, and so do all that wait for
//! its lock. The fast path is one statement, the function of `migrations/postgres/0044_scheduling`.

use crate::error::Result;
use crate::key::JobKey;
use crate::store::database::Session;
use crate::store::row::{FastPathWork, JobRow, LAST_COUNT, Notification, ScheduleRow, TriggerRow};
use crate::store::sql::backend::Backend;
use crate::store::sql::by_place::by_place;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use crate::trigger::START_WHEN_STORED;
use diesel::sql_types::{BigInt, Nullable};
use std::collections::HashSet;

/// The call of the function. The statements after the function's lock must see what the holders
/// before have done. In another isolation than READ COMMITTED, which a pooler may bring, the
/// function is not called, and statements store the work.
const TEXT: &str = "SELECT CASE WHEN current_setting('transaction_isolation') = 'read committed' \
     THEN {p}CN_SCHEDULE(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) END AS stored_ms";

by_place! {
    struct StoredRow {
        stored_ms: Option<i64> as Nullable<BigInt>,
    }
}

impl SqlSession<'_, '_> {
    pub(super) fn call_fast_path(&mut self, work: &FastPathWork, token: &str) -> Result<Option<i64>> {
        if self.backend() != Backend::Postgres {
            return Ok(None);
        }
        let Some(schedules) = work.triggers.iter().map(schedule).collect::<Option<Vec<_>>>() else { return Ok(None) };
        let node_ms = if self.takes_time_of_node() { Some(self.now_ms()?) } else { None };
        let channel = Value::Text(self.notifies().then(|| self.channel()));
        let mut values = vec![self.name(), token.into(), channel, Notification::Change.column().into()];
        values.extend([LAST_COUNT.into(), node_ms.into(), self.soon_ms().into(), work.not_beside_quartz.into()]);
        values.extend(of_jobs(&work.jobs));
        values.extend(of_triggers(work));
        values.push(Value::Ints(schedules.iter().map(|(repeat_count, _)| Some(*repeat_count)).collect()));
        values.push(Value::Ints(schedules.iter().map(|(_, interval_ms)| Some(*interval_ms)).collect()));
        self.uses_fast_path = true;
        let answer: Vec<StoredRow> = self.load(TEXT, &values)?;
        Ok(answer.first().and_then(|row| row.stored_ms))
    }
}

fn of_jobs(jobs: &[JobRow]) -> [Value; 9] {
    let texts = |of: fn(&JobRow) -> Option<&str>| Value::Texts(jobs.iter().map(|j| of(j).map(str::to_owned)).collect());
    let flags = |of: fn(&JobRow) -> bool| Value::Flags(jobs.iter().map(of).collect());
    [
        texts(|j| Some(j.key.name())),
        texts(|j| Some(j.key.group())),
        texts(|j| j.description.as_deref()),
        texts(|j| Some(&j.job_type)),
        flags(|j| j.durable),
        flags(|j| j.nonconcurrent),
        flags(|j| j.update_data),
        flags(|j| j.requests_recovery),
        Value::ManyBytes(jobs.iter().map(|j| j.data.clone()).collect()),
    ]
}

fn of_triggers(work: &FastPathWork) -> [Value; 11] {
    let triggers = &work.triggers;
    let new: HashSet<&JobKey> = work.jobs.iter().map(|job| &job.key).collect();
    let texts =
        |of: fn(&TriggerRow) -> Option<&str>| Value::Texts(triggers.iter().map(|t| of(t).map(str::to_owned)).collect());
    let ints = |of: fn(&TriggerRow) -> Option<i64>| Value::Ints(triggers.iter().map(of).collect());
    [
        texts(|t| Some(t.key.name())),
        texts(|t| Some(t.key.group())),
        texts(|t| Some(t.job.name())),
        texts(|t| Some(t.job.group())),
        Value::Flags(triggers.iter().map(|t| new.contains(&t.job)).collect()),
        texts(|t| t.description.as_deref()),
        ints(|t| Some(i64::from(t.priority))),
        ints(|t| Some(t.start_ms).filter(|ms| *ms != START_WHEN_STORED)),
        ints(|t| Some(t.end_ms.unwrap_or(0))),
        ints(|t| Some(i64::from(t.misfire))),
        Value::ManyBytes(triggers.iter().map(|t| t.data.clone()).collect()),
    ]
}

/// The repeat count and the interval of a simple trigger.
fn schedule(trigger: &TriggerRow) -> Option<(i64, i64)> {
    match trigger.schedule {
        ScheduleRow::Simple { repeat_count, interval_ms, .. } => Some((repeat_count, interval_ms)),
        _ => None,
    }
}
