//! `PAUSED_TRIGGER_GRPS`.

use super::texts;
use crate::error::Result;
use crate::store::sql::session::SqlSession;
use diesel::QueryableByName;
use diesel::sql_types::Text;
use std::collections::BTreeSet;

#[derive(QueryableByName)]
struct Group {
    #[diesel(sql_type = Text)]
    trigger_group: String,
}

impl SqlSession<'_, '_> {
    pub(super) fn read_paused_groups(&mut self) -> Result<Vec<String>> {
        let text = "SELECT trigger_group AS trigger_group FROM {p}PAUSED_TRIGGER_GRPS WHERE sched_name = ? ORDER BY trigger_group";
        let rows: Vec<Group> = self.load(text, &[self.name()])?;
        Ok(rows.into_iter().map(|row| row.trigger_group).collect())
    }

    pub(super) fn add_paused_groups(&mut self, groups: &[String]) -> Result<()> {
        self.assert_trigger_access();
        let known: BTreeSet<String> = self.read_paused_groups()?.into_iter().collect();
        let new: BTreeSet<&String> = groups.iter().filter(|group| !known.contains(*group)).collect();
        let rows: Vec<_> = new.into_iter().map(|group| vec![group.into()]).collect();
        self.insert_rows("PAUSED_TRIGGER_GRPS", &["trigger_group"], rows)
    }

    pub(super) fn remove_paused_groups(&mut self, groups: &[String]) -> Result<()> {
        self.assert_trigger_access();
        let head = "DELETE FROM {p}PAUSED_TRIGGER_GRPS WHERE sched_name = ? AND";
        self.execute_for_keys(head, &[self.name()], &["trigger_group"], &texts(groups), "").map(drop)
    }
}
