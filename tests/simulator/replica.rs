//! `Replica`: the rows of the store as they were, which take its place when it is promoted.

use super::world::World;
use carnelian::store::MemoryBackup;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;
use std::path::{Path, PathBuf};

/// The rows at one moment.
#[derive(Debug)]
pub enum Replica {
    Memory(Box<MemoryBackup>),
    Sqlite(PathBuf),
}

#[derive(QueryableByName)]
struct Name {
    #[diesel(sql_type = Text)]
    name: String,
}

impl Replica {
    /// The rows as they are now.
    pub fn of(world: &World) -> Self {
        match (world.database.memory(), &world.file) {
            (Some(memory), _) => Self::Memory(Box::new(memory.backup())),
            (None, Some(file)) => {
                let replica = file.with_extension("replica");
                let _ = std::fs::remove_file(&replica);
                let sql = format!("VACUUM INTO '{}'", replica.display());
                connection(file).batch_execute(&sql).expect("a copy of the file");
                Self::Sqlite(replica)
            }
            (None, None) => unreachable!("a store is in memory or in a file"),
        }
    }

    /// The rows are again what they were.
    pub fn promote(self, world: &World) {
        match (self, &world.file) {
            (Self::Memory(backup), _) => world.database.memory().expect("a store in memory").put_back(*backup),
            (Self::Sqlite(replica), Some(file)) => put_back(file, &replica),
            (Self::Sqlite(_), None) => unreachable!("a replica of a file has a file"),
        }
    }
}

fn connection(file: &Path) -> SqliteConnection {
    SqliteConnection::establish(&file.display().to_string()).expect("the file of the store")
}

/// Writes the rows of the replica over those of the file, which other connections have open.
fn put_back(file: &Path, replica: &Path) {
    let connection = &mut connection(file);
    let attach = format!("PRAGMA foreign_keys = OFF; ATTACH '{}' AS replica; BEGIN IMMEDIATE", replica.display());
    connection.batch_execute(&attach).expect("the replica");
    let tables = "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let tables: Vec<Name> = diesel::sql_query(tables).load(connection).expect("the tables");
    for Name { name } in tables {
        let copy = format!("DELETE FROM main.{name}; INSERT INTO main.{name} SELECT * FROM replica.{name}");
        connection.batch_execute(&copy).expect("the rows");
    }
    connection.batch_execute("COMMIT; DETACH replica").expect("the end");
}
