//! `ConnectAttempts`: the outcomes of the tries to connect to the database.

use super::failure::Failure;
use crate::error::FailureClass;
use crate::guarded::guarded;
use parking_lot::{Condvar, Mutex};
use std::time::Duration;

/// The outcomes of the tries to connect, for those who wait for a connection, and for the log.
pub(super) struct ConnectAttempts {
    /// The database, without secrets.
    target: String,
    state: Mutex<State>,
    tried: Condvar,
}

#[derive(Default)]
struct State {
    /// A connection was made at least once.
    has_succeeded: bool,
    /// The failure of the last try; none after a success.
    failure: Option<Failure>,
}

impl ConnectAttempts {
    pub(super) fn new(target: impl ToString) -> Self {
        Self { target: target.to_string(), state: Mutex::default(), tried: Condvar::new() }
    }

    /// Notes the outcome of a try. The log hears of the first failure in a row, and of its end.
    pub(super) fn note<T>(&self, outcome: &Result<T, Failure>, longest_pause: Duration) {
        let target = &self.target;
        let mut state = self.state.lock();
        let (was_failing, has_succeeded) = (state.failure.is_some(), state.has_succeeded);
        match outcome {
            Ok(_) => *state = State { has_succeeded: true, failure: None },
            Err(failure) => state.failure = Some(failure.clone()),
        }
        drop(state);
        self.tried.notify_all();
        // A logger is code of the application, which may use this store, or panic.
        drop(guarded(|| match outcome {
            Ok(_) if was_failing => log::info!("the database is reached database={target}"),
            Err(failure) if !was_failing => {
                // Callers hear of a refusal at once, and nobody waits for a next try.
                let next = match failure.class {
                    FailureClass::Permanent if !has_succeeded => String::new(),
                    _ => format!(", next try within {} ms", longest_pause.as_millis()),
                };
                log::warn!("no connection to the database{next} database={target} error={:?}", failure.message);
            }
            _ => {}
        }));
    }

    /// True once a connection was made.
    pub(super) fn has_succeeded(&self) -> bool {
        self.state.lock().has_succeeded
    }

    /// The failure of a try that no later try will better. A database that could be used once is
    /// waited for, whatever it says.
    pub(super) fn refusal(&self) -> Option<Failure> {
        let state = self.state.lock();
        let refusal = state.failure.as_ref().filter(|failure| failure.class == FailureClass::Permanent)?;
        (!state.has_succeeded).then(|| self.named(refusal.clone()))
    }

    /// Waits for the next try to end, for at most `time`.
    pub(super) fn wait_for_try(&self, time: Duration) {
        self.tried.wait_for(&mut self.state.lock(), time);
    }

    /// The failure of a wait that was in vain for `waited`.
    pub(super) fn timed_out(&self, waited: Duration) -> Failure {
        let reason = match &self.state.lock().failure {
            Some(failure) => failure.message.clone(),
            None => "there was no answer".to_owned(),
        };
        let message = format!("no connection within {} ms: {reason}", waited.as_millis());
        self.named(Failure { class: FailureClass::Unavailable, message })
    }

    fn named(&self, failure: Failure) -> Failure {
        Failure { message: format!("{}: {}", self.target, failure.message), ..failure }
    }
}
