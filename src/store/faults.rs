//! Faults that tests plan: fail the n-th statement, lose a commit's answer, let something happen
//! between two statements.

use crate::debug_fields::debug_fields;
use crate::error::{DatabaseError, Error, FailureClass, Result};
use parking_lot::Mutex;

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The n-th statement fails in this way, before it does anything.
    Statement(FailureClass),
    /// The commit happens, and its answer is lost.
    CommitLostApplied,
    /// The commit does not happen, and its answer is lost.
    CommitLostNotApplied,
    /// The commit happens, its answer is lost, and so many statements after it find no database.
    CommitLostThenAway(u64),
}

/// The faults planned for one database; none at first.
#[derive(Debug, Default)]
pub struct FaultPlan {
    plan: Mutex<Option<Planned>>,
    /// The number of statements that are still to find no database.
    away: Mutex<u64>,
    meanwhile: Mutex<Option<Meanwhile>>,
    /// Of which purposes the next transaction is answered and not kept.
    forgotten: Mutex<Vec<&'static str>>,
}

/// The event while a transaction is between two of its statements.
struct Meanwhile {
    purpose: &'static str,
    countdown: u64,
    happens: Box<dyn FnOnce() + Send>,
}

debug_fields! { Meanwhile { purpose, countdown } finish |me| }

#[derive(Clone, Copy, Debug)]
struct Planned {
    countdown: u64,
    fault: Fault,
}

impl FaultPlan {
    /// Plans `fault` for the n-th statement (or, for a commit, the n-th commit) from now, counted
    /// from 1.
    pub fn plan(&self, n: u64, fault: Fault) {
        *self.plan.lock() = Some(Planned { countdown: n, fault });
    }

    /// Takes the plan back; returns whether there was anything that had not happened yet.
    pub fn cancel(&self) -> bool {
        *self.away.lock() = 0;
        self.forgotten.lock().clear();
        let (plan, meanwhile) = (self.plan.lock().take(), self.meanwhile.lock().take());
        plan.is_some() || meanwhile.is_some()
    }

    /// From now on no statement finds the database: whoever had it is dead.
    pub fn lose_for_good(&self) {
        *self.away.lock() = u64::MAX;
    }

    /// Lets something happen right before the n-th statement of this purpose from now, counted from
    /// 1.
    pub fn meanwhile(&self, purpose: &'static str, n: u64, happens: impl FnOnce() + Send + 'static) {
        *self.meanwhile.lock() = Some(Meanwhile { purpose, countdown: n, happens: Box::new(happens) });
    }

    /// The next transaction of this purpose is answered as if it was committed, and is not kept:
    /// what a server does that loses commits after it has answered them.
    pub fn forget(&self, purpose: &'static str) {
        self.forgotten.lock().push(purpose);
    }

    /// True if a transaction that is to be forgotten has not come yet.
    pub fn is_about_to_forget(&self) -> bool {
        !self.forgotten.lock().is_empty()
    }

    /// Called before each statement.
    pub(crate) fn before_statement(&self, purpose: &str) -> Result<()> {
        if let Some(meanwhile) = self.take_meanwhile(purpose) {
            (meanwhile.happens)();
        }
        let mut away = self.away.lock();
        if *away > 0 {
            *away -= 1;
            return Err(planned(purpose, FailureClass::Unavailable));
        }
        drop(away);
        match self.due(|fault| matches!(fault, Fault::Statement(_))) {
            Some(Fault::Statement(class)) => Err(planned(purpose, class)),
            _ => Ok(()),
        }
    }

    /// Called before each commit of a transaction that may have written. `finish` commits (true) or
    /// rolls back.
    pub(crate) fn at_commit(&self, purpose: &str, finish: &mut dyn FnMut(bool) -> Result<()>) -> Option<Result<()>> {
        let mut forgotten = self.forgotten.lock();
        if let Some(at) = forgotten.iter().position(|forgotten| *forgotten == purpose) {
            forgotten.swap_remove(at);
            return Some(finish(false));
        }
        drop(forgotten);
        let fault = self.due(|fault| !matches!(fault, Fault::Statement(_)))?;
        let finished = finish(fault != Fault::CommitLostNotApplied);
        if let Fault::CommitLostThenAway(statements) = fault {
            *self.away.lock() = statements;
        }
        Some(finished.and_then(|()| Err(planned(purpose, FailureClass::CommitUnknown))))
    }

    fn take_meanwhile(&self, purpose: &str) -> Option<Meanwhile> {
        let mut slot = self.meanwhile.lock();
        let planned = slot.as_mut().filter(|planned| planned.purpose == purpose)?;
        planned.countdown = planned.countdown.saturating_sub(1);
        if planned.countdown > 0 { None } else { slot.take() }
    }

    fn due(&self, kind: impl Fn(Fault) -> bool) -> Option<Fault> {
        let mut plan = self.plan.lock();
        let planned = plan.as_mut().filter(|planned| kind(planned.fault))?;
        planned.countdown = planned.countdown.saturating_sub(1);
        if planned.countdown > 0 {
            return None;
        }
        plan.take().map(|planned| planned.fault)
    }
}

fn planned(purpose: &str, class: FailureClass) -> Error {
    DatabaseError { operation: purpose.to_owned(), message: format!("planned fault ({})", class.name()), class }.into()
}
