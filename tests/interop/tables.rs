//! Quartz's tables, made by Quartz's own script from its jar, under a prefix of their own.

use super::support::{mysql_url, postgres_url};
use diesel::connection::SimpleConnection;
use diesel::sql_types::Text;
use diesel::{Connection, MysqlConnection, PgConnection, QueryableByName, RunQueryDsl, sql_query};
use std::path::PathBuf;

/// The folder that `tests/interop/compile` has made, with the classes, the class path of the jars,
/// and Quartz's scripts.
pub fn built() -> PathBuf {
    match std::env::var_os("CARNELIAN_TEST_INTEROP") {
        Some(folder) => PathBuf::from(folder),
        None => {
            panic!("CARNELIAN_TEST_INTEROP names no folder: run the tests by ./tests/run, which compiles the Java node")
        }
    }
}

/// The servers that nodes of both kinds can share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    Postgres,
    Mysql,
}

impl Server {
    fn url(self) -> String {
        match self {
            Server::Postgres => postgres_url(),
            Server::Mysql => mysql_url(),
        }
    }

    /// As the summary calls it.
    pub fn name(self) -> &'static str {
        match self {
            Server::Postgres => "postgres",
            Server::Mysql => "mariadb",
        }
    }

    /// The lines of a properties file that belong to this server, as one writes them for Java.
    pub fn properties(self) -> String {
        let url = self.url();
        let (_, rest) = url.split_once("://").unwrap();
        let (user, place) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (user, password) = user.split_once(':').unwrap_or((user, ""));
        let (scheme, driver, delegate) = match self {
            Server::Postgres => ("postgresql", "org.postgresql.Driver", "PostgreSQLDelegate"),
            Server::Mysql => ("mariadb", "org.mariadb.jdbc.Driver", "StdJDBCDelegate"),
        };
        format!(
            "org.quartz.jobStore.driverDelegateClass=org.quartz.impl.jdbcjobstore.{delegate}\n\
             org.quartz.dataSource.db.driver={driver}\n\
             org.quartz.dataSource.db.URL=jdbc:{scheme}://{place}\n\
             org.quartz.dataSource.db.user={user}\n\
             org.quartz.dataSource.db.password={password}\n"
        )
    }
}

/// A set of tables that goes with the scene.
pub struct Tables {
    server: Server,
    prefix: String,
}

#[derive(QueryableByName)]
struct Name {
    #[diesel(sql_type = Text)]
    name: String,
}

impl Tables {
    pub fn create(server: Server) -> Self {
        let prefix = format!("IX{:08X}_", getrandom::u32().unwrap());
        let script = match server {
            Server::Postgres => "tables_postgres.sql",
            Server::Mysql => "tables_mysql_innodb.sql",
        };
        let path = built().join("classes/org/quartz/impl/jdbcjobstore").join(script);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let comment = |line: &&str| !line.trim_start().starts_with('#') && !line.trim_start().starts_with("--");
        let text = text.lines().filter(comment).collect::<Vec<_>>().join("\n");
        let text = text.replace("QRTZ_", &prefix).replace("qrtz_", &prefix.to_lowercase());
        let tables = Self { server, prefix };
        tables.execute(&text);
        tables
    }

    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    pub fn drop_all(&self) {
        let prefix = self.prefix.to_lowercase();
        let named = format!(
            "SELECT table_name AS name FROM information_schema.tables WHERE lower(table_name) LIKE '{prefix}%' \
             AND table_type = 'BASE TABLE'"
        );
        let names: Vec<Name> = match self.server {
            Server::Postgres => {
                sql_query(named).load(&mut PgConnection::establish(&self.server.url()).unwrap()).unwrap()
            }
            Server::Mysql => {
                // The names come as another type of text than elsewhere.
                let named = named.replace("table_name AS", "CAST(table_name AS CHAR) AS");
                sql_query(named).load(&mut MysqlConnection::establish(&self.server.url()).unwrap()).unwrap()
            }
        };
        let names: Vec<String> = names.into_iter().map(|row| row.name).collect();
        if names.is_empty() {
            return;
        }
        self.execute(&match self.server {
            Server::Postgres => format!("DROP TABLE {} CASCADE", names.join(", ")),
            Server::Mysql => {
                let views = ["NODES", "RUNNING", "DUE", "THROUGHPUT", "LAST_RUNS"];
                let views = views.map(|view| format!("{}CN_VIEW_{view}", self.prefix)).join(", ");
                format!("DROP VIEW IF EXISTS {views}; SET FOREIGN_KEY_CHECKS = 0; DROP TABLE {}", names.join(", "))
            }
        });
    }

    fn execute(&self, sql: &str) {
        let url = self.server.url();
        match self.server {
            Server::Postgres => PgConnection::establish(&url).unwrap().batch_execute(sql).unwrap(),
            Server::Mysql => MysqlConnection::establish(&url).unwrap().batch_execute(sql).unwrap(),
        }
    }
}
