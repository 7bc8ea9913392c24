//! `CN_BEGUN`: which of the prefetched fires of a node have begun.

use crate::error::Result;
use crate::rules::begun::BeginMark;
use crate::store::database::Owner;
use crate::store::sql::backend::Backend;
use crate::store::sql::session::SqlSession;

impl SqlSession<'_, '_> {
    /// See [`ExecutionRows::note_begun`](crate::store::ExecutionRows::note_begun).
    pub(super) fn write_begun(&mut self, owner: &Owner, mark: &BeginMark) -> Result<bool> {
        let text = "UPDATE {p}CN_BEGUN SET mark_number = ?, last_fence = ?, waiting = ? WHERE sched_name = ? \
             AND instance_name = ? AND incarnation = ? AND closed = 0 AND mark_number <= ?";
        let values = [
            mark.number.into(),
            mark.last.into(),
            (&mark.waiting_text()).into(),
            self.name(),
            owner.instance.as_str().into(),
            owner.incarnation.as_str().into(),
            mark.number.into(),
        ];
        if self.execute(text, &values)? > 0 {
            return Ok(true);
        }
        // PostgreSQL forgets the row when it crashes.
        let (insert, tail) = match self.backend() {
            Backend::Mysql => ("INSERT IGNORE INTO", ""),
            Backend::Postgres | Backend::Sqlite => ("INSERT INTO", " ON CONFLICT DO NOTHING"),
        };
        let text = format!(
            "{insert} {{p}}CN_BEGUN (sched_name, instance_name, incarnation, mark_number, last_fence, waiting, closed) \
             SELECT i.sched_name, i.instance_name, i.incarnation, ?, ?, ?, 0 FROM {{p}}CN_INSTANCES i \
             WHERE i.sched_name = ? AND i.instance_name = ? AND i.incarnation = ?{tail}"
        );
        let [number, last, waiting, name, instance, incarnation, _] = values;
        Ok(self.execute(&text, &[number, last, waiting, name, instance, incarnation])? > 0)
    }
}
