//! Tables that others have made, moved, changed or dropped: what `migrate`, the start and the
//! doctor say of them.
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql"))]

use crate::support;
use carnelian::clock::SystemClock;
use carnelian::settings::Settings;
use carnelian::store::{AcquireRequest, CompletionInstruction, JobStore, Membership, SqlDatabase};
use carnelian::{JobDetail, JobKey, Scheduler, Trigger, TriggerKey};
use diesel::connection::SimpleConnection;
use diesel::sql_types::BigInt;
use diesel::{Connection, MysqlConnection, PgConnection, QueryableByName, RunQueryDsl, SqliteConnection, sql_query};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

/// A store with tables of its own, and a program beside it.
struct Place {
    url: String,
    name: String,
    /// The prefix of the tables, with their schema if it is named.
    prefix: String,
    store: JobStore,
}

impl Place {
    /// The tables are not made yet.
    fn new(url: &str) -> Self {
        let name = support::fresh_name("tables");
        let prefix = format!("{}_", name.replace('-', "_"));
        Self::at(url, &name, &prefix)
    }

    fn at(url: &str, name: &str, prefix: &str) -> Self {
        let clock = Arc::new(SystemClock::default());
        let mut settings = Settings::in_database(name, url.parse().unwrap());
        settings.job_store.table_prefix = prefix.to_owned();
        let database = Arc::new(SqlDatabase::open(&settings, clock.clone()).unwrap());
        let store = JobStore::new(database, clock, settings);
        Self { url: url.to_owned(), name: name.to_owned(), prefix: prefix.to_owned(), store }
    }

    /// The tables are those of Quartz alone, without anything that the migrations put beside them.
    fn with_tables_of_quartz(url: &str) -> Self {
        let place = Self::new(url);
        place.migrate();
        place.drop_side_tables();
        place
    }

    fn migrate(&self) -> Vec<String> {
        self.store.database().migrate().unwrap()
    }

    fn refusal(&self) -> String {
        self.store.database().migrate().unwrap_err().to_string()
    }

    /// Runs statements, in which `{p}` stands for the prefix.
    fn execute(&self, sql: &str) {
        let sql = sql.replace("{p}", &self.prefix);
        match self.url.split_once(':').unwrap() {
            ("sqlite", path) => {
                let waits = "PRAGMA busy_timeout = 60000; ";
                SqliteConnection::establish(path).unwrap().batch_execute(&(waits.to_owned() + &sql))
            }
            ("mysql", _) => MysqlConnection::establish(&self.url).unwrap().batch_execute(&sql),
            _ => PgConnection::establish(&self.url).unwrap().batch_execute(&sql),
        }
        .unwrap_or_else(|error| panic!("{error}: {sql}"));
    }

    fn number(&self, sql: &str) -> i64 {
        let query = sql_query(sql.replace("{p}", &self.prefix));
        let rows: Vec<Count> = match self.url.split_once(':').unwrap() {
            ("sqlite", path) => query.load(&mut SqliteConnection::establish(path).unwrap()),
            ("mysql", _) => query.load(&mut MysqlConnection::establish(&self.url).unwrap()),
            _ => query.load(&mut PgConnection::establish(&self.url).unwrap()),
        }
        .unwrap();
        rows[0].n
    }

    /// The number of tables and views beside those of Quartz, in whatever schema.
    fn side_tables(&self) -> i64 {
        let bare = self.prefix.rsplit('.').next().unwrap();
        let names = match self.url.split_once(':').unwrap().0 {
            "sqlite" => "sqlite_master WHERE type IN ('table', 'view') AND name",
            "mysql" => "information_schema.tables WHERE table_name",
            _ => "pg_class WHERE relkind IN ('r', 'v') AND upper(CAST(relname AS text))",
        };
        let pattern = format!("{bare}CN%");
        let pattern = if names.starts_with("pg") { pattern.to_uppercase() } else { pattern };
        self.number(&format!("SELECT COUNT(*) AS n FROM {names} LIKE '{pattern}'"))
    }

    fn drop_side_tables(&self) {
        for view in ["NODES", "RUNNING", "DUE", "THROUGHPUT", "LAST_RUNS"] {
            self.execute(&format!("DROP VIEW {{p}}CN_VIEW_{view}"));
        }
        let scripts = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/sqlite")).unwrap();
        let mut tables = BTreeSet::from(["CN_MIGRATIONS".to_owned()]);
        for script in scripts {
            let text = std::fs::read_to_string(script.unwrap().path().join("up.sql")).unwrap();
            let made = text.split("CREATE TABLE IF NOT EXISTS {p}").skip(1);
            tables.extend(made.filter_map(|rest| rest.split([' ', '(']).next().map(str::to_owned)));
        }
        for table in tables.iter().filter(|table| table.starts_with("CN_")) {
            self.execute(&format!("DROP TABLE {{p}}{table}"));
        }
        assert_eq!(self.side_tables(), 0);
    }

    fn found(&self) -> Vec<(&'static str, String)> {
        let found = self.store.diagnosis().doctor(false).unwrap();
        found.into_iter().map(|finding| (finding.kind, finding.subject)).collect()
    }

    /// The words of the only finding of this kind.
    fn found_of(&self, kind: &str) -> String {
        let mut found = self.store.diagnosis().doctor(false).unwrap();
        let at = found.iter().position(|finding| finding.kind == kind);
        let at = at.unwrap_or_else(|| panic!("no {kind}: {found:?}"));
        let finding = found.remove(at);
        assert!(!finding.is_repairable, "{finding:?}");
        format!("{}: {}", finding.subject, finding.detail)
    }

    /// Drops what the test has made on a server.
    fn end(self) {
        let tables = "JOB_DETAILS TRIGGERS SIMPLE_TRIGGERS CRON_TRIGGERS SIMPROP_TRIGGERS BLOB_TRIGGERS CALENDARS \
                      PAUSED_TRIGGER_GRPS FIRED_TRIGGERS SCHEDULER_STATE LOCKS";
        if self.side_tables() > 0 {
            self.drop_side_tables();
        }
        tables.split_whitespace().for_each(|table| self.execute(&format!("DROP TABLE {{p}}{table}")));
        if self.url.starts_with("postgres") {
            self.execute("DROP FUNCTION IF EXISTS {p}CN_SCHEDULE");
        }
    }
}

fn sqlite(folder: &tempfile::TempDir) -> String {
    format!("sqlite:{}", folder.path().join("tables.db").display())
}

/// Does the same on each database.
fn on_each(story: impl Fn(&str)) {
    let folder = tempfile::tempdir().unwrap();
    story(&sqlite(&folder));
    story(&support::postgres_url());
    story(&support::mysql_url());
}

/// The URL of the tests' PostgreSQL for a user whose objects go to this schema first.
fn with_path(url: &str, path: &str) -> String {
    format!("{url}?options=-csearch_path%3D{path}")
}

/// Two roles whose search paths differ made two sets of side tables for one set of Quartz's: two
/// clusters, each of which took the other for nodes of Quartz.
#[test]
fn side_tables_are_made_where_the_tables_of_quartz_are() {
    let url = support::postgres_url();
    let place = Place::with_tables_of_quartz(&url);
    let schema = place.name.replace('-', "_");
    place.execute(&format!("CREATE SCHEMA {schema}"));
    let astray = Place::at(&with_path(&url, &format!("{schema},public")), &place.name, &place.prefix);
    let error = astray.refusal();
    for part in ["schema `public`", &schema, &format!("tablePrefix = public.{}", place.prefix), "nothing was changed"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(place.side_tables(), 0);
    let named = Place::at(&astray.url, &place.name, &format!("public.{}", place.prefix));
    assert!(!named.migrate().is_empty());
    assert_eq!(named.found(), []);
    assert_eq!(place.migrate(), Vec::<String>::new());
    // A set that an older program made.
    place.execute(&format!("CREATE TABLE {schema}.{{p}}CN_MIGRATIONS (LIKE {{p}}CN_MIGRATIONS)"));
    let found = place.found_of("split_tables");
    assert!(found.contains(&schema) && found.contains("public"), "{found}");
    place.execute(&format!("DROP SCHEMA {schema} CASCADE"));
    assert_eq!(place.found(), []);
    place.end();
}

/// Somebody who does not see the set that another role made is told where it is.
#[test]
fn a_set_of_side_tables_that_is_elsewhere_is_named() {
    let place = Place::with_tables_of_quartz(&support::postgres_url());
    let schema = place.name.replace('-', "_");
    place.execute(&format!(
        "CREATE SCHEMA {schema}; CREATE TABLE {schema}.{{p}}CN_MIGRATIONS (VERSION VARCHAR(50) NOT NULL PRIMARY KEY)"
    ));
    let words = format!("schema `{schema}`");
    assert!(place.refusal().contains(&words));
    let found = place.found_of("tables");
    assert!(found.contains(&words), "{found}");
    place.execute(&format!("DROP SCHEMA {schema} CASCADE"));
    place.end();
}

/// A role that does not own Quartz's tables made half of the side tables, after which nobody could
/// go on.
#[test]
fn a_role_that_may_not_change_the_tables_makes_none() {
    let url = support::postgres_url();
    let place = Place::with_tables_of_quartz(&url);
    let schema = place.name.replace('-', "_");
    place.execute(&format!("CREATE SCHEMA {schema}; GRANT ALL ON SCHEMA {schema} TO carnelian_rows"));
    for table in ["JOB_DETAILS", "TRIGGERS", "SIMPLE_TRIGGERS", "CRON_TRIGGERS", "SIMPROP_TRIGGERS", "BLOB_TRIGGERS"]
        .into_iter()
        .chain(["CALENDARS", "PAUSED_TRIGGER_GRPS", "FIRED_TRIGGERS", "SCHEDULER_STATE", "LOCKS"])
    {
        place.execute(&format!(
            "ALTER TABLE {{p}}{table} SET SCHEMA {schema}; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.{{p}}{table} TO carnelian_rows"
        ));
    }
    let prefix = format!("{schema}.{}", place.prefix);
    let rows = Place::at(&url.replace("carnelian:carnelian@", "carnelian_rows:carnelian_rows@"), &place.name, &prefix);
    let error = rows.refusal();
    for part in ["`carnelian_rows`", "TRIGGERS", "`carnelian`", "nothing was changed"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(rows.side_tables(), 0);
    assert!(!Place::at(&url, &place.name, &prefix).migrate().is_empty());
    place.execute(&format!("DROP SCHEMA {schema} CASCADE"));
    place.execute("DROP FUNCTION IF EXISTS {p}CN_SCHEDULE");
}

/// The error of a script that fails says which it is.
#[test]
fn a_script_that_fails_is_named() {
    on_each(|url| {
        let place = Place::new(url);
        place.migrate();
        place.execute("DELETE FROM {p}CN_MIGRATIONS WHERE VERSION = '0033_views'");
        let views = ["NODES", "RUNNING", "DUE", "THROUGHPUT", "LAST_RUNS"];
        views.iter().for_each(|view| place.execute(&format!("DROP VIEW {{p}}CN_VIEW_{view}")));
        place.execute("ALTER TABLE {p}CN_NODES RENAME TO {p}CN_AWAY");
        let error = place.refusal();
        // On SQLite a view may be made of what is not there.
        assert!(url.starts_with("sqlite") || error.contains("`0033_views`"), "{error}");
        place.execute("ALTER TABLE {p}CN_AWAY RENAME TO {p}CN_NODES");
        place.migrate();
        place.end();
    });
}

/// A table without the grant of the others let the node start, after which no dead node was ever
/// taken over.
#[test]
fn missing_rights_are_found_at_the_start() {
    let url = support::postgres_url();
    let place = Place::new(&url);
    place.migrate();
    let prefix = place.prefix.to_lowercase();
    place.execute(&format!(
        "DO $$ DECLARE t text; BEGIN FOR t IN SELECT relname FROM pg_class WHERE relname LIKE '{prefix}%' AND relkind = 'r' \
         LOOP EXECUTE 'GRANT SELECT, INSERT, UPDATE, DELETE ON ' || t || ' TO carnelian_rows'; END LOOP; END $$; \
         REVOKE DELETE ON {{p}}CN_LAST_RUNS FROM carnelian_rows"
    ));
    let url = url.replace("carnelian:carnelian@", "carnelian_rows:carnelian_rows@");
    let rows = Place::at(&url, &place.name, &place.prefix);
    let error = rows.store.database().check_rights().unwrap_err().to_string();
    for part in [&format!("{}CN_LAST_RUNS", place.prefix), "carnelian_rows", "GRANT SELECT, INSERT, UPDATE, DELETE"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(!error.contains("CN_NODES"), "{error}");
    let found = rows.found_of("missing_right");
    assert!(found.starts_with(&format!("{}CN_LAST_RUNS", place.prefix)), "{found}");
    assert_eq!(place.found(), []);
    place.execute("GRANT DELETE ON {p}CN_LAST_RUNS TO carnelian_rows");
    rows.store.database().check_rights().unwrap();
    assert_eq!(rows.found(), []);
    place.end();
}

/// A backup of Quartz's tables that was put back has none of our indexes: nothing fired, and
/// `migrate` found all well.
#[test]
fn missing_indexes_are_made_again() {
    on_each(|url| {
        let place = Place::new(url);
        place.migrate();
        let index = format!("IDX_{}CN_FT_E", place.prefix);
        place.execute(&match url.starts_with("mysql") {
            true => format!("DROP INDEX {index} ON {{p}}FIRED_TRIGGERS"),
            false => format!("DROP INDEX {index}"),
        });
        if !url.starts_with("postgres") {
            let error = fires(&place.store).unwrap_err();
            assert!(error.contains("CN_FT_E") && error.contains("carnelian doctor --repair"), "{error}");
        }
        let done = place.migrate();
        assert!(done.len() == 1 && done[0].contains(&index) && done[0].ends_with("again"), "{done:?}");
        assert_eq!(place.migrate(), Vec::<String>::new());
        assert_eq!(place.found(), []);
        place.end();
    });
}

/// Stores a job that is gone after its one run, runs it, and says what came in between.
fn fires(store: &JobStore) -> Result<(), String> {
    let text = |error: carnelian::Error| error.to_string();
    let mut me = Membership::new("node");
    store.upkeep().check_in(&mut me).map_err(text)?;
    let owner = me.owner().unwrap();
    let job =
        JobDetail::builder(JobKey::named("once"), "t").disallow_concurrent_execution(true).requests_recovery(true);
    let trigger = Trigger::builder(TriggerKey::named("once"), JobKey::named("once")).build().unwrap();
    store.catalogue().schedule(vec![(job.build().unwrap(), vec![trigger])], false).map_err(text)?;
    let stored = store.catalogue().job(&JobKey::named("once")).map_err(text)?.unwrap();
    assert!(stored.disallows_concurrent_execution() && stored.requests_recovery() && !stored.is_durable());
    let (types, quarantined) = (vec!["t".to_owned()], BTreeSet::new());
    let request = AcquireRequest {
        max: 1,
        prefetch: None,
        look_ahead_ms: 0,
        fire_ahead_ms: 0,
        job_types: &types,
        quarantined: &quarantined,
    };
    let mut fired = store.firing().acquire(&owner, &request).map_err(text)?.fired;
    let bundle = fired.pop().expect("it is due");
    let running = store.upkeep().fired_triggers().map_err(text)?;
    assert_eq!(running.len(), 1);
    let end = bundle.completion(CompletionInstruction::NoInstruction, None);
    store.firing().complete(&owner, &[end]).map_err(text)?;
    assert_eq!(store.catalogue().job(&JobKey::named("once")).map_err(text)?, None);
    Ok(())
}

/// Liquibase makes `BIT(1)` of a boolean on MySQL: such tables were adopted, and then nothing
/// fired.
#[test]
fn flags_of_bits_are_written_and_found() {
    let place = Place::with_tables_of_quartz(&support::mysql_url());
    for kind in ["BIT(1)", "TINYINT(1)", "CHAR(1)", "VARCHAR(1)"] {
        place.execute(&format!(
            "ALTER TABLE {{p}}JOB_DETAILS MODIFY IS_DURABLE {kind} NOT NULL, MODIFY IS_NONCONCURRENT {kind} NOT NULL, \
             MODIFY IS_UPDATE_DATA {kind} NOT NULL, MODIFY REQUESTS_RECOVERY {kind} NOT NULL; \
             ALTER TABLE {{p}}FIRED_TRIGGERS MODIFY IS_NONCONCURRENT {kind} NULL, MODIFY REQUESTS_RECOVERY {kind} NULL"
        ));
        if kind == "BIT(1)" {
            // MySQL looks for running fires by an index with this flag, as a text.
            let error = place.refusal();
            let mend = error.split_once("ALTER TABLE ").unwrap().1.split_once(',').unwrap().0;
            place.execute(&format!("ALTER TABLE {mend}"));
        }
        place.migrate();
        fires(&place.store).unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert_eq!(place.found(), []);
        place.execute("DELETE FROM {p}CN_INSTANCES; DELETE FROM {p}SCHEDULER_STATE; DELETE FROM {p}CN_PROCESSES");
    }
    place.end();
}

/// The older program of a release that was taken back called such tables up to date.
#[test]
fn tables_that_are_too_new_are_refused_by_migrate() {
    on_each(|url| {
        let place = Place::new(url);
        place.migrate();
        place.execute("INSERT INTO {p}CN_MIGRATIONS (VERSION) VALUES ('9999_incompatible')");
        let error = place.refusal();
        assert!(error.contains("cannot work with their version `9999_incompatible`; use a newer program"), "{error}");
        place.end();
    });
}

/// A node that runs while the tables become too new for it looked at them at its start only.
#[test]
fn a_running_node_stops_on_tables_that_are_too_new() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::new(&sqlite(&folder));
    place.migrate();
    let text = format!(
        "scheduler.instanceName = {}\njobStore.class = JobStoreTX\njobStore.isClustered = true\n\
         jobStore.clusterCheckinInterval = 100\njobStore.tablePrefix = {}\njobStore.dataSource = db\n\
         dataSource.db.URL = {}",
        place.name, place.prefix, place.url
    );
    let settings = Settings::from_text("test", &text, |_| None).unwrap();
    let node = Scheduler::builder().settings(settings).job_fn("work", |_| Ok(())).build().unwrap();
    node.start().unwrap();
    support::wait_until("the node fires", LONG, || node.health().is_firing);
    place.execute("INSERT INTO {p}CN_MIGRATIONS (VERSION) VALUES ('9999_incompatible')");
    support::wait_until("the node stops", LONG, || !node.health().is_firing);
    let why = node.health().takes_no_work.unwrap();
    assert!(why.contains("`9999_incompatible`"), "{why}");
    place.execute("DELETE FROM {p}CN_MIGRATIONS WHERE VERSION = '9999_incompatible'");
    support::wait_until("the node fires again", LONG, || node.health().is_firing);
    assert_eq!(node.health().takes_no_work, None);
    assert!(node.shutdown_and_wait().is_clean());
}

/// Spring calls its scheduler after the bean: a node of another name found no jobs and said
/// nothing.
#[test]
fn jobs_of_another_scheduler_name_are_named() {
    on_each(|url| {
        let java = Place::new(url);
        java.migrate();
        let job = JobDetail::builder(JobKey::named("j"), "t").durable(true).build().unwrap();
        java.store.catalogue().add_job(&job, false).unwrap();
        assert_eq!(java.found(), []);
        let misnamed = Place::at(url, "QuartzScheduler", &java.prefix);
        misnamed.store.database().check_schema().unwrap();
        assert_eq!(misnamed.store.database().other_schedulers().unwrap(), [java.name.as_str()]);
        // A new scheduler is none that is ill.
        assert_eq!(misnamed.found(), []);
        misnamed.store.catalogue().add_job(&job, false).unwrap();
        assert!(misnamed.store.database().other_schedulers().unwrap().is_empty());
        java.end();
    });
}

/// A table of Quartz that is gone is named by whoever is asked, and nothing sends anybody in a
/// circle.
#[test]
fn dropped_tables_of_quartz_are_named() {
    on_each(|url| {
        let place = Place::new(url);
        place.migrate();
        place.execute("ALTER TABLE {p}CALENDARS RENAME TO {p}AWAY");
        let table = format!("{}CALENDARS", place.prefix);
        let error = place.refusal();
        assert!(error.contains(&table) && error.contains("backup"), "{error}");
        assert!(place.found().contains(&("missing_table", table.clone())), "{:?}", place.found());
        assert!(place.found_of("missing_table").contains("backup"));
        place.execute("ALTER TABLE {p}AWAY RENAME TO {p}CALENDARS");
        assert_eq!(place.found(), []);
        place.end();
    });
}

/// The pages tell people to drop the views before they change tables.
#[test]
fn views_that_were_dropped_are_made_again() {
    on_each(|url| {
        let place = Place::new(url);
        place.migrate();
        place.execute("DROP VIEW {p}CN_VIEW_DUE");
        let view = format!("{}CN_VIEW_DUE", place.prefix);
        let found = place.found();
        assert!(found.len() == 1 && found[0].0 == "missing_view", "{found:?}");
        assert_eq!(place.migrate(), [format!("created the view {view} again")]);
        place.execute("DROP VIEW {p}CN_VIEW_LAST_RUNS");
        let made = place.store.diagnosis().repair().unwrap();
        assert_eq!(made.iter().map(|repair| repair.kind).collect::<Vec<_>>(), ["missing_view"]);
        assert_eq!(place.found(), []);
        place.end();
    });
}

/// Tables of an engine without transactions keep half of what a node did when it was killed.
#[test]
fn tables_without_transactions_are_named() {
    let place = Place::with_tables_of_quartz(&support::mysql_url());
    place.execute("ALTER TABLE {p}LOCKS ENGINE = MyISAM");
    place.migrate();
    let found = place.found_of("no_transactions");
    let remedy = format!("ALTER TABLE {}LOCKS ENGINE = InnoDB", place.prefix);
    assert!(found.to_uppercase().contains(&remedy.to_uppercase()), "{found}");
    place.execute("ALTER TABLE {p}LOCKS ENGINE = InnoDB");
    assert_eq!(place.found(), []);
    place.end();
}

/// Tables of Quartz 2.1 got most of the side tables before a script failed.
#[test]
fn tables_of_an_old_quartz_are_refused() {
    on_each(|url| {
        let place = Place::with_tables_of_quartz(url);
        place.execute("ALTER TABLE {p}FIRED_TRIGGERS RENAME COLUMN SCHED_TIME TO GONE");
        let error = place.refusal();
        assert!(error.contains("before 2.2") && error.contains("nothing was changed"), "{error}");
        assert_eq!(place.side_tables(), 0);
        place.execute("ALTER TABLE {p}FIRED_TRIGGERS RENAME COLUMN GONE TO SCHED_TIME");
        assert!(!place.migrate().is_empty());
        place.end();
    });
}
