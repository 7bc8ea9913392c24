//! The cost of the question whether jobs execute, beside 20,000 executing fires of one job: an
//! acquisition of 500 jobs that run once at a time, and storing one trigger of the job that
//! executes. With fresh statistics, which mislead planners most here.
//!
//! On SQLite, and on the servers of `CARNELIAN_TEST_POSTGRES` and `CARNELIAN_TEST_MYSQL` where
//! these are set. Each line is a median.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a benchmark")]

mod node;

use self::node::{BATCH, Node};
use carnelian::settings::Settings;
use carnelian::{JobDetail, JobKey, Trigger, TriggerKey};
use diesel::connection::SimpleConnection;
use diesel::{Connection, MysqlConnection, PgConnection, SqliteConnection};
use std::time::{Duration, Instant};

const CROWD: usize = 20_000;
const ROUNDS: usize = 9;

fn open(url: &str, scheduler: &str, instance: &str) -> Node {
    let mut node = Node::open(Settings::in_database(scheduler, url.parse().unwrap()), instance);
    node.check_in();
    node
}

impl Node {
    fn schedule_singles(&self, round: &str) {
        let work = (0..BATCH).map(|i| {
            let job = JobDetail::builder(JobKey::named(format!("single-{round}-{i}")), "t");
            let job = job.disallow_concurrent_execution(true).build().unwrap();
            let trigger = trigger(format!("single-{round}-{i}"), job.key());
            (job, vec![trigger])
        });
        self.store.catalogue().schedule(work.collect(), true).unwrap();
    }
}

fn trigger(name: String, job: &JobKey) -> Trigger {
    Trigger::builder(TriggerKey::named(name), job.clone()).build().unwrap()
}

fn crowd() -> JobDetail {
    JobDetail::builder(JobKey::named("crowd"), "t").durable(true).build().unwrap()
}

fn median(mut all: Vec<Duration>) -> f64 {
    all.sort();
    all.get(all.len() / 2).map_or(0.0, |middle| middle.as_secs_f64() * 1_000.0)
}

fn analyze(url: &str) {
    let mysql = "ANALYZE TABLE QRTZ_FIRED_TRIGGERS, QRTZ_TRIGGERS, QRTZ_JOB_DETAILS";
    let done = match url.split(':').next() {
        Some("postgres") => PgConnection::establish(url).unwrap().batch_execute("ANALYZE"),
        Some("mysql") => MysqlConnection::establish(url).unwrap().batch_execute(mysql),
        _ => SqliteConnection::establish(url.trim_start_matches("sqlite:")).unwrap().batch_execute("ANALYZE"),
    };
    done.unwrap();
}

/// Acquisitions and their statement, ends, and calls that store one trigger, in milliseconds.
fn measure(node: &Node, what: &str) {
    let (mut acquired, mut ended, mut stored) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        node.schedule_singles(&format!("{what}-{round}"));
        let begin = Instant::now();
        let fired = node.acquire();
        acquired.push(begin.elapsed());
        assert!(fired.len() == BATCH, "only {} fires", fired.len());
        let begin = Instant::now();
        node.complete(&fired);
        ended.push(begin.elapsed());
    }
    for i in 0..20 * ROUNDS {
        let one = trigger(format!("crowd-{what}-{i}"), crowd().key());
        let begin = Instant::now();
        node.store.catalogue().add_trigger(one, false).unwrap();
        stored.push(begin.elapsed());
    }
    while node.acquire().len() == BATCH {}
    node.schedule_singles(what);
    node.database.plans().begin();
    node.acquire();
    let explained = node.database.plans().take();
    let asking = explained.iter().filter(|statement| statement.text.contains("AS executing,"));
    let took: Vec<String> =
        asking.filter_map(|statement| statement.plans.iter().find_map(|plan| time_of(plan))).collect();
    println!(
        "{what}: acquire {BATCH} {:.1} ms (its search: {} ms), end them {:.1} ms, store a trigger {:.2} ms",
        median(acquired),
        if took.is_empty() { "not told".to_owned() } else { took.join(" + ") },
        median(ended),
        median(stored)
    );
}

/// A server's answer how long a statement took.
fn time_of(plan: &str) -> Option<String> {
    let rest = match plan.split_once("\"Execution Time\": ") {
        Some((_, rest)) => rest,
        None => plan.split_once("\"query_block\"")?.1.split_once("\"r_total_time_ms\": ")?.1,
    };
    let number: f64 = rest.split(|c: char| c != '.' && !c.is_ascii_digit()).next()?.parse().ok()?;
    Some(format!("{number:.1}"))
}

fn on(place: &str, url: &str) {
    let name = format!("bench-executing-{}", std::process::id());
    let other = open(url, &name, "other");
    let node = open(url, &name, "one");
    let job = crowd();
    node.store.catalogue().add_job(&job, true).unwrap();
    measure(&node, &format!("{place}, nothing executes"));
    let its = |i: usize| trigger(format!("a-trigger-with-a-name-of-the-length-that-people-give-{i}"), job.key());
    other.store.catalogue().schedule(vec![(job.clone(), (0..CROWD).map(its).collect())], true).unwrap();
    while !other.acquire().is_empty() {}
    analyze(url);
    let node = open(url, &name, "two");
    measure(&node, &format!("{place}, {CROWD} execute"));
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    on("SQLite", &format!("sqlite:{}", folder.path().join("bench.db").display()));
    for (place, variable) in [("PostgreSQL", "CARNELIAN_TEST_POSTGRES"), ("MariaDB", "CARNELIAN_TEST_MYSQL")] {
        match std::env::var(variable) {
            Ok(url) => on(place, &url),
            Err(_) => println!("{place}: {variable} is not set"),
        }
    }
}
