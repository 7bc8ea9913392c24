//! Pools of connections: the caller's, and our own after an outage.
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql"))]

use crate::support::{self, cutting_proxy::Proxy};
use carnelian::clock::{Clock, SystemClock};
use carnelian::database::CallersPool;
use carnelian::settings::Settings;
use carnelian::store::{JobStore, SqlDatabase, violations};
use carnelian::{JobContext, JobDetail, JobKey, Scheduler, Trigger, TriggerKey};
use diesel::connection::SimpleConnection;
use diesel::r2d2::{ConnectionManager, Pool};
use diesel::sql_types::Text;
use diesel::{MysqlConnection, PgConnection, QueryableByName, RunQueryDsl, SqliteConnection};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

fn scheduler(pool: impl Into<CallersPool>, ran: &Arc<AtomicUsize>) -> Scheduler {
    let name = support::fresh_name("pool");
    let text = format!("scheduler.instanceName = {name}\nthreadPool.threadCount = 2");
    let settings = Settings::from_text("test", &text, |_| None).unwrap();
    let ran = Arc::clone(ran);
    let note = move |_: &mut JobContext| {
        ran.fetch_add(1, Ordering::SeqCst);
        Ok(())
    };
    let scheduler = Scheduler::builder().settings(settings).pool(pool).job_fn("note", note).build().unwrap();
    scheduler.migrate().unwrap();
    scheduler
}

fn fire(scheduler: &Scheduler, name: &str) {
    let job = JobDetail::builder(JobKey::named(name), "note").build().unwrap();
    let trigger = Trigger::builder(TriggerKey::named(name), job.key().clone()).build().unwrap();
    scheduler.schedule_job(job, trigger).unwrap();
}

fn end(scheduler: &Scheduler) {
    assert!(scheduler.shutdown_and_wait().is_clean());
    let found = violations(&scheduler.store().upkeep().snapshot().unwrap());
    assert!(found.is_empty(), "{found:?}");
    scheduler.store().database().forget_scheduler().unwrap();
}

#[derive(QueryableByName)]
struct Setting {
    #[diesel(sql_type = Text)]
    value: String,
}

/// The settings of a session hold for the store's own transactions; the caller's are as they were.
/// Connections that the server cuts off are replaced.
#[test]
fn on_postgres_the_callers_sessions_keep_their_settings_and_broken_ones_are_replaced() {
    // Of its own name: the sessions of other tests are not to be ended.
    let url = support::postgres_url();
    let url =
        format!("{url}{}application_name={}", if url.contains('?') { '&' } else { '?' }, support::fresh_name("pool"));
    let pool = Pool::builder().max_size(3).build(ConnectionManager::<PgConnection>::new(url)).unwrap();
    let ask = |text: &str| {
        let rows: Vec<Setting> = diesel::sql_query(text).load(&mut pool.get().unwrap()).unwrap();
        rows.into_iter().next().map(|row| row.value).unwrap_or_default()
    };
    let settings = "SELECT current_setting('lock_timeout') || ' ' || current_setting('statement_timeout') || ' ' || \
         current_setting('idle_in_transaction_session_timeout') || ' ' || \
         current_setting('default_transaction_isolation') AS value";
    let before = ask(settings);
    let ran = Arc::default();
    let scheduler = scheduler(pool.clone(), &ran);
    scheduler.start().unwrap();
    fire(&scheduler, "first");
    support::wait_until("it has run", LONG, || ran.load(Ordering::SeqCst) == 1);
    for _ in 0..6 {
        assert_eq!(ask(settings), before);
    }

    let cut = "SELECT coalesce(string_agg(pg_terminate_backend(pid)::text, ' '), '') AS value FROM pg_stat_activity \
         WHERE pid <> pg_backend_pid() AND application_name = current_setting('application_name') AND state = 'idle'";
    // All may be at work at the moment.
    support::wait_until("one is cut off", LONG, || !ask(cut).is_empty());
    fire(&scheduler, "second");
    support::wait_until("the second has run", LONG, || ran.load(Ordering::SeqCst) == 2);
    end(&scheduler);
}

#[test]
fn on_mysql() {
    let pool =
        Pool::builder().max_size(3).build(ConnectionManager::<MysqlConnection>::new(support::mysql_url())).unwrap();
    let ran = Arc::default();
    let scheduler = scheduler(pool.clone(), &ran);
    scheduler.start().unwrap();
    fire(&scheduler, "first");
    support::wait_until("it has run", LONG, || ran.load(Ordering::SeqCst) == 1);
    end(&scheduler);
    let rows: Vec<Setting> = diesel::sql_query("SELECT CAST(@@innodb_lock_wait_timeout AS CHAR) AS value")
        .load(&mut pool.get().unwrap())
        .unwrap();
    assert_eq!(rows[0].value, "10", "documented: the session keeps the store's settings");
}

#[test]
fn on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("jobs.db").display().to_string();
    let pool = Pool::builder().max_size(3).build(ConnectionManager::<SqliteConnection>::new(file)).unwrap();
    // The caller's own tables live beside ours.
    pool.get().unwrap().batch_execute("CREATE TABLE mine (n INTEGER)").unwrap();
    let ran = Arc::default();
    let scheduler = scheduler(pool.clone(), &ran);
    scheduler.start().unwrap();
    fire(&scheduler, "first");
    support::wait_until("it has run", LONG, || ran.load(Ordering::SeqCst) == 1);
    end(&scheduler);
    pool.get().unwrap().batch_execute("INSERT INTO mine VALUES (1)").unwrap();
}

#[test]
fn a_store_and_a_pool_are_one_too_many() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("jobs.db").display().to_string();
    let pool = Pool::builder().max_size(1).build(ConnectionManager::<SqliteConnection>::new(file)).unwrap();
    let settings = Settings::default();
    let store = carnelian::store::open(&settings, Arc::new(carnelian::clock::SystemClock::default())).unwrap();
    let error = Scheduler::builder().store(store).pool(pool).build().err().unwrap();
    assert!(error.to_string().contains("both a store and a pool"), "{error}");
}

/// LT-105: with `validateOnCheckout` a connection that the server has cut off is replaced before
/// anything is asked of it; without, the store finds out by a transaction that fails and is tried
/// again.
#[test]
fn on_postgres_a_connection_is_tried_before_it_is_used_if_the_settings_say_so() {
    use diesel::Connection as _;
    let mut admin = PgConnection::establish(&support::postgres_url()).unwrap();
    let mut retries = |validates: bool| {
        let name = support::fresh_name("pool");
        let url = support::postgres_url();
        let url = format!("{url}{}application_name={name}", if url.contains('?') { '&' } else { '?' });
        let text = format!(
            "scheduler.instanceName = {name}\njobStore.dataSource = d\ndataSource.d.URL = {url}\n\
             dataSource.d.validateOnCheckout = {validates}\ndataSource.d.maxConnections = 1"
        );
        let settings = Settings::from_text("test", &text, |_| None).unwrap();
        let scheduler = Scheduler::builder().settings(settings).build().unwrap();
        scheduler.migrate().unwrap();
        let cut = format!(
            "SELECT coalesce(string_agg(pg_terminate_backend(pid, 5000)::text, ' '), '') AS value FROM pg_stat_activity \
             WHERE application_name = '{name}'"
        );
        assert!(scheduler.jobs(&carnelian::GroupMatcher::Any).unwrap().is_empty());
        let gone: Vec<Setting> = diesel::sql_query(cut).load(&mut admin).unwrap();
        assert_eq!(gone[0].value, "true", "one connection was there and is cut off");
        let tried_again = || {
            let text = scheduler.metrics_text();
            let lines = text.lines().filter(|line| line.starts_with("carnelian_db_retries_total{"));
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>()
        };
        let before = tried_again();
        assert!(scheduler.jobs(&carnelian::GroupMatcher::Any).unwrap().is_empty());
        let retries = tried_again() - before;
        scheduler.store().database().forget_scheduler().unwrap();
        retries
    };
    assert!(retries(false) >= 1.0, "it was cut off");
    assert_eq!(retries(true), 0.0);
}

/// The statement of the settings is run on each connection before it is used; one that fails is
/// named.
fn a_statement_of_the_settings_is_run_on_each_connection(url: &str) {
    let open = |statement: &str| {
        let text = format!(
            "scheduler.instanceName = {}\njobStore.dataSource = d\ndataSource.d.URL = {url}\n\
             dataSource.d.maxLifetime = 1800000\ndataSource.d.connectionInitSql = {statement}",
            support::fresh_name("pool")
        );
        Scheduler::builder().settings(Settings::from_text("test", &text, |_| None).unwrap()).build().unwrap()
    };
    let table = format!("carnelian_test_{}", support::fresh_name("t").replace('-', "_"));
    let scheduler = open(&format!("CREATE TABLE IF NOT EXISTS {table} (n INTEGER)"));
    scheduler.migrate().unwrap();
    scheduler.store().database().forget_scheduler().unwrap();
    // The table can be dropped once: it is there.
    open(&format!("DROP TABLE {table}")).store().database().check_schema().unwrap();
    let error = open(&format!("DROP TABLE {table}")).store().database().check_schema().unwrap_err().to_string();
    assert!(error.contains("connectionInitSql"), "{error}");
}

#[test]
fn a_statement_of_the_settings_is_run_on_each_connection_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("jobs.db").display());
    a_statement_of_the_settings_is_run_on_each_connection(&url);
}

#[test]
fn a_statement_of_the_settings_is_run_on_each_connection_on_postgres() {
    a_statement_of_the_settings_is_run_on_each_connection(&support::postgres_url());
}

#[test]
fn a_statement_of_the_settings_is_run_on_each_connection_on_mysql() {
    a_statement_of_the_settings_is_run_on_each_connection(&support::mysql_url());
}

/// A schema may have as long a name as the server allows.
#[test]
fn tables_are_made_in_a_schema_of_63_characters() {
    use diesel::Connection as _;
    // The user of the tests may make databases of such names only.
    let schema = format!("carnelian_test_{}", support::fresh_name("s").replace('-', "_"));
    let schema = format!("{schema}{}", "x".repeat(63 - schema.len()));
    let mut postgres = PgConnection::establish(&support::postgres_url()).unwrap();
    let mut mysql = MysqlConnection::establish(&support::mysql_url()).unwrap();
    postgres.batch_execute(&format!("CREATE SCHEMA {schema}")).unwrap();
    mysql.batch_execute(&format!("CREATE DATABASE {schema}")).unwrap();
    for url in [support::postgres_url(), support::mysql_url()] {
        let text = format!(
            "jobStore.dataSource = d\ndataSource.d.URL = {url}\njobStore.tablePrefix = {schema}.QRTZ_\n\
             threadPool.threadCount = 1"
        );
        let settings = Settings::from_text("test", &text, |_| None).unwrap();
        let (ran, runs) = crossbeam_channel::unbounded();
        let note = move |_: &mut JobContext| Ok(ran.send(())?);
        let scheduler = Scheduler::builder().settings(settings).job_fn("note", note).build().unwrap();
        assert!(!scheduler.migrate().unwrap().is_empty(), "{url}: the tables are new");
        if url == support::mysql_url() {
            // The second migration finds the tables of the first in this schema.
            let lost = format!("DELETE FROM {schema}.QRTZ_CN_MIGRATIONS WHERE VERSION <> '0001_quartz'");
            mysql.batch_execute(&lost).unwrap();
            assert!(!scheduler.migrate().unwrap().is_empty());
        }
        scheduler.start().unwrap();
        fire(&scheduler, "j");
        runs.recv_timeout(LONG).unwrap();
        end(&scheduler);
    }
    postgres.batch_execute(&format!("DROP SCHEMA {schema} CASCADE")).unwrap();
    mysql.batch_execute(&format!("DROP DATABASE {schema}")).unwrap();
}

/// The first of several servers is a machine that says nothing: the next one is asked soon. Each
/// new connection waited for as long as its caller, who then gave up.
#[test]
fn a_silent_server_is_passed_over_soon_if_there_are_others() {
    // The system takes connections to it, and nobody answers.
    let silent = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = support::postgres_url();
    let host = format!("@127.0.0.1:{},", silent.local_addr().unwrap().port());
    let url = url.replacen('@', &host, 1);
    let settings = Settings::in_database(support::fresh_name("pool"), url.parse().unwrap());
    let clock = SystemClock::default();
    let store = carnelian::store::open(&settings, Arc::new(SystemClock::default())).unwrap();
    let begun = clock.ticks();
    store.now_ms().unwrap();
    let took = clock.ticks() - begun;
    println!("pool silent_host took={took:?}");
    assert!(took < Duration::from_secs(20), "{took:?}");
}

/// The first of several servers is a replica by now, which answers, and refuses transactions that
/// write. Connections to it were used, and given up with the first change, again and again.
#[test]
fn a_server_that_takes_no_writes_is_passed_over() {
    let url = support::mysql_url();
    let replica = Proxy::before(&url);
    replica.garble("READ WRITE");
    let (before, database) = replica.url(&url).rsplit_once('/').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let server = url.rsplit_once('/').unwrap().0.rsplit_once('@').unwrap().1;
    let both = format!("{before},{server}/{database}");
    let settings = Settings::in_database(support::fresh_name("pool"), both.parse().unwrap());
    let store = carnelian::store::open(&settings, Arc::new(SystemClock::default())).unwrap();
    store.now_ms().unwrap();
    support::wait_until("no connection leads to the replica", LONG, || replica.connections() == 0);
}

/// Percona XtraDB Cluster refuses the lock of migrations: no tables could be made there.
#[test]
fn tables_are_made_where_the_lock_of_migrations_is_refused() {
    let url = support::mysql_url();
    let strict = Proxy::before(&url);
    strict.garble("GET_LOCK");
    let name = support::fresh_name("strict");
    let mut settings = Settings::in_database(&name, strict.url(&url).parse().unwrap());
    settings.job_store.table_prefix = format!("{}_", name.replace('-', "_"));
    let scheduler = Scheduler::builder().settings(settings).build().unwrap();
    assert!(!scheduler.migrate().unwrap().is_empty(), "the tables are new");
    assert_eq!(scheduler.migrate().unwrap(), Vec::<String>::new());
}

/// The pool doubles its pause between two tries to connect, to half of the time that a connection
/// is waited for: after seven seconds without the server the next try was five seconds away.
#[test]
fn after_an_outage_connections_are_there_as_soon_as_the_server_is() {
    const OUTAGE: Duration = Duration::from_secs(7);
    let url = support::postgres_url();
    let proxy = Proxy::before(&url);
    let clock = Arc::new(SystemClock::default());
    let mut settings = Settings::in_database(support::fresh_name("pool"), proxy.url(&url).parse().unwrap());
    let source = settings.data_source.as_mut().unwrap();
    (source.connection_timeout, source.max_connections) = (LONG, 1);
    let database = Arc::new(SqlDatabase::open(&settings, clock.clone()).unwrap());
    let store = JobStore::new(database, clock.clone(), settings);
    store.now_ms().unwrap();
    proxy.shut(OUTAGE);
    let begun = clock.ticks();
    store.now_ms().unwrap();
    let took = clock.ticks() - begun;
    println!("pool outage={OUTAGE:?} took={took:?}");
    assert!(took < OUTAGE + Duration::from_secs(3), "{took:?}");
}
