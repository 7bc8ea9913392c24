//! Begin marks in a map.

use super::MemorySession;
use crate::error::Result;
use crate::rules::begun::BeginMark;
use crate::store::Owner;
use crate::store::database::BegunRows;
use crate::store::row::BegunRow;

impl BegunRows for MemorySession<'_> {
    fn note_begun(&mut self, owner: &Owner, mark: &BeginMark) -> Result<bool> {
        self.reads()?;
        let is_open =
            |row: BegunRow| row.incarnation == owner.incarnation && !row.closed && row.mark_number <= mark.number;
        let is_registered = || {
            let row = self.tables.instances.get(&owner.instance);
            row.is_some_and(|row| row.incarnation.as_ref() == Some(&owner.incarnation))
        };
        let noted = self.tables.row_of(&owner.instance).map_or_else(is_registered, is_open);
        if noted {
            self.tables.put_row(&BegunRow {
                instance: owner.instance.clone(),
                incarnation: owner.incarnation.clone(),
                mark_number: mark.number,
                last_fence: mark.last,
                waiting: mark.waiting_text(),
                closed: false,
            });
        }
        Ok(noted)
    }
}
