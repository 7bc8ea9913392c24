//! Tokens of commits in a session.

use super::session::Session;
use crate::error::Result;
use crate::store::row::CommitRow;

impl dyn Session + '_ {
    /// Notes that the transaction of this token was committed, so that an unknown outcome can be
    /// looked up.
    pub fn mark_commit(&mut self, token: &str) -> Result<()> {
        let made_ms = self.now_ms()?;
        self.insert(&CommitRow { token: token.to_owned(), made_ms })
    }

    /// The time at which the transaction of this token was committed, if it was.
    pub fn committed_ms(&mut self, token: &str) -> Result<Option<i64>> {
        Ok(self.row::<CommitRow>(token)?.map(|row| row.made_ms))
    }
}
