//! Transactions: what is retried, how often, and what is done when the outcome is not known.
//!
//! Each function uses the one below it:
//!
//! ```text
//! read, glance, write, at_least_once …  say the mode, and what is asked if the outcome is unknown
//! retrying                              gives the answer, or the error that leaves it unknown
//! retrying_or_doubt                     gives an answer that is in doubt too
//! until_known                           tries again after failures, asks after lost answers
//! through_conflicts (once)              tries again while other members of a cluster are faster
//! transact_once                         measures the wait for the lock, counts losses
//! Database::transact                    begins, works, commits or rolls back
//! ```

use super::row::Notification;
use super::{JobStore, Lock, Owner, Session, TxMode};
use crate::error::{Error, FailureClass, Result};
use crate::random;
pub(super) use crate::random::hex as random_hex;
use crate::signal::Signal;
use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The number of times that a transaction is tried before its failure is returned.
const MAX_TRIES: u32 = 6;

/// The wait before the second try; doubled for each further one.
const FIRST_BACK_OFF: Duration = Duration::from_millis(20);

/// The time for which a transaction is tried again while others on other members of a cluster of
/// databases are committed first: as long as it would wait for a lock that they hold.
const LONGEST_CONFLICT: Duration = Duration::from_secs(10);

/// The longest pause before the next of these tries: whoever was first has been committed already.
const AFTER_CONFLICT: Duration = Duration::from_millis(20);

/// The time after which a read is not tried again: what the server has cut off would take as long
/// again, for the sake of somebody who has gone.
const LONGEST_READ: Duration = Duration::from_secs(30);

/// The outcome of a transaction.
pub(super) enum TxOutcome<T> {
    /// The transaction was committed.
    Done(T),
    /// The commit's answer was lost, and the store could not be asked what became of it.
    InDoubt(T, Error),
}

impl JobStore {
    /// Reads, without a lock.
    pub(super) fn read<T>(&self, purpose: &'static str, work: impl FnMut(&mut dyn Session) -> Result<T>) -> Result<T> {
        self.at_least_once(purpose, TxMode::ReadOnly, work)
    }

    /// Reads without a lock and without a transaction: for looks that are made again and again.
    /// Each statement sees a moment of its own.
    pub(super) fn glance<T>(
        &self,
        purpose: &'static str,
        work: impl FnMut(&mut dyn Session) -> Result<T>,
    ) -> Result<T> {
        self.at_least_once(purpose, TxMode::Autocommit, work)
    }

    /// Changes definitions under `TRIGGER_ACCESS`, and announces it to the other nodes. If the
    /// commit's answer is lost, a token written with the change tells whether it happened.
    pub(super) fn write<T>(
        &self,
        purpose: &'static str,
        mut work: impl FnMut(&mut dyn Session) -> Result<T>,
    ) -> Result<T> {
        let token = random_hex()?;
        self.retrying(purpose, TxMode::Exclusive(Lock::TriggerAccess), |s| noted(s, &token, &mut work), &mut |s, _| {
            Ok(s.committed_ms(&token)?.is_some())
        })
    }

    /// Writes, unless a statement that was sent under this token has done so, or does so before
    /// this is its turn; `done` is the answer of work that was done at that time. The statement
    /// does nothing any longer once this has returned.
    pub(super) fn write_unless_done<T>(
        &self,
        purpose: &'static str,
        token: &str,
        done: impl Fn(i64) -> Result<T>,
        mut work: impl FnMut(&mut dyn Session) -> Result<T>,
    ) -> Result<T> {
        let mode = TxMode::Exclusive(Lock::TriggerAccess);
        let answer = self.retrying(
            purpose,
            mode,
            |s| match s.committed_ms(token)? {
                Some(now_ms) => done(now_ms),
                None => noted(s, token, &mut work),
            },
            &mut |s, _| Ok(s.committed_ms(token)?.is_some()),
        );
        match &answer {
            Ok(_) => return answer,
            Err(error) if error.is_transient() => return Err(unknown(purpose, error)),
            Err(_) => {}
        }
        // Refused, and nothing is noted: the statement may still come.
        match self.outcome_of_token(purpose, token).map_err(|error| unknown(purpose, &error))? {
            Some(now_ms) => done(now_ms),
            None => answer,
        }
    }

    /// The outcome of a statement that was sent under this token: when it was done, if it was; else
    /// it does nothing any longer.
    pub(super) fn outcome_of_token(&self, purpose: &'static str, token: &str) -> Result<Option<i64>> {
        self.retrying(
            purpose,
            TxMode::Exclusive(Lock::TriggerAccess),
            |s| match s.committed_ms(token)? {
                Some(now_ms) => Ok(Some(now_ms)),
                None => s.mark_commit(token).map(|()| None),
            },
            &mut |s, _| Ok(s.committed_ms(token)?.is_some()),
        )
    }

    /// Runs `work` until it is committed, refused, or has failed too often. If the outcome is
    /// unknown, `happened` is asked under the same lock, which waits for the lost session's
    /// transaction to end one way or the other.
    ///
    /// # Errors
    /// `CommitUnknown` where it could not be asked: the work may have been done.
    pub(super) fn retrying<T>(
        &self,
        purpose: &'static str,
        mode: TxMode,
        mut work: impl FnMut(&mut dyn Session) -> Result<T>,
        happened: &mut dyn FnMut(&mut dyn Session, &T) -> Result<bool>,
    ) -> Result<T> {
        match self.retrying_or_doubt(purpose, mode, &mut work, happened)? {
            TxOutcome::Done(answer) => Ok(answer),
            TxOutcome::InDoubt(_, error) => Err(error),
        }
    }

    /// As [`JobStore::retrying`], of work that does no harm if it is done twice: where its outcome
    /// is unknown, it is done again.
    pub(super) fn at_least_once<T>(
        &self,
        purpose: &'static str,
        mode: TxMode,
        work: impl FnMut(&mut dyn Session) -> Result<T>,
    ) -> Result<T> {
        self.retrying(purpose, mode, work, &mut |_, _| Ok(false))
    }

    /// As [`JobStore::retrying`], of work that is rather not done than done twice, or that only
    /// reads under a lock: where its outcome is unknown, it counts as done.
    pub(super) fn at_most_once<T>(
        &self,
        purpose: &'static str,
        mode: TxMode,
        work: impl FnMut(&mut dyn Session) -> Result<T>,
    ) -> Result<T> {
        self.retrying(purpose, mode, work, &mut |_, _| Ok(true))
    }

    /// As [`JobStore::retrying`], for those who keep an answer that is in doubt until it is
    /// settled.
    pub(super) fn retrying_or_doubt<T>(
        &self,
        purpose: &'static str,
        mode: TxMode,
        work: &mut dyn FnMut(&mut dyn Session) -> Result<T>,
        happened: &mut dyn FnMut(&mut dyn Session, &T) -> Result<bool>,
    ) -> Result<TxOutcome<T>> {
        let answer = RefCell::new(None);
        let doubt = self.until_known(
            purpose,
            mode,
            &mut |s| {
                let answered = work(s)?;
                answer.replace(Some(answered));
                Ok(())
            },
            &mut |s| answer.borrow().as_ref().map_or(Ok(false), |answer| happened(s, answer)),
        )?;
        match (answer.into_inner(), doubt) {
            (Some(answer), None) => Ok(TxOutcome::Done(answer)),
            (Some(answer), Some(error)) => Ok(TxOutcome::InDoubt(answer, error)),
            (None, _) => Err(did_not_run(purpose)),
        }
    }

    /// Runs `work` as [`JobStore::retrying`] does, with the same code for every type of answers.
    /// Returns the error that leaves the outcome unknown, if one does.
    fn until_known(
        &self,
        purpose: &'static str,
        mode: TxMode,
        work: &mut dyn FnMut(&mut dyn Session) -> Result<()>,
        happened: &mut dyn FnMut(&mut dyn Session) -> Result<bool>,
    ) -> Result<Option<Error>> {
        let mut tries = 0;
        let begun = self.clock.ticks();
        loop {
            tries += 1;
            let mut worked = false;
            let tried = self.clock.ticks();
            let outcome = self.through_conflicts(purpose, mode, &mut |s| {
                worked = false;
                work(s)?;
                worked = true;
                Ok(())
            });
            let error = match outcome {
                Ok(()) => return Ok(None),
                Err(Error::Database(error))
                    if worked && error.class == FailureClass::CommitUnknown && mode.may_write() =>
                {
                    match self.verify_commit(purpose, mode, happened) {
                        Ok(true) => return Ok(None),
                        // Now it is known that nothing has happened.
                        Ok(false) => crate::DatabaseError { class: FailureClass::ConnectionLost, ..error }.into(),
                        Err(why) => return Ok(Some(unknown(purpose, &why))),
                    }
                }
                Err(error) => error,
            };
            let now = self.clock.ticks();
            let (waited, took) = (now.saturating_sub(begun), now.saturating_sub(tried));
            // A read that was not cut short by a lock has taken as long as a statement may.
            let is_lock_wait = error.failure_class() == Some(FailureClass::LockWait);
            let is_slow = is_lock_wait && !mode.may_write() && took >= LONGEST_READ;
            if !error.is_transient() || is_slow || tries >= MAX_TRIES || self.was_waited_for(&error, waited) {
                return Err(error);
            }
            log::debug!("retrying {purpose} tries={tries} error={error}");
            self.meters.note_retry(error.failure_class());
            self.back_off(tries);
        }
    }

    /// A single try, no retry. A try that others on other members of a cluster of databases have
    /// overtaken has waited for a lock, and goes on waiting.
    pub(super) fn once<T>(
        &self,
        purpose: &'static str,
        mode: TxMode,
        mut work: impl FnMut(&mut dyn Session) -> Result<T>,
    ) -> Result<T> {
        let mut answer = None;
        self.through_conflicts(purpose, mode, &mut |s| work(s).map(|answered| answer = Some(answered)))?;
        answer.ok_or_else(|| did_not_run(purpose))
    }

    /// As [`JobStore::once`], with the same code for every type of answers. Goes on while others on
    /// other members of a cluster of databases are faster.
    fn through_conflicts(
        &self,
        purpose: &'static str,
        mode: TxMode,
        work: &mut dyn FnMut(&mut dyn Session) -> Result<()>,
    ) -> Result<()> {
        let begun = self.clock.ticks();
        loop {
            let outcome = self.transact_once(purpose, mode, work);
            let gave_way = matches!(&outcome, Err(error) if error.failure_class() == Some(FailureClass::Deadlock));
            let waited = self.clock.ticks().saturating_sub(begun);
            if !gave_way || !self.database.has_several_writers() || waited >= LONGEST_CONFLICT {
                return outcome;
            }
            self.meters.note_retry(Some(FailureClass::Deadlock));
            self.clock.wait(&Signal::default(), Some(self.clock.ticks() + AFTER_CONFLICT.mul_f64(random::share())));
        }
    }

    /// One transaction of the database: its wait for the lock is measured, and its loss counted.
    fn transact_once(
        &self,
        purpose: &'static str,
        mode: TxMode,
        work: &mut dyn FnMut(&mut dyn Session) -> Result<()>,
    ) -> Result<()> {
        let outcome = match mode.lock() {
            None => self.database.transact(purpose, mode, work),
            Some(lock) => {
                let asked = self.clock.ticks();
                self.database.transact(purpose, mode, &mut |s| {
                    self.meters.lock_wait(lock).observe(self.clock.ticks().saturating_sub(asked));
                    work(s)
                })
            }
        };
        use FailureClass::{CommitUnknown, ConnectionLost, Unavailable};
        if matches!(
            outcome.as_ref().err().and_then(Error::failure_class),
            Some(ConnectionLost | CommitUnknown | Unavailable)
        ) {
            self.losses.fetch_add(1, Ordering::SeqCst);
        }
        outcome
    }

    /// The number of times that the way to the database was lost: who answers after that may know
    /// less than who answered before.
    pub(crate) fn losses(&self) -> u64 {
        self.losses.load(Ordering::SeqCst)
    }

    fn verify_commit(
        &self,
        purpose: &'static str,
        mode: TxMode,
        happened: &mut dyn FnMut(&mut dyn Session) -> Result<bool>,
    ) -> Result<bool> {
        let mut tries = 0;
        loop {
            tries += 1;
            let mut answer = false;
            match self.through_conflicts(purpose, mode.to_ask(), &mut |s| {
                answer = happened(s)?;
                Ok(())
            }) {
                Ok(()) => return Ok(answer),
                // The lock was held when the answer was read; where it has to be committed, it may
                // not have been.
                Err(error)
                    if error.failure_class() == Some(FailureClass::CommitUnknown)
                        && !self.database.has_several_writers() =>
                {
                    return Ok(answer);
                }
                Err(error) if error.is_transient() && tries < MAX_TRIES => {
                    self.meters.note_retry(error.failure_class());
                    self.back_off(tries);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// True if the database was away for as long as a caller waits for it.
    fn was_waited_for(&self, error: &Error, waited: Duration) -> bool {
        let longest = self.settings.data_source.as_ref().map(|source| source.connection_timeout);
        error.failure_class() == Some(FailureClass::Unavailable) && longest.is_some_and(|longest| waited >= longest)
    }

    fn back_off(&self, tries: u32) {
        let longest = FIRST_BACK_OFF * 2u32.saturating_pow(tries.min(6));
        let until = self.clock.ticks() + longest.mul_f64(0.5 + random::share() / 2.0);
        self.clock.wait(&Signal::default(), Some(until));
    }
}

fn did_not_run(purpose: &str) -> Error {
    Error::Refused(format!("{purpose}: the transaction did not run"))
}

/// The error where a statement may have been applied, or may still be, and it could not be found
/// out.
pub(super) fn unknown(operation: &str, error: &Error) -> Error {
    crate::DatabaseError {
        operation: operation.to_owned(),
        message: format!("its answer was lost, and what became of it could not be found out: {error}"),
        class: FailureClass::CommitUnknown,
    }
    .into()
}

/// Does the work, announces it, and notes the token with it.
fn noted<T>(s: &mut dyn Session, token: &str, work: &mut dyn FnMut(&mut dyn Session) -> Result<T>) -> Result<T> {
    let answer = work(s)?;
    s.notify(Notification::Change)?;
    s.mark_commit(token)?;
    Ok(answer)
}

/// The refusal of a write of a fire that is not held any longer, and what is to be done.
pub(super) fn fenced_fire(fire_id: &str, to_do: &str) -> Error {
    let reason = format!("it belongs to another node, or has ended: {to_do}");
    Error::Fenced { subject: format!("fire `{fire_id}`"), reason }
}

/// The refusal of a write of a node that is not registered any longer.
pub(super) fn fenced(owner: &Owner) -> Error {
    Error::Fenced {
        subject: format!("instance `{}`", owner.instance),
        reason: "it is not registered under its incarnation: another node declared it dead, or took its name"
            .to_owned(),
    }
}
