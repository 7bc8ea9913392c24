//! Effects: the rows that the demo jobs have written to the scheduler's own database.

use carnelian::settings::{DataSourceUrl, Settings};
use diesel::connection::SimpleConnection;
use diesel::query_builder::SqlQuery;
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::sql_types::{BigInt, Text};
use diesel::{Connection, MysqlConnection, PgConnection, QueryableByName, RunQueryDsl, SqliteConnection, sql_query};
use std::path::Path;

/// A row of `demo_effect`.
#[derive(QueryableByName, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Effect {
    #[diesel(sql_type = Text)]
    pub job: String,
    #[diesel(sql_type = BigInt)]
    pub scheduled_ms: i64,
}

#[derive(QueryableByName)]
struct Fence {
    #[diesel(sql_type = BigInt)]
    fence: i64,
}

/// The database that a node's properties name.
pub struct Effects(DataSourceUrl);

macro_rules! on {
    ($self:expr, $do:ident($($argument:expr),*)) => {
        match &$self.0 {
            DataSourceUrl::Sqlite { path } => $do(&mut patient(path), $($argument),*),
            DataSourceUrl::Postgres { url } => $do(&mut PgConnection::establish(url.reveal()).unwrap(), $($argument),*),
            url => $do(&mut any_server(url), $($argument),*),
        }
    };
}

/// A connection that waits while others write.
fn patient(path: &str) -> SqliteConnection {
    let mut connection = SqliteConnection::establish(path).unwrap();
    connection.batch_execute("PRAGMA busy_timeout = 30000").unwrap();
    connection
}

fn any_server(url: &DataSourceUrl) -> MysqlConnection {
    let servers = url.of_each_server();
    servers.iter().find_map(|server| MysqlConnection::establish(server.reveal()).ok()).expect("a server answers")
}

impl Effects {
    pub fn of(properties: &Path) -> Self {
        Self(Settings::from_file(properties).unwrap().data_source.expect("a data source").url)
    }

    /// The effects of the jobs of a group, in order.
    pub fn of_group(&self, group: &str) -> Vec<Effect> {
        let text =
            format!("SELECT job AS job, scheduled_ms AS scheduled_ms FROM demo_effect WHERE job LIKE '{group}.%'");
        let mut effects: Vec<Effect> = on!(self, load(&text));
        effects.sort();
        effects
    }

    /// The fence that is kept.
    pub fn fence(&self) -> i64 {
        let fences: Vec<Fence> = on!(self, load("SELECT fence AS fence FROM demo_fence"));
        assert_eq!(fences.len(), 1, "demo_fence has one row");
        fences[0].fence
    }

    /// Forgets the fences of schedulers before this one.
    pub fn reset_fence(&self) {
        on!(self, execute("UPDATE demo_fence SET fence = 0"));
    }
}

fn load<'q, C, R>(connection: &mut C, text: &str) -> Vec<R>
where
    C: Connection,
    SqlQuery: LoadQuery<'q, C, R>,
{
    sql_query(text).load(connection).unwrap()
}

fn execute<C>(connection: &mut C, text: &str)
where
    C: Connection,
    SqlQuery: ExecuteDsl<C>,
{
    sql_query(text).execute(connection).unwrap();
}
