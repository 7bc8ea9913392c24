//! PgBouncer before PostgreSQL: found out, nothing left in its sessions, and what cannot work is
//! said.
#![cfg(feature = "postgres")]

use crate::support::{self, pgbouncer::PgBouncer, wait_until};
use carnelian::clock::SystemClock;
use carnelian::settings::Settings;
use carnelian::store::JobStore;
use carnelian::{IfExists, JobContext, JobDetail, JobKey, Scheduler, Trigger, TriggerKey};
use diesel::connection::SimpleConnection;
use diesel::sql_types::Text;
use diesel::{Connection, PgConnection, QueryableByName, RunQueryDsl};
use std::sync::Arc;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

/// Everything that a client may find in a session though it has left nothing there itself; the
/// pooler sets some settings again for each client.
const LEFT: &str = "SELECT coalesce(string_agg(name, ' '), '') AS value FROM (SELECT name FROM pg_settings \
     WHERE source = 'session' AND name NOT IN ('application_name', 'client_encoding', 'DateStyle', 'TimeZone', \
     'standard_conforming_strings') UNION ALL SELECT 'statement ' || name FROM pg_prepared_statements \
     UNION ALL SELECT 'channel ' || pg_listening_channels() \
     UNION ALL SELECT 'lock ' || objid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()) AS l";

#[derive(QueryableByName)]
struct Answer {
    #[diesel(sql_type = Text)]
    value: String,
}

/// Settings of a scheduler with tables in a schema of its own.
fn settings(url: &str, more: &str) -> Settings {
    let name = support::fresh_name("pooler");
    run(&format!("CREATE SCHEMA {name}"));
    let text = format!(
        "scheduler.instanceName = {name}\njobStore.isClustered = true\njobStore.tablePrefix = {name}.QRTZ_\n\
         jobStore.dataSource = d\ndataSource.d.URL = {url}\n{more}"
    );
    Settings::from_text("test", &text, |_| None).unwrap()
}

fn store(settings: &Settings) -> JobStore {
    carnelian::store::open(settings, Arc::new(SystemClock::default())).unwrap()
}

/// The things that others find in sessions of the pooler's.
fn left(pooler: &PgBouncer) -> Vec<String> {
    let mut held: Vec<_> = (0..6).map(|_| PgConnection::establish(&pooler.url()).unwrap()).collect();
    held.iter_mut().for_each(|connection| connection.batch_execute("BEGIN").unwrap());
    let left = held.iter_mut().map(|connection| {
        let answer: Answer = diesel::sql_query(LEFT).get_result(connection).unwrap();
        connection.batch_execute("COMMIT").unwrap();
        answer.value
    });
    left.filter(|left| !left.is_empty()).collect()
}

/// Runs a statement on the server itself.
fn run(text: &str) {
    PgConnection::establish(&support::postgres_url()).unwrap().batch_execute(text).unwrap();
}

fn drop_tables(settings: &Settings) {
    run(&format!("DROP SCHEMA {} CASCADE", settings.scheduler.instance_name));
}

/// A node works behind a pooler that lends sessions by the transaction, which it finds out by
/// itself. Tables are made by two processes at once.
#[test]
fn nodes_work_behind_a_pooler_by_transaction_and_leave_nothing_in_its_sessions() {
    let pooler = PgBouncer::before(&support::postgres_url(), "transaction");
    let settings = settings(&pooler.url(), "threadPool.threadCount = 4");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| store(&settings).database().migrate().unwrap());
        }
    });
    let (ran, runs) = crossbeam_channel::unbounded();
    let note = move |_: &mut JobContext| Ok(ran.send(())?);
    let scheduler = Scheduler::builder().settings(settings.clone()).job_fn("note", note).build().unwrap();
    assert!(scheduler.migrate().unwrap().is_empty(), "the tables are there");
    scheduler.start().unwrap();
    let guard = scheduler.store().database().session_limit().unwrap().unwrap();
    assert!(guard.contains("a pooler lends its sessions by the transaction"), "{guard}");
    assert!(scheduler.store().database().notification_source().is_none(), "nothing would be heard");
    for n in 0..40 {
        let job = JobDetail::builder(JobKey::named(n.to_string()), "note").build().unwrap();
        let trigger = Trigger::builder(TriggerKey::named(n.to_string()), job.key().clone()).build().unwrap();
        scheduler.schedule_job(job, trigger).unwrap();
    }
    for _ in 0..40 {
        runs.recv_timeout(LONG).unwrap();
    }
    assert_eq!(left(&pooler), [""; 0]);
    assert!(scheduler.doctor().unwrap().is_empty());
    assert!(scheduler.shutdown_and_wait().is_clean());
    assert_eq!(left(&pooler), [""; 0]);
    drop_tables(&settings);
}

/// In session mode nodes hear notifications, and do as without a pooler.
#[test]
fn a_pooler_by_session_is_as_none() {
    let pooler = PgBouncer::before(&support::postgres_url(), "session");
    let settings = settings(&pooler.url(), "");
    let store = store(&settings);
    store.database().migrate().unwrap();
    let guard = store.database().session_limit().unwrap().unwrap();
    assert!(!guard.contains("pooler"), "{guard}");
    store.database().notification_source().unwrap().connect().unwrap();
    drop_tables(&settings);
}

/// The error names the pooler and the setting if the settings are wrong.
#[test]
fn a_pooler_that_is_taken_for_none_is_named() {
    let pooler = PgBouncer::before(&support::postgres_url(), "transaction");
    let settings = settings(&pooler.url(), "carnelian.dataSource.pooler = session");
    let stores = [store(&settings), store(&settings)];
    let errors = stores.each_ref().map(|store| store.now_ms().err().map(|error| error.to_string()));
    let error = errors.into_iter().flatten().next().expect("both have prepared a statement in the same session");
    assert!(error.contains("set carnelian.dataSource.pooler = transaction"), "{error}");
    drop_tables(&settings);
}

/// A pooler in statement mode can carry no transactions.
#[test]
fn a_pooler_by_statement_is_named() {
    let pooler = PgBouncer::before(&support::postgres_url(), "statement");
    let mut settings = settings(&pooler.url(), "");
    settings.data_source.as_mut().unwrap().connection_timeout = Duration::from_secs(2);
    let error = store(&settings).now_ms().unwrap_err().to_string();
    assert!(error.contains("pool_mode = transaction"), "{error}");
    drop_tables(&settings);
}

/// A parameter of the URL that the pooler refuses is a mistake of the settings, said at once.
#[test]
fn a_parameter_that_a_pooler_refuses_is_named() {
    let pooler = PgBouncer::before(&support::postgres_url(), "transaction");
    let settings = settings(&format!("{}?options=-csearch_path%3Dpublic", pooler.url()), "");
    let error = store(&settings).now_ms().unwrap_err().to_string();
    assert!(error.contains("ignore_startup_parameters"), "{error}");
    drop_tables(&settings);
}

/// Nothing may be set in a session that belongs to others next.
#[test]
fn no_statement_is_run_on_each_connection_behind_a_pooler_by_transaction() {
    let pooler = PgBouncer::before(&support::postgres_url(), "transaction");
    let settings = settings(&pooler.url(), "dataSource.d.connectionInitSql = SET work_mem = '8MB'");
    let error = store(&settings).now_ms().unwrap_err().to_string();
    assert!(error.contains("connectionInitSql") && error.contains("a pooler lends sessions"), "{error}");
    assert_eq!(left(&pooler), [""; 0]);
    drop_tables(&settings);
}

/// Nodes listen where the settings say, if that is the server itself.
#[test]
fn nodes_listen_beside_the_pooler() {
    let pooler = PgBouncer::before(&support::postgres_url(), "transaction");
    let by = |url: &str| settings(&pooler.url(), &format!("carnelian.dataSource.listenUrl = {url}"));
    let right = by(&support::postgres_url());
    let store = store(&right);
    store.database().migrate().unwrap();
    let mut heard = store.database().notification_source().unwrap();
    heard.connect().unwrap();
    store.catalogue().pause_all().unwrap();
    wait_until("the change is heard", LONG, || heard.received().unwrap().change);
    drop_tables(&right);

    let wrong = by(&pooler.url());
    let error = self::store(&wrong).database().notification_source().unwrap().connect().unwrap_err().to_string();
    assert!(error.contains("name the server itself"), "{error}");
    drop_tables(&wrong);
}

/// Connections of the caller's prepare nothing.
#[derive(Debug)]
struct PreparesNothing;

impl diesel::r2d2::CustomizeConnection<PgConnection, diesel::r2d2::Error> for PreparesNothing {
    fn on_acquire(&self, connection: &mut PgConnection) -> Result<(), diesel::r2d2::Error> {
        connection.set_prepared_statement_cache_size(diesel::connection::CacheSize::Disabled);
        Ok(())
    }
}

/// Pools of the caller's lead to a pooler.
#[test]
fn pools_of_the_callers_work_behind_a_pooler_and_leave_nothing_in_its_sessions() {
    use diesel::r2d2::{ConnectionManager, Pool};
    let pooler = PgBouncer::before(&support::postgres_url(), "transaction");
    let settings = settings(&pooler.url(), "");
    let schedulers = [1, 2].map(|_| {
        let manager = ConnectionManager::<PgConnection>::new(pooler.url());
        let pool = Pool::builder().max_size(2).connection_customizer(Box::new(PreparesNothing)).build(manager).unwrap();
        Scheduler::builder().settings(settings.clone()).pool(pool).job_fn("note", |_| Ok(())).build().unwrap()
    });
    for (n, scheduler) in schedulers.iter().enumerate() {
        assert_eq!(scheduler.migrate().unwrap().is_empty(), n > 0);
        let job = JobDetail::builder(JobKey::named(n.to_string()), "note").durable(true).build().unwrap();
        scheduler.add_job(&job, IfExists::Refuse).unwrap();
    }
    for scheduler in &schedulers {
        assert_eq!(scheduler.jobs(&carnelian::GroupMatcher::Any).unwrap().len(), 2);
    }
    assert_eq!(left(&pooler), [""; 0]);
    drop_tables(&settings);
}
