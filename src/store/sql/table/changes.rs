//! `CN_CHANGES`: the counters of changes, and the notifications of nodes that listen.

use crate::error::Result;
use crate::store::row::{LAST_COUNT, Notification};
use crate::store::sql::backend::Backend;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;

impl Notification {
    /// The column of its counter, and what PostgreSQL's listeners are told.
    pub(super) fn column(self) -> &'static str {
        match self {
            Notification::Change => "changes",
            Notification::Cancel => "cancels",
        }
    }

    /// Moves its counter on; ends with a condition.
    pub(super) fn bump(self) -> String {
        let column = self.column();
        format!(
            "UPDATE {{p}}CN_CHANGES SET {column} = CASE WHEN {column} >= {LAST_COUNT} THEN 1 ELSE {column} + 1 END \
             WHERE sched_name = ?"
        )
    }
}

impl SqlSession<'_, '_> {
    /// Does what [`Session::notify`](crate::store::Session::notify) says.
    pub(in crate::store::sql) fn announce(&mut self, what: Notification) -> Result<()> {
        if !self.is_first_notification(what) {
            return Ok(());
        }
        let (column, bump) = (what.column(), what.bump());
        // The counter is one row, which others would wait for as long as the caller's transaction
        // lasts. A node that does not listen sees with its next look what is due.
        if self.is_joined {
            let channel = Value::from(&self.channel());
            return match self.backend() {
                Backend::Postgres if !self.notifies() => Ok(()),
                Backend::Postgres => self.execute("SELECT pg_notify(?, ?)", &[channel, column.into()]).map(drop),
                Backend::Mysql => Ok(()),
                Backend::Sqlite => self.execute(&bump, &[self.name()]).map(drop),
            };
        }
        if self.backend() != Backend::Postgres || !self.notifies() {
            return self.execute(&bump, &[self.name()]).map(drop);
        }
        // One statement does both: those that listen hear it at the commit, those that do not see
        // the counter.
        let text = format!("WITH bumped AS ({bump} RETURNING 1) SELECT pg_notify(?, ?)");
        let channel = Value::from(&self.channel());
        self.execute(&text, &[self.name(), channel, column.into()]).map(drop)
    }
}
