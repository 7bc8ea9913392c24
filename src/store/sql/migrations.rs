//! Migrations: Quartz's tables and ours, with the prefix of the settings, through diesel's migration harness.

use super::SqlOptions;
use super::connection::{Backend, Connection};
use super::dialect::{self, Failure};
use super::harness::{Filled, Scripts};
use super::statement::{Statement, Value};
use super::table::plain::ARGUMENTS;
use crate::error::{DatabaseError, Error, FailureClass, Result};
use diesel::QueryableByName;
use diesel::sql_types::{Bool, Text};
use std::collections::BTreeSet;

/// The script that makes Quartz's tables; it is left out where Quartz made them.
const QUARTZ: &str = "0001_quartz";

/// The scripts, in order: version, what it makes, and a text per database.
const SCRIPTS: &[Script] = &[
    Script {
        version: QUARTZ,
        makes: "the eleven tables of Quartz",
        sqlite: include_str!("../../../migrations/sqlite/0001_quartz/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0001_quartz/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0001_quartz/up.sql"),
    },
    Script {
        version: "0002_side_tables",
        makes: "the side tables",
        sqlite: include_str!("../../../migrations/sqlite/0002_side_tables/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0002_side_tables/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0002_side_tables/up.sql"),
    },
    Script {
        version: "0003_trigger_options",
        makes: "the side table of options of triggers",
        sqlite: include_str!("../../../migrations/sqlite/0003_trigger_options/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0003_trigger_options/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0003_trigger_options/up.sql"),
    },
    Script {
        version: "0004_work",
        makes: "the side tables of checkpoints and requests",
        sqlite: include_str!("../../../migrations/sqlite/0004_work/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0004_work/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0004_work/up.sql"),
    },
    Script {
        version: "0005_recurrences",
        makes: "the side table of recurrences",
        sqlite: include_str!("../../../migrations/sqlite/0005_recurrences/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0005_recurrences/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0005_recurrences/up.sql"),
    },
    Script {
        version: "0006_executions",
        makes: "the side tables of job policies, heartbeats and orders to stop",
        sqlite: include_str!("../../../migrations/sqlite/0006_executions/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0006_executions/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0006_executions/up.sql"),
    },
    Script {
        version: "0007_job_types",
        makes: "the side tables of job types, versions and orphans",
        sqlite: include_str!("../../../migrations/sqlite/0007_job_types/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0007_job_types/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0007_job_types/up.sql"),
    },
    Script {
        version: "0009_history",
        makes: "the side table of the history",
        sqlite: include_str!("../../../migrations/sqlite/0009_history/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0009_history/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0009_history/up.sql"),
    },
    Script {
        version: "0010_marks",
        makes: "the side tables of marks and tags of jobs",
        sqlite: include_str!("../../../migrations/sqlite/0010_marks/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0010_marks/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0010_marks/up.sql"),
    },
    Script {
        version: "0011_nodes",
        makes: "the side table of nodes",
        sqlite: include_str!("../../../migrations/sqlite/0011_nodes/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0011_nodes/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0011_nodes/up.sql"),
    },
    Script {
        version: "0012_placement",
        makes: "the side tables of nodes that take no work and of limits of groups",
        sqlite: include_str!("../../../migrations/sqlite/0012_placement/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0012_placement/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0012_placement/up.sql"),
    },
    Script {
        version: "0013_continuations",
        makes: "the side table of continuations",
        sqlite: include_str!("../../../migrations/sqlite/0013_continuations/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0013_continuations/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0013_continuations/up.sql"),
    },
    Script {
        version: "0014_history_log",
        makes: "the side table of what runs have logged",
        sqlite: include_str!("../../../migrations/sqlite/0014_history_log/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0014_history_log/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0014_history_log/up.sql"),
    },
    Script {
        version: "0015_changes",
        makes: "the side table of counters of changes",
        sqlite: include_str!("../../../migrations/sqlite/0015_changes/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0015_changes/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0015_changes/up.sql"),
    },
    Script {
        version: "0016_locks",
        makes: "the side table of locks of the application",
        sqlite: include_str!("../../../migrations/sqlite/0016_locks/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0016_locks/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0016_locks/up.sql"),
    },
    Script {
        version: "0017_definitions",
        makes: "the side tables of definitions in code",
        sqlite: include_str!("../../../migrations/sqlite/0017_definitions/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0017_definitions/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0017_definitions/up.sql"),
    },
    Script {
        version: "0019_outages",
        makes: "the side tables of outages and of the recovery mode",
        sqlite: include_str!("../../../migrations/sqlite/0019_outages/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0019_outages/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0019_outages/up.sql"),
    },
    Script {
        version: "0020_ignoring_misfires",
        makes: "the index of triggers that ignore misfires",
        sqlite: include_str!("../../../migrations/sqlite/0020_ignoring_misfires/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0020_ignoring_misfires/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0020_ignoring_misfires/up.sql"),
    },
    Script {
        version: SCHEDULING,
        makes: "the function that stores new jobs and triggers",
        sqlite: include_str!("../../../migrations/sqlite/0021_scheduling/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0021_scheduling/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0021_scheduling/up.sql"),
    },
    Script {
        version: "0022_executing_by_job",
        makes: "the index of executing fires by their jobs",
        sqlite: include_str!("../../../migrations/sqlite/0022_executing_by_job/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0022_executing_by_job/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0022_executing_by_job/up.sql"),
    },
    Script {
        version: "0023_parked",
        makes: "the side table of parked work",
        sqlite: include_str!("../../../migrations/sqlite/0023_parked/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0023_parked/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0023_parked/up.sql"),
    },
    Script {
        version: "0024_processes",
        makes: "the side table of the processes of nodes",
        sqlite: include_str!("../../../migrations/sqlite/0024_processes/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0024_processes/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0024_processes/up.sql"),
    },
    Script {
        version: "0025_progress",
        makes: "the columns of the last progress of running fires",
        sqlite: include_str!("../../../migrations/sqlite/0025_progress/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0025_progress/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0025_progress/up.sql"),
    },
    Script {
        version: "0028_reservations",
        makes: "the index of reservations",
        sqlite: include_str!("../../../migrations/sqlite/0028_reservations/up.sql"),
        postgres: include_str!("../../../migrations/postgres/0028_reservations/up.sql"),
        mysql: include_str!("../../../migrations/mysql/0028_reservations/up.sql"),
    },
];

/// The version with the function that stores new work.
const SCHEDULING: &str = "0021_scheduling";

struct Script {
    version: &'static str,
    makes: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
    mysql: &'static str,
}

impl Script {
    fn text(&self, backend: Backend) -> &'static str {
        match backend {
            Backend::Sqlite => self.sqlite,
            Backend::Postgres => self.postgres,
            Backend::Mysql => self.mysql,
        }
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
pub(super) const SIDE_TABLES: &[&str] = &[
    "CN_FENCES",
    "CN_CHANGES",
    "CN_LOCKS",
    "CN_RECOVERY_MODE",
    "CN_OUTAGES",
    "CN_INSTANCES",
    "CN_PROCESSES",
    "CN_NODES",
    "CN_RECOVERIES",
    "CN_PARKED",
    "CN_COMMITS",
    "CN_TRIGGER_OPTIONS",
    "CN_CHECKPOINTS",
    "CN_REQUESTS",
    "CN_RECURRENCES",
    "CN_JOB_POLICIES",
    "CN_JOB_MARKS",
    "CN_TAGS",
    "CN_BEATS",
    "CN_CANCELS",
    "CN_CONTINUATIONS",
    "CN_HISTORY",
    "CN_HISTORY_LOG",
    "CN_BLACKLIST",
    "CN_GROUP_LIMITS",
    "CN_JOB_TYPES",
    "CN_JOB_VERSIONS",
    "CN_ORPHANS",
    "CN_DEFINITIONS",
    "CN_DEFINED_TRIGGERS",
];

#[derive(QueryableByName)]
struct VersionRow {
    #[diesel(sql_type = Text)]
    version: String,
}

#[derive(QueryableByName)]
struct FunctionRow {
    #[diesel(sql_type = Bool)]
    may_be_called: bool,
}

/// Creates or upgrades the tables; adopts tables that Quartz made by adding only side tables.
pub(super) fn migrate(connection: &mut Connection<'_>, options: &SqlOptions) -> Result<Vec<String>> {
    let mut work = Work { connection, options };
    let (lock, unlock) = dialect::migration_lock(work.connection.backend());
    work.run(lock)?;
    let done = work.migrate();
    // The lock goes with the session if this fails.
    let unlocked = match (&done, work.connection.backend()) {
        (Err(_), Backend::Sqlite) => work.run("ROLLBACK"),
        _ => work.run(unlock),
    };
    let mut done = done?;
    unlocked?;
    work.ensure_scheduler_rows(&mut done)?;
    Ok(done)
}

/// Checks that the tables are there and neither older nor newer than this program.
pub(super) fn check(connection: &mut Connection<'_>, options: &SqlOptions) -> Result<()> {
    let mut work = Work { connection, options };
    let prefix = &options.table_prefix;
    let Some(applied) = work.applied()? else {
        let what = match work.missing_tables()?.as_slice() {
            [] => format!("Quartz's tables {prefix}… are there, the side tables {prefix}CN_… are not"),
            missing => format!("tables are missing: {prefix}{}", missing.join(&format!(", {prefix}"))),
        };
        return Err(Error::Schema(format!("{what}: run `carnelian migrate`")));
    };
    let known: BTreeSet<&str> = SCRIPTS.iter().map(|script| script.version).collect();
    if let Some(newer) = applied.iter().find(|version| !known.contains(version.as_str())) {
        return Err(Error::Schema(format!(
            "the tables {prefix}… are newer than this program: it does not know their version `{newer}`; use a newer program"
        )));
    }
    if let Some(older) = SCRIPTS.iter().find(|script| !applied.contains(script.version)) {
        return Err(Error::Schema(format!(
            "the tables {prefix}… are older than this program needs: `{}` is missing; run `carnelian migrate`",
            older.version
        )));
    }
    work.ensure_scheduler_rows(&mut Vec::new())
}

/// Whether the function that stores new work is there and may be called; it is not, for one, where the tables alone were
/// restored from a dump.
pub(super) fn has_function(connection: &mut Connection<'_>, options: &SqlOptions) -> Result<bool> {
    Ok(Work { connection, options }.function()?.is_some_and(|function| function.may_be_called))
}

struct Work<'a, 'c> {
    connection: &'a mut Connection<'c>,
    options: &'a SqlOptions,
}

impl Work<'_, '_> {
    fn migrate(&mut self) -> Result<Vec<String>> {
        let mut done = Vec::new();
        self.run(&self.fill(
            "CREATE TABLE IF NOT EXISTS {p}CN_MIGRATIONS (VERSION VARCHAR(50) NOT NULL, PRIMARY KEY (VERSION))",
        ))?;
        let mut applied = self.applied()?.unwrap_or_default();
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
        let scripts = Scripts { scripts: SCRIPTS.iter().map(fill).collect(), applied: applied.into_iter().collect() };
        let made = self.connection.run_pending(&scripts).map_err(error)?;
        let what = SCRIPTS.iter().filter(|script| made.iter().any(|version| version == script.version));
        done.extend(what.map(|script| format!("created {}", script.makes)));
        if backend == Backend::Postgres && self.function()?.is_none() {
            for script in SCRIPTS.iter().filter(|script| script.version == SCHEDULING) {
                self.run(&self.fill(script.postgres))?;
                done.push(format!("created {} again", script.makes));
            }
        }
        Ok(done)
    }

    /// The function that stores new work; only PostgreSQL has one.
    fn function(&mut self) -> Result<Option<FunctionRow>> {
        if self.connection.backend() != Backend::Postgres {
            return Ok(None);
        }
        let name = self.fill(&format!("{{p}}CN_SCHEDULE({ARGUMENTS})"));
        let text = "SELECT has_function_privilege(oid, 'EXECUTE') AS may_be_called FROM pg_proc WHERE oid = to_regprocedure(?)";
        let statement = Statement { text, prefix: &self.options.table_prefix, values: &[name.as_str().into()] };
        Ok(self.connection.load::<FunctionRow>(statement).map_err(error)?.pop())
    }

    /// Whether Quartz made its tables already; then only the side tables are added.
    fn adopt_quartz_tables(&mut self) -> Result<bool> {
        let missing = self.missing_tables()?;
        let prefix = &self.options.table_prefix;
        match missing.len() {
            0 => {
                self.execute("INSERT INTO {p}CN_MIGRATIONS (version) VALUES (?)", &[QUARTZ.into()])?;
                Ok(true)
            }
            n if n < QUARTZ_TABLES.len() => Err(Error::Schema(format!(
                "some of Quartz's tables exist, but not {prefix}{}: restore or drop them, nothing was changed",
                missing.join(&format!(", {prefix}"))
            ))),
            _ => Ok(false),
        }
    }

    /// The rows every scheduler name needs: the two locks, the fence and the counters of changes. Made here, in their own statements, since two
    /// nodes that make them on demand can deadlock.
    fn ensure_scheduler_rows(&mut self, done: &mut Vec<String>) -> Result<()> {
        let name = Value::from(&self.options.scheduler_name);
        for lock in ["STATE_ACCESS", "TRIGGER_ACCESS"] {
            let insert = "INSERT INTO {p}LOCKS (sched_name, lock_name) SELECT v.s, v.l FROM (SELECT ? AS s, ? AS l) v \
                 WHERE NOT EXISTS (SELECT 1 FROM {p}LOCKS k WHERE k.sched_name = v.s AND k.lock_name = v.l)";
            if self.insert_once(insert, &[name.clone(), lock.into()])? {
                done.push(format!("made the lock {lock} of scheduler {}", self.options.scheduler_name));
            }
        }
        let insert = "INSERT INTO {p}CN_FENCES (sched_name, fence) SELECT v.s, 0 FROM (SELECT ? AS s) v \
             WHERE NOT EXISTS (SELECT 1 FROM {p}CN_FENCES k WHERE k.sched_name = v.s)";
        self.insert_once(insert, std::slice::from_ref(&name))?;
        let insert = "INSERT INTO {p}CN_CHANGES (sched_name, changes, cancels) SELECT v.s, 0, 0 FROM (SELECT ? AS s) v \
             WHERE NOT EXISTS (SELECT 1 FROM {p}CN_CHANGES k WHERE k.sched_name = v.s)";
        self.insert_once(insert, &[name]).map(drop)
    }

    /// Whether a row was inserted; that another process was faster is fine.
    fn insert_once(&mut self, text: &str, values: &[Value]) -> Result<bool> {
        match self.execute(text, values) {
            Ok(rows) => Ok(rows > 0),
            Err(error) if error.failure_class() == Some(FailureClass::UniqueViolation) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The versions that were applied; none if nothing of ours is there.
    fn applied(&mut self) -> Result<Option<BTreeSet<String>>> {
        let text = "SELECT version AS version FROM {p}CN_MIGRATIONS";
        let statement = Statement { text, prefix: &self.options.table_prefix, values: &[] };
        match self.connection.load::<VersionRow>(statement) {
            Ok(rows) => Ok(Some(rows.into_iter().map(|row| row.version).collect())),
            Err(failure) if dialect::is_missing_table(&failure) => Ok(None),
            Err(failure) => Err(error(failure)),
        }
    }

    fn missing_tables(&mut self) -> Result<Vec<&'static str>> {
        let mut missing = Vec::new();
        for table in QUARTZ_TABLES {
            let text = format!("SELECT sched_name AS version FROM {{p}}{table} WHERE 1 = 0");
            let statement = Statement { text: &text, prefix: &self.options.table_prefix, values: &[] };
            match self.connection.load::<VersionRow>(statement) {
                Ok(_) => {}
                Err(failure) if dialect::is_missing_table(&failure) => missing.push(table),
                Err(failure) => return Err(error(failure)),
            }
        }
        Ok(missing)
    }

    fn fill(&self, text: &str) -> String {
        let prefix = &self.options.table_prefix;
        let bare = prefix.rsplit('.').next().unwrap_or(prefix);
        text.replace("{p}", prefix).replace("{i}", bare)
    }

    fn run(&mut self, text: &str) -> Result<()> {
        self.connection.run(text).map_err(error)
    }

    fn execute(&mut self, text: &str, values: &[Value]) -> Result<usize> {
        let statement = Statement { text, prefix: &self.options.table_prefix, values };
        self.connection.execute(statement).map_err(error)
    }
}

fn error(failure: Failure) -> Error {
    DatabaseError { operation: "migrate".to_owned(), message: failure.message, class: failure.class }.into()
}
