//! The log lines of runs in a session.

use super::session::Session;
use crate::error::Result;
use crate::store::row::LogRow;

/// The most bytes of lines in one statement, so that no server finds the statement too long.
const MOST_BYTES: usize = 500_000;

impl dyn Session + '_ {
    /// Writes what runs have logged.
    pub fn insert_logs(&mut self, rows: &[LogRow]) -> Result<()> {
        let mut rest = rows;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |row: &&LogRow| {
                let is_first = bytes == 0;
                bytes += row.lines.len();
                is_first || bytes <= MOST_BYTES
            };
            let (batch, further) = rest.split_at(rest.iter().take_while(fits).count());
            self.insert_all(batch)?;
            rest = further;
        }
        Ok(())
    }
}
