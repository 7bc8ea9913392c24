//! `Database` and `Session`: what a store needs of the place where rows are kept.
//!
//! The stories of the store (acquire, fire, complete, recover …) are told once, over these traits;
//! a database implements them with SQL, the memory store with maps. A session is one transaction:
//! it sees one `now`, and every change it makes is gone if the work returns an error.

mod ahead;
mod changes;
mod commits;
mod continuations;
mod definitions;
mod executions;
mod fast_path;
mod fences;
mod fires;
mod history;
mod outages;
mod parts;
mod paused;
mod placement;
mod recoveries;
mod table;
mod types;

pub use ahead::BegunRows;
pub use changes::{ChangeRows, LockRows, NotificationListener};
pub use continuations::ContinuationRows;
pub use executions::ExecutionRows;
pub use fast_path::FastPathRows;
pub use fences::{Fences, LostCommits};
pub use fires::FiredRows;
pub use history::{HistoryRows, HistoryUpkeepRows};
pub use parts::PartRows;
pub use placement::PlacementRows;
pub use recoveries::RecoveryRows;
pub use table::{Compare, Rows, TableRows, Which};
pub use types::OrphanRows;

use super::row::*;
use crate::error::Result;
use crate::job::JobFilter;
use crate::key::{JobKey, TriggerKey};
use crate::trigger::{TriggerOrder, TriggerState};

/// The two locks of a cluster, rows of the `LOCKS` table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lock {
    /// Guards registration and failure of nodes. Always taken before [`Lock::TriggerAccess`].
    StateAccess,
    /// Guards every change of triggers, jobs and fired rows.
    TriggerAccess,
}

impl Lock {
    /// The name in `LOCK_NAME`.
    pub fn name(self) -> &'static str {
        match self {
            Lock::StateAccess => "STATE_ACCESS",
            Lock::TriggerAccess => "TRIGGER_ACCESS",
        }
    }
}

/// The mode in which a transaction begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxMode {
    /// Reads only, each statement for itself: no transaction is around them, and what they see need
    /// not be one moment.
    Autocommit,
    /// Reads only.
    ReadOnly,
    /// Writes rows that only their owner writes (the check-in), without a lock.
    OwnRows,
    /// Takes this lock as its first statement.
    Exclusive(Lock),
    /// Takes [`Lock::TriggerAccess`] for changes that claims ([`TxMode::Claiming`]) may happen
    /// beside: those that touch fires of their own, and triggers only by guarded writes. Where a
    /// database cannot tell them apart, it is the lock.
    BesideClaims,
    /// One statement that is a transaction by itself, and takes the lock that it needs. If its
    /// answer is lost it may not even have begun, and still happen at any later time.
    SingleStatement,
    /// Shares [`Lock::TriggerAccess`] with others that claim due triggers by locking their rows.
    /// Whoever takes the lock itself waits until they have ended, and they wait for it.
    Claiming,
}

impl TxMode {
    /// Tells whether a transaction of this mode may write.
    pub fn may_write(self) -> bool {
        !matches!(self, TxMode::ReadOnly | TxMode::Autocommit)
    }

    /// The lock that a transaction which begins so holds, or has its share of.
    pub(in crate::store) fn lock(self) -> Option<Lock> {
        match self {
            TxMode::ReadOnly | TxMode::Autocommit | TxMode::OwnRows | TxMode::SingleStatement => None,
            TxMode::Exclusive(lock) => Some(lock),
            TxMode::BesideClaims | TxMode::Claiming => Some(Lock::TriggerAccess),
        }
    }

    /// The mode of a transaction that asks what became of one of this mode, and waits for its end.
    pub(in crate::store) fn to_ask(self) -> TxMode {
        match self {
            TxMode::BesideClaims | TxMode::Claiming => TxMode::Exclusive(Lock::TriggerAccess),
            other => other,
        }
    }
}

/// Statements and commits since the store was opened, for the census.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatementCounts {
    /// Statements sent, without `BEGIN` and `COMMIT`.
    pub statements: u64,
    /// Transactions committed that may have written.
    pub commits: u64,
}

/// The node that writes, and the incarnation under which the node registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The instance's name.
    pub instance: String,
    /// Drawn at random at each registration, never from a clock.
    pub incarnation: String,
}

/// A place where the rows of one scheduler are kept.
pub trait Database: Send + Sync {
    /// Runs `work` in one transaction and commits it; an error rolls everything back.
    ///
    /// No retries here. Does not run `work` more than once.
    ///
    /// # Errors
    /// The error of `work`, or [`Error::Database`](crate::Error::Database) with the class of the
    /// failure; `CommitUnknown` if the connection was lost during the commit.
    fn transact(
        &self,
        purpose: &'static str,
        mode: TxMode,
        work: &mut dyn FnMut(&mut dyn Session) -> Result<()>,
    ) -> Result<()>;

    /// Runs `work` in the transaction that the caller has open on a connection of its own. The
    /// transaction is the caller's to end; after an error it must be rolled back.
    ///
    /// No lock of the cluster is taken: nobody can say how long the caller's transaction will last.
    /// The transaction holds the rows that it has written; where the database can do that for one
    /// transaction, a time is set after which the server ends a session that stops in it.
    ///
    /// # Errors
    /// The error of `work`; [`Error::Refused`](crate::Error::Refused) for a connection to another
    /// kind of database, or one without a transaction, or with one that is not READ COMMITTED.
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    fn join(
        &self,
        purpose: &'static str,
        connection: super::callers::CallersConnection<'_>,
        join: super::callers::Join,
        work: &mut dyn FnMut(&mut dyn Session) -> Result<()>,
    ) -> Result<()> {
        let _ = (connection, join, work);
        Err(crate::Error::Refused(format!(
            "{purpose}: the jobs are not in a database of the caller's: {}",
            self.describe()
        )))
    }

    /// The fences that this process knows of; none where they cannot be lost.
    fn fences(&self) -> Option<&Fences> {
        None
    }

    /// Creates or upgrades the tables; safe to repeat and to race. Returns what was done, a line
    /// each.
    fn migrate(&self) -> Result<Vec<String>>;

    /// Checks that the tables are there and of this version.
    fn check_schema(&self) -> Result<()>;

    /// Deletes every row of the scheduler, its locks too. Only for a scheduler that no node runs
    /// and nobody will use again, such as that of a benchmark.
    fn forget_scheduler(&self) -> Result<()>;

    /// A listener for the notifications of other nodes; none where nodes have to poll for changes.
    fn notification_listener(&self) -> Option<Box<dyn NotificationListener>> {
        None
    }

    /// Tells whether sessions can claim rows side by side: lock rows of their choice, and pass over
    /// locked rows.
    ///
    /// # Errors
    /// Errors of the database.
    fn claims_rows(&self) -> Result<bool> {
        Ok(false)
    }

    /// Tells whether a transaction that may write, and has written nothing yet, holds up no other.
    fn begins_apart(&self) -> bool {
        false
    }

    /// Tells whether [`TxMode::Claiming`] goes on beside [`TxMode::BesideClaims`], and not only
    /// beside others like it.
    fn records_beside(&self) -> bool {
        false
    }

    /// Whether the database has a fast path: one statement that stores new work, see [`FastPathRows`].
    fn has_fast_path(&self) -> bool {
        false
    }

    /// Whether one statement of [`TxMode::SingleStatement`] is cheaper than a transaction around it.
    fn prefers_single_statement(&self) -> bool {
        false
    }

    /// Statements and commits so far.
    fn counts(&self) -> StatementCounts;

    /// The number of bytes that the database has written into its log so far (PostgreSQL's WAL,
    /// whoever wrote them); none where it cannot be asked.
    ///
    /// # Errors
    /// Errors of the database.
    fn log_position(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// The server, and what ends a session that stops while it holds a lock, in words; none
    /// where there is no server.
    ///
    /// # Errors
    /// Errors of the database.
    fn guard(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// The database in words, without secrets.
    fn describe(&self) -> String;
}

/// One transaction on the rows of one scheduler.
pub trait Session:
    JobRows
    + TriggerRows
    + FiredRows
    + BegunRows
    + TableRows
    + RecoveryRows
    + HistoryRows
    + HistoryUpkeepRows
    + ExecutionRows
    + OrphanRows
    + ContinuationRows
    + PlacementRows
    + PartRows
    + FastPathRows
    + ClusterRows
    + MonitorRows
    + ChangeRows
    + LockRows
{
    /// The transaction's one `now`, in epoch milliseconds, by the database's clock (or the node's,
    /// as set).
    fn now_ms(&mut self) -> Result<i64>;

    /// Takes a further lock. Panics in debug builds if the order is wrong.
    fn lock(&mut self, lock: Lock) -> Result<()>;

    /// Reads everything the invariants speak of.
    fn snapshot(&mut self) -> Result<Snapshot>;

    /// Reads the next page of the same into `snapshot`, which is whole as soon as this returns
    /// false.
    fn snapshot_page(&mut self, place: &mut SnapshotPlace, snapshot: &mut Snapshot) -> Result<bool> {
        let _ = place;
        *snapshot = self.snapshot()?;
        Ok(false)
    }
}

/// Rows of `JOB_DETAILS`.
pub trait JobRows {
    /// The job of this key.
    fn job(&mut self, key: &JobKey) -> Result<Option<JobRow>>;
    /// The keys of these that jobs have.
    fn existing_jobs(&mut self, keys: &[JobKey]) -> Result<Vec<JobKey>>;
    /// The jobs of these keys that exist, with their policies.
    fn job_policies(&mut self, keys: &[JobKey]) -> Result<Vec<PolicyRow>>;
    /// The jobs that the filter asks for by marks, without their data, in order; whatever their
    /// groups.
    fn marked_jobs(&mut self, filter: &JobFilter) -> Result<Vec<JobRow>>;
    /// Stores new jobs.
    fn insert_jobs(&mut self, jobs: &[JobRow]) -> Result<()>;
    /// Replaces a job.
    fn update_job(&mut self, job: &JobRow) -> Result<()>;
    /// Writes the data of jobs.
    fn write_job_data(&mut self, data: &[(JobKey, Vec<u8>)]) -> Result<()>;
    /// Deletes jobs; returns how many there were.
    fn delete_jobs(&mut self, keys: &[JobKey]) -> Result<usize>;
    /// Deletes those of these jobs that are not durable, have no trigger and no fired row; returns
    /// them. What side tables have for a job goes with it, here as with [`JobRows::delete_jobs`].
    fn delete_idle_jobs(&mut self, keys: &[JobKey]) -> Result<Vec<JobKey>>;
    /// Every job, data left out, in order of group and name.
    fn jobs(&mut self) -> Result<Vec<JobRow>>;
}

/// Rows of `TRIGGERS`, of the tables of the kinds and of `PAUSED_TRIGGER_GRPS`.
pub trait TriggerRows {
    /// The triggers of these keys that exist, in no order.
    fn triggers(&mut self, keys: &[TriggerKey]) -> Result<Vec<TriggerRow>>;
    /// The keys of these that triggers have.
    fn existing_triggers(&mut self, keys: &[TriggerKey]) -> Result<Vec<TriggerKey>>;
    /// The triggers that name a calendar.
    fn triggers_of_calendar(&mut self, name: &str) -> Result<Vec<TriggerRow>>;
    /// The triggers of a job.
    fn triggers_of_job(&mut self, job: &JobKey) -> Result<Vec<TriggerRow>>;
    /// Every trigger, in order of group and name.
    fn all_triggers(&mut self) -> Result<Vec<TriggerRow>>;
    /// At most `limit` triggers in one of these states.
    fn triggers_in(&mut self, states: &[TriggerState], limit: usize) -> Result<Vec<TriggerRow>>;
    /// The groups that have triggers.
    fn trigger_groups(&mut self) -> Result<Vec<String>>;
    /// Stores new triggers, each with the row of its kind and that of its options.
    fn insert_triggers(&mut self, triggers: &[TriggerRow]) -> Result<()>;
    /// Deletes triggers with the rows of their kind, their options and their recovery rows; returns
    /// how many there were.
    ///
    /// With `only_in`, a trigger in another state does not count and the caller must roll back: the
    /// rows of its kind are gone by then.
    fn delete_triggers(&mut self, keys: &[TriggerKey], only_in: Option<TriggerState>) -> Result<usize>;
    /// Begins fires of triggers that end with them: as [`TriggerRows::delete_triggers`] with a
    /// state, of triggers that were just read, and [`FiredRows::insert_fired`]. Returns how many
    /// triggers there were.
    fn begin_last_fires(&mut self, keys: &[TriggerKey], in_state: TriggerState, fired: Vec<FiredRow>) -> Result<usize>;
    /// Deletes the options of these triggers, which are of a kind that seldom has some:
    /// [`TriggerRows::delete_triggers`] does not look for them where it is told the state.
    fn delete_options(&mut self, keys: &[TriggerKey]) -> Result<()>;
    /// Has the options of triggers follow them to another start, by which they are known.
    fn move_options(&mut self, starts: &[(TriggerKey, i64)]) -> Result<()>;
    /// Deletes those of these triggers that are `COMPLETE` and have no fired row left; returns
    /// them.
    fn delete_finished_triggers(&mut self, keys: &[TriggerKey]) -> Result<Vec<TriggerKey>>;
    /// Moves triggers from state to state; `unless_executing` leaves out those whose job has an
    /// executing fire.
    fn change_states(
        &mut self,
        which: Selection<'_>,
        moves: &[(TriggerState, TriggerState)],
        unless_executing: bool,
    ) -> Result<usize>;
    /// Writes what a fire or a misfire changed; returns how many triggers were as expected.
    fn advance(&mut self, advances: &[Advance]) -> Result<usize>;
    /// Sets state and next fire time of triggers, whatever they were.
    fn reset_triggers(&mut self, triggers: &[(TriggerKey, TriggerState, Option<i64>)]) -> Result<()>;
    /// Triggers in state `WAITING` that are due, earliest first, higher priority first among
    /// equals; with their jobs.
    fn due(&mut self, query: &DueQuery<'_>) -> Result<Vec<Candidate>>;
    /// The triggers of these that are `WAITING` for these times and that nobody else holds. The
    /// session holds them: nobody can change them before the transaction ends.
    fn hold_waiting(&mut self, triggers: &[(TriggerKey, i64)]) -> Result<Vec<TriggerKey>>;
    /// Gives all triggers of a job to another that is stored as well.
    fn give_triggers(&mut self, from: &JobKey, to: &JobKey) -> Result<usize>;
    /// These triggers, whatever their state, as candidates.
    fn candidates(&mut self, keys: &[TriggerKey]) -> Result<Vec<Candidate>>;
    /// Triggers in state `WAITING`, due before `before_ms`, that do not ignore misfires, earliest
    /// first. One that waits without a time, since a new calendar left it none, waits for another
    /// calendar.
    fn misfired(&mut self, before_ms: i64, order: TriggerOrder, limit: usize, offset: usize)
    -> Result<Vec<TriggerRow>>;
    /// The keys of the first of these, in this order.
    fn misfired_keys(&mut self, before_ms: i64, order: TriggerOrder, limit: usize) -> Result<Vec<TriggerKey>>;
    /// Tells whether a trigger is misfired that was due more than `threshold_ms` ago; in one
    /// statement.
    fn is_any_misfired(&mut self, threshold_ms: i64) -> Result<bool>;
    /// The number of triggers in state `WAITING` with a time from `from_ms` to `until_ms`; counts
    /// at most `limit`.
    fn count_waiting(&mut self, from_ms: i64, until_ms: i64, limit: usize) -> Result<usize>;

    /// Deletes all jobs, triggers, calendars and paused groups of the scheduler.
    fn clear(&mut self) -> Result<()>;
}

/// Rows of `SCHEDULER_STATE` and our side table of instances.
pub trait ClusterRows {
    /// Every instance.
    fn instances(&mut self) -> Result<Vec<InstanceRow>>;
    /// Sets the check-in time of `owner`'s row, if it is still of this incarnation; returns whether
    /// it was.
    fn touch_instance(&mut self, owner: &Owner, now_ms: i64) -> Result<bool>;
    /// Writes the row of an instance, whether or not there is one.
    fn put_instance(&mut self, row: &InstanceRow) -> Result<()>;

    /// The process of an instance, and the place that the instance names.
    fn process_of(&mut self, name: &str) -> Result<ProcessRow>;
    /// Deletes what is left of an instance of ours if a node of Quartz has checked in under its
    /// name since.
    fn forget_replaced(&mut self, name: &str) -> Result<()>;
    /// Deletes the rows of an instance, with `seen_ms` only if its last check-in is still that one;
    /// returns whether there were any.
    fn delete_instance(&mut self, name: &str, seen_ms: Option<i64>) -> Result<bool>;
    /// The number of side rows that stand for nothing any longer: their state row, their
    /// trigger is gone.
    fn stray_side_rows(&mut self) -> Result<usize>;
    /// Deletes them; returns how many there were.
    fn sweep_side_rows(&mut self) -> Result<usize>;
}

/// The load of a cluster, for monitors.
pub trait MonitorRows {
    /// Every instance with its executing fires, and the triggers that wait although they were due
    /// before `before_ms`, of which at most `most` are looked at.
    fn load(&mut self, before_ms: i64, most: usize) -> Result<LoadRow>;
    /// The load as [`MonitorRows::load`], of triggers that were due more than `after_ms` ago, and
    /// the time; in one statement.
    fn load_now(&mut self, after_ms: i64, most: usize) -> Result<(i64, LoadRow)>;
    /// The number of triggers in each state; reads all triggers.
    fn count_states(&mut self) -> Result<Vec<(String, usize)>>;
}
