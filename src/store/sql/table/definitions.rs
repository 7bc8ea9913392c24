//! `CN_DEFINITIONS` and `CN_DEFINED_TRIGGERS`: what programs have defined in code.

use super::{BARE_KEY, JOB_KEY, job_keys, trigger_keys};
use crate::error::Result;
use crate::key::{JobKey, TriggerKey};
use crate::store::database::DefinitionRows;
use crate::store::row::DefinitionRow;
use crate::store::sql::session::SqlSession;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Text};
use std::collections::BTreeMap;

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    job_name: String,
    #[diesel(sql_type = Text)]
    job_group: String,
    #[diesel(sql_type = Text)]
    source: String,
    #[diesel(sql_type = BigInt)]
    revision: i64,
    #[diesel(sql_type = Text)]
    hash: String,
    #[diesel(sql_type = BigInt)]
    made_ms: i64,
}

#[derive(QueryableByName)]
struct DefinedTrigger {
    #[diesel(sql_type = Text)]
    trigger_name: String,
    #[diesel(sql_type = Text)]
    trigger_group: String,
    #[diesel(sql_type = Text)]
    job_name: String,
    #[diesel(sql_type = Text)]
    job_group: String,
}

impl DefinitionRows for SqlSession<'_, '_> {
    fn definitions(&mut self) -> Result<Vec<DefinitionRow>> {
        let text = "SELECT job_name AS job_name, job_group AS job_group, source AS source, revision AS revision, \
             hash AS hash, made_ms AS made_ms FROM {p}CN_DEFINITIONS WHERE sched_name = ?";
        let rows: Vec<Row> = self.load(text, &[self.name()])?;
        let text = "SELECT trigger_name AS trigger_name, trigger_group AS trigger_group, job_name AS job_name, \
             job_group AS job_group FROM {p}CN_DEFINED_TRIGGERS WHERE sched_name = ? ORDER BY trigger_group, trigger_name";
        let triggers: Vec<DefinedTrigger> = self.load(text, &[self.name()])?;
        let mut of_job: BTreeMap<JobKey, Vec<TriggerKey>> = BTreeMap::new();
        for row in triggers {
            let key = TriggerKey::new(row.trigger_group, row.trigger_name);
            of_job.entry(JobKey::new(row.job_group, row.job_name)).or_default().push(key);
        }
        let row = |row: Row| {
            let job = JobKey::new(row.job_group, row.job_name);
            let triggers = of_job.remove(&job).unwrap_or_default();
            let Row { source, revision, hash, made_ms, .. } = row;
            DefinitionRow { job, source, revision, hash, made_ms, triggers }
        };
        let mut rows: Vec<DefinitionRow> = rows.into_iter().map(row).collect();
        // Databases disagree about the order of texts.
        rows.sort_by(|a, b| (a.job.group(), a.job.name()).cmp(&(b.job.group(), b.job.name())));
        Ok(rows)
    }

    fn put_definitions(&mut self, rows: &[DefinitionRow]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let jobs: Vec<JobKey> = rows.iter().map(|row| row.job.clone()).collect();
        self.delete_definitions(&jobs)?;
        // A trigger may have been another definition's.
        let triggers: Vec<TriggerKey> = rows.iter().flat_map(|row| row.triggers.iter().cloned()).collect();
        if !triggers.is_empty() {
            self.delete_rows("CN_DEFINED_TRIGGERS", &BARE_KEY, &trigger_keys(&triggers), "")?;
        }
        let columns = ["job_name", "job_group", "source", "revision", "hash", "made_ms"];
        let row = |row: &DefinitionRow| {
            vec![
                row.job.name().into(),
                row.job.group().into(),
                (&row.source).into(),
                row.revision.into(),
                (&row.hash).into(),
                row.made_ms.into(),
            ]
        };
        self.insert_rows("CN_DEFINITIONS", &columns, rows.iter().map(row).collect())?;
        let columns = ["trigger_name", "trigger_group", "job_name", "job_group"];
        let triggers = rows.iter().flat_map(|row| row.triggers.iter().map(move |trigger| (trigger, &row.job)));
        let row = |(trigger, job): (&TriggerKey, &JobKey)| {
            vec![trigger.name().into(), trigger.group().into(), job.name().into(), job.group().into()]
        };
        self.insert_rows("CN_DEFINED_TRIGGERS", &columns, triggers.map(row).collect())
    }

    fn delete_definitions(&mut self, jobs: &[JobKey]) -> Result<()> {
        self.assert_trigger_access();
        if jobs.is_empty() {
            return Ok(());
        }
        self.delete_rows("CN_DEFINED_TRIGGERS", &JOB_KEY, &job_keys(jobs), "")?;
        self.delete_rows("CN_DEFINITIONS", &JOB_KEY, &job_keys(jobs), "").map(drop)
    }
}
