//! Migrations: Quartz's tables and ours, with the prefix of the settings, through diesel's
//! migration harness.

use super::backend::Backend;
use super::by_place::by_place;
use super::connection::{Connection, Readable};
use super::dropped_tables::{advice_on_dropped, made_tables, made_views};
use super::failure::{Failure, MAKE_TABLES};
use super::failure_class;
use super::harness::{Filled, Scripts};
use super::migration_lock::{has_table, migration_lock};
use super::sql_options::SqlOptions;
use super::statement::{Count, Name, Statement, Value};
use crate::error::{DatabaseError, Error, Result};
use crate::store::row::DECLARED;
use diesel::sql_types::Bool;
use std::collections::{BTreeMap, BTreeSet};

/// The script that makes Quartz's tables; it is left out where Quartz made them.
pub(super) const QUARTZ: &str = "0001_quartz";

/// A script: its version, which names its folder for each database, and what it makes.
macro_rules! script {
    ($version:literal, $makes:literal) => {
        Script {
            version: $version,
            makes: $makes,
            sqlite: include_str!(concat!("../../../migrations/sqlite/", $version, "/up.sql")),
            postgres: include_str!(concat!("../../../migrations/postgres/", $version, "/up.sql")),
            mysql: include_str!(concat!("../../../migrations/mysql/", $version, "/up.sql")),
        }
    };
}

/// The scripts, in order: version, what it makes, and a text per database.
pub(super) const SCRIPTS: &[Script] = &[
    script!("0001_quartz", "the eleven tables of Quartz"),
    script!("0002_side_tables", "the side tables"),
    script!("0003_trigger_options", "the side table of options of triggers"),
    script!("0004_work", "the side tables of checkpoints and requests"),
    script!("0005_recurrences", "the side table of recurrences"),
    script!("0006_executions", "the side tables of job policies, heartbeats and orders to stop"),
    script!("0007_job_types", "the side tables of job types, versions and orphans"),
    script!("0009_history", "the side table of the history"),
    script!("0010_marks", "the side tables of marks and tags of jobs"),
    script!("0011_nodes", "the side table of nodes"),
    script!("0012_placement", "the side tables of nodes that take no work and of limits of groups"),
    script!("0013_continuations", "the side table of continuations"),
    script!("0014_history_log", "the side table of what runs have logged"),
    script!("0015_changes", "the side table of counters of changes"),
    script!("0016_locks", "the side table of locks of the application"),
    script!("0017_definitions", "the side tables of definitions in code"),
    script!("0019_outages", "the side tables of outages and of the recovery mode"),
    script!("0020_ignoring_misfires", "the index of triggers that ignore misfires"),
    script!("0021_scheduling", "no table: the function of this version is that of `0044_scheduling`"),
    script!("0022_executing_by_job", "the index of executing fires by their jobs"),
    script!("0023_parked", "the side table of parked work"),
    script!("0024_processes", "the side table of the processes of nodes"),
    script!("0025_progress", "the columns of the last progress of running fires"),
    script!("0026_executing_fires", "the index of executing fires by their jobs and triggers"),
    script!("0027_scheduling", "no table: the function of this version is that of `0044_scheduling`"),
    script!("0028_reservations", "the index of reservations"),
    script!("0029_ahead", "the side tables of fires taken ahead"),
    script!("0030_scheduling", "no table: the function of this version is that of `0044_scheduling`"),
    script!("0031_actions", "the side table of the log of actions"),
    script!(
        "0032_history_marks",
        "the history's columns of marks and traces, the side tables of incarnations and last runs"
    ),
    script!("0033_views", "the views for reports"),
    script!("0035_type_policies", "the side table of policies of job types"),
    script!("0036_tick_parts", "the side table of parts of ticks that are followed as a whole"),
    script!("0037_tick_traces", "the column of the traces of those parts"),
    script!("0039_alarms", "the column of the alarms of nodes"),
    script!("0041_scheduling", "no table: the function of this version is that of `0044_scheduling`"),
    script!("0042_made", "the indexes of tokens and requests by their age"),
    script!("0043_unusual_states", "the index of triggers that an audit looks at"),
    script!("0044_scheduling", "the function that stores new jobs and triggers"),
    script!("0047_fires_of_instances", "no index of fires by their nodes"),
    script!("0048_last_runs", "the view of the last run of each job"),
];

/// The version with the function that stores new work.
pub(super) const SCHEDULING: &str = "0044_scheduling";

/// The types of the arguments of that function: a function of other arguments belongs to another
/// version.
const ARGUMENTS: &str = "text, text, text, text, bigint, bigint, bigint, boolean, text[], text[], text[], \
     text[], boolean[], boolean[], boolean[], boolean[], bytea[], text[], text[], text[], text[], boolean[], text[], \
     bigint[], bigint[], bigint[], bigint[], bytea[], bigint[], bigint[]";

pub(super) struct Script {
    pub(super) version: &'static str,
    pub(super) makes: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
    mysql: &'static str,
}

impl Script {
    pub(super) fn text(&self, backend: Backend) -> &'static str {
        backend.pick(self.sqlite, self.postgres, self.mysql)
    }
}

/// Quartz's tables, to tell whether they are there.
pub(super) const QUARTZ_TABLES: [&str; 11] = [
    "JOB_DETAILS",
    "TRIGGERS",
    "SIMPLE_TRIGGERS",
    "CRON_TRIGGERS",
    "SIMPROP_TRIGGERS",
    "BLOB_TRIGGERS",
    "CALENDARS",
    "PAUSED_TRIGGER_GRPS",
    "FIRED_TRIGGERS",
    "SCHEDULER_STATE",
    "LOCKS",
];

/// Our side tables with rows of a scheduler.
pub(super) fn side_tables() -> impl Iterator<Item = &'static str> {
    ["CN_CHANGES", "CN_INSTANCES", "CN_HISTORY"].into_iter().chain(DECLARED.iter().map(|table| table.name))
}

/// The side tables that the scripts make for this backend.
pub(super) fn side_tables_made(backend: Backend) -> BTreeSet<&'static str> {
    let scripts = SCRIPTS.iter().filter(|script| script.version != QUARTZ);
    made_tables(scripts.map(|script| script.text(backend)))
}

/// The views that the scripts leave, without their prefix, each with the statement that makes it.
pub(super) fn views_made(backend: Backend) -> BTreeMap<&'static str, &'static str> {
    made_views(SCRIPTS.iter().map(|script| script.text(backend)))
}

by_place! {
    struct FunctionRow {
        may_be_called: bool as Bool,
    }
}

/// Creates or upgrades the tables; adopts tables that Quartz made by adding only side tables.
pub(super) fn migrate(connection: &mut Connection<'_>, options: &SqlOptions) -> Result<Vec<String>> {
    let mut work = Work { connection, options };
    let mut done = work.locked(Work::migrate)?;
    work.ensure_scheduler_rows(&mut done, &BTreeSet::new())?;
    Ok(done)
}

/// Checks that the tables are there and not older than this program, nor too new for it.
pub(super) fn check(connection: &mut Connection<'_>, options: &SqlOptions) -> Result<()> {
    let mut work = Work { connection, options };
    if let Some(newer) = check_versions(&mut work)? {
        let prefix = &options.table_prefix;
        log::info!("the tables {prefix}… are newer than this program, which can work with them version={newer}");
    }
    work.ensure_scheduler_rows(&mut Vec::new(), &BTreeSet::new())
}

/// Checks that the tables may be read and written, as a node has to.
pub(super) fn check_rights(connection: &mut Connection<'_>, options: &SqlOptions) -> Result<()> {
    Work { connection, options }.refuse_missing_rights()
}

/// Checks the versions only, for a look from which nothing follows.
pub(super) fn look(connection: &mut Connection<'_>, options: &SqlOptions) -> Result<()> {
    check_versions(&mut Work { connection, options }).map(drop)
}

/// The end of the name of a script after which programs that do not know it cannot work. There is
/// none yet: while a cluster is rolled over to a new version, and back, its old nodes start on the
/// new tables.
const INCOMPATIBLE: &str = "_incompatible";

/// Checks the tables only, and makes nothing. Returns the last version that this program does not
/// know, and with which it can work.
pub(super) fn check_versions(work: &mut Work<'_, '_>) -> Result<Option<String>> {
    let prefix = &work.options.table_prefix;
    let Some(applied) = work.applied()? else {
        if let Some(problem) = work.astray()? {
            return Err(Error::Schema(problem));
        }
        let what = match work.missing_tables()?.as_slice() {
            [] => format!("Quartz's tables {prefix}… are there, the side tables {prefix}CN_… are not"),
            missing => format!("tables are missing: {prefix}{}", missing.join(&format!(", {prefix}"))),
        };
        return Err(Error::Schema(format!("{what}{MAKE_TABLES}")));
    };
    let newer = refuse_newer(&applied, prefix)?;
    if let Some(older) = SCRIPTS.iter().find(|script| !applied.contains(script.version)) {
        return Err(Error::Schema(format!(
            "the tables {prefix}… are older than this program needs: `{}` is missing; run `carnelian migrate`, or call \
             `Scheduler::migrate`",
            older.version
        )));
    }
    Ok(newer)
}

/// Refuses versions with which this program cannot work; returns the last of the others that it
/// does not know.
fn refuse_newer(applied: &BTreeSet<String>, prefix: &str) -> Result<Option<String>> {
    let mut newer: Vec<&String> = applied.iter().collect();
    newer.retain(|version| SCRIPTS.iter().all(|script| script.version != version.as_str()));
    if let Some(newer) = newer.iter().find(|version| version.ends_with(INCOMPATIBLE)) {
        return Err(Error::Schema(format!(
            "the tables {prefix}… are newer than this program, and it cannot work with their version `{newer}`; use a newer program"
        )));
    }
    Ok(newer.last().map(|version| (*version).clone()))
}

/// True if the function that stores new work is there and may be called. The function is not there,
/// for one, where the tables alone were restored from a dump.
pub(super) fn has_function(connection: &mut Connection<'_>, options: &SqlOptions) -> Result<bool> {
    Ok(Work { connection, options }.function()?.is_some_and(|function| function.may_be_called))
}

/// A connection on which tables are made or looked at.
pub(super) struct Work<'a, 'c> {
    pub(super) connection: &'a mut Connection<'c>,
    pub(super) options: &'a SqlOptions,
}

impl Work<'_, '_> {
    /// Works while no other process makes or mends tables.
    pub(super) fn locked<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let lock = migration_lock(self.connection.backend(), self.connection.keeps_session());
        match self.run(lock.take) {
            Ok(()) => {}
            // Percona XtraDB Cluster for one, where such a lock would hold on one member only.
            Err(error) if self.connection.backend() == Backend::Mysql && !error.is_transient() => {
                log::warn!(
                    "the server refuses the lock of migrations, and the tables are made without it: let nobody else run \
                     `migrate` meanwhile error={error}"
                );
                return work(self);
            }
            Err(error) => {
                // A transaction may be open in which a lock was not granted.
                self.connection.break_off();
                return Err(error);
            }
        }
        let done = work(self);
        // The lock goes with the session if this fails.
        let unlocked = self.run(if done.is_ok() { lock.release } else { lock.give_up });
        let done = done?;
        unlocked.map(|()| done)
    }

    fn migrate(&mut self) -> Result<Vec<String>> {
        let mut done = Vec::new();
        let noted = self.applied()?;
        let newer = noted.iter().map(|applied| refuse_newer(applied, &self.options.table_prefix));
        let newer = newer.collect::<Result<Vec<_>>>()?.into_iter().flatten().next();
        let is_pending = |applied: &BTreeSet<String>| SCRIPTS.iter().any(|script| !applied.contains(script.version));
        if noted.as_ref().is_none_or(is_pending) {
            self.refuse_what_cannot_work(noted.is_some())?;
        }
        let mut applied = match noted {
            Some(applied) => applied,
            None => {
                // Before anything is made: some of them are there without this table if they are
                // somebody else's, and with it if this program was cut off while it made them.
                self.refuse_some_quartz_tables()?;
                let text =
                    "CREATE TABLE IF NOT EXISTS {p}CN_MIGRATIONS (VERSION VARCHAR(50) NOT NULL, PRIMARY KEY (VERSION))";
                self.run(&self.fill(text))?;
                BTreeSet::new()
            }
        };
        if self.connection.backend() != Backend::Mysql && !applied.contains(QUARTZ) {
            // Here nothing is made by halves.
            self.refuse_some_quartz_tables()?;
        }
        if !applied.contains(QUARTZ) && self.adopt_quartz_tables()? {
            applied.insert(QUARTZ.to_owned());
            done.push("adopted the tables of Quartz".to_owned());
        }
        let backend = self.connection.backend();
        let fill = |script: &Script| Filled {
            version: script.version,
            text: self.fill(&format!(
                "{}\nINSERT INTO {{p}}CN_MIGRATIONS (VERSION) VALUES ('{}');",
                script.text(backend),
                script.version
            )),
        };
        let pending = SCRIPTS.iter().filter(|script| !applied.contains(script.version));
        let scripts = Scripts { scripts: pending.map(fill).collect(), applied: applied.iter().cloned().collect() };
        let made = self.connection.run_pending(&scripts).map_err(error)?;
        let gone = self.dropped_tables()?;
        if !gone.is_empty() {
            return Err(Error::Schema(advice_on_dropped(&gone, &self.options.table_prefix)));
        }
        // Some scripts make nothing any more, and those of the function nothing but on PostgreSQL.
        let is_said = |script: &&Script| {
            !script.makes.starts_with("no ") && (script.version != SCHEDULING || backend == Backend::Postgres)
        };
        let what = SCRIPTS.iter().filter(|script| made.iter().any(|version| version == script.version));
        let what = what.filter(is_said);
        done.extend(what.map(|script| format!("created {}", script.makes)));
        // A newer version may have dropped what this one makes.
        if newer.is_none() {
            match self.make_missing_parts(&gone, false) {
                Ok(parts) => done.extend(parts.iter().map(|what| format!("created {what} again"))),
                // Programs that may not make tables call this at each start.
                Err(error) if made.is_empty() => {
                    log::warn!(
                        "a part of the tables is gone, and cannot be made again, see `carnelian doctor`: {error}"
                    );
                }
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    /// True if the function that stores new work is to be there and is not.
    pub(super) fn lacks_function(&mut self) -> Result<bool> {
        Ok(self.connection.backend() == Backend::Postgres && self.function()?.is_none())
    }

    /// The function that stores new work; only PostgreSQL has one.
    fn function(&mut self) -> Result<Option<FunctionRow>> {
        if self.connection.backend() != Backend::Postgres {
            return Ok(None);
        }
        let name = self.fill(&format!("{{p}}CN_SCHEDULE({ARGUMENTS})"));
        let text = "SELECT has_function_privilege(oid, 'EXECUTE') AS may_be_called FROM pg_proc WHERE oid = to_regprocedure(?)";
        Ok(self.load::<FunctionRow>(text, &[name.as_str().into()])?.pop())
    }

    fn refuse_some_quartz_tables(&mut self) -> Result<()> {
        let missing = self.missing_tables()?;
        if missing.is_empty() || missing.len() == QUARTZ_TABLES.len() {
            return Ok(());
        }
        let prefix = &self.options.table_prefix;
        Err(Error::Schema(format!(
            "some of Quartz's tables exist, but not {prefix}{}: restore or drop them, nothing was changed",
            missing.join(&format!(", {prefix}"))
        )))
    }

    /// Tells whether Quartz's tables are there already; then only the side tables are added.
    fn adopt_quartz_tables(&mut self) -> Result<bool> {
        let are_there = self.missing_tables()?.is_empty();
        if are_there {
            self.execute("INSERT INTO {p}CN_MIGRATIONS (version) VALUES (?)", &[QUARTZ.into()])?;
        }
        Ok(are_there)
    }

    /// The versions that were applied; none if nothing of ours is there.
    fn applied(&mut self) -> Result<Option<BTreeSet<String>>> {
        if self.lacks_table("CN_MIGRATIONS")? {
            return Ok(None);
        }
        let versions = self.load_if_there::<Name>("SELECT version AS name FROM {p}CN_MIGRATIONS")?;
        Ok(versions.map(|rows| rows.into_iter().map(|row| row.name).collect()))
    }

    pub(super) fn missing_tables(&mut self) -> Result<Vec<&'static str>> {
        let mut missing = Vec::new();
        for table in QUARTZ_TABLES {
            if !self.has_table(table)? {
                missing.push(table);
            }
        }
        Ok(missing)
    }

    /// The tables that the scripts or Quartz's have made and that are not there, without their
    /// prefix.
    pub(super) fn dropped_tables(&mut self) -> Result<BTreeSet<&'static str>> {
        let mut gone = BTreeSet::new();
        let backend = self.connection.backend();
        // A server that can be asked for a table locks none for the answer.
        let is_asked = has_table(backend).is_some();
        for table in QUARTZ_TABLES.into_iter().chain(side_tables_made(backend)) {
            if if is_asked { self.lacks_table(table)? } else { !self.has_table(table)? } {
                gone.insert(table);
            }
        }
        Ok(gone)
    }

    /// True if the table is there.
    fn has_table(&mut self, table: &str) -> Result<bool> {
        if self.lacks_table(table)? {
            return Ok(false);
        }
        let text = format!("SELECT COUNT(*) AS n FROM {{p}}{table} WHERE 1 = 0");
        Ok(self.load_if_there::<Count>(&text)?.is_some())
    }

    /// True if the table is known not to be there without trying it.
    pub(super) fn lacks_table(&mut self, table: &str) -> Result<bool> {
        let Some(text) = has_table(self.connection.backend()) else { return Ok(false) };
        let name = self.fill(&format!("{{p}}{table}"));
        Ok(self.load::<Count>(text, &[name.as_str().into()])?.iter().all(|row| row.n == 0))
    }

    pub(super) fn fill(&self, text: &str) -> String {
        let prefix = &self.options.table_prefix;
        let (schema, bare) = match prefix.rsplit_once('.') {
            Some((schema, bare)) => (format!("'{schema}'"), bare),
            None => ("DATABASE()".to_owned(), prefix.as_str()),
        };
        let qualifier = prefix.strip_suffix(bare).unwrap_or_default();
        text.replace("{p}", prefix).replace("{i}", bare).replace("{q}", qualifier).replace("{s}", &schema)
    }

    pub(super) fn run(&mut self, text: &str) -> Result<()> {
        self.connection.run(text).map_err(error)
    }

    pub(super) fn execute(&mut self, text: &str, values: &[Value]) -> Result<usize> {
        let statement = Statement { text, prefix: &self.options.table_prefix, values };
        self.connection.execute(statement).map_err(error)
    }

    pub(super) fn load<R: Readable>(&mut self, text: &str, values: &[Value]) -> Result<Vec<R>> {
        let statement = Statement { text, prefix: &self.options.table_prefix, values };
        self.connection.load(statement).map_err(error)
    }

    /// The rows of a question without values; none if a table in it is not there.
    fn load_if_there<R: Readable>(&mut self, text: &str) -> Result<Option<Vec<R>>> {
        match self.connection.load(Statement { text, prefix: &self.options.table_prefix, values: &[] }) {
            Ok(rows) => Ok(Some(rows)),
            Err(failure) if failure_class::is_missing_table(&failure) => Ok(None),
            Err(failure) => Err(error(failure)),
        }
    }
}

pub(super) fn error(failure: Failure) -> Error {
    DatabaseError { operation: "migrate".to_owned(), message: failure.message, class: failure.class }.into()
}
