//! An outbox on PostgreSQL: the order and the work that follows from it are one transaction of the
//! program's own pool.
//!
//! `DATABASE_URL=postgres://… cargo run --example outbox --features postgres`

use carnelian::{JobContext, JobError, RetryPolicy, Scheduler, Submission};
use diesel::connection::SimpleConnection;
use diesel::r2d2::{ConnectionManager, Pool};
use diesel::{PgConnection, RunQueryDsl, sql_query, sql_types::Integer};
use std::error::Error;
use std::time::Duration;

type Db = Pool<ConnectionManager<PgConnection>>;

/// Ends its run in the transaction that notes the mail, so that the note is made once.
fn confirm(db: &Db, ctx: &mut JobContext) -> Result<(), JobError> {
    let order = ctx.data().integer("order").ok_or_else(|| JobError::new("no `order` in the data").permanent())?;
    db.get()?.build_transaction().read_committed().run(|db| {
        db.batch_execute(&format!("UPDATE orders SET confirmed = confirmed + 1 WHERE id = {order}"))?;
        println!("order {order} is confirmed");
        ctx.complete_in(db)?;
        Ok(())
    })
}

/// The order and the job that confirms it: both are stored, or neither is.
fn place_order(db: &Db, scheduler: &Scheduler, order: i32) -> Result<(), Box<dyn Error>> {
    db.get()?.build_transaction().read_committed().run(|db| {
        sql_query("INSERT INTO orders VALUES ($1, 0)").bind::<Integer, _>(order).execute(db)?;
        let retry = RetryPolicy::exponential(Duration::from_secs(1), 2.0).max_attempts(8);
        let work = Submission::new("confirm").data("order", order).request_id(format!("order-{order}")).retry(retry);
        scheduler.submit_in(db, [work])?;
        Ok::<_, Box<dyn Error>>(())
    })?;
    scheduler.wake(); // after the commit: before it nobody sees the work
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::var("DATABASE_URL").map_err(|_| "set DATABASE_URL to an empty database of PostgreSQL")?;
    let db: Db = Pool::builder().max_size(8).build(ConnectionManager::new(url))?;
    db.get()?.batch_execute("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, confirmed INTEGER)")?;
    let jobs_db = db.clone();
    let scheduler = Scheduler::builder()
        .pool(db.clone())
        .job_fn("confirm", move |ctx: &mut JobContext| confirm(&jobs_db, ctx))
        .build()?;
    scheduler.migrate()?;
    scheduler.start()?;
    let first = std::process::id() as i32 * 10; // other numbers at each start
    for order in first..first + 3 {
        place_order(&db, &scheduler, order)?;
    }
    // A program goes on to serve. This one ends, and `shutdown_and_wait` lets running jobs end
    // first.
    while scheduler.health().counters.succeeded < 3 {
        std::thread::sleep(Duration::from_millis(20));
    }
    scheduler.shutdown_and_wait();
    Ok(())
}
