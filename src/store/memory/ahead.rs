//! Fires that were taken ahead, and begin marks, in maps.

use super::MemorySession;
use crate::error::Result;
use crate::rules::begun::BeginMark;
use crate::store::Owner;
use crate::store::database::AheadRows;
use crate::store::row::AheadFire;

/// The mark of an instance.
#[derive(Clone)]
pub(super) struct Begun {
    incarnation: String,
    mark: BeginMark,
    is_closed: bool,
}

impl AheadRows for MemorySession<'_> {
    fn insert_ahead(&mut self, instance: &str, fires: &[AheadFire]) -> Result<()> {
        self.changes()?;
        let Some(last) = fires.iter().map(|fire| fire.fence).max() else { return Ok(()) };
        self.tables.ahead.put((instance.to_owned(), last), (instance.to_owned(), fires.to_vec()));
        Ok(())
    }

    fn ahead(&mut self, instance: &str) -> Result<Vec<AheadFire>> {
        self.reads()?;
        let batches = self.tables.ahead.values().filter(|(owner, _)| owner == instance);
        Ok(batches.flat_map(|(_, fires)| fires.clone()).collect())
    }

    fn delete_ahead(&mut self, instance: &str, before: i64) -> Result<()> {
        self.reads()?;
        self.tables.ahead.remove_if(|(owner, last), _| owner == instance && *last < before);
        Ok(())
    }

    fn reset_begun(&mut self, owner: &Owner) -> Result<()> {
        self.reads()?;
        let first = Begun { incarnation: owner.incarnation.clone(), mark: BeginMark::default(), is_closed: false };
        self.tables.begun.put(owner.instance.clone(), first);
        Ok(())
    }

    fn note_begun(&mut self, owner: &Owner, mark: &BeginMark) -> Result<bool> {
        self.reads()?;
        let is_open =
            |row: &&Begun| row.incarnation == owner.incarnation && !row.is_closed && row.mark.number <= mark.number;
        let is_registered = || {
            let row = self.tables.instances.get(&owner.instance);
            row.is_some_and(|row| row.incarnation.as_ref() == Some(&owner.incarnation))
        };
        let noted = match self.tables.begun.get(&owner.instance) {
            Some(row) => is_open(&row),
            None => is_registered(),
        };
        if noted {
            let row = Begun { incarnation: owner.incarnation.clone(), mark: mark.clone(), is_closed: false };
            self.tables.begun.put(owner.instance.clone(), row);
        }
        Ok(noted)
    }

    fn begun(&mut self, instance: &str, closes: bool) -> Result<Option<BeginMark>> {
        self.reads()?;
        let Some(row) = self.tables.begun.get(&instance.to_owned()).cloned() else { return Ok(None) };
        if closes {
            self.tables.begun.put(instance.to_owned(), Begun { is_closed: true, ..row.clone() });
        }
        Ok(Some(row.mark))
    }

    fn forget_ahead(&mut self, instance: &str) -> Result<()> {
        self.reads()?;
        self.tables.begun.remove(&instance.to_owned());
        self.tables.ahead.remove_if(|(owner, _), _| owner == instance);
        Ok(())
    }
}
