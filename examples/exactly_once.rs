//! Exactly-once effects: a transfer that ends its fire in its own transaction, asked for twice
//! under one request id.

use carnelian::{JobContext, JobError, Scheduler, Submission};
use diesel::connection::SimpleConnection;
use diesel::r2d2::{ConnectionManager, Pool};
use diesel::sql_types::BigInt;
use diesel::{QueryableByName, RunQueryDsl, SqliteConnection};
use std::error::Error;
use std::time::Duration;

type Db = Pool<ConnectionManager<SqliteConnection>>;

#[derive(QueryableByName)]
struct Balance {
    #[diesel(sql_type = BigInt)]
    balance: i64,
}

/// The money moves and the fire ends in one transaction: killed at any moment, the job has done
/// both or neither.
fn transfer(db: &Db, ctx: &mut JobContext) -> Result<(), JobError> {
    let amount = ctx.data().integer("amount").ok_or_else(|| JobError::new("no `amount` in the data"))?;
    let mut connection = db.get()?;
    connection.immediate_transaction(|connection| {
        connection.batch_execute(&format!("UPDATE account SET balance = balance - {amount} WHERE id = 1"))?;
        connection.batch_execute(&format!("UPDATE account SET balance = balance + {amount} WHERE id = 2"))?;
        ctx.complete_in(connection)?;
        Ok(())
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("bank.db").display().to_string();
    let db: Db = Pool::builder().max_size(6).build(ConnectionManager::new(file))?;
    db.get()?.batch_execute(
        "PRAGMA journal_mode = WAL; CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT);
         INSERT INTO account VALUES (1, 100), (2, 0);",
    )?;

    let jobs_db = db.clone();
    let scheduler = Scheduler::builder()
        .pool(db.clone())
        .job_fn("bank.transfer", move |ctx: &mut JobContext| transfer(&jobs_db, ctx))
        .build()?;
    scheduler.migrate()?;
    scheduler.start()?;

    // The client is not sure whether its first request came through, and asks again.
    for _ in 0..2 {
        let wish = Submission::new("bank.transfer").data("amount", 30).request_id("transfer 4711");
        println!("taken now: {}", scheduler.submit(wish)?.is_new);
    }
    while scheduler.health().counters.succeeded == 0 || !scheduler.running_fires()?.is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let rows: Vec<Balance> =
        diesel::sql_query("SELECT balance AS balance FROM account ORDER BY id").load(&mut db.get()?)?;
    let balances: Vec<i64> = rows.iter().map(|row| row.balance).collect();
    println!("balances: {balances:?}");
    assert_eq!(balances, [70, 30]);
    scheduler.shutdown_and_wait();
    Ok(())
}
