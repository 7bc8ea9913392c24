//! `PoolerMode`: whether a pooler before PostgreSQL lends sessions by the transaction.

use super::backend::Backend;
use super::connection::Connection;
use super::failure::Failure;
use super::statement::Count;
use crate::error::FailureClass;
use crate::settings::{DataSourceUrl, Pooler};
use crate::store::TxMode;
use std::sync::OnceLock;

/// The number of questions which session a connection has. A pooler gives out the session that
/// came back last, so that the second question suffices, unless others have sessions of it in turn.
const QUESTIONS: u32 = 24;

/// The way in which a pooler lends sessions: as the settings say, or as was found.
pub(super) struct PoolerMode {
    setting: Pooler,
    found: OnceLock<bool>,
}

impl PoolerMode {
    pub(super) fn new(setting: Pooler) -> Self {
        Self { setting, found: OnceLock::new() }
    }

    /// True if sessions are lent by the transaction, as far as is known: a look comes with the
    /// first connection.
    pub(super) fn is_by_transaction(&self) -> bool {
        match self.setting {
            Pooler::Session => false,
            Pooler::Transaction => true,
            Pooler::Auto => self.found.get().copied().unwrap_or_default(),
        }
    }

    /// True if sessions are lent by the transaction; looks if nobody has, beside a connection that
    /// was just opened to `url`.
    pub(super) fn find(&self, opened: &mut Connection<'_>, url: &DataSourceUrl) -> Result<bool, Failure> {
        if self.setting == Pooler::Auto && self.found.get().is_none() && opened.backend() == Backend::Postgres {
            let found = lends_by_transaction(opened, url)?;
            self.found.get_or_init(|| found);
        }
        Ok(self.is_by_transaction() && opened.backend() == Backend::Postgres)
    }
}

/// Looks whether two connections have sessions of their own: else they have the same session in
/// turn, or one has another session with its next transaction.
pub(super) fn lends_by_transaction(first: &mut Connection<'_>, url: &DataSourceUrl) -> Result<bool, Failure> {
    let mut second = Connection::open(url)?;
    // A prepared statement would be in the way of the other connection.
    first.prepare_statements(false);
    second.prepare_statements(false);
    if is_shared(|which| session(if which == 0 { &mut *first } else { &mut second }))? {
        return carries_transactions(first).map(|()| true);
    }
    first.prepare_statements(true);
    Ok(false)
}

/// Asks two connections for their sessions: true if one has a session of the other, or has changed
/// its own. The order is the sequence of Thue and Morse, which never repeats itself: processes that
/// ask at the same time have the sessions in turn, and an order with a period can go on in step
/// with them.
fn is_shared<S: PartialEq, E>(mut session_of: impl FnMut(usize) -> Result<S, E>) -> Result<bool, E> {
    let (mut first, mut second) = (None, None);
    for question in 0..QUESTIONS {
        let which = usize::from(question.count_ones() % 2 == 1);
        let session = session_of(which)?;
        let (own, others) = if which == 0 { (&mut first, &second) } else { (&mut second, &first) };
        if own.as_ref().is_some_and(|own| *own != session) || others.as_ref() == Some(&session) {
            return Ok(true);
        }
        *own = Some(session);
    }
    Ok(false)
}

/// Fails if the pooler lends sessions by the statement: it hangs up when a transaction begins.
fn carries_transactions(connection: &mut Connection<'_>) -> Result<(), Failure> {
    let begun = connection.begin(TxMode::ReadOnly).and_then(|()| connection.roll_back());
    begun.map_err(|failure| match failure.class {
        FailureClass::ConnectionLost => Failure {
            class: FailureClass::Unavailable,
            message: "a pooler has closed the connection at the begin of a transaction: if it lends sessions by the statement, \
                      have it lend them by the transaction (pool_mode = transaction in PgBouncer)"
                .to_owned(),
        },
        _ => failure,
    })
}

/// The process of the server behind a connection.
fn session(connection: &mut Connection<'_>) -> Result<Option<i64>, Failure> {
    let text = "SELECT CAST(pg_backend_pid() AS bigint) AS n";
    let rows: Vec<Count> = connection.ask(text)?;
    Ok(rows.first().map(|row| row.n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_settings_say_is_known_without_a_look() {
        let known = |setting| PoolerMode::new(setting).is_by_transaction();
        assert_eq!([Pooler::Auto, Pooler::Session, Pooler::Transaction].map(known), [false, false, true]);
    }

    /// Sessions that come round with every period up to four, whoever asks. Two migrations at once
    /// had one another's two sessions in turn, and took the pooler for none.
    #[test]
    fn sessions_that_come_round_are_shared() {
        for period in 1..=4_u32 {
            for sessions in 0..4_u32.pow(period) {
                let mut questions = 0..;
                let lent = |_| Ok::<_, ()>(questions.next().map(|n: u32| sessions / 4_u32.pow(n % period) % 4));
                assert_eq!(is_shared(lent), Ok(true), "{sessions} of {period}");
            }
        }
    }

    #[test]
    fn sessions_of_their_own_are_not_shared() {
        assert_eq!(is_shared(Ok::<_, ()>), Ok(false));
    }
}
