//! `SqlSession`: one transaction on one connection.

use super::backend::Backend;
use super::by_place::by_place;
use super::connection::{Connection, Readable};
use super::dialect::{self, LockStrength};
use super::migrations::{QUARTZ_TABLES, side_tables};
use super::session_context::SessionContext;
use super::sql_options::SqlOptions;
use super::statement::{Count, Statement, Value};
use crate::error::{Error, Result};
use crate::store::database::{Lock, Session};
use crate::store::row::Notification;
use crate::store::{Fences, LostCommits};
use diesel::sql_types::{BigInt, Nullable};

/// One transaction, which reads the clock once and knows which locks it holds.
pub(super) struct SqlSession<'a, 'c> {
    context: &'a SessionContext,
    connection: &'a mut Connection<'c>,
    pub(super) purpose: &'static str,
    now_ms: Option<i64>,
    /// The last fence, where it came with the lock and is held with it: it cannot change in this
    /// transaction but by itself.
    pub(super) known_fence: Option<i64>,
    /// The last fence that this transaction has drawn; 0 if none.
    pub(super) drawn: i64,
    /// The loss of commits that this transaction has found. A transaction that is never committed
    /// may be wrong: where several servers take writes, it learns at its commit that it is late.
    pub(super) lost: Option<LostCommits>,
    held: Option<Lock>,
    /// The transaction is a caller's: it may last.
    pub(super) is_joined: bool,
    /// Nobody else stores triggers before this transaction ends. A caller's transaction has this
    /// only where it holds the lock after all.
    pub(super) sees_all_triggers: bool,
    notified: Vec<Notification>,
    /// The function that stores new work was called.
    pub(super) uses_fast_path: bool,
    pub(super) statements: u64,
}

by_place! {
    struct Locked {
        found: i64 as BigInt,
        now_ms: i64 as BigInt,
        fence: Option<i64> as Nullable<BigInt>,
    }
}

by_place! {
    struct Now {
        now_ms: i64 as BigInt,
    }
}

impl<'a, 'c> SqlSession<'a, 'c> {
    pub(super) fn new(context: &'a SessionContext, connection: &'a mut Connection<'c>, purpose: &'static str) -> Self {
        Self {
            context,
            connection,
            purpose,
            now_ms: None,
            known_fence: None,
            drawn: 0,
            lost: None,
            held: None,
            is_joined: false,
            sees_all_triggers: true,
            notified: Vec::new(),
            uses_fast_path: false,
            statements: 0,
        }
    }

    /// Tells whether the stored fence is smaller than the largest that was known before.
    pub(super) fn is_behind(&mut self, stored: i64, largest: i64) -> bool {
        self.lost = self.lost.or(LostCommits::between(stored, largest));
        stored < largest
    }

    /// The fences that the process knows.
    pub(super) fn fences(&self) -> &'a Fences {
        &self.context.fences
    }

    pub(super) fn backend(&self) -> Backend {
        self.connection.backend()
    }

    /// The scheduler's name, the first value of nearly every statement.
    pub(super) fn name(&self) -> Value {
        Value::from(&self.context.options.scheduler_name)
    }

    pub(super) fn true_literal(&self) -> &'static str {
        self.connection.true_literal()
    }

    pub(super) fn execute(&mut self, text: &str, values: &[Value]) -> Result<usize> {
        self.before_statement(text, values)?;
        let statement = Statement { text, prefix: &self.context.options.table_prefix, values };
        self.connection.execute(statement).map_err(|failure| failure.of_operation(self.purpose))
    }

    pub(super) fn load<R: Readable>(&mut self, text: &str, values: &[Value]) -> Result<Vec<R>> {
        self.before_statement(text, values)?;
        let statement = Statement { text, prefix: &self.context.options.table_prefix, values };
        self.connection.load(statement).map_err(|failure| failure.of_operation(self.purpose))
    }

    /// The number of rows that a `SELECT COUNT(*) AS n` counts.
    pub(super) fn count(&mut self, text: &str, values: &[Value]) -> Result<i64> {
        Ok(self.load::<Count>(text, values)?.first().map_or(0, |row| row.n))
    }

    #[cfg_attr(not(any(test, feature = "test-util")), expect(unused_variables, reason = "tests look at them"))]
    fn before_statement(&mut self, text: &str, values: &[Value]) -> Result<()> {
        self.statements += 1;
        #[cfg(any(test, feature = "test-util"))]
        if let Err(error) = self.context.faults.before_statement(self.purpose) {
            if error.failure_class() == Some(crate::FailureClass::ConnectionLost) {
                self.connection.break_off_after(crate::FailureClass::ConnectionLost);
            }
            return Err(error);
        }
        #[cfg(any(test, feature = "test-util"))]
        if self.backend() == Backend::Postgres
            && let Err(problem) = super::targets::stands_on_its_target(text)
        {
            return Err(Error::Schema(format!("{}: {problem}: {text}", self.purpose)));
        }
        #[cfg(any(test, feature = "test-util"))]
        self.explain(text, values)?;
        Ok(())
    }

    /// The plans that tests ask for.
    #[cfg(any(test, feature = "test-util"))]
    pub(super) fn plans(&self) -> &super::plans::Plans {
        &self.context.plans
    }

    #[cfg(any(test, feature = "test-util"))]
    pub(super) fn is_in_transaction(&mut self) -> bool {
        self.connection.is_in_transaction()
    }

    /// Loads something beside the work: nothing of it is counted, planned or explained.
    #[cfg(any(test, feature = "test-util"))]
    pub(super) fn load_uncounted<R: Readable>(&mut self, text: &str, values: &[Value]) -> Result<Vec<R>> {
        let statement = Statement { text, prefix: &self.context.options.table_prefix, values };
        self.connection.load(statement).map_err(|failure| failure.of_operation(self.purpose))
    }

    /// Runs something beside the work, without values.
    #[cfg(any(test, feature = "test-util"))]
    pub(super) fn run_uncounted(&mut self, text: &str) -> Result<()> {
        let text = text.replace("{p}", &self.context.options.table_prefix);
        self.connection.run(&text).map_err(|failure| failure.of_operation(self.purpose))
    }

    /// Deletes every row of the scheduler, a table at a time.
    pub(super) fn forget_scheduler(&mut self) -> Result<()> {
        for table in QUARTZ_TABLES.into_iter().chain(side_tables()) {
            self.execute(&format!("DELETE FROM {{p}}{table} WHERE sched_name = ?"), &[self.name()])?;
        }
        Ok(())
    }

    /// Tells whether the time is the node's by the settings.
    pub(super) fn takes_time_of_node(&self) -> bool {
        self.context.options.node_clock
    }

    /// The transaction's `now`, if a statement brought one.
    pub(super) fn know_now(&mut self, now_ms: i64) {
        self.now_ms.get_or_insert(now_ms);
    }

    /// Tells whether this is the first notification of its kind in this transaction.
    pub(super) fn is_first_notification(&mut self, what: Notification) -> bool {
        let is_first = !self.notified.contains(&what);
        if is_first {
            self.notified.push(what);
        }
        is_first
    }

    /// Tells whether other nodes are notified, where the database can.
    pub(super) fn notifies(&self) -> bool {
        self.context.options.notifies
    }

    /// See [`SqlOptions::soon_ms`].
    pub(super) fn soon_ms(&self) -> i64 {
        self.context.options.soon_ms
    }

    /// See [`SqlOptions::channel`].
    pub(super) fn channel(&self) -> String {
        self.context.options.channel()
    }

    /// From now on rows may be changed, in a transaction of a caller's: those of a fire of its own,
    /// and triggers by guarded writes, as beside claims.
    pub(super) fn note_joined(&mut self) {
        self.sees_all_triggers = self.backend() == Backend::Sqlite || self.held == Some(Lock::TriggerAccess);
        self.held = Some(Lock::TriggerAccess);
        self.is_joined = true;
    }

    /// Takes a lock, perhaps beside others.
    pub(super) fn lock_as(&mut self, lock: Lock, hold: LockStrength) -> Result<()> {
        debug_assert!(self.held < Some(lock), "{}: {lock:?} after {:?}", self.purpose, self.held);
        self.held = Some(lock);
        let (backend, is_written) = (self.backend(), self.writes_locks()?);
        if let Some(text) = dialect::write_lock(backend).filter(|_| is_written)
            && self.execute(text, &[self.name()])? == 0
        {
            return Err(self.lacks_row("fence", "CN_FENCES"));
        }
        // A lock that was written is shared with nobody.
        let hold = if is_written { LockStrength::Alone } else { hold };
        let Some(text) = dialect::lock(backend, lock, hold) else { return Ok(()) };
        let mut held = self.hold_row(text, &[self.name(), lock.name().into()], lock.name(), "LOCKS")?;
        if let Some(text) = dialect::fence_row_lock(backend, hold) {
            held = self.hold_row(text, &[self.name()], "fence", "CN_FENCES")?;
        }
        if self.now_ms.is_none() && !self.context.options.node_clock {
            self.now_ms = Some(held.now_ms);
        }
        self.known_fence = held.fence;
        Ok(())
    }

    /// The clause that holds the rows of a `SELECT` until the transaction ends. The clause passes
    /// over rows that others hold, where the server can; else it waits for them.
    pub(super) fn hold_free(&mut self) -> Result<&'static str> {
        let backend = self.backend();
        let passes_over = match (self.context.passes_over_locked.get(), dialect::passes_over_locked(backend)) {
            (Some(known), _) => *known,
            (None, Some(known)) => known,
            (None, None) => {
                let server = self.server()?;
                *self.context.passes_over_locked.get_or_init(|| server.passes_over_locked())
            }
        };
        Ok(if passes_over { dialect::hold_free(backend) } else { dialect::hold(backend) })
    }

    /// Tells whether a lock that is only held excludes nobody on other members of a cluster of
    /// databases, so that what is to exclude others has to be written.
    pub(super) fn writes_locks(&mut self) -> Result<bool> {
        if let Some(known) = self.context.writes_locks() {
            return Ok(known);
        }
        let is_galera = self.is_of_galera()?;
        Ok(*self.context.writes_locks.get_or_init(|| is_galera))
    }

    fn hold_row(&mut self, text: &str, values: &[Value], row: &str, table: &str) -> Result<Locked> {
        let held = self.load::<Locked>(text, values)?.pop().filter(|held| held.found > 0);
        held.ok_or_else(|| self.lacks_row(row, table))
    }

    fn lacks_row(&self, row: &str, table: &str) -> Error {
        let SqlOptions { scheduler_name, table_prefix, .. } = &self.context.options;
        Error::Schema(format!(
            "the row `{row}` of scheduler `{scheduler_name}` is missing in {table_prefix}{table}: run `carnelian migrate`"
        ))
    }

    /// Law 1: triggers, jobs and fires change under `TRIGGER_ACCESS` only.
    pub(super) fn assert_trigger_access(&self) {
        debug_assert_eq!(self.held, Some(Lock::TriggerAccess), "{}: a change outside TRIGGER_ACCESS", self.purpose);
    }
}

impl Session for SqlSession<'_, '_> {
    fn now_ms(&mut self) -> Result<i64> {
        if let Some(now) = self.now_ms {
            return Ok(now);
        }
        let now = match dialect::now(self.backend()).filter(|_| !self.context.options.node_clock) {
            Some(text) => match self.load::<Now>(text, &[])?.first() {
                Some(row) => row.now_ms,
                None => return Err(Error::Schema("the database does not tell the time".to_owned())),
            },
            None => self.context.clock.wall_time().timestamp_millis(),
        };
        self.now_ms = Some(now);
        Ok(now)
    }

    fn lock(&mut self, lock: Lock) -> Result<()> {
        self.lock_as(lock, LockStrength::Alone)
    }

    fn notify(&mut self, what: Notification) -> Result<()> {
        self.announce(what)
    }
}
