//! `CN_LOCKS`.

use crate::error::Result;
use crate::store::database::LockRows;
use crate::store::row::LockRow;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Text};

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    lock_name: String,
    #[diesel(sql_type = Text)]
    holder: String,
    #[diesel(sql_type = Text)]
    instance_name: String,
    #[diesel(sql_type = BigInt)]
    fence: i64,
    #[diesel(sql_type = BigInt)]
    taken_ms: i64,
    #[diesel(sql_type = BigInt)]
    ttl_ms: i64,
    #[diesel(sql_type = BigInt)]
    expires_ms: i64,
}

const COLUMNS: &str = "lock_name AS lock_name, holder AS holder, instance_name AS instance_name, fence AS fence, \
     taken_ms AS taken_ms, ttl_ms AS ttl_ms, expires_ms AS expires_ms";

const KEY: [&str; 2] = ["lock_name", "holder"];

fn keys(locks: &[(String, String)]) -> Vec<Vec<Value>> {
    locks.iter().map(|(name, holder)| vec![name.into(), holder.into()]).collect()
}

impl From<Row> for LockRow {
    fn from(row: Row) -> Self {
        LockRow {
            name: row.lock_name,
            holder: row.holder,
            instance: row.instance_name,
            fence: row.fence,
            taken_ms: row.taken_ms,
            ttl_ms: row.ttl_ms,
            expires_ms: row.expires_ms,
        }
    }
}

impl LockRows for SqlSession<'_, '_> {
    fn locks(&mut self) -> Result<Vec<LockRow>> {
        let text = format!("SELECT {COLUMNS} FROM {{p}}CN_LOCKS WHERE sched_name = ? ORDER BY lock_name");
        let rows: Vec<Row> = self.load(&text, &[self.name()])?;
        Ok(rows.into_iter().map(LockRow::from).collect())
    }

    fn lock_row(&mut self, name: &str) -> Result<Option<LockRow>> {
        let text = format!("SELECT {COLUMNS} FROM {{p}}CN_LOCKS WHERE sched_name = ? AND lock_name = ?");
        let rows: Vec<Row> = self.load(&text, &[self.name(), name.into()])?;
        Ok(rows.into_iter().next().map(LockRow::from))
    }

    fn take_lock(&mut self, row: &LockRow) -> Result<()> {
        let text = "UPDATE {p}CN_LOCKS SET holder = ?, instance_name = ?, fence = ?, taken_ms = ?, ttl_ms = ?, expires_ms = ? \
             WHERE sched_name = ? AND lock_name = ? AND expires_ms <= ?";
        let values = [
            (&row.holder).into(),
            (&row.instance).into(),
            row.fence.into(),
            row.taken_ms.into(),
            row.ttl_ms.into(),
            row.expires_ms.into(),
            self.name(),
            (&row.name).into(),
            row.taken_ms.into(),
        ];
        if self.execute(text, &values)? > 0 {
            return Ok(());
        }
        let columns = ["lock_name", "holder", "instance_name", "fence", "taken_ms", "ttl_ms", "expires_ms"];
        let new = vec![
            (&row.name).into(),
            (&row.holder).into(),
            (&row.instance).into(),
            row.fence.into(),
            row.taken_ms.into(),
            row.ttl_ms.into(),
            row.expires_ms.into(),
        ];
        self.insert_rows("CN_LOCKS", &columns, vec![new])
    }

    fn renew_locks(&mut self, locks: &[(String, String)], now_ms: i64) -> Result<usize> {
        let head = "UPDATE {p}CN_LOCKS SET expires_ms = ? + ttl_ms WHERE expires_ms > ? AND sched_name = ? AND";
        self.execute_for_keys(head, &[now_ms.into(), now_ms.into(), self.name()], &KEY, &keys(locks), "")
    }

    fn release_locks(&mut self, locks: &[(String, String)]) -> Result<usize> {
        self.delete_rows("CN_LOCKS", &KEY, &keys(locks), "")
    }

    fn forget_locks(&mut self, before_ms: i64) -> Result<usize> {
        let text = "DELETE FROM {p}CN_LOCKS WHERE sched_name = ? AND expires_ms < ?";
        self.execute(text, &[self.name(), before_ms.into()])
    }
}
