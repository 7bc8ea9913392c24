//! The differences of the databases in transactions, locks, sessions and types.

use super::backend::Backend;
use super::statement::Value;
use crate::settings::Synchronous;
use crate::store::{Lock, TxMode};

/// A statement for a new session; an optional one may be refused by some versions.
pub(super) struct Setup {
    pub text: &'static str,
    pub optional: bool,
}

/// The set-up of a session: READ COMMITTED, and on PostgreSQL limits that end a session which holds
/// a lock and stops (H18); elsewhere [`super::server`] sees to these limits.
///
/// A stopped holder is cut off after 5 s; those who wait for its lock give up after 10 s, so they
/// get it first.
pub(super) fn session_setup(backend: Backend, synchronous: Synchronous) -> &'static [Setup] {
    const fn must(text: &'static str) -> Setup {
        Setup { text, optional: false }
    }
    const fn may(text: &'static str) -> Setup {
        Setup { text, optional: true }
    }
    match backend {
        Backend::Sqlite => {
            const fn sqlite(synchronous: Setup) -> [Setup; 4] {
                // Before the mode of the journal: to change that takes the lock for which others
                // may wait.
                let busy = must("PRAGMA busy_timeout = 10000");
                [busy, must("PRAGMA journal_mode = WAL"), synchronous, must("PRAGMA foreign_keys = ON")]
            }
            match synchronous {
                Synchronous::Full => &const { sqlite(must("PRAGMA synchronous = FULL")) },
                Synchronous::Normal => &const { sqlite(must("PRAGMA synchronous = NORMAL")) },
            }
        }
        Backend::Postgres => {
            &const {
                [
                    must("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED"),
                    must("SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '5s'"),
                    must("SET statement_timeout = '60s'; SET TIME ZONE 'UTC'"),
                    may("SET jit = off"),
                    // A batch of any size has the same plan; else many a statement is planned each
                    // time that it is sent.
                    may("SET plan_cache_mode = force_generic_plan"),
                    // Nearly everything here is a few rows by their keys. A plan made while a table
                    // was small, or its statistics were, would go through all of it, and is kept.
                    may("SET enable_seqscan = off"),
                    may("SET client_min_messages = warning"),
                    // Failures are known by their words. Only a superuser may, or who was granted
                    // it; else the words that are known of other languages have to do.
                    may("SELECT set_config('lc_messages', 'C', false) \
                         WHERE current_setting('lc_messages') !~* '^(c|posix|en.*)([.].*)?$'"),
                ]
            }
        }
        Backend::Mysql => {
            &const {
                [
                    must("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"),
                    // The second limit is that of waits for a table that somebody changes: else
                    // all nodes wait for as long as the one who waits to change it.
                    must("SET SESSION innodb_lock_wait_timeout = 10, lock_wait_timeout = 10, time_zone = '+00:00'"),
                    may("SET SESSION lc_messages = 'en_US'"),
                    must("SET SESSION sql_mode = CONCAT(@@sql_mode, ',STRICT_TRANS_TABLES')"),
                    // Keys compare byte by byte; without this a derived table could not be joined
                    // with them.
                    must("SET NAMES utf8mb4 COLLATE utf8mb4_bin"),
                    // MariaDB would make `IN` of `EXISTS` and look through all rows of the
                    // scheduler, where it has no statistics.
                    may("SET SESSION optimizer_switch = 'exists_to_in=off'"),
                    // On Galera: a transaction first waits until its member has applied all that
                    // was committed on others before. Without effect elsewhere.
                    may("SET SESSION wsrep_sync_wait = 7"),
                ]
            }
        }
    }
}

/// The statement that begins a transaction. On SQLite the transaction itself is the lock.
pub(super) fn begin(backend: Backend, mode: TxMode) -> &'static str {
    match (backend, mode) {
        (Backend::Sqlite, TxMode::ReadOnly) => "BEGIN DEFERRED",
        (Backend::Sqlite, _) => "BEGIN IMMEDIATE",
        (Backend::Postgres, _) => "BEGIN",
        (Backend::Mysql, _) => "START TRANSACTION",
    }
}

/// The end of a statement that begins a transaction in a session of which nothing may stay: what
/// [`session_setup`] sets for the session.
macro_rules! begin_apart {
    ($begin:literal) => {
        concat!(
            $begin,
            "; SET LOCAL lock_timeout = '10s'; SET LOCAL idle_in_transaction_session_timeout = '5s'; \
             SET LOCAL statement_timeout = '60s'; SET LOCAL jit = off; \
             SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off"
        )
    };
}

/// The statement that begins a transaction in a session that is ours for this transaction only. On
/// PostgreSQL the session's settings come with the transaction and go with it; elsewhere the
/// session was set up when the connection was taken from the pool.
pub(super) fn begin_apart(backend: Backend, mode: TxMode) -> &'static str {
    match (backend, mode) {
        (Backend::Postgres, TxMode::ReadOnly) => begin_apart!("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"),
        (Backend::Postgres, _) => begin_apart!("BEGIN ISOLATION LEVEL READ COMMITTED"),
        _ => self::begin(backend, mode),
    }
}

/// The strength with which a session holds the row of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockStrength {
    /// By one session alone.
    Alone,
    /// By one session, beside those that share it.
    BesideClaims,
    /// Shared with others that share it.
    Shared,
}

/// Takes a row lock and then reads the clock; none where the transaction is the lock.
///
/// The clock is read after the lock was granted: a wait must not make `now` old. MySQL, which
/// cannot return what an `UPDATE` has written, locks and reads the last fence with
/// `TRIGGER_ACCESS`: the lock's row comes first in the join, so that nobody holds a fence and waits
/// for the lock. A session that shares the lock draws no fence.
///
/// PostgreSQL has row locks of four strengths: a `KEY SHARE` is compatible with `NO KEY UPDATE`,
/// which excludes itself and `UPDATE`, the lock of Quartz. Claims therefore happen beside
/// acquisitions and completions there, and beside nothing else. MySQL has two: there whoever goes
/// on beside claims shares the lock with them, and excludes others like it by [`fence_row_lock`].
pub(super) fn lock(backend: Backend, lock: Lock, hold: LockStrength) -> Option<&'static str> {
    macro_rules! on_postgres {
        ($hold:literal) => {
            Some(concat!(
                "WITH held AS MATERIALIZED (SELECT lock_name FROM {p}LOCKS WHERE sched_name = ? AND lock_name = ? ",
                $hold,
                ") SELECT count(*) AS found, CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint) AS now_ms, \
                 CAST(NULL AS bigint) AS fence FROM held"
            ))
        };
    }
    match (backend, lock) {
        (Backend::Sqlite, _) => None,
        (Backend::Postgres, _) => match hold {
            LockStrength::Alone => on_postgres!("FOR UPDATE"),
            LockStrength::BesideClaims => on_postgres!("FOR NO KEY UPDATE"),
            LockStrength::Shared => on_postgres!("FOR KEY SHARE"),
        },
        (Backend::Mysql, _) if hold != LockStrength::Alone => Some(
            "SELECT 1 AS found, CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED) AS now_ms, CAST(NULL AS SIGNED) AS fence \
             FROM {p}LOCKS WHERE sched_name = ? AND lock_name = ? LOCK IN SHARE MODE",
        ),
        (Backend::Mysql, Lock::StateAccess) => Some(
            "SELECT 1 AS found, CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED) AS now_ms, CAST(NULL AS SIGNED) AS fence \
             FROM {p}LOCKS WHERE sched_name = ? AND lock_name = ? FOR UPDATE",
        ),
        (Backend::Mysql, Lock::TriggerAccess) => Some(
            "SELECT 1 AS found, CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED) AS now_ms, f.fence AS fence \
             FROM {p}LOCKS l LEFT JOIN {p}CN_FENCES f ON f.sched_name = l.sched_name \
             WHERE l.sched_name = ? AND l.lock_name = ? FOR UPDATE",
        ),
    }
}

/// Locks the row of the fences, which excludes those that go on beside claims from each other,
/// where the lock does not. The row is taken after the lock, as always. The statement brings the
/// last fence, and the time.
pub(super) fn fence_row_lock(backend: Backend, hold: LockStrength) -> Option<&'static str> {
    (backend == Backend::Mysql && hold == LockStrength::BesideClaims).then_some(
        "SELECT 1 AS found, CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED) AS now_ms, fence AS fence \
         FROM {p}CN_FENCES WHERE sched_name = ? FOR UPDATE",
    )
}

/// Writes the row of the fences, where a lock that is only held excludes nobody on another member
/// of the cluster: of two transactions that have written it side by side, the cluster lets one be
/// committed. As the first statement it makes the transaction read what was committed before. None
/// where the transaction is the lock.
///
/// The number is a fence that nobody gets: fences need only grow.
pub(super) fn write_lock(backend: Backend) -> Option<&'static str> {
    (backend != Backend::Sqlite).then_some("UPDATE {p}CN_FENCES SET fence = fence + 1 WHERE sched_name = ?")
}

/// Writes the row of a fire for the same reason: its time moves by a millisecond, to and fro.
pub(super) const WRITE_FIRE: &str = "UPDATE {p}FIRED_TRIGGERS SET fired_time = fired_time + 1 - 2 * MOD(fired_time, 2) \
     WHERE sched_name = ? AND entry_id = ?";

/// Keeps the rows of a `SELECT` from being changed until the transaction ends. On SQLite nobody
/// else can write then.
pub(super) fn share_lock(backend: Backend) -> &'static str {
    backend.pick("", " FOR SHARE", " LOCK IN SHARE MODE")
}

/// Holds the rows of a `SELECT` until the transaction ends, and leaves out those that others hold.
/// On SQLite nobody else can write then.
pub(super) fn hold_free(backend: Backend) -> &'static str {
    backend.pick("", " FOR UPDATE SKIP LOCKED", " FOR UPDATE SKIP LOCKED")
}

/// Holds the rows of a `SELECT` until the transaction ends, and waits for those that others hold.
pub(super) fn hold(backend: Backend) -> &'static str {
    backend.pick("", " FOR UPDATE", " FOR UPDATE")
}

/// True if there is `SKIP LOCKED`: PostgreSQL has had it since 9.5; SQLite has no locks of rows.
/// None where the answer depends on the server, which is to be asked.
pub(super) fn passes_over_locked(backend: Backend) -> Option<bool> {
    backend.pick(Some(false), Some(true), None)
}

/// Reads the database's clock; none where it is the node's.
pub(super) fn now(backend: Backend) -> Option<&'static str> {
    match backend {
        Backend::Sqlite => None,
        Backend::Postgres => {
            Some("SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint) AS now_ms")
        }
        Backend::Mysql => Some("SELECT CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED) AS now_ms"),
    }
}

/// The database's clock as part of a statement that waits for no lock: one value for the whole of
/// it, so that an index can be searched by it. None where the clock is the node's.
pub(super) fn now_in_statement(backend: Backend) -> Option<&'static str> {
    match backend {
        Backend::Sqlite => None,
        Backend::Postgres => Some("CAST(floor(extract(epoch FROM statement_timestamp()) * 1000) AS bigint)"),
        Backend::Mysql => Some("CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)"),
    }
}

/// The literal of a true flag in a condition.
pub(super) fn true_literal(backend: Backend) -> &'static str {
    backend.pick("1", "TRUE", "'1'")
}

/// The literal of a false flag in a condition.
pub(super) fn false_literal(backend: Backend) -> &'static str {
    backend.pick("0", "FALSE", "'0'")
}

/// The value of a flag by which rows are looked up: a text on MySQL, where an index of texts is not
/// searched by a number.
pub(super) fn flag_key(backend: Backend, flag: bool) -> Value {
    match backend {
        Backend::Mysql => Value::from(if flag { "1" } else { "0" }),
        Backend::Sqlite | Backend::Postgres => Value::from(flag),
    }
}

/// The function that says at which place of a text another is in it, from 1 on; 0 if it is not.
/// Letter by letter.
pub(super) fn place_of(backend: Backend) -> &'static str {
    backend.pick("instr", "strpos", "instr")
}

/// True if `UPDATE … RETURNING` exists. MariaDB and MySQL remember the new value in the session
/// instead.
pub(super) fn returns_updated(backend: Backend) -> bool {
    backend != Backend::Mysql
}

/// The query for the names of the indexes of some tables.
pub(super) fn indexes_of(backend: Backend) -> &'static str {
    match backend {
        Backend::Sqlite => {
            "SELECT name AS name FROM sqlite_master WHERE type = 'index' AND tbl_name COLLATE NOCASE IN ({bare})"
        }
        Backend::Postgres => {
            "SELECT CAST(c.relname AS text) AS name FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid \
             WHERE x.indrelid IN ({tables})"
        }
        Backend::Mysql => {
            "SELECT DISTINCT index_name AS name FROM information_schema.statistics WHERE table_schema = {s} \
             AND table_name IN ({bare})"
        }
    }
}

/// The query for those of some views that are there.
pub(super) fn views_of(backend: Backend) -> &'static str {
    match backend {
        Backend::Sqlite => {
            "SELECT name AS name FROM sqlite_master WHERE type = 'view' AND name COLLATE NOCASE IN ({names})"
        }
        Backend::Postgres => {
            "SELECT CAST(c.relname AS text) AS name FROM unnest(ARRAY[{names}]) AS v \
             JOIN pg_class c ON c.oid = to_regclass('{q}' || v)"
        }
        Backend::Mysql => {
            "SELECT table_name AS name FROM information_schema.views WHERE table_schema = {s} AND table_name IN ({names})"
        }
    }
}
