//! Paused groups in a session.

use super::session::Session;
use crate::error::Result;
use crate::store::row::PausedGroupRow;
use std::collections::BTreeSet;

impl dyn Session + '_ {
    /// The paused groups in order, with the marker for all.
    pub fn paused_groups(&mut self) -> Result<Vec<String>> {
        let rows: Vec<PausedGroupRow> = self.rows().by(&["group"]).list()?;
        Ok(rows.into_iter().map(|row| row.group).collect())
    }

    /// Remembers groups as paused; those remembered already stay.
    pub fn insert_paused_groups(&mut self, groups: &[String]) -> Result<()> {
        let known = self.paused_groups()?;
        let new: BTreeSet<&String> = groups.iter().filter(|group| !known.contains(group)).collect();
        let rows: Vec<_> = new.into_iter().map(|group| PausedGroupRow { group: group.clone() }).collect();
        self.insert_all(&rows)
    }

    /// Forgets groups as paused.
    pub fn delete_paused_groups(&mut self, groups: &[String]) -> Result<()> {
        self.rows::<PausedGroupRow>().any_of(&["group"], groups).delete().map(drop)
    }
}
