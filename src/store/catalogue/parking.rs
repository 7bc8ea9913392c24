//! Parking: work that would go round for ever, or that cannot be stored, is set aside until
//! somebody has looked at it.

use crate::error::Result;
use crate::key::TriggerKey;
use crate::store::Catalogue;
use crate::store::firing::delete_idle;
use crate::store::row::{Parked, ParkedRow};

impl Catalogue<'_> {
    /// The work that is parked, in the order in which it was.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn parked(&self) -> Result<Vec<Parked>> {
        self.store.read("list parked work", |s| s.parked())
    }

    /// The parked work of a trigger; none if it is not parked.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn parked_work(&self, key: &TriggerKey) -> Result<Option<Parked>> {
        self.store.read("look at parked work", |s| s.parked_work(key))
    }

    /// Lets parked work run again, at once and with all its take-overs before it; returns whether
    /// it was parked. Work whose recovery could not be built runs with the data that its trigger
    /// has.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn retry_parked(&self, key: &TriggerKey) -> Result<bool> {
        self.store.write("run parked work again", |s| {
            if s.parked_work(key)?.is_none() || !self.store.catalogue().reset_in(s, key)? {
                return Ok(false);
            }
            self.note(s, "retry", "parked", std::slice::from_ref(key))?;
            Ok(true)
        })
    }

    /// Deletes parked work with its trigger, and its job if that was there for it only; returns
    /// whether it was parked.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn delete_parked(&self, key: &TriggerKey) -> Result<bool> {
        self.store.write("delete parked work", |s| {
            let Some(parked) = s.parked_work(key)? else { return Ok(false) };
            s.delete_triggers(std::slice::from_ref(key), None)?;
            s.rows::<ParkedRow>().with("trigger", key).delete()?;
            delete_idle(s, &[parked.job])?;
            self.note(s, "delete", "parked", std::slice::from_ref(key))?;
            Ok(true)
        })
    }
}
