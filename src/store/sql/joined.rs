//! The preparations of a session for work in a transaction of a caller's: its isolation, and limits
//! of time.

use super::backend::Backend;
use super::by_place::by_place;
use super::session::SqlSession;
use super::statement::Variable;
use crate::error::{Error, Result};
use crate::store::callers::Join;
use crate::store::database::{Lock, Session};
use diesel::sql_types::{BigInt, Text};

by_place! {
    struct OnPostgres {
        level: String as Text,
        now_ms: i64 as BigInt,
    }
}

/// The level, the time, and limits for this transaction, where the caller's session has none of its
/// own: one statement. 59 s is nobody's own limit: a guard has set it, and a change comes after the
/// guard.
macro_rules! joined {
    ($idle:literal) => {
        concat!(
            "SELECT current_setting('transaction_isolation') AS level, \
             CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint) AS now_ms, \
             CASE WHEN current_setting('idle_in_transaction_session_timeout') IN ('0', '59s') \
             THEN set_config('idle_in_transaction_session_timeout', '",
            $idle,
            "', true) END AS idle, \
             CASE current_setting('lock_timeout') WHEN '0' THEN set_config('lock_timeout', '10s', true) END AS waits"
        )
    };
}

impl SqlSession<'_, '_> {
    /// Joins a transaction of the caller's: no lock of the cluster is taken in it, but beside nodes
    /// of Quartz, which rely on the lock.
    ///
    /// On PostgreSQL the server ends a session that stops: after 5 s if it has changed rows, after
    /// a minute if it guards a fire. MariaDB could set such a limit for the session only, and it
    /// would stay when the transaction has ended: none is set.
    pub(super) fn join(&mut self, join: Join) -> Result<()> {
        let level = match self.backend() {
            Backend::Sqlite => None,
            Backend::Postgres => {
                let text = match join {
                    Join::Guard => joined!("59s"),
                    Join::Change | Join::ChangeOfStranger | Join::ChangeBesideQuartz => joined!("5s"),
                };
                let row = self.load::<OnPostgres>(text, &[])?.pop();
                if let Some(row) = row.as_ref().filter(|_| !self.takes_time_of_node()) {
                    self.know_now(row.now_ms);
                }
                row.map(|row| row.level)
            }
            // The name differs from version to version.
            Backend::Mysql => {
                let text = "SHOW SESSION VARIABLES WHERE Variable_name IN ('transaction_isolation', 'tx_isolation')";
                self.load::<Variable>(text, &[])?.pop().map(|row| row.value)
            }
        };
        match level {
            Some(level) if !level.replace('-', " ").eq_ignore_ascii_case("read committed") => Err(self.refuse(&level)),
            _ => {
                let is_beside_quartz = match join {
                    Join::Guard | Join::Change => false,
                    Join::ChangeOfStranger => self.nodes_of_quartz()? > 0,
                    Join::ChangeBesideQuartz => true,
                };
                if is_beside_quartz {
                    self.lock(Lock::TriggerAccess)?;
                }
                self.note_joined();
                Ok(())
            }
        }
    }

    /// The number of members that have no row in our side table.
    fn nodes_of_quartz(&mut self) -> Result<i64> {
        let text = "SELECT COUNT(*) AS n FROM {p}SCHEDULER_STATE q WHERE q.sched_name = ? AND NOT EXISTS (SELECT 1 \
             FROM {p}CN_INSTANCES i WHERE i.sched_name = q.sched_name AND i.instance_name = q.instance_name)";
        self.count(text, &[self.name()])
    }

    fn refuse(&self, level: &str) -> Error {
        let remedy = match self.backend() {
            Backend::Mysql => "`SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED` when the connection is opened",
            _ => "`BEGIN ISOLATION LEVEL READ COMMITTED`, or `default_transaction_isolation`",
        };
        Error::Refused(format!(
            "{}: the isolation level of the connection is {level}, in which other transactions' changes are not seen: \
             expected READ COMMITTED; set it by {remedy}",
            self.purpose
        ))
    }
}
