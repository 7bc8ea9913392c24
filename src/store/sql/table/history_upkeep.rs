//! `CN_HISTORY`, as it is forgotten: how much there is of it, what is too old or too much.

use super::texts;
use crate::error::Result;
use crate::key::JobKey;
use crate::store::database::HistoryUpkeepRows;
use crate::store::row::PolicyRow;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Text};

#[derive(QueryableByName)]
struct TimeRow {
    #[diesel(sql_type = BigInt)]
    ended_ms: i64,
}

#[derive(QueryableByName)]
struct IdRow {
    #[diesel(sql_type = Text)]
    fire_id: String,
}

#[derive(QueryableByName)]
struct JobCount {
    #[diesel(sql_type = Text)]
    job_name: String,
    #[diesel(sql_type = Text)]
    job_group: String,
    #[diesel(sql_type = BigInt)]
    n: i64,
}

fn whole(count: u64) -> Value {
    i64::try_from(count).unwrap_or(i64::MAX).into()
}

impl SqlSession<'_, '_> {
    /// ` AND …` for the rows of one job, or of all, that ended before.
    fn ended_before(&self, job: Option<&JobKey>, before_ms: i64) -> (&'static str, Vec<Value>) {
        match job {
            Some(job) => (
                " AND job_name = ? AND job_group = ? AND ended_ms < ?",
                vec![self.name(), job.name().into(), job.group().into(), before_ms.into()],
            ),
            None => (" AND ended_ms < ?", vec![self.name(), before_ms.into()]),
        }
    }
}

impl HistoryUpkeepRows for SqlSession<'_, '_> {
    fn history_end_after(&mut self, newer: u64) -> Result<Option<i64>> {
        let text = "SELECT ended_ms AS ended_ms FROM {p}CN_HISTORY WHERE sched_name = ? \
             ORDER BY ended_ms DESC LIMIT 1 OFFSET ?";
        let rows: Vec<TimeRow> = self.load(text, &[self.name(), whole(newer)])?;
        Ok(rows.first().map(|row| row.ended_ms))
    }

    fn history_before(&mut self, job: Option<&JobKey>, before_ms: i64) -> Result<u64> {
        let (condition, values) = self.ended_before(job, before_ms);
        let text = format!("SELECT COUNT(*) AS n FROM {{p}}CN_HISTORY WHERE sched_name = ?{condition}");
        Ok(u64::try_from(self.count(&text, &values)?).unwrap_or(0))
    }

    fn history_by_job(&mut self, since_ms: i64, more_than: u64, limit: usize) -> Result<Vec<(JobKey, u64)>> {
        let text = "SELECT job_name AS job_name, job_group AS job_group, COUNT(*) AS n FROM {p}CN_HISTORY \
             WHERE sched_name = ? AND ended_ms >= ? AND job_name IS NOT NULL AND job_group IS NOT NULL \
             GROUP BY job_name, job_group HAVING COUNT(*) > ? ORDER BY COUNT(*) DESC LIMIT ?";
        let values = [self.name(), since_ms.into(), whole(more_than), whole(limit as u64)];
        let rows: Vec<JobCount> = self.load(text, &values)?;
        let count = |row: JobCount| (JobKey::new(row.job_group, row.job_name), u64::try_from(row.n).unwrap_or(0));
        Ok(rows.into_iter().map(count).collect())
    }

    fn oldest_history(&mut self, job: Option<&JobKey>, before_ms: i64, limit: usize) -> Result<Vec<String>> {
        let (condition, mut values) = self.ended_before(job, before_ms);
        let text = format!(
            "SELECT fire_id AS fire_id FROM {{p}}CN_HISTORY WHERE sched_name = ?{condition} ORDER BY ended_ms LIMIT ?"
        );
        values.push(whole(limit as u64));
        let rows: Vec<IdRow> = self.load(&text, &values)?;
        Ok(rows.into_iter().map(|row| row.fire_id).collect())
    }

    fn surplus_history(&mut self, job: &JobKey, newer: u64, limit: usize) -> Result<Vec<String>> {
        let text = "SELECT fire_id AS fire_id FROM {p}CN_HISTORY WHERE sched_name = ? AND job_name = ? AND job_group = ? \
             ORDER BY ended_ms DESC, fire_id DESC LIMIT ? OFFSET ?";
        let values = [self.name(), job.name().into(), job.group().into(), whole(limit as u64), whole(newer)];
        let rows: Vec<IdRow> = self.load(text, &values)?;
        Ok(rows.into_iter().map(|row| row.fire_id).collect())
    }

    fn delete_history(&mut self, fire_ids: &[String]) -> Result<usize> {
        self.delete_rows("CN_HISTORY_LOG", &["fire_id"], &texts(fire_ids), "")?;
        self.delete_rows("CN_HISTORY", &["fire_id"], &texts(fire_ids), "")
    }

    fn policies_with(&mut self, word: &str) -> Result<Vec<PolicyRow>> {
        self.load_policies_with(word)
    }
}
