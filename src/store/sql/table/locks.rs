//! `CN_LOCKS`, as held locks are renewed.

use crate::error::Result;
use crate::store::database::LockRows;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;

impl LockRows for SqlSession<'_, '_> {
    fn renew_locks(&mut self, locks: &[(String, String)], now_ms: i64) -> Result<usize> {
        let head = "UPDATE {p}CN_LOCKS SET expires_ms = ? + ttl_ms WHERE expires_ms > ? AND sched_name = ? AND";
        let keys: Vec<Vec<Value>> = locks.iter().map(|(name, holder)| vec![name.into(), holder.into()]).collect();
        self.execute_for_keys(head, &[now_ms.into(), now_ms.into(), self.name()], &["lock_name", "holder"], &keys, "")
    }
}
