//! The plans of the statements of the hot path, beside very many stored triggers: with statistics,
//! without any, and with outdated ones. No statement reads more than its batch.
//!
//! Every statement that is sent is examined, so that no list of statements is needed here.
//!
//! `CARNELIAN_PLANS_STORED` is the number of triggers that are stored beside the work; 100000 if it
//! is not set. A fifth as many fires execute where those are looked at.
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql", feature = "test-util"))]

mod executing;
mod late;
mod members;
mod pages;
mod reads;

use crate::support;
use carnelian::clock::{Clock, SystemClock};
use carnelian::history::{HistoryPruning, HistoryQuery};
use carnelian::settings::Settings;
use carnelian::store::{
    AcquireRequest, CompletionInstruction, Database, Explained, FireBundle, JobStore, Membership, Owner, SqlDatabase,
};
use carnelian::{JobDetail, JobKey, SimpleSchedule, Trigger, TriggerKey};
use chrono::DateTime;
use diesel::connection::SimpleConnection;
use diesel::{Connection, MysqlConnection, PgConnection, SqliteConnection};
use reads::reads;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

const BATCH: usize = 40;
/// The number of rows of one table that a statement may read for a batch: the wanted rows, and a
/// few others.
const MOST_ROWS: u64 = 10 * BATCH as u64;
/// The tables in which a scan of a whole table, or of all rows of a scheduler, would be felt.
const LARGE: [&str; 6] =
    ["triggers", "simple_triggers", "cron_triggers", "simprop_triggers", "job_details", "cn_history"];
/// The state of the statistics of a queue that had run empty.
const EMPTY: &str = "with statistics of empty tables";
/// The number of triggers that were stored when statistics were gathered for the last time, in the
/// worst case.
const FEW: usize = 100;

/// A database of its own, made for one test and dropped with it.
struct Place {
    url: String,
    server: String,
    name: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Sqlite,
    Postgres,
    Mysql,
}

impl Place {
    fn on(kind: Kind, server: String) -> Self {
        let name = format!("carnelian_test_{}", support::fresh_name("p"));
        let url = match kind {
            Kind::Sqlite => server.clone(),
            _ => format!("{}/{name}", server.rsplit_once('/').unwrap().0),
        };
        if kind != Kind::Sqlite {
            run(kind, &server, &format!("CREATE DATABASE {name}"));
        }
        Self { url, server, name }
    }

    fn end(self, kind: Kind) {
        if kind != Kind::Sqlite {
            run(kind, &self.server, &format!("DROP DATABASE {}", self.name));
        }
    }
}

fn run(kind: Kind, url: &str, text: &str) {
    let done = match kind {
        Kind::Sqlite => SqliteConnection::establish(url.trim_start_matches("sqlite:")).unwrap().batch_execute(text),
        Kind::Postgres => PgConnection::establish(url).unwrap().batch_execute(text),
        Kind::Mysql => MysqlConnection::establish(url).unwrap().batch_execute(text),
    };
    done.unwrap_or_else(|error| panic!("{error}: {text}"));
}

/// Stores triggers of the far future, with their jobs and a history, without the library. The
/// numbers of the triggers begin and end with tens.
fn fill(kind: Kind, url: &str, scheduler: &str, far_ms: i64, stored: Range<usize>) {
    let numbers = |parts: usize| {
        let (first, last) = (stored.start / parts + 1, stored.end / parts);
        match kind {
            Kind::Postgres => format!("(SELECT i FROM generate_series({first}, {last}) AS n(i)) AS g"),
            Kind::Mysql => format!("(SELECT seq AS i FROM seq_{first}_to_{last}) AS g"),
            Kind::Sqlite => format!(
                "(WITH RECURSIVE n(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {last}) SELECT i FROM n) AS g"
            ),
        }
    };
    let named = |prefix: &str, number: &str| match kind {
        Kind::Mysql => format!("CONCAT('{prefix}', {number})"),
        _ => format!("'{prefix}' || {number}"),
    };
    let tenth = if kind == Kind::Mysql { "(i - 1) DIV 10" } else { "((i - 1) / 10)" };
    let (yes, no) = match kind {
        Kind::Postgres => ("TRUE", "FALSE"),
        Kind::Mysql => ("'1'", "'0'"),
        Kind::Sqlite => ("1", "0"),
    };
    // Nobody is to gather statistics behind the test's back.
    for table in LARGE {
        match kind {
            Kind::Postgres => run(kind, url, &format!("ALTER TABLE qrtz_{table} SET (autovacuum_enabled = false)")),
            Kind::Mysql => {
                run(kind, url, &format!("ALTER TABLE QRTZ_{} STATS_AUTO_RECALC = 0", table.to_uppercase()));
            }
            Kind::Sqlite => {}
        }
    }
    let trigger = named("far", "i");
    let group = named("group", "(i % 10)");
    run(
        kind,
        url,
        &format!(
            "INSERT INTO QRTZ_JOB_DETAILS (sched_name, job_name, job_group, job_class_name, is_durable, is_nonconcurrent, \
             is_update_data, requests_recovery) SELECT '{scheduler}', {}, 'far', 't', {yes}, {no}, {no}, {no} FROM {}",
            named("job", "(i - 1)"),
            numbers(10)
        ),
    );
    run(
        kind,
        url,
        &format!(
            "INSERT INTO QRTZ_TRIGGERS (sched_name, trigger_name, trigger_group, job_name, job_group, next_fire_time, \
             prev_fire_time, priority, trigger_state, trigger_type, start_time, end_time, misfire_instr) \
             SELECT '{scheduler}', {trigger}, {group}, {}, 'far', {far_ms} + i, -1, 5, 'WAITING', 'SIMPLE', {far_ms} + i, 0, \
             0 FROM {}",
            named("job", tenth),
            numbers(1)
        ),
    );
    run(
        kind,
        url,
        &format!(
            "INSERT INTO QRTZ_SIMPLE_TRIGGERS (sched_name, trigger_name, trigger_group, repeat_count, repeat_interval, \
             times_triggered) SELECT '{scheduler}', {trigger}, {group}, 0, 0, 0 FROM {}",
            numbers(1)
        ),
    );
    run(
        kind,
        url,
        &format!(
            "INSERT INTO QRTZ_CN_HISTORY (sched_name, fire_id, trigger_name, trigger_group, job_name, job_group, sched_ms, \
             ended_ms, outcome, attempt) SELECT '{scheduler}', {}, {trigger}, {group}, {}, 'far', i, {far_ms} - 2 * i, \
             'succeeded', 1 FROM {}",
            named("fire", "i"),
            named("job", tenth),
            numbers(2)
        ),
    );
}

fn gather_statistics(kind: Kind, url: &str) {
    match kind {
        Kind::Postgres | Kind::Sqlite => run(kind, url, "ANALYZE"),
        Kind::Mysql => {
            let tables: Vec<_> = LARGE.iter().map(|table| format!("QRTZ_{}", table.to_uppercase())).collect();
            run(kind, url, &format!("ANALYZE TABLE {}", tables.join(", ")));
        }
    }
}

struct Node {
    database: Arc<SqlDatabase>,
    store: JobStore,
    me: Membership,
    owner: Owner,
    types: Vec<String>,
    is_mysql: bool,
}

impl Node {
    fn open(url: &str, name: &str) -> Self {
        Self::with(url, name, |_| {})
    }

    fn with(url: &str, name: &str, change: impl FnOnce(&mut Settings)) -> Self {
        let clock = Arc::new(SystemClock::default());
        let mut settings = Settings::in_database(name, url.parse().unwrap());
        change(&mut settings);
        let database = Arc::new(SqlDatabase::open(&settings, clock.clone()).unwrap());
        database.migrate().unwrap();
        let store = JobStore::new(database.clone(), clock, settings);
        let mut me = Membership::new("looker");
        store.upkeep().check_in(&mut me).unwrap();
        Self {
            owner: me.owner().unwrap(),
            me,
            store,
            database,
            types: vec!["t".to_owned()],
            is_mysql: url.starts_with("mysql"),
        }
    }

    /// Triggers of two jobs, one of which runs once at a time, with the first fire then.
    fn schedule(&self, round: &str, at_ms: i64) {
        let at = DateTime::from_timestamp_millis(at_ms).unwrap();
        let key = |what: &str| JobKey::named(format!("{what}-{round}"));
        let plain = JobDetail::builder(key("plain"), "t").durable(true).requests_recovery(true).build().unwrap();
        let single = JobDetail::builder(key("single"), "t").disallow_concurrent_execution(true).build().unwrap();
        let trigger = |job: &JobDetail, what: &str, i: usize, schedule: SimpleSchedule| {
            let key = TriggerKey::named(format!("{what}-{round}-{i}"));
            Trigger::builder(key, job.key().clone()).start_at(at).schedule(schedule).build().unwrap()
        };
        let hourly = || SimpleSchedule::every(Duration::from_secs(3600));
        let mut plain_triggers: Vec<_> =
            (0..BATCH).map(|i| trigger(&plain, "once", i, SimpleSchedule::once())).collect();
        plain_triggers.extend((0..BATCH / 2).map(|i| trigger(&plain, "again", i, hourly())));
        let single_triggers = (0..2).map(|i| trigger(&single, "single", i, SimpleSchedule::once())).collect();
        self.store.catalogue().schedule(vec![(plain, plain_triggers), (single, single_triggers)], true).unwrap();
    }

    fn request<'a>(&'a self, look_ahead_ms: i64, quarantined: &'a BTreeSet<TriggerKey>) -> AcquireRequest<'a> {
        AcquireRequest {
            max: BATCH,
            prefetch: None,
            look_ahead_ms,
            fire_ahead_ms: 0,
            job_types: &self.types,
            quarantined,
        }
    }

    fn complete(&self, fired: &[FireBundle]) {
        let ends: Vec<_> = fired.iter().map(|f| f.completion(CompletionInstruction::NoInstruction, None)).collect();
        self.store.firing().complete(&self.owner, &ends).unwrap();
    }

    /// Does everything that a node does again and again, with the work that was scheduled; gives
    /// the number of fires.
    fn work(&mut self) -> usize {
        let nobody = BTreeSet::new();
        let mut fires = 0;
        self.store.firing().poll(None, "", &self.types).unwrap();
        loop {
            let fired = self.store.firing().acquire(&self.owner, &self.request(0, &nobody)).unwrap().fired;
            if fired.is_empty() {
                break;
            }
            fires += fired.len();
            self.complete(&fired);
        }
        let ahead_ms = 120_000;
        loop {
            let reserved = self.store.firing().acquire(&self.owner, &self.request(ahead_ms, &nobody)).unwrap().reserved;
            if reserved.is_empty() {
                break;
            }
            assert!(self.store.firing().lost_reservations(&reserved).unwrap().is_empty());
            let fired = self.store.firing().fire(&self.owner, &reserved).unwrap().fired;
            fires += fired.len();
            self.complete(&fired);
        }
        self.store.upkeep().check_in(&mut self.me).unwrap();
        self.store.firing().poll(None, "", &self.types).unwrap();
        self.store.firing().take_back_overdue(&self.owner, Duration::ZERO).unwrap();
        for query in [HistoryQuery::new().biz_key("order-17"), HistoryQuery::new().trace("0af7651916cd43dd")] {
            assert!(self.store.history().find(&query).unwrap().is_empty());
        }
        fires
    }

    /// Does what a node does now and then.
    fn keep_house(&self) {
        // The history that was stored beside ends in the future.
        let old = HistoryPruning::new().older_than(Duration::ZERO);
        let pruned = self.store.history().prune(&old).unwrap();
        assert!(pruned > 0 && pruned <= 4 * BATCH as u64, "{pruned}");
        // MariaDB has no indexes of some rows only, for the few that an audit looks at.
        if !self.is_mysql {
            self.store.upkeep().mend().unwrap();
        }
    }
}

/// The table that a name in a statement means, without its prefix and in small letters.
fn table_of(text: &str, name: &str) -> String {
    let named = text.split("{p}").skip(1).find_map(|rest| {
        let mut words = rest.split(|c: char| c.is_ascii_whitespace() || matches!(c, '(' | ')' | ','));
        let table = words.next()?;
        let alias = words.next().filter(|word| !word.eq_ignore_ascii_case("as")).or_else(|| words.next())?;
        alias.eq_ignore_ascii_case(name).then(|| table.to_lowercase())
    });
    named.unwrap_or_else(|| name.to_lowercase().trim_start_matches("qrtz_").to_owned())
}

fn judge(explained: &[Explained], place: &str) {
    let mut wrong = Vec::new();
    for statement in explained {
        for read in reads(statement) {
            let table = table_of(&statement.text, &read.table);
            let is_large = LARGE.contains(&table.as_str());
            let by_name_only = read.looked_up_by.as_deref().is_some_and(|columns| columns == ["sched_name"]);
            let too_many = read.rows.is_some_and(|rows| rows > MOST_ROWS);
            if too_many || is_large && (read.is_scan || by_name_only) {
                wrong.push(format!(
                    "{place}: {}: {read:?}\n{}\n{}",
                    statement.purpose,
                    statement.text,
                    statement.plans.join("\n")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} reads of more than a batch:\n{}", wrong.len(), wrong.join("\n\n"));
}

fn stored() -> usize {
    let said = std::env::var("CARNELIAN_PLANS_STORED").ok().and_then(|text| text.parse::<usize>().ok());
    said.unwrap_or(100_000).max(FEW).next_multiple_of(20)
}

fn no_statement_reads_more_than_its_batch(kind: Kind, server: String) {
    let place = Place::on(kind, server);
    let mut node = Node::open(&place.url, "plans");
    fill(kind, &place.url, "plans", SystemClock::default().wall_time().timestamp_millis() + 86_400_000, 0..stored());
    look_at_plans(&mut node, "without statistics");
    gather_statistics(kind, &place.url);
    look_at_plans(&mut node, "with statistics");
    drop(node);
    place.end(kind);
}

/// Statistics of small tables give plans for small tables, also when very much is stored
/// afterwards.
fn old_statistics_mislead_nobody(kind: Kind, server: String) {
    let place = Place::on(kind, server);
    let mut node = Node::open(&place.url, "plans");
    let far_ms = SystemClock::default().wall_time().timestamp_millis() + 86_400_000;
    fill(kind, &place.url, "plans", far_ms, 0..FEW);
    gather_statistics(kind, &place.url);
    fill(kind, &place.url, "plans", far_ms, FEW..stored());
    look_at_plans(&mut node, "with old statistics");
    drop(node);
    place.end(kind);
}

/// Statistics of a queue that had just run empty: the server gathers them when it likes. The tables
/// then seem to hold no row, whatever their size, until the next time.
fn a_queue_that_ran_empty_misleads_nobody(kind: Kind, server: String) {
    let place = Place::on(kind, server);
    let mut node = Node::open(&place.url, "plans");
    let far_ms = SystemClock::default().wall_time().timestamp_millis() + 86_400_000;
    fill(kind, &place.url, "plans", far_ms, 0..stored());
    for table in ["SIMPLE_TRIGGERS", "TRIGGERS", "JOB_DETAILS", "CN_HISTORY"] {
        run(kind, &place.url, &format!("DELETE FROM QRTZ_{table}"));
    }
    gather_statistics(kind, &place.url);
    fill(kind, &place.url, "plans", far_ms, 0..stored());
    look_at_plans(&mut node, EMPTY);
    drop(node);
    place.end(kind);
}

/// A server keeps each text that has been prepared on a connection, for as long as the connection
/// lives, and has room for some thousands of all connections.
fn batches_of_all_sizes_have_few_texts(kind: Kind, server: String) {
    let place = Place::on(kind, server);
    let node = Node::open(&place.url, "texts");
    let nobody = BTreeSet::new();
    node.database.plans().begin();
    for max in 1..=60 {
        let request = AcquireRequest { max, ..node.request(0, &nobody) };
        assert!(node.store.firing().acquire(&node.owner, &request).unwrap().fired.is_empty());
    }
    let texts: BTreeSet<String> = node.database.plans().take().into_iter().map(|one| one.text).collect();
    assert!(texts.len() < 20, "{} texts: {texts:#?}", texts.len());
    drop(node);
    place.end(kind);
}

/// Has a node do whatever it does, and judges the plans of all statements that it has sent.
fn look_at_plans(node: &mut Node, state: &str) {
    // The large fill may have taken longer than a node may be silent.
    node.store.upkeep().check_in(&mut node.me).unwrap();
    node.owner = node.me.owner().unwrap();
    let now_ms = SystemClock::default().wall_time().timestamp_millis();
    node.schedule(&format!("due {state}"), now_ms - 1_000);
    node.schedule(&format!("soon {state}"), now_ms + 60_000);
    node.database.plans().begin();
    let fires = node.work();
    // Of a history that was empty when it was looked at PostgreSQL thinks that any index will do.
    if state != EMPTY {
        node.keep_house();
    }
    let explained = node.database.plans().take();
    assert!(fires >= 2 * (BATCH + BATCH / 2 + 1), "only {fires} fires");
    let purposes: BTreeSet<&str> = explained.iter().map(|statement| statement.purpose).collect();
    for purpose in
        ["acquire triggers", "fire triggers", "complete fires", "look for due triggers", "check in", "read the history"]
    {
        assert!(purposes.contains(purpose), "`{purpose}` is not among {purposes:?}");
    }
    let reads_triggers = |e: &&Explained| reads(e).iter().any(|read| table_of(&e.text, &read.table) == "triggers");
    assert!(explained.iter().filter(reads_triggers).count() > 10, "the plans do not tell of the table of triggers");
    judge(&explained, &format!("{} stored, {state}", stored()));
    println!("plans {state}: {} statements, {fires} fires, {} stored", explained.len(), stored());
}

#[test]
fn no_statement_reads_more_than_its_batch_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("plans.db").display());
    no_statement_reads_more_than_its_batch(Kind::Sqlite, url);
}

#[test]
fn no_statement_reads_more_than_its_batch_on_postgres() {
    no_statement_reads_more_than_its_batch(Kind::Postgres, support::postgres_url());
}

#[test]
fn no_statement_reads_more_than_its_batch_on_mysql() {
    no_statement_reads_more_than_its_batch(Kind::Mysql, support::mysql_url());
}

#[test]
fn batches_of_all_sizes_have_few_texts_on_postgres() {
    batches_of_all_sizes_have_few_texts(Kind::Postgres, support::postgres_url());
}

#[test]
fn batches_of_all_sizes_have_few_texts_on_mysql() {
    batches_of_all_sizes_have_few_texts(Kind::Mysql, support::mysql_url());
}

#[test]
fn old_statistics_mislead_nobody_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("plans.db").display());
    old_statistics_mislead_nobody(Kind::Sqlite, url);
}

#[test]
fn old_statistics_mislead_nobody_on_postgres() {
    old_statistics_mislead_nobody(Kind::Postgres, support::postgres_url());
}

#[test]
fn old_statistics_mislead_nobody_on_mysql() {
    old_statistics_mislead_nobody(Kind::Mysql, support::mysql_url());
}

#[test]
fn a_queue_that_ran_empty_misleads_nobody_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("plans.db").display());
    a_queue_that_ran_empty_misleads_nobody(Kind::Sqlite, url);
}

#[test]
fn a_queue_that_ran_empty_misleads_nobody_on_postgres() {
    a_queue_that_ran_empty_misleads_nobody(Kind::Postgres, support::postgres_url());
}

#[test]
fn a_queue_that_ran_empty_misleads_nobody_on_mysql() {
    a_queue_that_ran_empty_misleads_nobody(Kind::Mysql, support::mysql_url());
}
