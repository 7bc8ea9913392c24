//! Prefetched fires and begin marks, in a session.

use super::fires::Owner;
use super::session::Session;
use crate::error::{Error, Result};
use crate::rules::begun::BeginMark;
use crate::store::row::{BegunRow, PrefetchedFire, PrefetchedRow};

impl dyn Session + '_ {
    /// Leaves these fires, which an instance prefetches, for whoever finds the instance dead.
    pub fn insert_prefetched(&mut self, instance: &str, fires: &[PrefetchedFire]) -> Result<()> {
        let Some(last_fence) = fires.iter().map(|fire| fire.fence).max() else { return Ok(()) };
        let fires = serde_json::to_string(fires).map_err(|why| Error::Refused(format!("prefetched fires: {why}")))?;
        self.insert(&PrefetchedRow { instance: instance.to_owned(), last_fence, fires })
    }

    /// The fires that an instance has prefetched; those that have ended may be among them.
    pub fn prefetched(&mut self, instance: &str) -> Result<Vec<PrefetchedFire>> {
        let read = |row: PrefetchedRow| {
            // A batch that nobody can read says of none of its fires that the fire has not begun.
            serde_json::from_str::<Vec<PrefetchedFire>>(&row.fires).unwrap_or_else(|why| {
                log::warn!("prefetched fires cannot be read, and count as begun instance={instance} error={why}");
                Vec::new()
            })
        };
        Ok(self.rows::<PrefetchedRow>().with("instance", instance).list()?.into_iter().flat_map(read).collect())
    }

    /// Writes a first mark, for an instance that registers: nothing has begun.
    pub fn reset_begun(&mut self, owner: &Owner) -> Result<()> {
        self.delete_begin_rows(&owner.instance)?;
        let Owner { instance, incarnation } = owner.clone();
        self.insert(&BegunRow { instance, incarnation, ..BegunRow::default() })
    }

    /// The mark of an instance. With `closes` the mark is the last: the instance can begin no more
    /// of its prefetched fires.
    pub fn begun(&mut self, instance: &str, closes: bool) -> Result<Option<BeginMark>> {
        if closes {
            self.rows::<BegunRow>().with("instance", instance).set("closed", &true)?;
        }
        let mark = |row: BegunRow| BeginMark {
            number: row.mark_number,
            last: row.last_fence,
            waiting: BeginMark::waiting_of(&row.waiting),
        };
        Ok(self.row::<BegunRow>(instance)?.map(mark))
    }

    /// Forgets an instance's mark and all fires that the instance has prefetched.
    pub fn delete_begin_rows(&mut self, instance: &str) -> Result<()> {
        self.rows::<PrefetchedRow>().with("instance", instance).delete()?;
        self.rows::<BegunRow>().with("instance", instance).delete().map(drop)
    }
}
