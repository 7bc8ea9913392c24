//! Checkpoints and requests in maps.

use super::MemorySession;
use crate::error::Result;
use crate::key::JobKey;
use crate::store::database::{Session, WorkRows};
use crate::store::row::{CheckpointRow, RequestRow};

impl WorkRows for MemorySession<'_> {
    fn checkpoint(&mut self, root_fire_id: &str) -> Result<Option<CheckpointRow>> {
        self.reads()?;
        Ok(self.tables.checkpoints.get(&root_fire_id.to_owned()).cloned())
    }

    fn put_checkpoint(&mut self, row: &CheckpointRow) -> Result<bool> {
        self.reads()?;
        if self.tables.checkpoints.get(&row.root_fire_id).is_some_and(|stored| stored.fence > row.fence) {
            return Ok(false);
        }
        self.tables.checkpoints.put(row.root_fire_id.clone(), row.clone());
        Ok(true)
    }

    fn delete_checkpoints(&mut self, root_fire_ids: &[String]) -> Result<()> {
        self.reads()?;
        for id in root_fire_ids {
            self.tables.checkpoints.remove(id);
        }
        Ok(())
    }

    fn requests(&mut self, request_ids: &[String]) -> Result<Vec<RequestRow>> {
        self.reads()?;
        Ok(request_ids.iter().filter_map(|id| self.tables.requests.get(id)).map(|(row, _)| row.clone()).collect())
    }

    fn insert_requests(&mut self, requests: &[RequestRow]) -> Result<()> {
        self.changes()?;
        let now_ms = self.now_ms()?;
        for row in requests {
            if self.tables.requests.get(&row.request_id).is_some() {
                return Err(self.duplicate("request", &row.request_id));
            }
            self.tables.requests.put(row.request_id.clone(), (row.clone(), now_ms));
        }
        Ok(())
    }

    fn forget_requests(&mut self, before_ms: i64) -> Result<usize> {
        self.reads()?;
        Ok(self.tables.requests.remove_if(|_, (_, made_ms)| *made_ms < before_ms))
    }

    fn rename_in_requests(&mut self, from: &JobKey, to: &JobKey) -> Result<()> {
        self.changes()?;
        let its = self.tables.requests.values().filter(|(row, _)| row.job == *from);
        let ids: Vec<String> = its.map(|(row, _)| row.request_id.clone()).collect();
        for id in ids {
            self.tables.requests.change(&id, |(row, _)| row.job = to.clone());
        }
        Ok(())
    }
}
