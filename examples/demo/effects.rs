//! The effects of demo jobs in the scheduler's own database: a row in `demo_effect`, the largest
//! fence in `demo_fence`.
#![cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]

use carnelian::database::CallersConnection;
use carnelian::settings::DataSourceUrl;
use carnelian::{JobContext, JobError};
use diesel::connection::SimpleConnection;
use diesel::query_builder::SqlQuery;
use diesel::query_dsl::methods::ExecuteDsl;
use diesel::{Connection, RunQueryDsl, sql_query};

/// An effect that is written.
#[derive(Clone, Copy)]
pub enum Entry<'a> {
    /// The tables.
    Tables,
    /// The job and its scheduled time, in one transaction with the end of its fire.
    Effect(&'a str, i64),
    /// The fence, if it is the largest so far; whether it was.
    Fence(i64),
    /// Nothing, but the fire is guarded while this is done.
    Guarded(&'a dyn Fn(&JobContext) -> Result<(), JobError>),
}

/// Writes in a transaction; what it came to.
pub fn write(url: &DataSourceUrl, what: Entry<'_>, ctx: Option<&mut JobContext>) -> Result<bool, JobError> {
    match url {
        #[cfg(feature = "sqlite")]
        DataSourceUrl::Sqlite { path } => {
            let mut connection = diesel::SqliteConnection::establish(path)?;
            connection.batch_execute("PRAGMA busy_timeout = 10000")?;
            connection.immediate_transaction(|c| write_on(c, what, ctx))
        }
        #[cfg(feature = "postgres")]
        DataSourceUrl::Postgres { url } => {
            let mut connection = diesel::PgConnection::establish(url.reveal())?;
            // Without a limit of its own a guard is ended after a minute.
            connection.batch_execute("SET idle_in_transaction_session_timeout = '10min'")?;
            connection.transaction(|c| write_on(c, what, ctx))
        }
        #[cfg(feature = "mysql")]
        DataSourceUrl::MySql { .. } => {
            let mut connection = any_server(url)?;
            connection.batch_execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")?;
            connection.transaction(|c| write_on(c, what, ctx))
        }
        #[allow(unreachable_patterns, reason = "reached when a database's feature is off")]
        _ => Err(JobError::new("this program was built without the database that holds its jobs")),
    }
}

/// A connection to the first server of a URL that answers.
#[cfg(feature = "mysql")]
fn any_server(url: &DataSourceUrl) -> Result<diesel::MysqlConnection, diesel::ConnectionError> {
    let mut tried = Err(diesel::ConnectionError::BadConnection("the URL names no server".to_owned()));
    for server in url.of_each_server() {
        tried = diesel::MysqlConnection::establish(server.reveal());
        if tried.is_ok() {
            break;
        }
    }
    tried
}

fn write_on<C>(connection: &mut C, what: Entry<'_>, ctx: Option<&mut JobContext>) -> Result<bool, JobError>
where
    C: Connection,
    SqlQuery: ExecuteDsl<C>,
    for<'c> CallersConnection<'c>: From<&'c mut C>,
{
    let mut run = |text: &str| sql_query(text).execute(connection);
    match what {
        Entry::Tables => {
            run("CREATE TABLE IF NOT EXISTS demo_effect (job VARCHAR(400) NOT NULL, scheduled_ms BIGINT NOT NULL)")?;
            run("CREATE TABLE IF NOT EXISTS demo_fence (id INTEGER PRIMARY KEY, fence BIGINT NOT NULL)")?;
            // One row, whoever comes first.
            run("INSERT INTO demo_fence (id, fence) SELECT 1, 0 WHERE NOT EXISTS (SELECT 1 FROM demo_fence)")?;
            Ok(true)
        }
        Entry::Effect(job, scheduled_ms) => {
            let job = job.replace('\'', "''");
            run(&format!("INSERT INTO demo_effect (job, scheduled_ms) VALUES ('{job}', {scheduled_ms})"))?;
            if let Some(ctx) = ctx {
                ctx.complete_in(connection)?;
            }
            Ok(true)
        }
        Entry::Guarded(work) => {
            if let Some(ctx) = ctx {
                ctx.guard(connection)?;
                work(ctx)?;
            }
            Ok(true)
        }
        Entry::Fence(fence) => Ok(run(&format!("UPDATE demo_fence SET fence = {fence} WHERE fence < {fence}"))? > 0),
    }
}
