//! A database whose disk is full for a while, or that refuses changes in words that nobody knows:
//! what cannot be recorded waits, as in any outage.
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql"))]

use crate::support::{self, kept_log, wait_until};
use carnelian::clock::{Clock, ManualClock, SystemClock};
use carnelian::history::HistoryQuery;
use carnelian::settings::Settings;
use carnelian::{
    FailureClass, IfExists, JobContext, JobDetail, JobKey, Scheduler, SchedulerBuilder, Trigger, TriggerKey,
};
use crossbeam_channel::unbounded;
use diesel::connection::{Connection, SimpleConnection};
use diesel::{MysqlConnection, PgConnection, SqliteConnection};
use std::sync::Arc;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

/// A scheduler in tables of its own, on a server whose disk can be full.
struct Disk {
    url: String,
    name: String,
    prefix: String,
}

impl Disk {
    fn of(url: &str) -> Self {
        let name = support::fresh_name("full");
        let prefix = format!("{}_", name.replace('-', "_"));
        Self { url: url.to_owned(), name, prefix }
    }

    fn node(&self) -> Scheduler {
        self.node_with(|builder| builder)
    }

    fn node_with(&self, change: impl FnOnce(SchedulerBuilder) -> SchedulerBuilder) -> Scheduler {
        let mut settings = Settings::in_database(&self.name, self.url.parse().unwrap());
        settings.job_store.table_prefix = self.prefix.clone();
        let count = |ctx: &mut JobContext| {
            let runs = ctx.job_data().integer("runs").unwrap_or(0);
            ctx.job_data_mut().put("runs", runs + 1);
            Ok(())
        };
        let node = change(Scheduler::builder().settings(settings).job_fn("count", count)).build().unwrap();
        node.migrate().unwrap();
        node
    }

    /// From now on a change of a column finds no room, in the words of the server.
    fn is_full(&self, event: &str, table: &str) {
        let words = if self.url.starts_with("sqlite") {
            "database or disk is full".to_owned()
        } else if self.url.starts_with("postgres") {
            "could not extend file \"base/16384/16397\": No space left on device".to_owned()
        } else {
            format!("The table ''{}{table}'' is full", self.prefix)
        };
        self.refuses(event, table, &words);
    }

    /// From now on a change of a column is refused in these words.
    fn refuses(&self, event: &str, table: &str, words: &str) {
        let Self { prefix, .. } = self;
        let trigger = format!("CREATE TRIGGER {prefix}FULL BEFORE {event} ON {prefix}{table}");
        if self.url.starts_with("sqlite") {
            self.execute(&format!("{trigger} BEGIN SELECT RAISE(ABORT, '{words}'); END"));
        } else if self.url.starts_with("postgres") {
            self.execute(&format!(
                "CREATE FUNCTION {prefix}FULL() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING \
                 ERRCODE = '53100', HINT = 'Check free disk space.', MESSAGE = '{words}'; END $$;\
                 {trigger} FOR EACH ROW EXECUTE FUNCTION {prefix}FULL()"
            ));
        } else {
            let trigger = trigger.split(" OF ").next().unwrap();
            let trigger = if event.contains(" OF ") { format!("{trigger} ON {prefix}{table}") } else { trigger.into() };
            self.execute(&format!(
                "{trigger} FOR EACH ROW SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = '{words}'"
            ));
        }
    }

    fn has_room(&self, table: &str) {
        let Self { prefix, .. } = self;
        match self.url.starts_with("postgres") {
            true => {
                self.execute(&format!("DROP TRIGGER {prefix}FULL ON {prefix}{table}; DROP FUNCTION {prefix}FULL()"))
            }
            false => self.execute(&format!("DROP TRIGGER {prefix}FULL")),
        }
    }

    fn execute(&self, text: &str) {
        let (url, _) = carnelian::settings::DataSourceUrl::parse(&self.url, None, None).unwrap();
        let url = url.reveal();
        if self.url.starts_with("sqlite") {
            let mut connection = SqliteConnection::establish(url).unwrap();
            connection.batch_execute("PRAGMA busy_timeout = 10000").unwrap();
            connection.batch_execute(text).unwrap();
        } else if self.url.starts_with("postgres") {
            PgConnection::establish(url).unwrap().batch_execute(text).unwrap();
        } else {
            MysqlConnection::establish(url).unwrap().batch_execute(text).unwrap();
        }
    }
}

/// The data of a job need a page more, and the other rows of its end do not: there is no room for
/// the data. The end was recorded without them, and the disk had room again a second later.
fn the_data_of_a_job_wait_for_room(url: &str) {
    let disk = Disk::of(url);
    let node = disk.node();
    let job = JobDetail::builder(JobKey::named("j"), "count").persist_job_data_after_execution(true).durable(true);
    let job = job.build().unwrap();
    node.add_job(&job, IfExists::Refuse).unwrap();
    disk.is_full("UPDATE OF JOB_DATA", "JOB_DETAILS");
    node.start().unwrap();
    node.schedule_trigger(Trigger::builder(TriggerKey::named("t"), job.key().clone()).build().unwrap()).unwrap();
    let failed = || node.health().services.iter().any(|s| s.name == "completer" && s.errors_in_a_row >= 2);
    let ended = || !node.history(&HistoryQuery::default()).unwrap().is_empty();
    wait_until("the end was tried", LONG, || failed() || ended());
    disk.has_room("JOB_DETAILS");
    wait_until("the end is recorded", LONG, ended);
    assert_eq!(node.job(job.key()).unwrap().unwrap().data().integer("runs"), Some(1));
    assert!(node.shutdown_and_wait().is_clean());
}

/// A proxy before the database says in words of its own that no server takes writes now. The end
/// was recorded without the data of its job at the third try in a row, as if the data were to
/// blame.
fn the_data_of_a_job_wait_for_words_that_nobody_knows(url: &str, test: &str) {
    if !support::is_alone(module_path!(), test) {
        return;
    }
    kept_log::keep(log::LevelFilter::Error);
    let disk = Disk::of(url);
    let node = disk.node();
    let job = JobDetail::builder(JobKey::named("j"), "count").persist_job_data_after_execution(true).durable(true);
    let job = job.build().unwrap();
    node.add_job(&job, IfExists::Refuse).unwrap();
    disk.refuses("UPDATE OF JOB_DATA", "JOB_DETAILS", "the ferry has left");
    node.start().unwrap();
    node.schedule_trigger(Trigger::builder(TriggerKey::named("t"), job.key().clone()).build().unwrap()).unwrap();
    let rows = || node.history(&HistoryQuery::default()).unwrap();
    let was_refused = || !kept_log::lines_with(&["completion cannot be recorded", "the ferry has left"]).is_empty();
    wait_until("the end was refused", LONG, || was_refused() || !rows().is_empty());
    assert_eq!(rows().len(), 0, "nothing is given up at once");
    disk.has_room("JOB_DETAILS");
    assert!(node.shutdown_and_wait().is_clean());
    assert_eq!(node.job(job.key()).unwrap().unwrap().data().integer("runs"), Some(1));
}

/// A job that keeps its data, and a trigger of it that is due.
fn counts(node: &Scheduler, name: &str) {
    let job = JobDetail::builder(JobKey::named(name), "count").persist_job_data_after_execution(true).durable(true);
    let job = job.build().unwrap();
    let trigger = Trigger::builder(TriggerKey::named(name), job.key().clone());
    node.schedule_job(job, trigger.build().unwrap()).unwrap();
}

fn refused() -> usize {
    kept_log::lines_with(&["completion cannot be recorded", "the ferry has left"]).len()
}

/// The end of a run waits for its next try, and a job that does not end keeps a worker: the end was
/// not tried again, and the shutdown waited for it in vain.
#[test]
fn an_end_that_was_refused_is_recorded_beside_a_job_that_does_not_end() {
    if !support::is_alone(module_path!(), "an_end_that_was_refused_is_recorded_beside_a_job_that_does_not_end") {
        return;
    }
    kept_log::keep(log::LevelFilter::Error);
    in_a_file(|url| {
        let disk = Disk::of(url);
        let (end, gate) = unbounded::<()>();
        let deaf = move |_: &mut JobContext| {
            let _ = gate.recv();
            Ok(())
        };
        let node = disk.node_with(|builder| builder.job_fn("deaf", deaf));
        disk.refuses("UPDATE OF JOB_DATA", "JOB_DETAILS", "the ferry has left");
        node.start().unwrap();
        let job = JobDetail::builder(JobKey::named("deaf"), "deaf").build().unwrap();
        let trigger = Trigger::builder(TriggerKey::named("deaf"), job.key().clone()).build().unwrap();
        node.schedule_job(job, trigger).unwrap();
        counts(&node, "j");
        wait_until("the end was refused", LONG, || refused() == 1);
        wait_until("the other runs", LONG, || node.running_fires().unwrap().len() == 2);
        disk.has_room("JOB_DETAILS");
        let report = node.shutdown_now();
        assert_eq!((report.unrecorded, report.left_executing), (0, 1), "{report:?}");
        assert_eq!(node.job(&JobKey::named("j")).unwrap().unwrap().data().integer("runs"), Some(1));
        drop(end);
    });
}

/// A minute after an end was refused it is tried again, though other ends are refused meanwhile.
#[test]
fn an_end_that_was_refused_is_tried_again_though_others_are_refused_after_it() {
    if !support::is_alone(module_path!(), "an_end_that_was_refused_is_tried_again_though_others_are_refused_after_it") {
        return;
    }
    kept_log::keep(log::LevelFilter::Error);
    in_a_file(|url| {
        let disk = Disk::of(url);
        let clock = Arc::new(ManualClock::at(SystemClock::default().wall_time()));
        let node = disk.node_with(|builder| builder.clock(Arc::clone(&clock) as Arc<dyn Clock>));
        disk.refuses("UPDATE OF JOB_DATA", "JOB_DETAILS", "the ferry has left");
        node.start().unwrap();
        counts(&node, "first");
        wait_until("the first end was refused", LONG, || refused() == 1);
        clock.advance(Duration::from_secs(40));
        counts(&node, "second");
        wait_until("the second end was refused", LONG, || refused() == 2);
        disk.has_room("JOB_DETAILS");
        clock.advance(Duration::from_secs(21));
        wait_until("both ends are recorded", LONG, || node.history(&HistoryQuery::default()).unwrap().len() == 2);
        assert!(node.shutdown_now().is_clean());
    });
}

/// A call that finds no room says so, stores nothing, and may be made again.
fn a_call_that_finds_no_room_says_so(url: &str) {
    let disk = Disk::of(url);
    let node = disk.node();
    let job = JobDetail::builder(JobKey::named("j"), "count").durable(true).build().unwrap();
    disk.is_full("INSERT", "JOB_DETAILS");
    let error = node.add_job(&job, IfExists::Refuse).unwrap_err();
    assert_eq!(error.failure_class(), Some(FailureClass::InsufficientResources), "{error}");
    assert!(error.is_transient());
    assert!(error.to_string().contains("make room on the database"), "{error}");
    disk.has_room("JOB_DETAILS");
    assert_eq!(node.job(job.key()).unwrap(), None);
    node.add_job(&job, IfExists::Refuse).unwrap();
}

/// A file of SQLite's in a folder of its own, for the time of `story`.
fn in_a_file(story: fn(&str)) {
    let folder = tempfile::tempdir().unwrap();
    story(&format!("sqlite:{}", folder.path().join("full.db").display()));
}

#[test]
fn the_data_of_a_job_wait_for_room_on_sqlite() {
    in_a_file(the_data_of_a_job_wait_for_room);
}

#[test]
fn the_data_of_a_job_wait_for_room_on_postgres() {
    the_data_of_a_job_wait_for_room(&support::postgres_url());
}

#[test]
fn the_data_of_a_job_wait_for_room_on_mysql() {
    the_data_of_a_job_wait_for_room(&support::mysql_url());
}

#[test]
fn the_data_of_a_job_wait_for_words_that_nobody_knows_on_sqlite() {
    in_a_file(|url| {
        the_data_of_a_job_wait_for_words_that_nobody_knows(
            url,
            "the_data_of_a_job_wait_for_words_that_nobody_knows_on_sqlite",
        );
    });
}

#[test]
fn the_data_of_a_job_wait_for_words_that_nobody_knows_on_postgres() {
    let test = "the_data_of_a_job_wait_for_words_that_nobody_knows_on_postgres";
    the_data_of_a_job_wait_for_words_that_nobody_knows(&support::postgres_url(), test);
}

#[test]
fn the_data_of_a_job_wait_for_words_that_nobody_knows_on_mysql() {
    let test = "the_data_of_a_job_wait_for_words_that_nobody_knows_on_mysql";
    the_data_of_a_job_wait_for_words_that_nobody_knows(&support::mysql_url(), test);
}

#[test]
fn a_call_that_finds_no_room_says_so_on_sqlite() {
    in_a_file(a_call_that_finds_no_room_says_so);
}

#[test]
fn a_call_that_finds_no_room_says_so_on_postgres() {
    a_call_that_finds_no_room_says_so(&support::postgres_url());
}

#[test]
fn a_call_that_finds_no_room_says_so_on_mysql() {
    a_call_that_finds_no_room_says_so(&support::mysql_url());
}

/// Somebody makes a column wider while nodes run. Statements that their connections have prepared
/// before are refused by PostgreSQL from then on, on the same connection, for ever.
#[test]
fn a_column_may_become_wider_under_a_running_node() {
    let disk = Disk::of(&support::postgres_url());
    let node = disk.node();
    let job = JobDetail::builder(JobKey::named("j"), "count").durable(true).persist_job_data_after_execution(true);
    let job = job.build().unwrap();
    node.add_job(&job, IfExists::Refuse).unwrap();
    node.start().unwrap();
    let run = |name: &str, runs: i64| {
        let trigger = Trigger::builder(TriggerKey::named(name), job.key().clone()).build().unwrap();
        node.schedule_trigger(trigger).unwrap();
        let data = || node.job(job.key()).unwrap().unwrap().data().integer("runs");
        wait_until("it has run", LONG, || data() == Some(runs));
    };
    run("before", 1);
    // Columns of the views for reports cannot be changed.
    disk.execute(&format!(
        "DO $$ DECLARE c record; BEGIN FOR c IN SELECT table_name AS t, column_name AS n FROM \
         information_schema.columns WHERE data_type = 'character varying' AND table_name LIKE lower('{}%') LOOP BEGIN \
         EXECUTE format('ALTER TABLE %I ALTER COLUMN %I TYPE varchar(400)', c.t, c.n); \
         EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END $$",
        disk.prefix
    ));
    run("after", 2);
    assert!(node.shutdown_and_wait().is_clean());
}
