//! Heartbeats, orders to stop, begin marks and held locks in maps.

use super::MemorySession;
use crate::error::Result;
use crate::rules::begun::BeginMark;
use crate::store::database::{ExecutionRows, IfThere, Owner};
use crate::store::row::{BegunRow, Cell, FiredState, HeartbeatRow, LockRow, TableDef};

impl MemorySession<'_> {
    fn runs(&self, fire_id: &str) -> bool {
        self.tables.fired.get(fire_id).is_some_and(|fire| fire.state == FiredState::Executing)
    }
}

impl ExecutionRows for MemorySession<'_> {
    fn put_of_executing(
        &mut self,
        table: &'static TableDef,
        mut rows: Vec<Vec<Cell>>,
        there: IfThere,
    ) -> Result<usize> {
        self.reads()?;
        rows.retain(|row| matches!(row.first(), Some(Cell::Text(fire_id)) if self.runs(fire_id)));
        let (stored, key_columns) = (self.tables.declared.of(table), table.key_columns());
        let mut written = 0;
        for row in rows {
            let key = stored.key(&key_columns, &row);
            if there == IfThere::Replaced || stored.rows.get(&key).is_none() {
                stored.rows.put(key, row);
                written += 1;
            }
        }
        Ok(written)
    }

    fn notable_heartbeats(&mut self, instance: &str, now_ms: i64, future_ms: i64) -> Result<Vec<HeartbeatRow>> {
        self.reads()?;
        let notable = |row: &HeartbeatRow| {
            (row.instance == instance && row.beat_ms == now_ms)
                || row.beat_ms.saturating_add(row.limit_ms) < now_ms
                || row.beat_ms > future_ms
        };
        Ok(self.tables.rows().filter(notable).collect())
    }

    fn note_begun(&mut self, owner: &Owner, mark: &BeginMark) -> Result<bool> {
        self.reads()?;
        let is_open =
            |row: BegunRow| row.incarnation == owner.incarnation && !row.closed && row.mark_number <= mark.number;
        let is_registered = || {
            let row = self.tables.instances.get(&owner.instance);
            row.is_some_and(|row| row.incarnation.as_ref() == Some(&owner.incarnation))
        };
        let noted = self.tables.row_of(&owner.instance).map_or_else(is_registered, is_open);
        if noted {
            self.tables.put_row(&BegunRow {
                instance: owner.instance.clone(),
                incarnation: owner.incarnation.clone(),
                mark_number: mark.number,
                last_fence: mark.last,
                waiting: mark.waiting_text(),
                closed: false,
            });
        }
        Ok(noted)
    }

    fn renew_locks(&mut self, locks: &[(String, String)], now_ms: i64) -> Result<usize> {
        self.reads()?;
        let mut renewed = 0;
        for (name, holder) in locks {
            let row: Option<LockRow> = self.tables.row_of(name);
            if let Some(row) = row.filter(|row| row.holder == *holder && row.expires_ms > now_ms) {
                self.tables.put_row(&LockRow { expires_ms: now_ms.saturating_add(row.ttl_ms), ..row });
                renewed += 1;
            }
        }
        Ok(renewed)
    }
}
