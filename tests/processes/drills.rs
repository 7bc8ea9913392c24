//! Drills of whole nodes, on every database: a node that is told to end (scenario 16 of the
//! requirements), and nodes with wrong clocks (scenario 6).
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql", unix))]

mod cancelled;
mod clocks;
mod fixed_delay;
mod held;
mod idle;
mod jitter;
mod namesakes;
mod outage;
mod prefetched;
mod promotion;
mod replica;
mod signals;
mod standby;
mod standing_still;

use crate::support::{self, history, node};
use carnelian::clock::{Clock, SystemClock};
use carnelian::settings::{DataSourceUrl, Settings};
use carnelian::store::{JobStore, TxMode, violations};
use diesel::sql_types::BigInt;
use diesel::{Connection, MysqlConnection, PgConnection, QueryableByName, RunQueryDsl, SqliteConnection, sql_query};
use node::NodeProcess;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// A scheduler of its own on a database, and a folder for what its nodes write.
struct Place {
    database: &'static str,
    folder: tempfile::TempDir,
    text: String,
    store: JobStore,
}

impl Place {
    fn new(database: &'static str, more: &str, clock: Arc<dyn Clock>) -> Self {
        let mut text = more.to_owned();
        for (key, value) in [
            ("jobStore.clusterCheckinInterval", "300"),
            ("jobStore.clusterCheckinMisfireThreshold", "900"),
            ("threadPool.threadCount", "3"),
            ("carnelian.scheduler.heartbeatInterval", "200ms"),
        ] {
            if !more.contains(key) {
                text += &format!("{key} = {value}\n");
            }
        }
        Self::at(None, database, &text, clock)
    }

    /// At this URL, or at the server of the tests, or in a file.
    fn at(url: Option<String>, database: &'static str, more: &str, clock: Arc<dyn Clock>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = url.unwrap_or_else(|| match database {
            "sqlite" => format!("sqlite:{}", folder.path().join("jobs.db").display()),
            _ => server_url(database),
        });
        let text = format!(
            "scheduler.instanceName = {}\njobStore.class = JobStoreTX\njobStore.isClustered = true\n\
             jobStore.dataSource = db\ndataSource.db.URL = {url}\ndemo.log.file = {}\n{more}",
            support::fresh_name("drill"),
            folder.path().join("events.jsonl").display()
        );
        let settings = Settings::from_text("test", &text, |_| None).unwrap();
        let store = carnelian::store::open(&settings, clock).unwrap();
        store.database().migrate().unwrap();
        Self { database, folder, text, store }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The URL of its database.
    fn url(&self) -> &str {
        let line = self.text.lines().find_map(|line| line.strip_prefix("dataSource.db.URL = "));
        line.unwrap()
    }

    /// The command that starts a node of this name, at this URL.
    fn command_at(&self, name: &str, url: &str) -> Command {
        let config = self.path(&format!("{name}.properties"));
        let text = self.text.replace(self.url(), url);
        std::fs::write(&config, format!("{text}scheduler.instanceId = {name}\n")).unwrap();
        NodeProcess::command(&config)
    }

    /// Starts a node of this name.
    fn node(&self, name: &str) -> NodeProcess {
        self.start(name, &mut self.command_at(name, self.url()))
    }

    fn start(&self, name: &str, command: &mut Command) -> NodeProcess {
        let mut node = NodeProcess::start(command, &self.path(&format!("{name}.err")));
        assert_eq!(node.ready(), name);
        node
    }

    /// Changes rows of this scheduler's.
    fn execute(&self, change: &str) {
        let text = format!("{change} WHERE SCHED_NAME = '{}'", self.store.settings().scheduler.instance_name);
        let settings = Settings::from_text("test", &self.text, |_| None).unwrap();
        let changed = match settings.data_source.unwrap().url {
            DataSourceUrl::Sqlite { path } => sql_query(text).execute(&mut SqliteConnection::establish(&path).unwrap()),
            DataSourceUrl::Postgres { url } => {
                sql_query(text).execute(&mut PgConnection::establish(url.reveal()).unwrap())
            }
            DataSourceUrl::MySql { url } => {
                sql_query(text).execute(&mut MysqlConnection::establish(url.reveal()).unwrap())
            }
        };
        assert!(changed.unwrap() > 0, "{change}");
    }

    /// True if nobody has the lock of the scheduler now; on SQLite, the lock of the file.
    fn is_lock_free(&self) -> bool {
        let text = format!(
            "SELECT 1 FROM QRTZ_LOCKS WHERE SCHED_NAME = '{}' AND LOCK_NAME = 'TRIGGER_ACCESS' FOR UPDATE NOWAIT",
            self.store.settings().scheduler.instance_name
        );
        let settings = Settings::from_text("test", &self.text, |_| None).unwrap();
        match settings.data_source.unwrap().url {
            DataSourceUrl::Sqlite { .. } => {
                self.store.database().transact("look for the lock", TxMode::OwnRows, &mut |_| Ok(())).is_ok()
            }
            DataSourceUrl::Postgres { url } => {
                sql_query(text).execute(&mut PgConnection::establish(url.reveal()).unwrap()).is_ok()
            }
            DataSourceUrl::MySql { url } => {
                sql_query(text).execute(&mut MysqlConnection::establish(url.reveal()).unwrap()).is_ok()
            }
        }
    }

    /// The lines that the jobs have logged so far.
    fn events(&self) -> Vec<Value> {
        history::read(&self.path("events.jsonl"))
    }

    /// Nothing is left of it, and nothing is wrong with what there was.
    fn end(self) {
        assert_eq!(violations(&self.store.upkeep().snapshot().unwrap()), [], "{}", self.database);
        self.store.database().forget_scheduler().unwrap();
    }
}

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

/// The number of rows `FROM …`, on PostgreSQL.
fn count(connection: &mut PgConnection, from: &str) -> i64 {
    let counted: Count = sql_query(format!("SELECT count(*) AS n {from}")).get_result(connection).unwrap();
    counted.n
}

/// A number of the environment's, in seconds: how long a drill lasts by hand.
fn seconds(variable: &str, default: u64) -> Duration {
    let text = std::env::var(variable).ok();
    Duration::from_secs(text.map_or(default, |text| text.parse().unwrap()))
}

fn server_url(database: &str) -> String {
    if database == "postgres" { support::postgres_url() } else { support::mysql_url() }
}

fn everywhere(more: &str, story: fn(&Place)) {
    for database in ["sqlite", "postgres", "mysql"] {
        println!("on {database}");
        let place = Place::new(database, more, Arc::new(SystemClock::default()));
        story(&place);
        place.end();
    }
}
