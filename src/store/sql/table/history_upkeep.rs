//! `CN_HISTORY`, as it is forgotten: how much there is of it, what is too old or too much.

use crate::error::Result;
use crate::key::JobKey;
use crate::store::sql::by_place::by_place;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use diesel::sql_types::{BigInt, Text};

by_place! {
    struct JobCount {
        job_name: String as Text,
        job_group: String as Text,
        n: i64 as BigInt,
    }
}

fn whole(count: u64) -> Value {
    i64::try_from(count).unwrap_or(i64::MAX).into()
}

impl SqlSession<'_, '_> {
    /// See [`HistoryRows::history_by_job`](crate::store::HistoryRows::history_by_job).
    pub(super) fn count_by_job(&mut self, since_ms: i64, more_than: u64, limit: usize) -> Result<Vec<(JobKey, u64)>> {
        let text = "SELECT job_name AS job_name, job_group AS job_group, COUNT(*) AS n FROM {p}CN_HISTORY \
             WHERE sched_name = ? AND ended_ms >= ? AND job_name IS NOT NULL AND job_group IS NOT NULL \
             GROUP BY job_name, job_group HAVING COUNT(*) > ? ORDER BY COUNT(*) DESC LIMIT ?";
        let values = [self.name(), since_ms.into(), whole(more_than), whole(limit as u64)];
        let rows: Vec<JobCount> = self.load(text, &values)?;
        let count = |row: JobCount| (JobKey::new(row.job_group, row.job_name), u64::try_from(row.n).unwrap_or(0));
        Ok(rows.into_iter().map(count).collect())
    }
}
