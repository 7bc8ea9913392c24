//! The tables of a store in an SQLite file, as SQL sees them.

use diesel::connection::SimpleConnection;
use diesel::sql_types::Text;
use diesel::{Connection, QueryableByName, RunQueryDsl, SqliteConnection};
use serde_json::{Map, Value};
use std::path::Path;

/// A connection beside the store's own.
pub struct Tables {
    connection: SqliteConnection,
}

#[derive(QueryableByName)]
struct Cell {
    #[diesel(sql_type = Text)]
    value: String,
}

impl Tables {
    pub fn open(file: &Path) -> Self {
        let mut connection = SqliteConnection::establish(&file.display().to_string()).expect("the file opens");
        connection.batch_execute("PRAGMA busy_timeout = 5000; PRAGMA synchronous = OFF").expect("settings");
        Self { connection }
    }

    /// Runs statements as they are.
    pub fn run(&mut self, sql: &str) {
        self.connection.batch_execute(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    }

    /// Every row of `QRTZ_<table>`, its columns in lower case without the scheduler's name, blobs
    /// in hex.
    pub fn rows(&mut self, table: &str) -> Vec<Map<String, Value>> {
        let columns = self.load(&format!("SELECT lower(name) AS value FROM pragma_table_info('QRTZ_{table}')"));
        let pairs: Vec<String> = columns
            .iter()
            .filter(|column| *column != "sched_name")
            .map(|column| format!("'{column}', CASE typeof({column}) WHEN 'blob' THEN hex({column}) ELSE {column} END"))
            .collect();
        let rows = self.load(&format!("SELECT json_object({}) AS value FROM QRTZ_{table}", pairs.join(", ")));
        rows.iter()
            .map(|row| match serde_json::from_str(row).expect("JSON from SQLite") {
                Value::Object(row) => row,
                other => panic!("{other}"),
            })
            .collect()
    }

    fn load(&mut self, sql: &str) -> Vec<String> {
        let cells: Vec<Cell> =
            diesel::sql_query(sql).load(&mut self.connection).unwrap_or_else(|error| panic!("{error}: {sql}"));
        cells.into_iter().map(|cell| cell.value).collect()
    }
}

/// A column that holds a text, or `""`.
pub fn text<'a>(row: &'a Map<String, Value>, column: &str) -> &'a str {
    row.get(column).and_then(Value::as_str).unwrap_or_default()
}

/// `GROUP.NAME` from two columns.
pub fn key(row: &Map<String, Value>, group: &str, name: &str) -> String {
    format!("{}.{}", text(row, group), text(row, name))
}

/// A column of a flag, however it is stored.
pub fn flag(row: &Map<String, Value>, column: &str) -> bool {
    matches!(row.get(column), Some(Value::Bool(true))) || row.get(column).and_then(Value::as_i64) == Some(1)
}
