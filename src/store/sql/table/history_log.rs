//! `CN_HISTORY_LOG`: what runs have logged.

use crate::error::Result;
use crate::store::database::HistoryLogRows;
use crate::store::row::LogRow;
use crate::store::sql::session::SqlSession;
use diesel::QueryableByName;
use diesel::sql_types::Text;

/// How many bytes of lines go into one statement, so that no server finds it too long.
const MOST_BYTES: usize = 500_000;

const COLUMNS: [&str; 2] = ["fire_id", "log_lines"];

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    fire_id: String,
    #[diesel(sql_type = Text)]
    log_lines: String,
}

impl HistoryLogRows for SqlSession<'_, '_> {
    fn insert_logs(&mut self, rows: &[LogRow]) -> Result<()> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        for row in rows {
            if bytes > 0 && bytes + row.lines.len() > MOST_BYTES {
                self.insert_rows("CN_HISTORY_LOG", &COLUMNS, std::mem::take(&mut batch))?;
                bytes = 0;
            }
            bytes += row.lines.len();
            batch.push(vec![(&row.fire_id).into(), (&row.lines).into()]);
        }
        self.insert_rows("CN_HISTORY_LOG", &COLUMNS, batch)
    }

    fn log_of(&mut self, fire_id: &str) -> Result<Option<LogRow>> {
        let text = "SELECT fire_id AS fire_id, log_lines AS log_lines FROM {p}CN_HISTORY_LOG \
             WHERE sched_name = ? AND fire_id = ?";
        let rows: Vec<Row> = self.load(text, &[self.name(), fire_id.into()])?;
        Ok(rows.into_iter().next().map(|row| LogRow { fire_id: row.fire_id, lines: row.log_lines }))
    }
}
