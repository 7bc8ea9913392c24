//! Many nodes on one PostgreSQL, with the services of real ones: a thread for all services of a
//! node, a pool of connections for all nodes. `tests/engines/thousand` starts the server and runs
//! this.

use super::number;
use super::support::{fresh_name, postgres_url, wait_until};
use carnelian::clock::{Clock, SystemClock};
use carnelian::listener::SchedulerListener;
use carnelian::settings::Settings;
use carnelian::stepped::{Began, SteppedNode};
use carnelian::store::Recovered;
use carnelian::{JobContext, Scheduler};
use diesel::r2d2::{ConnectionManager, Pool};
use diesel::sql_types::{BigInt, Double, Text};
use diesel::{PgConnection, QueryableByName, RunQueryDsl, sql_query};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

/// A node looks so often whether the end has come.
const LONGEST_SLEEP: Duration = Duration::from_millis(250);

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = Double)]
    n: f64,
}

#[derive(QueryableByName)]
struct Calls {
    #[diesel(sql_type = Text)]
    query: String,
    #[diesel(sql_type = BigInt)]
    calls: i64,
}

/// The figures of one number of nodes.
struct Figures {
    nodes: usize,
    registration: Duration,
    statements: f64,
    cores: f64,
    found_after: Duration,
    looks: i64,
    /// Verdicts until all were there and idle: nodes that were too late for their check-ins.
    verdicts_at_start: usize,
    verdicts: usize,
}

/// Counts how often nodes have taken over the work of another.
struct Verdicts(Arc<AtomicUsize>);

impl SchedulerListener for Verdicts {
    fn name(&self) -> &str {
        "verdicts"
    }

    fn instance_recovered(&self, _: &Recovered) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn ask(pool: &Pool<ConnectionManager<PgConnection>>, text: &str) -> f64 {
    let rows: Vec<Number> = sql_query(text).load(&mut pool.get().unwrap()).unwrap();
    rows[0].n
}

/// The time that sessions of this database were active, in seconds.
fn active(pool: &Pool<ConnectionManager<PgConnection>>) -> f64 {
    ask(pool, "SELECT active_time / 1000.0 AS n FROM pg_stat_database WHERE datname = current_database()")
}

/// Passes of services until the end of the node, which leaves nothing in order: it is killed.
fn play(mut node: SteppedNode, clock: &SystemClock, ended: &dyn Fn() -> bool) {
    while !ended() {
        while let Some(fire) = node.take() {
            if let Began::Run(run) = node.begin(fire) {
                node.finish(run);
            }
        }
        let services = 0..node.services().count();
        let due = services.filter_map(|service| Some((node.due(service)?, service))).min();
        let now = clock.ticks();
        match due {
            Some((at, service)) if at <= now => node.pass(service),
            Some((at, _)) => std::thread::sleep((at - now).min(LONGEST_SLEEP)),
            None => std::thread::sleep(LONGEST_SLEEP),
        }
    }
}

/// Ends all nodes when the measurement is over, also if it fails.
struct AtEnd<'a>(&'a AtomicBool);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn measure(nodes: usize, seconds: u64) -> Figures {
    let name = fresh_name("thousand");
    // The poll is a setting of its own: none happens here.
    let text = format!(
        "org.quartz.scheduler.instanceName={name}\norg.quartz.threadPool.threadCount=1\n\
         org.quartz.scheduler.idleWaitTime=3600000\ncarnelian.scheduler.pollInterval=1h\n\
         org.quartz.jobStore.isClustered=true\norg.quartz.jobStore.dataSource=db\n\
         org.quartz.dataSource.db.URL={}\n",
        postgres_url()
    );
    let settings = Settings::from_text("thousand.properties", &text, |_| None).unwrap();
    let url = postgres_url();
    let pool = || Pool::builder().max_size(40).build(ConnectionManager::<PgConnection>::new(&url)).unwrap();
    let (shared, own) = (pool(), pool());
    let clock = Arc::new(SystemClock::default());
    let verdicts = Arc::new(AtomicUsize::new(0));
    let scheduler = |n: usize| {
        let builder = Scheduler::builder().settings(settings.clone()).pool(shared.clone()).clock(clock.clone());
        let builder = builder.instance_id(format!("node{n:04}")).job_fn("nothing", |_: &mut JobContext| Ok(()));
        let builder = builder.scheduler_listener(Verdicts(Arc::clone(&verdicts)));
        builder.build().unwrap()
    };
    scheduler(0).migrate().unwrap();
    let schedulers: Vec<Scheduler> = (0..nodes).map(scheduler).collect();
    let (ready, registered) = (Barrier::new(nodes + 1), AtomicUsize::new(0));
    let (all_end, one_ends) = (AtomicBool::new(false), AtomicBool::new(false));
    let problems = Mutex::new(Vec::new());
    let mut figures = None;
    std::thread::scope(|scope| {
        let _end = AtEnd(&all_end);
        for (n, scheduler) in schedulers.iter().enumerate() {
            let (ready, registered, problems) = (&ready, &registered, &problems);
            let (all_end, one_ends, clock) = (&all_end, &one_ends, &clock);
            let started = std::thread::Builder::new().stack_size(1 << 20).spawn_scoped(scope, move || {
                ready.wait();
                let node = loop {
                    match scheduler.start_stepped() {
                        Ok(node) => break node,
                        Err(error) if error.is_transient() && !all_end.load(Ordering::SeqCst) => {
                            problems.lock().unwrap().push(error.to_string());
                        }
                        Err(error) => return problems.lock().unwrap().push(format!("node {n}: {error}")),
                    }
                };
                registered.fetch_add(1, Ordering::SeqCst);
                let is_mortal = n == nodes / 2;
                let ended = || all_end.load(Ordering::SeqCst) || is_mortal && one_ends.load(Ordering::SeqCst);
                play(node, clock, &ended);
            });
            started.unwrap();
        }
        ready.wait();
        let begun = Instant::now();
        wait_until("all nodes are registered", Duration::from_secs(300), || registered.load(Ordering::SeqCst) == nodes);
        let registration = begun.elapsed();
        println!("  {nodes} nodes: all registered after {registration:.2?}");
        // The first minute ends with the audit that follows a start.
        std::thread::sleep(Duration::from_secs(75));
        let sent = || schedulers.iter().map(|one| one.store().database().counts().statements).sum::<u64>();
        let before = (sent(), active(&own), Instant::now());
        forget_calls(&own);
        std::thread::sleep(Duration::from_secs(seconds));
        let took = before.2.elapsed().as_secs_f64();
        let statements = (sent() - before.0) as f64 / took / nodes as f64;
        let cores = (active(&own) - before.1) / took;
        for Calls { query, calls } in calls(&own).into_iter().take(14) {
            let short: String = query.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(110).collect();
            println!("  {nodes} nodes: {:.4}/s/node {short}", calls as f64 / took / nodes as f64);
        }
        let state = format!("SELECT count(*)::float8 AS n FROM qrtz_scheduler_state WHERE sched_name = '{name}'");
        assert_eq!(ask(&own, &state), nodes as f64, "somebody was declared dead");
        forget_calls(&own);
        let verdicts_at_start = verdicts.load(Ordering::SeqCst);
        one_ends.store(true, Ordering::SeqCst);
        let begun = Instant::now();
        wait_until("the dead node is found", Duration::from_secs(60), || ask(&own, &state) < nodes as f64);
        let found_after = begun.elapsed();
        // Others that judge it do so at about the same time, or when their check-in tells them.
        std::thread::sleep(Duration::from_secs(20));
        let after = calls(&own);
        let sent = |words: &str| after.iter().filter(|one| one.query.contains(words)).map(|one| one.calls).sum::<i64>();
        // A verdict takes a second lock.
        let looks = sent("held AS MATERIALIZED") - sent("DELETE FROM QRTZ_SCHEDULER_STATE");
        assert_eq!(ask(&own, &state), nodes as f64 - 1.0, "one node died");
        all_end.store(true, Ordering::SeqCst);
        let verdicts = verdicts.load(Ordering::SeqCst) - verdicts_at_start;
        figures =
            Some(Figures { nodes, registration, statements, cores, found_after, looks, verdicts_at_start, verdicts });
    });
    let problems = problems.into_inner().unwrap();
    println!("  {nodes} nodes: registrations tried again: {}, {:?}", problems.len(), problems.first());
    schedulers[0].store().database().forget_scheduler().unwrap();
    let one: Figures = figures.unwrap();
    let (all_statements, registration) = (one.statements * nodes as f64, one.registration.as_secs_f64());
    println!("figures: {nodes},{all_statements:.1},{:.4},{registration:.2}", one.cores);
    one
}

/// The statements that the server has run since it was last told to forget, if it keeps count.
fn calls(pool: &Pool<ConnectionManager<PgConnection>>) -> Vec<Calls> {
    let text = "SELECT query, calls FROM pg_stat_statements WHERE query LIKE '%qrtz_%' OR query LIKE '%QRTZ_%' ORDER BY calls DESC";
    sql_query(text).load(&mut pool.get().unwrap()).unwrap_or_default()
}

fn forget_calls(pool: &Pool<ConnectionManager<PgConnection>>) {
    let _ = sql_query("SELECT pg_stat_statements_reset()").execute(&mut pool.get().unwrap());
}

/// The exponent by which a figure of the whole cluster grows with the nodes: least squares of the
/// logarithms.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len() as f64;
    let (mx, my) = (logs.iter().map(|p| p.0).sum::<f64>() / n, logs.iter().map(|p| p.1).sum::<f64>() / n);
    let (num, den) =
        logs.iter().fold((0.0, 0.0), |(num, den), (x, y)| (num + (x - mx) * (y - my), den + (x - mx).powi(2)));
    num / den
}

/// `CARNELIAN_THOUSAND_NODES` (default `10,100,1000`) are the numbers of nodes,
/// `CARNELIAN_THOUSAND_SECONDS` (default 60) the time for which each is looked at.
#[test]
#[ignore = "needs the server that tests/engines/thousand starts"]
fn idle_nodes_cost_little_and_grow_linearly() {
    let numbers = std::env::var("CARNELIAN_THOUSAND_NODES").unwrap_or_else(|_| "10,100,1000".to_owned());
    let seconds = u64::from(number("CARNELIAN_THOUSAND_SECONDS", 60));
    let all: Vec<Figures> = numbers.split(',').map(|nodes| measure(nodes.parse().unwrap(), seconds)).collect();
    println!(
        "thousand | nodes | statements/s/node | statements/s | cores of the server | all registered after | verdicts until then | a death found after | looks under the lock for it | verdicts |"
    );
    for one in &all {
        println!(
            "thousand | {} | {:.3} | {:.1} | {:.4} | {:.2?} | {} | {:.1?} | {} | {} |",
            one.nodes,
            one.statements,
            one.statements * one.nodes as f64,
            one.cores,
            one.registration,
            one.verdicts_at_start,
            one.found_after,
            one.looks,
            one.verdicts
        );
    }
    if all.len() > 1 {
        let of = |figure: &dyn Fn(&Figures) -> f64| {
            exponent(&all.iter().map(|one| (one.nodes as f64, figure(one))).collect::<Vec<_>>())
        };
        println!(
            "thousand growth: statements of the cluster ~ nodes^{:.2}, cores ~ nodes^{:.2}",
            of(&|one| one.statements * one.nodes as f64),
            of(&|one| one.cores)
        );
    }
    for one in &all {
        assert_eq!(one.verdicts, 1, "a death among {} nodes is judged once", one.nodes);
        assert!(one.statements <= 0.2, "{} nodes send {:.3} statements a second each", one.nodes, one.statements);
        assert!(
            one.registration < Duration::from_secs(30),
            "{} nodes were registered after {:?}",
            one.nodes,
            one.registration
        );
    }
}
