//! A blocking web server that takes work by request id, tries it again when it fails, and ends in
//! order.
//!
//! `cargo run --example web_server`, then `curl -X POST localhost:8080/reports/17`, as often as you
//! like; Ctrl-C ends it.

use carnelian::{JobContext, JobError, RetryPolicy, Scheduler, StopSignals, Submission};
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// The first try fails, as a server may that is busy.
fn report(ctx: &mut JobContext) -> Result<(), JobError> {
    if ctx.attempt() == 0 {
        return Err(JobError::new("the printer is busy").class("busy"));
    }
    println!("report of order {}, attempt {}", ctx.data().integer("order").unwrap_or_default(), ctx.attempt());
    Ok(())
}

/// `POST /reports/ORDER`: 202 and whether the work is new. The number of the order is the request
/// id.
fn answer(stream: &mut TcpStream, scheduler: &Scheduler) -> Result<String, Box<dyn Error>> {
    let mut line = String::new();
    BufReader::new(&*stream).read_line(&mut line)?;
    let order = line.strip_prefix("POST /reports/").and_then(|rest| rest.split(' ').next()?.parse::<i64>().ok());
    let Some(order) = order else { return Ok("404 Not Found\r\n\r\n".to_owned()) };
    let retry = RetryPolicy::exponential(Duration::from_secs(1), 2.0).max_attempts(5);
    let work = Submission::new("report").data("order", order).request_id(format!("report-{order}")).retry(retry);
    let taken = scheduler.submit(work)?;
    Ok(format!("202 Accepted\r\n\r\n{} {}\n", if taken.is_new { "stored as" } else { "known as" }, taken.job))
}

fn serve(listener: &TcpListener, scheduler: &Scheduler) {
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { continue };
        let scheduler = scheduler.clone();
        std::thread::spawn(move || {
            // Nothing was stored if there is an error: the client may ask again.
            let text = answer(&mut stream, &scheduler).unwrap_or_else(|why| format!("503 Unavailable\r\n\r\n{why}\n"));
            stream.write_all(format!("HTTP/1.1 {text}").as_bytes()).ok();
        });
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let signals = StopSignals::catch()?;
    let scheduler = Scheduler::builder().database("sqlite:reports.db").clustered().job_fn("report", report).build()?;
    scheduler.migrate()?;
    scheduler.start()?;
    let listener = TcpListener::bind(std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned()))?;
    let handle = scheduler.clone();
    std::thread::spawn(move || serve(&listener, &handle));
    signals.wait();
    // Requests that come now are refused, since a scheduler that ends takes no work.
    let left = scheduler.shutdown_and_wait();
    println!("ended: {left:?}");
    Ok(())
}
