//! `CN_JOB_TYPES`: what the nodes can run.

use crate::error::Result;
use crate::store::database::TypeRows;
use crate::store::row::JobTypeRow;
use crate::store::sql::session::SqlSession;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    instance_name: String,
    #[diesel(sql_type = Text)]
    job_type: String,
    #[diesel(sql_type = BigInt)]
    version: i64,
    #[diesel(sql_type = Nullable<Text>)]
    alias_of: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    deprecated: Option<String>,
}

/// Types of instances that are gone.
pub(super) const STRAY: &str = "{p}CN_JOB_TYPES WHERE sched_name = ? AND NOT EXISTS (SELECT 1 FROM {p}SCHEDULER_STATE s \
     WHERE s.sched_name = {p}CN_JOB_TYPES.sched_name AND s.instance_name = {p}CN_JOB_TYPES.instance_name)";

impl TypeRows for SqlSession<'_, '_> {
    fn job_types(&mut self) -> Result<Vec<JobTypeRow>> {
        let text = "SELECT instance_name AS instance_name, job_type AS job_type, version AS version, alias_of AS alias_of, \
             deprecated AS deprecated FROM {p}CN_JOB_TYPES WHERE sched_name = ? ORDER BY instance_name, ordinal";
        let rows: Vec<Row> = self.load(text, &[self.name()])?;
        let row = |row: Row| JobTypeRow {
            instance: row.instance_name,
            job_type: row.job_type,
            version: row.version,
            alias_of: row.alias_of,
            deprecated: row.deprecated,
        };
        Ok(rows.into_iter().map(row).collect())
    }

    fn put_job_types(&mut self, instance: &str, types: &[JobTypeRow]) -> Result<()> {
        let text = "DELETE FROM {p}CN_JOB_TYPES WHERE sched_name = ? AND instance_name = ?";
        self.execute(text, &[self.name(), instance.into()])?;
        let columns = ["instance_name", "ordinal", "job_type", "version", "alias_of", "deprecated"];
        let row = |(ordinal, row): (i64, &JobTypeRow)| {
            vec![
                instance.into(),
                ordinal.into(),
                (&row.job_type).into(),
                row.version.into(),
                row.alias_of.as_deref().into(),
                row.deprecated.as_deref().into(),
            ]
        };
        self.insert_rows("CN_JOB_TYPES", &columns, (0..).zip(types).map(row).collect())
    }
}
