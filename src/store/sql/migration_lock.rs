//! `MigrationLock`: how processes that make tables at the same time wait for each other.

use super::backend::Backend;

/// The statements that make concurrent migrations wait for each other.
pub(super) struct MigrationLock {
    pub take: &'static str,
    pub release: &'static str,
    /// Takes the place of `release` after a failure.
    pub give_up: &'static str,
}

/// The lock of migrations: of the session where it is ours, else of one transaction, in which they
/// are made then. SQLite has locks of transactions only.
///
/// A migration waits for another for up to an hour, and a statement of it takes as long as it
/// takes: an index of a long history needs minutes, in which nobody else writes that table. The
/// time for which it waits for a table that others use is short, since others wait behind it.
pub(super) fn migration_lock(backend: Backend, keeps_session: bool) -> MigrationLock {
    let of_session = |take, release| MigrationLock { take, release, give_up: release };
    let of_transaction = |take| MigrationLock { take, release: "COMMIT", give_up: "ROLLBACK" };
    match backend {
        Backend::Sqlite => of_transaction("BEGIN EXCLUSIVE"),
        Backend::Postgres if keeps_session => of_session(
            "SELECT set_config('carnelian.lock_timeout', current_setting('lock_timeout'), false), \
                 set_config('carnelian.statement_timeout', current_setting('statement_timeout'), false); \
                 SET lock_timeout = '1h'; SET statement_timeout = 0; SELECT pg_advisory_lock(20071126); \
                 SELECT set_config('lock_timeout', current_setting('carnelian.lock_timeout'), false)",
            "SELECT pg_advisory_unlock(20071126), \
                 set_config('statement_timeout', current_setting('carnelian.statement_timeout'), false)",
        ),
        Backend::Postgres => of_transaction(
            "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '1h'; SET LOCAL statement_timeout = 0; \
             SELECT pg_advisory_xact_lock(20071126); SET LOCAL lock_timeout = '10s'",
        ),
        // A migration that does not get it in an hour, or is refused it, goes on without it.
        Backend::Mysql => {
            of_session("SELECT GET_LOCK('carnelian.migrate', 3600)", "SELECT RELEASE_LOCK('carnelian.migrate')")
        }
    }
}

/// The query that tells whether a table is there, where a transaction that has failed once fails
/// for good; none where the table can be tried.
pub(super) fn has_table(backend: Backend) -> Option<&'static str> {
    (backend == Backend::Postgres).then_some("SELECT CAST(to_regclass(?) IS NOT NULL AS int)::bigint AS n")
}
