//! `CN_CHECKPOINTS` and `CN_REQUESTS`.

use super::texts;
use crate::error::Result;
use crate::key::{JobKey, TriggerKey};
use crate::store::database::{Session, WorkRows};
use crate::store::row::{CheckpointRow, RequestRow};
use crate::store::sql::session::SqlSession;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Binary, Text};

#[derive(QueryableByName)]
struct Checkpoint {
    #[diesel(sql_type = Text)]
    root_fire_id: String,
    #[diesel(sql_type = BigInt)]
    version: i64,
    #[diesel(sql_type = BigInt)]
    fence: i64,
    #[diesel(sql_type = Binary)]
    data: Vec<u8>,
}

#[derive(QueryableByName)]
struct Request {
    #[diesel(sql_type = Text)]
    request_id: String,
    #[diesel(sql_type = Text)]
    trigger_name: String,
    #[diesel(sql_type = Text)]
    trigger_group: String,
    #[diesel(sql_type = Text)]
    job_name: String,
    #[diesel(sql_type = Text)]
    job_group: String,
}

/// Checkpoints of work that neither runs nor waits to be recovered.
pub(super) const STRAY_CHECKPOINTS: &str = "{p}CN_CHECKPOINTS WHERE sched_name = ? \
     AND NOT EXISTS (SELECT 1 FROM {p}FIRED_TRIGGERS f WHERE f.sched_name = {p}CN_CHECKPOINTS.sched_name \
     AND f.entry_id = {p}CN_CHECKPOINTS.root_fire_id) \
     AND NOT EXISTS (SELECT 1 FROM {p}CN_RECOVERIES r WHERE r.sched_name = {p}CN_CHECKPOINTS.sched_name \
     AND r.root_fire_id = {p}CN_CHECKPOINTS.root_fire_id)";

impl WorkRows for SqlSession<'_, '_> {
    fn checkpoint(&mut self, root_fire_id: &str) -> Result<Option<CheckpointRow>> {
        let text = "SELECT root_fire_id AS root_fire_id, version AS version, fence AS fence, data AS data \
             FROM {p}CN_CHECKPOINTS WHERE sched_name = ? AND root_fire_id = ?";
        let rows: Vec<Checkpoint> = self.load(text, &[self.name(), root_fire_id.into()])?;
        let row = |row: Checkpoint| CheckpointRow {
            root_fire_id: row.root_fire_id,
            version: row.version,
            fence: row.fence,
            data: row.data,
        };
        Ok(rows.into_iter().next().map(row))
    }

    fn put_checkpoint(&mut self, row: &CheckpointRow) -> Result<bool> {
        let now_ms = self.now_ms()?;
        let text = "UPDATE {p}CN_CHECKPOINTS SET version = ?, fence = ?, made_ms = ?, data = ? \
             WHERE sched_name = ? AND root_fire_id = ? AND fence <= ?";
        let values = [
            row.version.into(),
            row.fence.into(),
            now_ms.into(),
            Some(&row.data).into(),
            self.name(),
            (&row.root_fire_id).into(),
            row.fence.into(),
        ];
        if self.execute(text, &values)? > 0 {
            return Ok(true);
        }
        if self.checkpoint(&row.root_fire_id)?.is_some() {
            return Ok(false);
        }
        let text = "INSERT INTO {p}CN_CHECKPOINTS (sched_name, root_fire_id, version, fence, made_ms, data) \
             VALUES (?, ?, ?, ?, ?, ?)";
        let values = [
            self.name(),
            (&row.root_fire_id).into(),
            row.version.into(),
            row.fence.into(),
            now_ms.into(),
            Some(&row.data).into(),
        ];
        self.execute(text, &values).map(|_| true)
    }

    fn delete_checkpoints(&mut self, root_fire_ids: &[String]) -> Result<()> {
        self.delete_rows("CN_CHECKPOINTS", &["root_fire_id"], &texts(root_fire_ids), "").map(drop)
    }

    fn requests(&mut self, request_ids: &[String]) -> Result<Vec<RequestRow>> {
        let head = "SELECT request_id AS request_id, trigger_name AS trigger_name, trigger_group AS trigger_group, \
             job_name AS job_name, job_group AS job_group FROM {p}CN_REQUESTS WHERE sched_name = ? AND";
        let rows: Vec<Request> = self.load_for_keys(head, &[self.name()], &["request_id"], &texts(request_ids))?;
        let row = |row: Request| RequestRow {
            request_id: row.request_id,
            trigger: TriggerKey::new(row.trigger_group, row.trigger_name),
            job: JobKey::new(row.job_group, row.job_name),
        };
        Ok(rows.into_iter().map(row).collect())
    }

    fn insert_requests(&mut self, requests: &[RequestRow]) -> Result<()> {
        self.assert_trigger_access();
        let now_ms = self.now_ms()?;
        let columns = ["request_id", "trigger_name", "trigger_group", "job_name", "job_group", "made_ms"];
        let row = |row: &RequestRow| {
            vec![
                (&row.request_id).into(),
                row.trigger.name().into(),
                row.trigger.group().into(),
                row.job.name().into(),
                row.job.group().into(),
                now_ms.into(),
            ]
        };
        self.insert_rows("CN_REQUESTS", &columns, requests.iter().map(row).collect())
    }

    fn forget_requests(&mut self, before_ms: i64) -> Result<usize> {
        let text = "DELETE FROM {p}CN_REQUESTS WHERE sched_name = ? AND made_ms < ?";
        self.execute(text, &[self.name(), before_ms.into()])
    }

    fn rename_in_requests(&mut self, from: &JobKey, to: &JobKey) -> Result<()> {
        self.assert_trigger_access();
        let text = "UPDATE {p}CN_REQUESTS SET job_name = ?, job_group = ? \
             WHERE sched_name = ? AND job_name = ? AND job_group = ?";
        let values = [to.name().into(), to.group().into(), self.name(), from.name().into(), from.group().into()];
        self.execute(text, &values).map(drop)
    }
}
